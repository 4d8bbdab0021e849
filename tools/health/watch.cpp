// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --repeat: the report of one round after another, for as long as the process runs. A round sweeps the fabric and reads its counters once;
// its window goes back to the round before, with whose model its own is compared. While the fabric is away, rounds are left out: the end
// port is closed and opened again until it is there.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "iba/text.hpp"
#include "report/sink.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"
#include "tools/health/fetch.hpp"
#include "tools/health/report.hpp"

namespace ib::tools::health {
namespace {

class Watch {
 public:
  /// All must outlive this. `stored` is the fabric of --baseline, if one is given.
  Watch(Session& session, Emit& emit, const HealthRequest& wanted, StoredBaseline& stored)
      : session_(session), emit_(emit), wanted_(wanted), stored_(stored) {}

  async::Task<> run(Interval interval) {
    const auto once = [this](Round of) { return round(std::move(of.time)); };
    if (emit_.json()) emit_.sink().begin_array("readings");
    co_await repeat(session_.stack(), interval, once);
    if (emit_.json()) emit_.sink().end_array();
  }

 private:
  async::Task<> round(std::string time) {
    std::optional<Error> error;
    try {
      async::Task<> looked = look(time);
      co_await std::move(looked);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& why) {
      error = why;
    }
    if (error) lose(*error);
  }

  async::Task<> look(const std::string& time) {
    if (std::exchange(is_closed_, false)) session_.host().reread();
    if (session_.stack().is_port_down()) {
      report_down_port(time);
      co_return;
    }
    co_await session_.targets().find_names();
    Fabric now;
    co_await discover(session_, wanted_.discovery, now);
    if (before_ && now.subnet.nodes().size() == 1) throw Error("nothing answers beyond the end port");
    earlier_.counters.keep_nodes_of(now.subnet);
    const Scope scope = co_await scope_of(now);
    Input input(now.subnet, now.failures, wanted_.thresholds);
    std::optional<Baseline> round_before;
    if (const auto* compared = stored_.compare(now.subnet)) {
      input.compare_with(*compared);
    } else if (before_) {
      input.compare_with(round_before.emplace(before_->subnet, subnet::changes(now.subnet, before_->subnet), tables_));
    }
    earlier_.model = before_ ? &before_->subnet : nullptr;
    const Diagnosis diagnosis = co_await diagnose(session_.stack(), now, wanted_, scope, input, &earlier_);
    if (!std::exchange(lost_, {}).empty()) session_.host().log().warning("the fabric can be reached again");
    const Fabric* before = stored_.fabric() != nullptr ? stored_.fabric() : before_ ? &*before_ : nullptr;
    emit_round(HealthReport(session_.host(), now, before, wanted_, diagnosis, scope, &input.phy), time);
    tables_ = tables_of(input);
    if (has_port_changed(now)) close();
    before_ = std::move(now);
    earlier_.phy = std::exchange(earlier_.phy_now, nullptr);
    target_ = target_now_;
  }

  void report_down_port(const std::string& time) {
    const DownPort down = examine_down_port(session_.stack(), wanted_);
    emit_round(HealthReport(session_.stack(), wanted_, down), time);
    lost_ = session_.stack().down_text();
    close();
  }

  /// TARGET is looked up in the first round. From then on it is the counterpart of the node of the round before.
  async::Task<Scope> scope_of(Fabric& now) {
    if (!wanted_.target.given()) {
      Scope scope = co_await find_scope(session_.stack(), now, wanted_);
      co_return scope;
    }
    if (!before_) {
      target_now_ = target_node(now, wanted_);
      co_return scope_around(now.subnet, target_now_);
    }
    const subnet::NodeIndex node = subnet::Counterparts(now.subnet, before_->subnet).node_now(target_);
    if (node == subnet::none) throw Error(fmt::format("the node {} is not in the fabric", to_text(before_->subnet.node(target_).guid())));
    target_now_ = node;
    co_return scope_around(now.subnet, node);
  }

  void emit_round(const HealthReport& report, const std::string& time) {
    if (emit_.json()) {
      report::Sink& sink = emit_.sink();
      report::announce(sink, [&](report::Sink& to) {
        to.value("time", time);
        report.visit_example(to);
      });
      sink.begin_object();
      sink.value("time", time);
      report.visit(sink);
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

  /// Logs why there is no round, once for each reason.
  void lose(const Error& error) {
    if (error.message() != lost_) session_.host().log().warning("the fabric cannot be reached, and is waited for: " + error.message());
    lost_ = error.message();
    close();
  }

  /// Whether the end port has another LID, or another subnet manager, than the open stack knows, or may be Active by now.
  bool has_port_changed(const Fabric& now) {
    const smp::PortInfo info = now.subnet.port(now.subnet.start).info();
    const std::pair lids{info.lid, info.master_sm_lid};
    const bool has_changed = port_lids_ && *port_lids_ != lids;
    port_lids_ = lids;
    return has_changed || !session_.host().end_port().is_active();  // sysfs as it was when the port was opened
  }

  /// Closes the end port. The next round opens it as it is then.
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
  std::optional<Fabric> before_;                  ///< of the last round that read the fabric
  subnet::NodeIndex target_ = subnet::none;       ///< the node of TARGET in before_: its LID may change
  subnet::NodeIndex target_now_ = subnet::none;   ///< in the fabric of this round
  std::optional<std::pair<Lid, Lid>> port_lids_;  ///< that the end port had then: its own, and that of the subnet manager
  bool is_closed_{};
  std::string lost_;  ///< why the fabric is away; empty: it is there
};

}  // namespace

async::Task<> watch(Session& session, Emit& emit, const HealthRequest& wanted, StoredBaseline& stored, Interval interval) {
  Watch watch(session, emit, wanted, stored);
  co_await watch.run(interval);
}

}  // namespace ib::tools::health
