// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes of counters that perfquery knows, and how each dialect calls them; ports as its words name them (3, 1,4,8 or 1-10); and
// what the ports of a PMA answered for one attribute.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/row.hpp"
#include "mad/error.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {
struct CommonOptions;
}

namespace ib::tools::perfquery {

/// The words for an attribute of counters, which the parts counters and details of a snapshot have too.
struct CounterSet {
  Spelling spelling;  ///< of its option; empty: PortCounters, which is what is shown by default
  const StructInfo& (*info)();
  std::string_view title;  ///< in its headings and complaints
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
PortNumbers read_ports(std::string_view text);
/// Reads port numbers as infiniband-diags does: a word that is not a number is 0. Throws DiagsFailure for a range that goes down.
PortNumbers read_diags_ports(const std::string& text);

/// The counters of one port, or of several together (port 255), as the PMA sent them. A CounterRow does not hold them: one of twenty
/// attributes is printed whole, with its selectors and its counters by VL, SL and lane.
struct PortReading {
  std::int32_t port{};
  std::vector<std::uint8_t> bytes;
  async::Time time{};                            ///< when they came; of several ports: the last of them
  std::shared_ptr<const mad::MadError> error{};  ///< of a request that failed: `bytes` are zeros then
};

/// One row in the place of all, of which there is one at least: each counter the sum, or the greatest value that it holds.
PortReading sum_of(const std::vector<PortReading>& ports, const StructInfo& info);

struct CountersReport final : Report {
  const CounterSet& set;
  const StructInfo& info;
  const CommonOptions& options;
  Destination node;
  std::optional<Gid> gid;
  counters::PmaSupport support;  ///< its capabilities
  std::vector<PortReading> ports;

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

}  // namespace ib::tools::perfquery
