// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See legacy.hpp.
#include "diags/legacy.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "async/loop.hpp"
#include "diags/console.hpp"

namespace ib::diags {
namespace {

/// Runs what is left after the command line was read. Failures go to stdout behind the results, as they always did.
int run_parsed(Legacy& legacy, const Settings& settings, const std::vector<std::string>& arguments) {
  tools::TextOut out(stdout);
  const std::string_view name = legacy.tool().name;
  try {
    async::Loop loop;
    tools::Session session(common_options(settings), arguments, loop);
    Context context{settings, arguments, session, out};
    loop.run(legacy.run(context));
    out.flush();
    if (std::fflush(stdout) == 0 || errno == EPIPE) return 0;
    fmt::print(stderr, "{}: standard output: {}\n", name, std::strerror(errno));
    return failed_status;
  } catch (const Stop& stop) {
    out.flush();
    std::fputs(stop.err.c_str(), stderr);
    return stop.status;
  } catch (const Panic& panic) {
    out.flush();
    std::fputs(panic_line(panic).c_str(), stderr);
  } catch (const Failure& failure) {
    out.write(failure_line(name, failure, settings.debug > 0));
  } catch (const Error& error) {
    out.write(failure_line(name, Failure("main", error.what()), settings.debug > 0));
  }
  return failed_status;
}

}  // namespace

long Context::number(std::size_t at, long missing) const {
  return at < arguments.size() ? std::strtol(arguments[at].c_str(), nullptr, 0) : missing;
}

void Legacy::option(int /*letter*/, const char* /*value*/, Settings& /*settings*/) {}

int run_legacy(Legacy& legacy, std::span<char* const> words) {
  Settings settings;
  std::vector<std::string> arguments;
  try {
    arguments =
        parse_command_line(legacy.tool(), words, settings, [&](int letter, const char* value) { legacy.option(letter, value, settings); });
  } catch (const Stop& stop) {
    std::fputs(stop.err.c_str(), stderr);
    return stop.status;
  } catch (const Failure& failure) {
    std::fputs(failure_line(legacy.tool().name, failure, settings.debug > 0).c_str(), stdout);
    return failed_status;
  } catch (const Error& error) {
    std::fputs(failure_line(legacy.tool().name, Failure("main", error.what()), settings.debug > 0).c_str(), stdout);
    return failed_status;
  }
  return run_parsed(legacy, settings, arguments);
}

subnet::NodeNameMap read_node_names(const std::string& file) {
  const std::string name = file.empty() ? subnet::default_node_name_map_file : file;
  try {
    return subnet::NodeNameMap::read(name);
  } catch (const subnet::NodeNameMapError& error) {
    fmt::print(stderr, "WARNING failed to parse node name map \"{}\"\nWARNING failed line: \"{}\"\n", name, error.line());
  } catch (const UsageError& error) {
    fmt::print(stderr, "WARNING failed to read node name map: {}\n", error.what());
  } catch (const SysError& error) {
    if (!file.empty() || error.code() != ENOENT)
      fmt::print(stderr, "WARNING failed to open node name map \"{}\" ({})\n", name, std::strerror(error.code()));
  }
  return {};
}

tools::CommonOptions common_options(const Settings& settings) {
  tools::CommonOptions common;
  common.device = settings.device;
  if (!settings.port.empty()) common.port = settings.port;
  if (settings.timeout_ms) common.timeout = std::chrono::milliseconds(*settings.timeout_ms);
  common.outstanding_smps = settings.outstanding_smps;
  common.m_key = settings.m_key;
  common.sm_key = settings.sa_key;
  common.pkey_index = settings.pkey_index;
  common.keys = settings.keys;
  common.mlnx_extended_port_info = settings.mlnx_extended_port_info;
  // A first -d has lines of its own in this dialect; from the second on ours show the packets.
  if (settings.debug > 1) common.debug = settings.debug;
  return common;
}

}  // namespace ib::diags
