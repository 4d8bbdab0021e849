// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// health: whether a fabric is all right, and if not, which cable to pull. The fabric is read, its counters twice; the checks of lib/health
// look at that, and what they find is told by cable.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/nearest.hpp"
#include "subnet/find_port.hpp"
#include "tools/frame/commands.hpp"
#include "tools/health/fetch.hpp"
#include "tools/health/report.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {
namespace health {
namespace {

using ib::health::Check;

constexpr std::size_t longest_thresholds = std::size_t{1} << 20;  // bytes

/// The checks in "link-slow,symbol-errors". Throws OptionError.
std::vector<const Check*> checks_in(std::string_view text, std::string_view option) {
  std::vector<const Check*> checks;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const Check* check = ib::health::find_check(word);
    if (check == nullptr) {
      std::vector<std::string_view> ids;
      for (const Check& known : ib::health::all_checks()) ids.push_back(known.id);
      throw OptionError(fmt::format("option '{}': there is no check {}{}", option, quoted(word), did_you_mean(word, ids)));
    }
    checks.push_back(check);
  }
  if (checks.empty()) throw OptionError(fmt::format("option '{}': no check is named", option));
  return checks;
}

std::vector<std::string> check_ids() {
  std::vector<std::string> ids;
  for (const Check& check : ib::health::all_checks()) ids.emplace_back(check.id);
  return ids;
}

class Health final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", wanted_.target);
    set.notes("TARGET is one node, which is looked at with its links; without it the whole fabric is.");
    set.value("--interval", "SECONDS", "Time between the two readings of counters: 10 where nothing is said, 0 for one reading.",
              [this](std::string_view text) { wanted_.interval = text == "0" ? 0 : parse_seconds(text, "--interval"); });
    set.text("--since", wanted_.since, "SNAPSHOT", "Take the counters in this snapshot for the first reading, and wait for nothing.");
    set.flag("--routes", wanted_.routes, "Read the forwarding tables too, and look whether all packets arrive.");
    set.value("--only", "CHECK[,CHECK...]", "Run these checks alone.",
              [this](std::string_view text) { wanted_.selection.only = checks_in(text, "--only"); });
    set.offer(check_ids);
    set.value("--skip", "CHECK[,CHECK...]", "Leave these checks out.",
              [this](std::string_view text) { wanted_.selection.skip = checks_in(text, "--skip"); });
    set.offer(check_ids);
    set.text("--thresholds", thresholds_, "FILE", "Other thresholds than the usual ones: lines NAME=NUMBER.");
    set.choice("--fail-on", fail_on_, {"error", "warning", "info"}, "The least level of findings for which the exit status is 1: warning.");
    set.one_of({"--interval", "--since"});
    add_discovery(set, wanted_.discovery);
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override { return "findings"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (thresholds_) ib::health::read_thresholds(read_regular_file(*thresholds_, longest_thresholds), *thresholds_, wanted_.thresholds);
    if (fail_on_) wanted_.fail_on = *ib::health::find_level(*fail_on_);
    Fabric fabric;
    co_await discover(session, wanted_.discovery, fabric);
    const subnet::NodeIndex centre = centre_of(fabric);
    ib::health::Input input(fabric.subnet, fabric.failures, wanted_.thresholds);
    co_await read_sources(session, fabric, wanted_, centre, input);
    const ib::health::Diagnosis diagnosis = ib::health::examine(input, wanted_.selection, centre);
    emit(HealthReport(fabric, wanted_, diagnosis));
  }

 private:
  /// The node of TARGET in the fabric; none where there is no TARGET. A channel adapter forwards nothing, so that its neighbours are found
  /// by a sweep of the fabric alone.
  subnet::NodeIndex centre_of(const Fabric& fabric) const {
    return wanted_.target.given() ? fabric.subnet.port(subnet::get_port(fabric, *wanted_.target.path)).node : subnet::none;
  }

  Wanted wanted_;
  std::optional<std::string> thresholds_, fail_on_;
};

}  // namespace

Exit HealthReport::status() const {
  if (diagnosis_.any_from(wanted_.fail_on)) return Exit::findings;
  return diagnosis_.any_not_read() ? Exit::incomplete : FabricReport::status();
}

std::string_view HealthReport::verdict() const {
  const Exit of = status();
  return of == Exit::findings ? "findings" : of == Exit::ok ? "healthy" : "unknown";
}

std::size_t HealthReport::count(subnet::NodeKind kind) const {
  const auto is_of_kind = [kind](const subnet::Node& node) { return node.kind() == kind; };
  return static_cast<std::size_t>(std::ranges::count_if(fabric.subnet.nodes(), is_of_kind));
}

}  // namespace health

constinit const CommandInfo rooms::health{
    .name = "health",
    .group = HelpGroup::counters,
    .summary = "Tell whether the fabric is all right, and if not, which cable to pull.",
    .make = make_command<health::Health>,
};

}  // namespace ib::tools
