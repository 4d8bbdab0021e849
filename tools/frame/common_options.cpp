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
#include <limits>

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

std::chrono::milliseconds parse_timeout(std::string_view text) {
  return std::chrono::milliseconds(parse_integer(text, "--timeout", 1, std::numeric_limits<int>::max()));
}

void set_json(CommonOptions& common, std::string_view form) {
  if (form == "lines") {
    common.format = Format::lines;
  } else if (form == "document") {
    common.format = Format::json;
  } else {
    throw OptionError(fmt::format("--json: '{}' is not 'document' or 'lines'", form));
  }
}

[[noreturn]] void bad_value(std::string text) { throw DiagsFailure(std::move(text)); }

std::chrono::milliseconds diags_timeout(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (errno != 0 || *end != '\0' || value <= 0 || value > INT_MAX)
    bad_value(fmt::format("Invalid timeout \"{}\".  Timeout requires a positive integer value < {}.", text, INT_MAX));
  return std::chrono::milliseconds(value);
}

Lid diags_sm_lid(const std::string& text) {
  const auto value = static_cast<int>(std::strtol(text.c_str(), nullptr, 0));
  if (value < 1 || value > last_unicast_lid) bad_value(fmt::format("cannot resolve SM destination port {}", text));
  return Lid{static_cast<std::uint16_t>(value)};
}

std::uint16_t diags_pkey_index(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (errno != 0 || end == text.c_str() || *end != '\0' || value < 0 || value > UINT16_MAX)
    bad_value(fmt::format("Invalid P_Key index \"{}\".  Requires an integer in the range [0, {}].", text, UINT16_MAX));
  return static_cast<std::uint16_t>(value);
}

/// The port number 0 means the first usable port in infiniband-diags, and in some of its releases each number below does.
std::optional<std::string> diags_port(const CommonOptions& common, int number) {
  const bool is_any = number == 0 || (number < 0 && common.world->diags_release->opens_negative_ports);
  return is_any ? std::nullopt : std::optional(std::to_string(number));
}

/// The RDMA devices for shells that complete a word; none where they cannot be read.
sys::DeviceList devices_of(const World& world) {
  try {
    return world.devices();
  } catch (const Error&) {
    return {};
  }
}

void add_device(OptionSet& set, CommonOptions& common) {
  const bool diags = set.is_diags();
  set.value("-C --Ca --ca", "CA", diags ? "The RDMA device to use." : "The RDMA device to use: its name or node GUID.",
            [&common](const std::string& text) {
              common.device = text;
              common.device_file.clear();
            });
  offer_device(set, common);
  set.value("-P --Port --port", "PORT",
            diags ? "The port of the device to use." : "The end port to use: its number, DEVICE/PORT, GID or port GUID.",
            [&common, diags](const std::string& text) {
              common.port = diags ? diags_port(common, static_cast<int>(c_number(text))) : text;
              common.port_file.clear();
            });
  offer_end_port(set, common);
}

void add_output(OptionSet& set, CommonOptions& common) {
  set.action("-d --debug", "Increase the debug level, each -d increases by 1.", [&common, diags = set.is_diags()] {
    ++common.debug;
    if (diags) common.show_errors = true;
  });
  set.count({"-v --verbosity --verbose", "-v --verbose"}, common.verbosity,
            "Increase the verbosity level of diagnostic messages, each -v increases by 1.");
  set.flag("-e --errors", common.show_errors, "Show every send and receive error, also those that a retry fixes.");
  if (set.is_diags()) return;
  set.optional_value("--json", "FORM", "Print JSON instead of text: one document, or one object a line with --json=lines.",
                     [&common](std::string_view form) { set_json(common, form.empty() ? "document" : form); });
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
              [&common](const std::string& text) { common.m_key = diags_key(common, text, "M_Key", "Bad M_Key"); });
  } else {
    set.key(m_key_spelling, common.m_key, "M_KEY", m_key_help);
  }
  // Debian's has no -Y. A long name would make abbreviations of others ambiguous.
  set.value({"-Y --pkey-idx", "-Y"}, "INDEX", "P_Key table index for outgoing GMPs.", [&common, diags](const std::string& text) {
    common.pkey_index = diags ? diags_pkey_index(text) : parse_within<std::uint16_t>(text, "--pkey-idx", {});
  });
  add_show_keys(set, common);
  if (diags) return;
  set.key("--smkey", common.sm_key, "SMKEY", "The SM_Key of requests to the SA; anything but a number: read from the terminal.");
}

void add_timing(OptionSet& set, CommonOptions& common) {
  const bool diags = set.is_diags();
  set.value("-t --timeout", "MS",
            diags ? "Time for one try of a MAD, in milliseconds."
                  : "Time for one try of a MAD, in milliseconds; the default follows from the subnet's timeouts.",
            [&common, diags](const std::string& text) { common.timeout = diags ? diags_timeout(text) : parse_timeout(text); });
  if (diags) return;
  set.number("--retries", common.retries, "N", "Tries after the first before a MAD counts as lost.", {0, most_retries});
  add_outstanding_smps(set, common);
}

void set_gmp_carrier(CommonOptions& common, std::string_view name) {
  using enum mad::GmpCarrier;
  for (const auto& [known, carrier] : {std::pair{"auto", automatic}, {"umad", umad}, {"verbs", verbs}}) {
    if (name != known) continue;
    common.gmp = carrier;
    return;
  }
  throw OptionError(fmt::format("--gmp: {} is not 'auto', 'umad' or 'verbs'", in_quotes(name)));
}

void add_gmp(OptionSet& set, CommonOptions& common) {
  set.value("--gmp", "CARRIER", "Send GMPs by umad, by verbs, or (auto, the default) by verbs only where umad cannot be opened.",
            [&common](std::string_view name) { set_gmp_carrier(common, name); });
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

/// Applies the settings of `file`, and warns of its mistakes.
void apply_config(const IbdiagConf& conf, const std::string& file, CommonOptions& common) {
  for (const ConfMistake& mistake : conf.mistakes) common.world->log->warning(fmt::format("{}:{}: {}", file, mistake.line, mistake.text));
  if (conf.device) {
    common.device = conf.device;
    common.device_file = file;
  }
  if (conf.port && *conf.port != 0) {
    common.port = std::to_string(*conf.port);
    common.port_file = file;
  }
  if (conf.timeout) common.timeout = conf.timeout;
  if (conf.m_key) common.m_key = *conf.m_key;
  if (conf.sa_key) common.sm_key = *conf.sa_key;
  if (conf.mlnx_extended_port_info) common.mlnx_extended_port_info = *conf.mlnx_extended_port_info;
  if (conf.node_description_format) common.node_description_format = *conf.node_description_format;
}

/// Applies the settings of `file`, if it is there, as infiniband-diags does.
void apply_diags_config(const std::string& file, CommonOptions& common) {
  const IbdiagConf conf = IbdiagConf::read_if_any(file, ConfReader::diags);
  if (conf.device) common.device = conf.device;
  if (conf.port) common.port = diags_port(common, static_cast<int>(*conf.port));
  if (conf.timeout && conf.timeout->count() > 0) common.timeout = std::min(*conf.timeout, std::chrono::milliseconds(INT_MAX));
  if (conf.mlnx_extended_port_info) common.mlnx_extended_port_info = *conf.mlnx_extended_port_info;
  if (conf.m_key) common.m_key = *conf.m_key;
  if (conf.sa_key && common.sends_sa_key) common.sm_key = *conf.sa_key;
  if (conf.node_description_format) common.node_description_format = *conf.node_description_format;
}

/// Reads the file of -z, which must exist.
void read_config(const std::string& file, CommonOptions& common) {
  try {
    apply_config(IbdiagConf::read(file, ConfReader::ibtool), file, common);
  } catch (const SysError& error) {
    throw OptionError(fmt::format("--config: {}", error.message()));
  }
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

std::optional<std::uint64_t> prompt_for_key(const World& world, std::string_view prompt) {
  return parse_number(read_unseen(world, prompt));
}

void offer_device(OptionSet& set, const CommonOptions& common) {
  set.offer([&common] {
    const sys::DeviceList list = devices_of(*common.world);
    std::vector<std::string> names;
    for (const auto& device : list.devices()) names.push_back(device->name);
    return names;
  });
}

void offer_end_port(OptionSet& set, const CommonOptions& common) {
  set.offer([&common] {
    const sys::DeviceList list = devices_of(*common.world);
    std::vector<std::string> names;
    for (const auto& device : list.devices())
      for (const auto& port : device->ports) names.push_back(port->name());
    return names;
  });
}

void add_show_keys(OptionSet& set, CommonOptions& common) {
  set.action("-K --show_keys --show-keys", "Show security keys in the output.", [&common] { common.keys = Keys::shown; });
}

std::uint64_t parse_m_key(const CommonOptions& common, std::string_view text, std::string_view prompt) {
  if (const auto key = parse_number(text)) return *key;
  if (const auto key = prompt_for_key(*common.world, prompt)) return *key;
  throw OptionError(fmt::format("Bad {}", prompt));  // the value is not repeated: it is a secret
}

std::uint64_t diags_key(const CommonOptions& common, const std::string& text, std::string_view prompt, std::string_view complaint) {
  const auto number = [](const std::string& digits) -> std::optional<std::uint64_t> {
    char* end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(digits.c_str(), &end, 0);
    if (errno != 0 || *end != '\0') return std::nullopt;  // no digits are 0, as strtoull has it
    return value;
  };
  if (const auto key = number(text)) return *key;
  if (const auto key = number(read_unseen(*common.world, prompt))) return *key;
  throw DiagsFailure(std::string(complaint));
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

void apply_default_config(CommonOptions& common) {
  apply_config(IbdiagConf::read_if_any(default_ibdiag_conf, ConfReader::ibtool), default_ibdiag_conf, common);
}

void add_dry_run(OptionSet& set, CommonOptions& common) {
  set.begin_common();
  set.flag("--dry-run --dry_run", common.dry_run, "Read and check all, print each Set that would be sent, and send none.");
}

void add_general(OptionSet& set, CommonOptions& common) {
  set.begin_common();
  set.value("-z --config", "CONFIG", fmt::format("Configuration file to read besides {}.", default_ibdiag_conf),
            [&common](const std::string& file) { read_config(file, common); });
  set.make_early();
  set.flag("-h --help", common.help, "show this help message and exit");
  set.make_early();
  set.flag("-V --version", common.version, "Show the version and exit.");
  set.make_early();
}

void add_diags_common(OptionSet& set, CommonOptions& common) {
  set.begin_common();
  set.value("-z --config", "FILE", fmt::format("Read further defaults, besides {}.", default_ibdiag_conf),
            [&common](const std::string& file) { apply_diags_config(file, common); });
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
  if (!set.is_script()) apply_diags_config(default_ibdiag_conf, common);
  const std::vector<std::string> operands = set.parse_diags(words, common.world->err);
  set.bind_diags(operands, common.combined);
}

}  // namespace ib::tools
