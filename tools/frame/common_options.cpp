// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One table of the common options of both dialects, in the order in which help shows them. The legacy names read some values in their own
// way, and lack the options behind `if (set.is_diags()) return`.
#include "tools/frame/common_options.hpp"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <map>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "mad/channel/open.hpp"
#include "path/parse.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

constexpr unsigned most_retries = 255, most_outstanding_smps = 4096;
constexpr const char* default_ibdiag_conf = "/etc/infiniband-diags/ibdiag.conf";

/// The whole of `text` as C's strtoull() reads it: no digits are 0. Nothing if it does not read all.
std::optional<std::uint64_t> whole_c_number(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, 0);
  return errno == 0 && *end == '\0' ? std::optional(value) : std::nullopt;
}

/// Throws DiagsFailure with `complaint` unless `text` is a number within [low, high].
std::uint64_t diags_integer(const std::string& text, std::uint64_t low, std::uint64_t high, std::string complaint) {
  const std::optional<std::uint64_t> value = whole_c_number(text);
  if (text.empty() || !value || *value < low || *value > high) throw DiagsFailure(std::move(complaint));
  return *value;
}

std::chrono::milliseconds diags_timeout(const std::string& text) {
  return std::chrono::milliseconds(diags_integer(
      text, 1, INT_MAX, fmt::format("Invalid timeout \"{}\".  Timeout requires a positive integer value < {}.", text, INT_MAX)));
}

Lid diags_sm_lid(const std::string& text) {
  const auto value = static_cast<int>(std::strtol(text.c_str(), nullptr, 0));
  if (value < 1 || value > last_unicast_lid) throw DiagsFailure(fmt::format("cannot resolve SM destination port {}", text));
  return Lid{static_cast<std::uint16_t>(value)};
}

std::uint16_t diags_pkey_index(const std::string& text) {
  return static_cast<std::uint16_t>(diags_integer(
      text, 0, UINT16_MAX, fmt::format("Invalid P_Key index \"{}\".  Requires an integer in the range [0, {}].", text, UINT16_MAX)));
}

std::string not_a_key(std::string_view what) { return fmt::format("{}: not an unsigned integer of 64 bits", what); }

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
  set.value("-y --m_key --m-key", "M_KEY", "The M_Key of SMPs; anything but a number: read from the terminal.",
            [&common, diags](const std::string& text) {
              common.m_key =
                  diags ? parse_key(common, text, "M_Key", "Bad M_Key", true) : parse_key(common, text, "M_KEY", not_a_key("--m_key"));
            });
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

/// Takes over NAME=VALUE of `file`. Throws UsageError for a mistake, whose message has no key.
void apply_setting(CommonOptions& common, const std::string& file, std::string_view name, const std::string& text, bool diags) {
  const std::uint64_t number = c_number(text);
  const bool is_number = parse_number(text).has_value(), is_true = text.starts_with("TRUE") || text.starts_with("true");
  const auto require = [diags](bool is_right, std::string why) {
    if (!diags && !is_right) throw UsageError(std::move(why));
  };
  const auto require_within = [&](std::uint64_t low, std::uint64_t high) {
    require(is_number && number >= low && number <= high, fmt::format("{}: {} is not within {}…{}", name, in_quotes(text), low, high));
  };
  const bool is_m_key = name.starts_with("m_key"), is_sa_key = name.starts_with("sa_key");
  if (is_m_key || is_sa_key) require(is_number, not_a_key(name));
  if (name.starts_with("CA")) {
    common.device = text;
    if (!diags) common.device_file = file;
  } else if (name.starts_with("Port")) {
    require_within(0, path::last_port);
    if (diags) common.port = diags_port(common, static_cast<int>(number));
    if (!diags && number != 0) common.port = std::to_string(number), common.port_file = file;
  } else if (name.starts_with("timeout")) {
    require_within(1, INT_MAX);
    if (number != 0) common.timeout = std::chrono::milliseconds(std::min<std::uint64_t>(number, INT_MAX));
  } else if (name.starts_with("MLX_EPI")) {
    require(is_true || text == "FALSE" || text == "false", fmt::format("{}: {} is not TRUE or FALSE", name, in_quotes(text)));
    common.mlnx_extended_port_info = is_true;
  } else if (is_m_key) {
    common.m_key = number;
  } else if (is_sa_key) {
    if (!diags || common.sends_sa_key) common.sm_key = number;
  } else if (!name.starts_with("nd_format")) {  // which nothing prints
    throw UsageError(fmt::format("no option is called {}", in_quotes(name)));
  }
}

/// Applies the settings of `file`. ibtool's dialect warns of its mistakes. Throws SysError if it cannot be read, and UsageError if it is
/// not a regular file or is longer than 1 MiB.
void read_config(CommonOptions& common, const std::string& file, Dialect dialect) {
  constexpr std::size_t longest = std::size_t{1} << 20;
  for (const std::string& mistake : apply_config(common, read_regular_file(file, longest), file, dialect))
    if (dialect == Dialect::ibtool) common.world->log->warning(mistake);
}

/// As read_config(); a file that cannot be read sets nothing. The default file is optional, and so was the file of -z in infiniband-diags.
void read_config_if_any(CommonOptions& common, const std::string& file, Dialect dialect) {
  try {
    read_config(common, file, dialect);
  } catch (const SysError&) {
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

void offer_devices(OptionSet& set, const CommonOptions& common, bool ports) {
  set.offer([&common, ports] {
    std::vector<std::string> names;
    const sys::DeviceList list = common.world->devices();
    for (const auto& device : list.devices()) {
      if (!ports) names.push_back(device->name);
      for (const auto& port : device->ports)
        if (ports) names.push_back(port->name());
    }
    return names;
  });
}

void add_show_keys(OptionSet& set, CommonOptions& common) {
  set.action("-K --show_keys --show-keys", "Show security keys in the output.", [&common] { common.keys = Keys::shown; });
}

std::uint64_t parse_key(const CommonOptions& common, const std::string& text, std::string_view prompt, std::string complaint, bool diags) {
  const auto number = [diags](const std::string& digits) { return diags ? whole_c_number(digits) : parse_number(digits); };
  if (const auto key = number(text)) return *key;
  if (const auto key = number(read_unseen(*common.world, prompt))) return *key;
  if (diags) throw DiagsFailure(std::move(complaint));
  throw OptionError(std::move(complaint));
}

void add_key(OptionSet& set, const CommonOptions& common, std::string_view spelling, std::uint64_t& key, std::string_view metavar,
             std::string_view help) {
  const std::string complaint = not_a_key(display_name(spelling));
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

std::vector<std::string> apply_config(CommonOptions& common, std::string_view content, const std::string& file, Dialect dialect) {
  const bool diags = dialect == Dialect::diags;
  std::vector<std::string> mistakes;
  std::size_t number = 0;
  for (const std::string_view line : split(content, "\n")) {
    ++number;
    try {
      if (line.starts_with('#') || trim(line).empty()) continue;
      const auto equals = line.find('=');
      if (equals == std::string_view::npos) throw UsageError("not a line NAME=VALUE");
      const std::string_view name = line.substr(0, equals), value = line.substr(equals + 1);
      const std::string text(diags ? value : trim(value));
      if (text.empty()) throw UsageError(fmt::format("{} has no value", in_quotes(name)));
      apply_setting(common, file, name, text, diags);
    } catch (const UsageError& mistake) {
      mistakes.push_back(fmt::format("{}:{}: {}", file, number, mistake.message()));
    }
  }
  return mistakes;
}

void apply_default_config(CommonOptions& common) { read_config_if_any(common, default_ibdiag_conf, Dialect::ibtool); }

void add_general(OptionSet& set, CommonOptions& common, bool changes) {
  set.begin_common();
  if (changes) set.flag("--dry-run --dry_run", common.dry_run, "Read and check all, print each Set that would be sent, and send none.");
  set.value("-z --config", "CONFIG", fmt::format("Configuration file to read besides {}.", default_ibdiag_conf),
            [&common](const std::string& file) {
              try {
                read_config(common, file, Dialect::ibtool);
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
            [&common](const std::string& file) { read_config_if_any(common, file, Dialect::diags); });
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
  if (!set.is_script()) read_config_if_any(common, default_ibdiag_conf, Dialect::diags);
  const std::vector<std::string> operands = set.parse_diags(words, common.world->err);
  set.bind_diags(operands, common.combined);
}

}  // namespace ib::tools
