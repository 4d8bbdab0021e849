// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// health: whether a fabric is all right, and if not, which cable to pull. The fabric is read, and its counters are read twice. The checks
// of lib/health examine the data. Their findings are printed by cable.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "mad/rpc/rpc.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/port_gate.hpp"
#include "tools/health/fetch.hpp"
#include "tools/health/report.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace health {
namespace {

constexpr std::size_t longest_thresholds = std::size_t{1} << 20;  // bytes

/// The checks in "link-slow,symbol-errors". Throws OptionError.
std::vector<const Check*> checks_in(std::string_view text, std::string_view option) {
  std::vector<const Check*> checks;
  for (const std::string_view word : split_list(text)) {
    const Check* check = find_check(word);
    if (check == nullptr) {
      std::vector<std::string_view> ids;
      for (const Check& known : all_checks()) ids.push_back(known.id);
      throw OptionError(fmt::format("option '{}': there is no check {}{}", option, in_quotes(word), did_you_mean(word, ids)));
    }
    checks.push_back(check);
  }
  if (checks.empty()) throw OptionError(fmt::format("option '{}': no check is named", option));
  return checks;
}

std::vector<std::string> check_ids() {
  std::vector<std::string> ids;
  for (const Check& check : all_checks()) ids.emplace_back(check.id);
  return ids;
}

class Health final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", wanted_.target);
    set.notes("TARGET is one node, which is looked at with its links; without it the whole fabric is.");
    set.value("--interval", "SECONDS", "Time between the two readings of counters: 10 by default, 0 for one reading.",
              [this](std::string_view text) { wanted_.interval = text == "0" ? 0 : parse_seconds(text, "--interval"); });
    set.text("--since", wanted_.since, "SNAPSHOT", "Use the counters in this snapshot as the first reading, and do not wait.");
    set.text("--baseline", wanted_.baseline, "FILE",
             "Compare with the fabric in this file: nodes, cables, speeds and settings. Its counters are the first reading, unless "
             "--interval or --since is given.");
    set.text("--nodes", nodes_, "FILE|LIST",
             "Look only at the links that packets between these hosts use: n[001-064],gpu7, or a file of such words.");
    set.value("--host-regex", "REGEX",
              "Which part of an adapter's description is the host's name: the first group, or the whole match. By default the first word.",
              [this](std::string_view text) { wanted_.host_names = HostNames(std::string(text)); });
    set.flag("--routes", wanted_.routes, "Read the forwarding tables too, and check that all packets arrive.");
    set.flag("--phy", wanted_.phy,
             "Check the physical layer of all links too: bit error ratios, modules, temperatures, fans; six MADs or more a port.");
    set.flag("--no-phy", omits_phy_, "Do not read why the ports with findings are down, their bit error ratios and modules.");
    set.one_of({"--phy", "--no-phy"});
    add_vs_keys(set, vs_keys_);
    set.value("--only", "CHECK[,CHECK...]", "Run only these checks.",
              [this](std::string_view text) { wanted_.selection.only = checks_in(text, "--only"); });
    set.offer(check_ids);
    set.value("--skip", "CHECK[,CHECK...]", "Leave these checks out.",
              [this](std::string_view text) { wanted_.selection.skip = checks_in(text, "--skip"); });
    set.offer(check_ids);
    set.text("--thresholds", thresholds_, "FILE", "Thresholds that replace the usual ones: lines NAME=NUMBER.");
    set.choice("--fail-on", fail_on_, {"error", "warning", "info"}, "Lowest level of findings that gives exit status 1 (warning).");
    set.choice("--port", {"local"}, "Only the end port of this host, and its link: no sweep, and eight MADs at most.",
               [this](const std::string&) { wanted_.is_local = true; });
    set.text("--state", wanted_.state, "FILE",
             "With --port local: keep the reading here, and use the one of the last run as the first one.");
    set.flag("--repeat", repeats_, "Repeat every --interval until Ctrl-C, and report what has changed since the round before.");
    set.number("--count", count_, "COUNT", "With --repeat: end after this many rounds.", {.low = 1});
    set.one_of({"--interval", "--since"});
    set.known_fabric(wanted_.baseline);
    set.known_fabric(wanted_.since);
    add_discovery(set, wanted_.discovery);
    add_table_options(set, common, table_, keys_of(finding_columns()));
    for (const char* other : {"--columns", "--sort", "--top"}) set.one_of({"--repeat", other});
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override { return repeats_ ? "readings.findings" : "findings"; }

  bool reports_down_port() const override { return true; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (thresholds_) read_thresholds(read_regular_file(*thresholds_, longest_thresholds), *thresholds_, wanted_.thresholds);
    if (nodes_ && wanted_.target.given()) throw UsageError("TARGET and --nodes exclude each other");
    if (nodes_) wanted_.hosts = read_hosts(*nodes_);
    check_local();
    check_repeat();
    table_.refuse_for_json(session.host().options().format, "findings", "the whole report");
    table_of<FindingLine>(finding_columns(), table_);
    wanted_.explains = !omits_phy_;
    wanted_.vs_keys = read_vs_keys(session.host(), vs_keys_);
    if (fail_on_) wanted_.fail_on = *find_level(*fail_on_);
    if (wanted_.is_local) wanted_.selection = local_selection(wanted_.selection);
    if (repeats_) {
      co_await run_fabric(session, emit);
      co_return;
    }
    bool is_down = !wanted_.discovery.load_cache && session.stack().is_port_down();
    try {
      if (!is_down && wanted_.is_local) co_await run_local(session, emit);
      if (!is_down && !wanted_.is_local) co_await run_fabric(session, emit);
    } catch (const PortDown&) {
      is_down = true;
    }
    if (!is_down) co_return;
    const DownPort down = examine_down_port(session.stack(), wanted_);
    HealthReport(session.stack(), wanted_, down).emit(emit, table_);
  }

 private:
  async::Task<> run_fabric(Session& session, Emit& emit) {
    StoredBaseline baseline(wanted_.baseline, session.manners().node_name_map());
    if (wanted_.selection.has(*find_check("changed"))) co_await baseline.read_tables();
    if (!wanted_.since && !wanted_.interval && baseline.is_first_reading(session.host())) wanted_.since = wanted_.baseline;
    if (repeats_) {
      co_await watch(session, emit, wanted_, baseline, {wanted_.interval.value_or(usual_interval), count_});
      co_return;
    }
    Fabric fabric;
    co_await discover(session, wanted_.discovery, fabric);
    const Scope scope = co_await find_scope(session.stack(), fabric, wanted_);
    Input input(fabric.subnet, fabric.failures, wanted_.thresholds);
    if (const auto* compared = baseline.compare(fabric.subnet)) input.compare_with(*compared);
    const Diagnosis diagnosis = co_await diagnose(session.stack(), fabric, wanted_, scope, input);
    HealthReport(session.host(), fabric, baseline.fabric(), wanted_, diagnosis, scope, &input.phy).emit(emit, table_);
  }

  async::Task<> run_local(Session& session, Emit& emit) {
    session.stack().require_fabric("--port local");
    if (session.host().end_port().number == 0)
      throw UsageError(fmt::format("--port local looks at the link of an adapter, and {} is port 0 of a switch: name the switch instead",
                                   session.host().end_port().name()));
    Fabric fabric;
    co_await read_own_link(session, fabric);
    const bool has_room = session.stack().stats()->sent() + mads_of_counters <= most_mads;
    const Scope scope = own_port(fabric.subnet);
    Input input(fabric.subnet, fabric.failures, wanted_.thresholds);
    EarlierRounds earlier{.counters = CounterReadings(CounterReadings::Cost::least)};
    counters::CounterHistory& history = earlier.counters.history();
    const std::string why = wanted_.state ? load_state(*wanted_.state, fabric.subnet, session.stack().loop(), history) : std::string();
    if (!why.empty()) session.host().log().warning(fmt::format("{} cannot begin a window: {}", in_quotes(*wanted_.state), why));
    EarlierRounds* const kept = wanted_.state ? &earlier : nullptr;
    Diagnosis diagnosis;
    if (has_room) {
      diagnosis = co_await diagnose(session.stack(), fabric, wanted_, scope, input, kept);
    } else {
      for (const Source source : {Source::counters, Source::window})
        input.not_read(source, "the other end did not answer some requests, which used up the eight MADs");
      diagnosis = examine(input, wanted_.selection);
    }
    HealthReport(session.host(), fabric, nullptr, wanted_, diagnosis).emit(emit, table_);
    if (wanted_.state) save_state(*wanted_.state, fabric.subnet, session.stack().loop(), history);
  }

  void check_local() const {
    if (wanted_.state && !wanted_.is_local) throw UsageError("--state needs --port local");
    if (!wanted_.is_local) return;
    if (wanted_.target.given() || nodes_ || wanted_.baseline || wanted_.since || wanted_.phy || vs_keys_ || repeats_)
      throw UsageError(
          "--port local looks at this host's link only: it excludes TARGET, --nodes, --baseline, --since, --phy, --vskey and --repeat");
    if (wanted_.state && wanted_.interval) throw UsageError("--state takes the first reading from its file: it excludes --interval");
  }

  void check_repeat() const {
    if (count_ && !repeats_) throw UsageError("--count, of rounds, needs --repeat");
    if (!repeats_) return;
    if (table_.given()) throw UsageError("--repeat reports what has changed, and no table of columns");
    if (wanted_.since) throw UsageError("--repeat compares each round with the one before: it excludes --since");
    if (wanted_.interval == 0.0) throw UsageError("--repeat needs an --interval of more than 0");
  }
  HealthRequest wanted_;
  std::optional<std::string> thresholds_, fail_on_, nodes_, vs_keys_;
  bool repeats_{}, omits_phy_{};
  TableOptions table_;
  std::optional<std::uint64_t> count_;
};

}  // namespace

Exit HealthReport::status() const {
  if (diagnosis_.any_from(wanted_.fail_on)) return Exit::findings;
  return diagnosis_.any_not_read() ? Exit::incomplete : FabricReport::status();
}

Verdict HealthReport::verdict() const {
  const Exit of = status();
  return of == Exit::findings ? Verdict::findings : of == Exit::ok ? Verdict::healthy : Verdict::unknown;
}

}  // namespace health

constinit const CommandInfo rooms::health{
    .name = "health",
    .group = HelpGroup::topology,
    .summary = "Report whether the fabric is healthy, and if not, which cable to pull.",
    .make = make_command<health::Health>,
};

}  // namespace ib::tools
