// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// health: whether a fabric is all right, and if not, which cable to pull. The fabric is read, and its counters are read twice. The checks
// of lib/health examine the data. Their findings are printed by cable.
#include <fmt/format.h>
#include <unistd.h>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/health/fetch.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace health {
namespace {

constexpr std::size_t longest_thresholds = std::size_t{1} << 20;  // bytes

std::vector<std::string> check_ids() {
  std::vector<std::string> ids;
  for (const Check& check : all_checks()) ids.emplace_back(check.id);
  return ids;
}

/// The checks in "link-slow,symbol-errors". Throws OptionError.
std::vector<const Check*> checks_in(std::string_view text, std::string_view option) {
  std::vector<const Check*> checks;
  for (const std::string_view word : split_list(text)) {
    const Check* check = find_check(word);
    if (check == nullptr) {
      const std::vector<std::string> ids = check_ids();
      throw OptionError(fmt::format("option '{}': there is no check {}{}", option, in_quotes(word),
                                    did_you_mean(word, std::vector<std::string_view>(ids.begin(), ids.end()))));
    }
    checks.push_back(check);
  }
  if (checks.empty()) throw OptionError(fmt::format("option '{}': no check is named", option));
  return checks;
}

/// --repeat: the report of one round after another, for as long as the process runs. A round sweeps the fabric and reads its counters once;
/// its window goes back to the round before, with whose model its own is compared. While the fabric is away, rounds are left out: the end
/// port is closed and opened again until it is there.
class Watch {
 public:
  Watch(Session& session, Emit& emit, const HealthRequest& wanted, StoredBaseline& stored)
      : session_(session), emit_(emit), wanted_(wanted), stored_(stored) {}

  async::Task<> round(std::string time) {
    try {
      co_await look(time);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      if (error.message() != lost_) session_.host().log().warning("the fabric cannot be reached, and is waited for: " + error.message());
      lost_ = error.message();
      close();
    }
  }

 private:
  struct Swept : Fabric {
    NodeIndex target = subnet::none;  ///< the node of TARGET: its LID may change
  };

  async::Task<> look(const std::string& time) {
    if (std::exchange(is_closed_, false)) session_.host().reread();
    if (session_.stack().is_port_down()) {
      const DownPort down = examine_down_port(session_.stack(), wanted_);
      emit_round(HealthReport(session_.stack(), wanted_, down), time);
      lost_ = session_.stack().down_text();
      close();
      co_return;
    }
    co_await session_.targets().find_names();
    Fabric read = co_await discover(session_, wanted_.discovery);
    Swept now{std::move(read)};
    if (before_ && now.subnet.nodes().size() == 1) throw Error("nothing answers beyond the end port");
    earlier_.counters.keep_nodes_of(now.subnet);
    const Scope scope = co_await scope_of(now);
    Input input(now.subnet, now.failures, wanted_.thresholds, wanted_.host_names);
    std::optional<Baseline> round_before;
    if (const auto* compared = stored_.compare(now.subnet)) {
      input.compare_with(*compared);
    } else if (before_) {
      input.compare_with(round_before.emplace(before_->subnet, subnet::changes(now.subnet, before_->subnet), tables_));
    }
    earlier_.model = before_ ? &before_->subnet : nullptr;
    HealthRun run{session_.stack(), now, wanted_, scope, input, &earlier_};
    const Diagnosis diagnosis = co_await diagnose(run);
    if (!std::exchange(lost_, {}).empty()) session_.host().log().warning("the fabric can be reached again");
    const Fabric* before = stored_.fabric() != nullptr ? stored_.fabric() : before_ ? &*before_ : nullptr;
    emit_round(HealthReport(session_.host(), now, before, wanted_, diagnosis, &input.phy), time);
    tables_ = tables_of(input);
    if (has_port_changed(now)) close();
    before_ = std::move(now);
    earlier_.phy = std::exchange(earlier_.phy_now, nullptr);
  }

  /// TARGET is looked up in the first round. From then on it is the counterpart of the node of the round before.
  async::Task<Scope> scope_of(Swept& now) {
    if (!wanted_.target.given()) co_return co_await find_scope(session_.stack(), now, wanted_);
    now.target = before_ ? subnet::Counterparts(now.subnet, before_->subnet).node_now(before_->target) : target_node(now, wanted_);
    if (now.target == subnet::none)
      throw Error(fmt::format("the node {} is not in the fabric", to_text(before_->subnet.node(before_->target).guid())));
    co_return scope_around(now.subnet, now.target);
  }

  void emit_round(const HealthReport& report, const std::string& time) {
    if (emit_.json()) {
      report::Sink& sink = emit_.sink();
      const auto visit = [&](report::Sink& to) {
        to.value("time", time);
        report.visit(to);
      };
      report::announce(sink, visit);
      sink.begin_object();
      visit(sink);
      sink.end_object();
    } else {
      if (is_terminal(session_.host().world().out)) emit_.text().write("\033[H\033[2J");
      emit_.text().print("{}\n", time);
      report.text(emit_.text());
      emit_.text().write("\n");
    }
    emit_.raise(report.status());
    emit_.flush();  // at once
  }

  /// Whether the end port has another LID, or another subnet manager, than the open stack knows, or may be Active by now.
  bool has_port_changed(const Fabric& now) {
    const smp::PortInfo info = now.subnet.port(now.subnet.start).info();
    const std::pair lids{info.lid, info.master_sm_lid};
    const bool has_changed = port_lids_ && *port_lids_ != lids;
    port_lids_ = lids;
    return has_changed || !session_.host().end_port().is_active();  // sysfs as it was when the port was opened
  }

  void close() {
    session_.stack().close();
    is_closed_ = true;
  }

  Session& session_;
  Emit& emit_;
  const HealthRequest& wanted_;
  StoredBaseline& stored_;
  EarlierRounds earlier_;
  BaselineTables tables_;                         ///< of the last round
  std::optional<Swept> before_;                   ///< of the last round that read the fabric
  std::optional<std::pair<Lid, Lid>> port_lids_;  ///< that the end port had then: its own, and the subnet manager's
  bool is_closed_{};
  std::string lost_;  ///< why the fabric is away; empty: it is there
};

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
    set.choice("--fail-on", {"error", "warning", "info"}, "Lowest level of findings that gives exit status 1 (warning).",
               [this](const std::string& level) { wanted_.fail_on = *find_level(level); });
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
    report::Table<FindingLine>(finding_columns(), table_);
    wanted_.explains = !omits_phy_;
    wanted_.vs_keys = read_vs_keys(session.host(), vs_keys_);
    if (wanted_.is_local) wanted_.selection = local_selection(wanted_.selection);
    if (repeats_) {
      co_await run_fabric(session, emit);
      co_return;
    }
    bool is_down = !wanted_.discovery.load_cache && session.stack().is_port_down();
    try {
      if (!is_down && wanted_.is_local) co_await run_local(session, emit, wanted_, table_);
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
      Watch watch(session, emit, wanted_, baseline);
      const Interval interval{wanted_.interval.value_or(usual_interval), count_};
      const auto once = [&watch](Round of) { return watch.round(std::move(of.time)); };
      co_await repeat(session.stack(), emit, interval, once);
      co_return;
    }
    Fabric fabric = co_await discover(session, wanted_.discovery);
    const Scope scope = co_await find_scope(session.stack(), fabric, wanted_);
    Input input(fabric.subnet, fabric.failures, wanted_.thresholds, wanted_.host_names);
    if (const auto* compared = baseline.compare(fabric.subnet)) input.compare_with(*compared);
    HealthRun run{session.stack(), fabric, wanted_, scope, input};
    const Diagnosis diagnosis = co_await diagnose(run);
    HealthReport(session.host(), fabric, baseline.fabric(), wanted_, diagnosis, &input.phy).emit(emit, table_);
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
  std::optional<std::string> thresholds_, nodes_, vs_keys_;
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
