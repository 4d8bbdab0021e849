// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See legacy.hpp.
#include "tools/diags/legacy.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "async/loop.hpp"
#include "tools/diags/console.hpp"

namespace ib::diags {
namespace {

/// Says on stderr why the tool ended early. What --version prints is there as well: where it can not be, that is a failure.
int stopped(const Stop& stop) {
  const bool told = tell(stop.err) || errno == EPIPE;
  return told || stop.status != 0 ? stop.status : failed_status;
}

/// Runs the tool but for its last output. Failures go to stdout behind the results, as they always did.
int run_tool(Legacy& legacy, std::span<char* const> words, tools::TextOut& out) {
  Settings settings;
  const std::string_view name = legacy.tool().name;
  try {
    const std::vector<std::string> arguments =
        parse_command_line(legacy.tool(), words, settings, [&](int letter, const char* value) { legacy.option(letter, value, settings); });
    async::Loop loop;
    const tools::World world = tools::this_host();
    tools::Session session(world, tools::Dialect::ibtool, name, common_options(settings), arguments, loop);
    Context context{settings, arguments, session, out};
    loop.run(legacy.run(context));
    return 0;
  } catch (const Stop& stop) {
    out.flush();
    return stopped(stop);
  } catch (const Panic& panic) {
    out.flush();
    tell(panic_line(panic));
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
  tools::TextOut out(stdout);
  const int status = run_tool(legacy, words, out);
  return finish_output(legacy.tool().name, out, status);
}

subnet::NodeNameMap read_node_names(const std::string& file) {
  const std::string name = file.empty() ? subnet::default_node_name_map_file : file;
  try {
    subnet::NodeNameMap map = subnet::NodeNameMap::read(name);
    if (map.bad_lines().empty()) return map;
    const std::string& line = map.bad_lines().front().text;
    tell(fmt::format("WARNING failed to parse node name map \"{}\"\nWARNING failed line: \"{}\"\n", name, line));
  } catch (const UsageError& error) {
    tell(fmt::format("WARNING failed to read node name map: {}\n", error.what()));
  } catch (const SysError& error) {
    if (!file.empty() || error.code() != ENOENT)
      tell(fmt::format("WARNING failed to open node name map \"{}\" ({})\n", name, std::strerror(error.code())));
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
