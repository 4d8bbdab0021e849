// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes of counters that perfquery knows, and how each dialect calls them; ports as its words name them (3, 1,4,8 or 1-10); what
// the ports of a PMA answered for one attribute; and with --interval what was counted since it was read before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/difference.hpp"
#include "counters/error_query.hpp"
#include "counters/readings.hpp"
#include "counters/row.hpp"
#include "iba/dump.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/report.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools::perfquery {

/// An attribute of counters, which the parts counters and details of a snapshot have too.
struct CounterSet {
  Spelling spelling;  ///< of its option; empty: PortCounters, which is what is shown by default
  const StructInfo& (*info)();
  std::string_view help;

  /// PortCounters and PortCountersExtended: their headings describe the PMA, and they are shown of several ports.
  bool is_basic() const;
  bool is_extended() const;
  bool is_sampling() const;
  /// infiniband-diags' words where the attribute cannot be read, or set.
  std::string cannot_read() const;
  std::string cannot_reset() const;
};

std::span<const CounterSet> counter_sets();

/// Port numbers 0…255. By the name of infiniband-diags whatever C reads: the heading shows the number, PortSelect is its lowest byte.
using PortNumbers = std::vector<std::int32_t>;

/// Reads port numbers. Throws UsageError for a word that is not a port number, and for more than 256 ports.
PortNumbers parse_ports(std::string_view text);
/// Reads port numbers as infiniband-diags does: a word that is not a number is 0. Throws DiagsFailure for a range that goes down.
PortNumbers parse_diags_ports(const std::string& text);

struct CountersReport final : Report {
  const CounterSet& set;
  const StructInfo& info;
  const CommonOptions& options;
  Destination node;
  std::optional<Gid> gid;
  counters::PmaSupport support;  ///< its capabilities
  std::vector<counters::PortReading> ports;

  CountersReport(const CounterSet& of, const StructInfo& structure, const CommonOptions& common, Destination from)
      : set(of), info(structure), options(common), node(std::move(from)) {}

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;

  /// "Lid 2 (fe80::20:0)"; the GID where it is known.
  std::string place() const;

 private:
  std::vector<std::string_view> extended_fields() const;
  std::string title() const;
  std::string capabilities() const;
};

struct WatchedPort {
  counters::PortReading now;
  std::optional<counters::PortReading> before;  ///< absent the first time
};

/// One reading of the ports that `of` describes. In JSON an element of the list that is open.
struct WatchReport final : Report {
  explicit WatchReport(const CountersReport& watched) : of(watched) {}
  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;

  const CountersReport& of;
  Round round;
  std::vector<WatchedPort> ports;
  /// Only counters that grew at least so much a second are shown; null: all.
  const counters::ErrorThresholds* thresholds{};

 private:
  template <class Use>
  void each_counter(const WatchedPort& port, Use use) const;
  bool is_shown(const FieldInfo& field, const counters::CounterChange& change) const;
};

}  // namespace ib::tools::perfquery
