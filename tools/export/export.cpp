// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// export: what snapshots hold, in a format of others.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "metrics/fabric.hpp"
#include "metrics/families.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/shared/sample_labels.hpp"

namespace ib::tools {
namespace {

/// The content of a snapshot as an exporter would have read it, and the name of the file.
struct StoredView {
  std::string file;
  metrics::View view;  ///< its reading has the time at which the snapshot ended
};

/// Reads a snapshot. Throws UsageError for a file that is not a snapshot, or has no counters.
async::Task<StoredView> read_snapshot(async::Loop& loop, std::string file, const metrics::Exported& exported, subnet::NodeNameMap names) {
  const std::unique_ptr<snapshot::StoredFabric> stored = snapshot::open_fabric(file);
  if (const std::string why = stored->why_without("counters", "counters"); !why.empty()) throw UsageError(why);
  const std::optional<std::int64_t> ended = stored->ended();
  if (!ended) throw UsageError(fmt::format("{} does not say when it was taken", in_quotes(file)));
  snapshot::SnapshotTransactor transactor(*stored);
  auto fabric = std::make_shared<metrics::SweptFabric>();
  static_cast<subnet::SweptSubnet&>(*fabric) = stored->read_fabric(&stored->end_port());
  fabric->names = std::move(names);
  fabric->list_devices();
  auto states = std::make_shared<const metrics::PortStates>(fabric->subnet);
  counters::KnownPmas pmas;
  metrics::CounterRound round(loop, fabric, states, exported.hcas, exported.details, pmas);
  subnet::SurveyOptions options(path::IbDrPath(&stored->end_port()));
  counters::ReadingPlan plan = round.plan();
  std::vector<subnet::NodeIndex> nodes = round.nodes();
  co_await counters::read_pmas(transactor, fabric->subnet, std::move(nodes), std::move(plan), std::move(options));
  std::shared_ptr<metrics::Reading> reading = round.take();
  reading->time = fabric->time = metrics::WallTime{std::chrono::milliseconds(*ended)};
  StoredView result;
  result.file = std::move(file);
  result.view.reading = std::move(reading);
  result.view.states = std::move(states);
  co_return result;
}

class Export final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.operand("FORMAT", [](std::string_view word) {
      if (word != "openmetrics") throw OptionError(fmt::format("FORMAT: {} is not openmetrics", in_quotes(word)));
    });
    set.offer({"openmetrics"});
    set.words("SNAPSHOT", files_);
    set.flag("--timestamps", timestamps_, "Give each sample the time of its snapshot: needed for several.");
    set.choice("--names", names_, {"treydock", "guilbaults"}, "Names of the metrics: those of ibtool exporter --names (treydock).");
    set.flag("--hcas", exported_.hcas, "Export channel adapters too.");
    set.flag("--details", exported_.details, "Export details of receive errors too.");
    add_labels(set, labels_);
    add_common(set, common, group_names | group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (files_.size() > 1 && !timestamps_) throw UsageError("The samples of several snapshots need --timestamps");
    if (names_ == "guilbaults") exported_.names = metrics::Names::guilbaults;
    std::vector<StoredView> stored;
    for (const std::string& file : files_) {
      subnet::NodeNameMap names = session.manners().node_name_map();
      StoredView one = co_await read_snapshot(session.stack().loop(), file, exported_, std::move(names));
      stored.push_back(std::move(one));
    }
    const auto time = [](const StoredView& one) { return one.view.reading->time; };
    std::ranges::sort(stored, {}, time);
    const auto same = std::ranges::adjacent_find(stored, {}, time);
    if (same != stored.end())  // a series has one sample a time
      throw UsageError(fmt::format("{} and {} are of the same time", in_quotes(same->file), in_quotes(std::next(same)->file)));
    SamplesReport report;
    std::vector<metrics::View> views;
    for (const StoredView& one : stored) {
      views.push_back(one.view);
      report.add(*one.view.reading);
    }
    if (!emit.json())
      metrics::write_history(views, exported_, metrics::constant_labels(labels_), timestamps_,
                             [&emit](std::string_view text) { emit.text().write(text); });
    emit(report);
  }

 private:
  std::vector<std::string> files_;
  std::optional<std::string> names_;
  metrics::Exported exported_;
  metrics::Labels labels_;
  bool timestamps_{};
};

}  // namespace

constinit const CommandInfo rooms::export_{
    .name = "export",
    .group = HelpGroup::counters,
    .summary = "Write what snapshots hold in OpenMetrics, to make them history in Prometheus.",
    .make = make_command<Export>,
};

}  // namespace ib::tools
