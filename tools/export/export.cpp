// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// export: what snapshots hold, in a format of others.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "tools/export/history.hpp"
#include "tools/export/stored_view.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/sample_labels.hpp"

namespace ib::tools {
namespace history {
namespace {

/// The report of an export. Its text is in the chosen format.
struct ExportReport final : Report {
  void visit(report::Sink& sink) const override {
    sink.value("nodes_checked", nodes);
    sink.value("ports_checked", ports);
  }
  void text(TextOut& /*out*/) const override {}
  Exit status() const override { return is_whole ? Exit::ok : Exit::incomplete; }

  std::size_t nodes{}, ports{};
  bool is_whole = true;
};

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
    labels_.add_option(set);
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
    const std::vector<metrics::View> views = sorted(std::move(stored));
    if (!emit.json())
      write_history(views, exported_, labels_.text(), timestamps_, [&emit](std::string_view text) { emit.text().write(text); });
    const ExportReport report = report_on(views);
    emit(report);
    emit.raise(report.status());
  }

 private:
  /// The views, sorted by time. Throws UsageError if two of them have the same time: a series has one sample a time.
  static std::vector<metrics::View> sorted(std::vector<StoredView> stored) {
    const auto time = [](const StoredView& one) { return one.view.reading->time; };
    std::ranges::sort(stored, {}, time);
    const auto same = std::ranges::adjacent_find(stored, {}, time);
    if (same != stored.end())
      throw UsageError(fmt::format("{} and {} are of the same time", in_quotes(same->file), in_quotes(std::next(same)->file)));
    std::vector<metrics::View> views;
    for (StoredView& one : stored) views.push_back(std::move(one.view));
    return views;
  }

  static ExportReport report_on(const std::vector<metrics::View>& views) {
    ExportReport report;
    for (const metrics::View& view : views) {
      const metrics::Reading& reading = *view.reading;
      report.nodes += reading.switches.size() + reading.hcas.size();
      report.ports += reading.rows.size();
      report.is_whole &= reading.fabric->failures.empty() && std::ranges::none_of(reading.switches, metrics::has_failed) &&
                         std::ranges::none_of(reading.hcas, metrics::has_failed);
    }
    return report;
  }

  std::vector<std::string> files_;
  std::optional<std::string> names_;
  metrics::Exported exported_;
  SampleLabels labels_;
  bool timestamps_{};
};

}  // namespace
}  // namespace history

constinit const CommandInfo rooms::export_{
    .name = "export",
    .group = HelpGroup::counters,
    .summary = "Write what snapshots hold in OpenMetrics, to make them history in Prometheus.",
    .make = make_command<history::Export>,
};

}  // namespace ib::tools
