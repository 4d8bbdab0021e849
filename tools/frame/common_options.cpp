// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One table of the common options of both dialects, in the order in which help shows them. The legacy names read some values in their own
// way, and lack the options behind `if (set.is_diags()) return`.
#include "tools/frame/common_options.hpp"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/channel/open.hpp"
#include "path/parse.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/ibdiag_conf.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

constexpr unsigned most_retries = 255;

/// The whole of `text` as C's strtol() reads it; nothing unless it is within [low, high].
std::optional<long> c_integer(const std::string& text, long low, long high) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 0);
  const bool is_number = errno == 0 && end != text.c_str() && *end == '\0';
  return is_number && value >= low && value <= high ? std::optional(value) : std::nullopt;
}

std::chrono::milliseconds diags_timeout(const std::string& text) {
  if (const auto value = c_integer(text, 1, INT_MAX)) return std::chrono::milliseconds(*value);
  throw DiagsFailure(fmt::format("Invalid timeout \"{}\".  Timeout requires a positive integer value < {}.", text, INT_MAX));
}

Lid diags_sm_lid(const std::string& text) {
  const auto value = static_cast<int>(std::strtol(text.c_str(), nullptr, 0));
  if (value < 1 || value > last_unicast_lid) throw DiagsFailure(fmt::format("cannot resolve SM destination port {}", text));
  return Lid{static_cast<std::uint16_t>(value)};
}

std::uint16_t diags_pkey_index(const std::string& text) {
  if (const auto value = c_integer(text, 0, UINT16_MAX)) return static_cast<std::uint16_t>(*value);
  throw DiagsFailure(fmt::format("Invalid P_Key index \"{}\".  Requires an integer in the range [0, {}].", text, UINT16_MAX));
}

/// The port number 0 means the first usable port in infiniband-diags, and in some of its releases each number below does.
std::optional<std::string> diags_port(const CommonOptions& common, int number) {
  const bool is_any = number == 0 || (number < 0 && common.world->diags_release->opens_negative_ports);
  return is_any ? std::nullopt : std::optional(std::to_string(number));
}

void add_device(OptionSet& set, CommonOptions& common) {
  const bool diags = set.is_diags();
  set.value("-C --Ca --ca", "CA", diags ? "The RDMA device to use." : "The RDMA device to use: its name or node GUID.",
            [&common](const std::string& text) {
              common.device = text;
              common.device_file.clear();
            });
  offer_devices(set, common, false);
  set.value("-P --Port --port", "PORT",
            diags ? "The port of the device to use." : "The end port to use: its number, DEVICE/PORT, GID or port GUID.",
            [&common, diags](const std::string& text) {
              common.port = diags ? diags_port(common, static_cast<int>(c_number(text))) : text;
              common.port_file.clear();
            });
  offer_devices(set, common, true);
}

void add_output(OptionSet& set, CommonOptions& common) {
  set.action("-d --debug", "Increase the debug level, each -d increases by 1.", [&common, diags = set.is_diags()] {
    ++common.debug;
    if (diags) common.show_errors = true;
  });
  set.action({"-v --verbosity --verbose", "-v --verbose"}, "Increase the verbosity level of diagnostic messages, each -v increases by 1.",
             [&common] { ++common.verbosity; });
  set.flag("-e --errors", common.show_errors, "Show every send and receive error, also those that a retry fixes.");
  if (set.is_diags()) return;
  set.value("--json", "FORM", "Print JSON instead of text: one document, or one object a line with --json=lines.",
            [&common](const std::string& form) {
              if (!form.empty() && form != "document" && form != "lines")
                throw OptionError(fmt::format("--json: '{}' is not 'document' or 'lines'", form));
              common.format = form == "lines" ? Format::lines : Format::json;
            });
  set.make_value_optional();
  set.offer({"document", "lines"});
  set.choice("--format", format_names(),
             "Print the result as text, JSON, JSON lines, or, where it is a table, as CSV or tab-separated values.",
             [&common](const std::string& name) { common.format = *format_named(name); });
  set.flag("--stats", common.stats, "Report on stderr how many MADs were sent, and why.");
}

void add_keys(OptionSet& set, CommonOptions& common) {
  const bool diags = set.is_diags();
  constexpr std::string_view m_key_spelling = "-y --m_key --m-key",
                             m_key_help = "The M_Key of SMPs; anything but a number: read from the terminal.";
  if (diags) {
    set.value(m_key_spelling, "M_KEY", m_key_help,
              [&common](const std::string& text) { common.m_key = parse_key(common, text, "M_Key", "Bad M_Key", true); });
  } else {
    add_key(set, common, m_key_spelling, common.m_key, "M_KEY", m_key_help);
  }
  // Debian's has no -Y. A long name would make abbreviations of others ambiguous.
  set.value({"-Y --pkey-idx", "-Y"}, "INDEX", "P_Key table index for outgoing GMPs.", [&common, diags](const std::string& text) {
    common.pkey_index = diags ? diags_pkey_index(text) : parse_within<std::uint16_t>(text, "--pkey-idx", {});
  });
  add_show_keys(set, common);
  if (diags) return;
  add_key(set, common, "--smkey", common.sm_key, "SMKEY",
          "The SM_Key of requests to the SA; anything but a number: read from the terminal.");
}

void add_timing(OptionSet& set, CommonOptions& common) {
  const bool diags = set.is_diags();
  set.value("-t --timeout", "MS",
            diags ? "Time for one try of a MAD, in milliseconds."
                  : "Time for one try of a MAD, in milliseconds; the default follows from the subnet's timeouts.",
            [&common, diags](const std::string& text) {
              common.timeout = diags ? diags_timeout(text) : std::chrono::milliseconds(parse_within<int>(text, "--timeout", {.low = 1}));
            });
  if (diags) return;
  set.number("--retries", common.retries, "N", "Tries after the first before a MAD counts as lost.", {0, most_retries});
  add_outstanding_smps(set, common);
}

void add_gmp(OptionSet& set, CommonOptions& common) {
  const auto choose = [&common](const std::string& name) {
    using enum mad::GmpCarrier;
    const std::map<std::string_view, mad::GmpCarrier> carriers{{"auto", automatic}, {"umad", umad}, {"verbs", verbs}};
    const auto found = carriers.find(name);
    if (found == carriers.end()) throw OptionError(fmt::format("--gmp: {} is not 'auto', 'umad' or 'verbs'", in_quotes(name)));
    common.gmp = found->second;
  };
  set.value("--gmp", "CARRIER", "Send GMPs by umad, by verbs, or (auto, the default) by verbs only where umad cannot be opened.", choose);
  set.offer({"auto", "umad", "verbs"});
}

void add_address(OptionSet& set, CommonOptions& common) {
  const auto add = [&](std::string_view spelling, std::string_view help, path::Form form) {
    set.action(spelling, help, [&common, form, diags = set.is_diags()] {
      common.address = form;
      if (diags) common.combined = false;  // the last one wins
    });
  };
  add("-D --Direct --direct", "The address is a directed route path. A comma separated list of port numbers starting with 0.",
      path::Form::direct);
  add("-L --Lid --lid", "The address is a LID integer.", path::Form::lid);
  add("-G --Guid --guid", "The address is a GUID hex integer.", path::Form::guid);
}

/// Applies the settings of `file`. ibtool's dialect warns of its mistakes.
void apply_config(const IbdiagConf& conf, const std::string& file, ConfReader reader, CommonOptions& common) {
  const bool diags = reader == ConfReader::diags;
  for (const ConfMistake& mistake : conf.mistakes)
    if (!diags) common.world->log->warning(fmt::format("{}:{}: {}", file, mistake.line, mistake.text));
  if (conf.device) common.device = conf.device;
  if (conf.device && !diags) common.device_file = file;
  if (conf.port && diags) common.port = diags_port(common, static_cast<int>(*conf.port));
  if (conf.port && *conf.port != 0 && !diags) {
    common.port = std::to_string(*conf.port);
    common.port_file = file;
  }
  if (conf.timeout && conf.timeout->count() > 0) common.timeout = std::min(*conf.timeout, std::chrono::milliseconds(INT_MAX));
  if (conf.m_key) common.m_key = *conf.m_key;
  if (conf.sa_key && (!diags || common.sends_sa_key)) common.sm_key = *conf.sa_key;
  if (conf.mlnx_extended_port_info) common.mlnx_extended_port_info = *conf.mlnx_extended_port_info;
  if (conf.node_description_format) common.node_description_format = *conf.node_description_format;
}

void apply_config_if_any(const std::string& file, ConfReader reader, CommonOptions& common) {
  apply_config(IbdiagConf::read_if_any(file, reader), file, reader, common);
}

}  // namespace

std::string read_unseen(const World& world, std::string_view prompt) {
  const int in = fileno(world.in);
  termios shown{};
  const bool terminal = isatty(in) != 0 && tcgetattr(in, &shown) == 0;
  if (terminal) {
    std::fputs(fmt::format("{}: ", prompt).c_str(), world.err);
    termios hidden = shown;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(in, TCSAFLUSH, &hidden);
  }
  std::string line;
  char c = 0;
  while (line.size() < 64 && read(in, &c, 1) == 1 && c != '\n') line += c;
  if (terminal) {
    tcsetattr(in, TCSAFLUSH, &shown);
    std::fputs("\n", world.err);
  }
  return line;
}

void offer_devices(OptionSet& set, const CommonOptions& common, bool ports) {
  set.offer([&common, ports] {
    std::vector<std::string> names;
    try {
      const sys::DeviceList list = common.world->devices();
      for (const auto& device : list.devices()) {
        if (!ports) names.push_back(device->name);
        for (const auto& port : device->ports)
          if (ports) names.push_back(port->name());
      }
    } catch (const Error&) {  // they cannot be read
      return std::vector<std::string>();
    }
    return names;
  });
}

void add_show_keys(OptionSet& set, CommonOptions& common) {
  set.action("-K --show_keys --show-keys", "Show security keys in the output.", [&common] { common.keys = Keys::shown; });
}

std::uint64_t parse_key(const CommonOptions& common, const std::string& text, std::string_view prompt, std::string complaint, bool diags) {
  const auto number = [diags](const std::string& digits) -> std::optional<std::uint64_t> {
    if (!diags) return parse_number(digits);
    char* end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(digits.c_str(), &end, 0);
    if (errno != 0 || *end != '\0') return std::nullopt;  // no digits are 0, as strtoull has it
    return value;
  };
  if (const auto key = number(text)) return *key;
  if (const auto key = number(read_unseen(*common.world, prompt))) return *key;
  if (diags) throw DiagsFailure(std::move(complaint));
  throw OptionError(std::move(complaint));
}

void add_key(OptionSet& set, const CommonOptions& common, std::string_view spelling, std::uint64_t& key, std::string_view metavar,
             std::string_view help) {
  const std::string complaint = fmt::format("{}: not an unsigned integer of 64 bits", display_name(spelling));
  set.value(spelling, metavar, help, [&common, &key, complaint, prompt = std::string(metavar)](const std::string& text) {
    key = parse_key(common, text, prompt, complaint);
  });
}

void add_node_name_map(OptionSet& set, CommonOptions& common) {
  set.text("--node-name-map", common.node_name_map, "FILE", "Node name map: lines of GUID and \"name\".");
}

void add_outstanding_smps(OptionSet& set, CommonOptions& common) {
  const auto read = [&common, diags = set.is_diags()](const std::string& text) {
    if (!diags) {
      common.outstanding_smps = parse_within<unsigned>(text, "--outstanding_smps", {1, most_outstanding_smps});
    } else if (const std::uint64_t smps = c_number(text); smps != 0) {
      common.outstanding_smps = static_cast<unsigned>(std::min<std::uint64_t>(smps, most_outstanding_smps));
    }
  };
  set.value("-o --outstanding_smps --outstanding-smps", "N", "How many SMPs may be outstanding at once.", read);
}

void add_common(OptionSet& set, CommonOptions& common, unsigned groups) {
  set.begin_common();
  if ((groups & group_device) != 0) add_device(set, common);
  if ((groups & group_output) != 0) add_output(set, common);
  if ((groups & group_keys) != 0) add_keys(set, common);
  if ((groups & group_names) != 0) {
    set.flag("--int-names", common.int_names, "Use internal names for all the fields instead of libib compatible names.");
    add_node_name_map(set, common);
  }
  if ((groups & group_sa) != 0) {
    set.flag("--sa", common.use_sa, "Instead of issuing SMPs, use corresponding record queries to the SA.");
    set.value("--sa-path", "SA_PATH", "Specify the path to the SA, implies --sa.", [&common](const std::string& text) {
      common.sa_path = text;
      common.use_sa = true;
    });
  }
  if ((groups & group_sl) != 0)
    set.flag("--skip-sl", common.skip_sl, "Use SL 0 for GMPs, and request no path from the subnet administrator.");
  if ((groups & group_from) != 0) set.text("--from", common.from, "FILE", "Send nothing: answer from this file of a fabric.");
  if ((groups & group_timing) != 0) add_timing(set, common);
  if ((groups & group_gmp) != 0) add_gmp(set, common);
  if ((groups & group_address) != 0) add_address(set, common);
}

void apply_default_config(CommonOptions& common) { apply_config_if_any(default_ibdiag_conf, ConfReader::ibtool, common); }

void add_general(OptionSet& set, CommonOptions& common, bool changes) {
  set.begin_common();
  if (changes) set.flag("--dry-run --dry_run", common.dry_run, "Read and check all, print each Set that would be sent, and send none.");
  set.value("-z --config", "CONFIG", fmt::format("Configuration file to read besides {}.", default_ibdiag_conf),
            [&common](const std::string& file) {
              try {
                apply_config(IbdiagConf::read(file, ConfReader::ibtool), file, ConfReader::ibtool, common);
              } catch (const SysError& error) {  // it must exist
                throw OptionError(fmt::format("--config: {}", error.message()));
              }
            });
  set.make_early();
  set.flag("-h --help", common.help, "show this help message and exit");
  set.make_early();
  set.flag("-V --version", common.version, "Show the version and exit.");
  set.make_early();
}

void add_diags_common(OptionSet& set, CommonOptions& common) {
  set.begin_common();
  set.value("-z --config", "FILE", fmt::format("Read further defaults, besides {}.", default_ibdiag_conf),
            [&common](const std::string& file) { apply_config_if_any(file, ConfReader::diags, common); });
  add_device(set, common);
  add_address(set, common);
  add_timing(set, common);
  set.value("-s --sm_port", "LID", "The LID of the subnet manager.",
            [&common](const std::string& text) { common.sm_lid = diags_sm_lid(text); });
  add_keys(set, common);
  add_output(set, common);
  set.action("-h --help", "Print this.", [] { throw DiagsUsage(); });
  set.action("-V --version", "Print the version of infiniband-diags that this stands in for.", [&set, &common] {
    throw DiagsExit(0, fmt::format("{} BUILD VERSION: {}\n", set.program(), common.world->diags_release->version));
  });
}

CommonOptions diags_defaults() {
  constexpr std::chrono::milliseconds timeout{1000};  // libibmad: three tries of a second each
  CommonOptions common;
  common.address = path::Form::lid;
  common.timeout = timeout;
  common.retries = 2;
  common.pkey_index = 0;
  common.sm_key = 0;
  return common;
}

void read_diags_line(OptionSet& set, CommonOptions& common, std::span<char* const> words) {
  if (!set.is_script() && !set.is_perl()) add_diags_common(set, common);
  if (!set.is_script()) apply_config_if_any(default_ibdiag_conf, ConfReader::diags, common);
  const std::vector<std::string> operands = set.parse_diags(words, common.world->err);
  set.bind_diags(operands, common.combined);
}

}  // namespace ib::tools
