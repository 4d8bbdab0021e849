// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What health prints: the verdict, findings from the worst on, and what was not checked.
#pragma once

#include <string>
#include <string_view>

#include "health/diagnosis.hpp"
#include "health/finding_text.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/frame/world.hpp"
#include "tools/health/fetch.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools::health {

class Lines;
class HealthReport;

struct FindingLine {
  const HealthReport* report;
  const Finding* finding;
};
/// The columns of a finding, which are those of JSON.
std::span<const report::Column<FindingLine>> finding_columns();

class HealthReport final : public FabricReport {
 public:
  /// `before`: the baseline; `registers`: what was read of the physical layer; both may be null. The first line counts what is in `scope`.
  /// All must outlive this.
  HealthReport(const Host& host, const Fabric& of, const Fabric* before, const HealthRequest& wanted, const Diagnosis& found,
               Scope scope = {}, const phy::Table* registers = nullptr)
      : FabricReport(of),
        before_(before),
        wanted_(wanted),
        diagnosis_(found),
        scope_(std::move(scope)),
        phy_(registers),
        out_(host.world().out),
        terminal_(terminal_of(host.world())),
        is_verbose_(host.options().verbosity > 0) {}
  /// The report of an own port that is Down: `first_line` says so, and nothing is counted.
  HealthReport(Stack& stack, const HealthRequest& wanted, const DownPort& down)
      : HealthReport(stack.host(), down.own, down.former.fabric(), wanted, down.diagnosis) {
    first_line_ = stack.down_text();
    is_verbose_ = true;
  }

  void visit(report::Sink& sink) const override;
  /// Writes the members that a report with a finding has, for their names.
  void visit_example(report::Sink& sink) const;
  void text(TextOut& out) const override;
  Exit status() const override;
  /// Emits the report, or its findings as a table where `options` want one.
  void emit(Emit& emit, const TableOptions& options) const;

  // For the columns of a finding:
  /// Findings in words.
  FindingText words() const { return {fabric.subnet, fabric.names, before_ == nullptr ? nullptr : &before_->subnet}; }
  void visit_end(report::Sink& sink, const Place& place, bool is_manager) const;
  static void visit_evidence(report::Sink& sink, const Evidence& evidence);

 private:
  /// The verdict, as the exit status says.
  Verdict verdict() const;
  /// The verdict and what it counts.
  VerdictFacts facts() const { return {verdict(), diagnosis_, fabric.subnet, wanted_.host_names, scope_}; }

  // JSON
  void visit(report::Sink& sink, const Findings& findings) const;
  void visit_checks(report::Sink& sink) const;

  // Text
  void text_for_hosts(Lines& lines) const;
  void text_window(Lines& lines) const;
  bool is_brief(const Finding& finding) const;
  /// The number of findings from index `at` on that share a line: infos of one check about many ports or nodes.
  std::size_t count_alike(std::size_t at) const;
  void text_findings(Lines& lines) const;
  void text_brief(Lines& lines, const Finding& finding, std::size_t more_alike) const;
  void text_alike(Lines& lines, const std::vector<const Finding*>& findings) const;
  std::string checks_text(bool (*is_meant)(CheckState state)) const;
  void text_not_looked_at(Lines& lines) const;

  const Fabric* before_;
  const HealthRequest& wanted_;
  const Diagnosis& diagnosis_;
  Scope scope_;
  const phy::Table* phy_;
  std::FILE* out_;
  Terminal terminal_;
  bool is_verbose_;         ///< infos are as long as other findings
  std::string first_line_;  ///< in the place of the verdict
};

/// --repeat: reports one round after another. Ends with Ctrl-C, or after so many rounds as `interval` says. `stored` is the fabric of
/// --baseline, if one is given. All must outlive the task.
async::Task<> watch(Session& session, Emit& emit, const HealthRequest& wanted, StoredBaseline& stored, Interval interval);

}  // namespace ib::tools::health
