// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What health prints: the verdict, findings from the worst on, and what was not checked.
#pragma once

#include <string>
#include <string_view>

#include "health/diagnosis.hpp"
#include "health/finding_text.hpp"
#include "health/machines.hpp"
#include "health/verdict.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/health/wanted.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools::health {

/// The extent of a report.
struct Wording {
  const Scope& scope;        ///< what was looked at, which the first line counts
  bool is_verbose{};         ///< infos are as long as other findings
  std::string first_line{};  ///< in the place of the first line: the own port is Down
  const phy::Table* phy{};   ///< what was read of the physical layer of ports; null: nothing
  Terminal terminal{};       ///< the terminal of the text
};

class Lines;
class HealthReport;

/// A row of a table of findings.
struct FindingLine {
  const HealthReport* report;
  const Finding* finding;
};
/// The columns of a finding, which are those of JSON.
std::span<const report::Column<FindingLine>> finding_columns();

class HealthReport final : public FabricReport {
 public:
  /// `before`: the baseline; null: there is none.
  HealthReport(const Fabric& of, const Fabric* before, const Wanted& wanted, const Diagnosis& found, Wording how)
      : FabricReport(of), before_(before), wanted_(wanted), diagnosis_(found), how_(how) {}

  void visit(report::Sink& sink) const override;
  /// Writes the members that a report with a finding has, for their names.
  void visit_example(report::Sink& sink) const;
  void text(TextOut& out) const override;
  Exit status() const override;
  /// Emits the report, or its findings as a table where `options` want one.
  void emit(Emit& emit, const TableOptions& options, std::FILE* file) const;

  // For the columns of a finding:
  /// Findings in words.
  FindingText words() const { return {fabric.subnet, fabric.names, before_ == nullptr ? nullptr : &before_->subnet}; }
  void visit_end(report::Sink& sink, const Place& place, bool is_manager) const;
  static void visit_evidence(report::Sink& sink, const Evidence& evidence);

 private:
  /// The verdict, as the exit status says.
  Verdict verdict() const;
  std::size_t host_count() const { return ib::health::host_count(fabric.subnet, wanted_.host_names, how_.scope); }
  std::size_t switch_count() const { return ib::health::switch_count(fabric.subnet, how_.scope); }
  std::size_t link_count() const { return ib::health::link_count(fabric.subnet, how_.scope); }

  // report_json.cpp
  void visit(report::Sink& sink, const Findings& findings) const;
  void visit_checks(report::Sink& sink) const;

  // report_text.cpp
  std::string verdict_line() const;
  void text_for_hosts(Lines& lines) const;
  void text_window(Lines& lines) const;
  /// Whether a finding is printed in one line.
  bool is_brief(const Finding& finding) const;
  /// The number of findings from index `at` on that share a line: infos of one check about many ports or nodes.
  std::size_t count_alike(std::size_t at) const;
  void text_findings(Lines& lines) const;
  void text_brief(Lines& lines, const Finding& finding, std::size_t more_alike) const;
  void text_alike(Lines& lines, const std::vector<const Finding*>& findings) const;
  std::string checks_text(bool (*is_meant)(CheckState state)) const;
  void text_not_looked_at(Lines& lines) const;

  /// The fabric of a place.
  const Fabric& fabric_of(const Place& place) const { return place.is_before ? *before_ : fabric; }

  const Fabric* before_;
  const Wanted& wanted_;
  const Diagnosis& diagnosis_;
  Wording how_;
};

}  // namespace ib::tools::health
