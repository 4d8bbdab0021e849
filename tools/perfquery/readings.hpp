// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the ports of a PMA said of one attribute of counters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/counters.hpp"
#include "mad/error.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/manners.hpp"
#include "tools/perfquery/counter_sets.hpp"

namespace ib::tools::perfquery {

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

/// The readings of some ports as perfquery shows them.
struct CountersReport final : Report {
  const CounterSet& set;
  const StructInfo& info;
  const CommonOptions& options;
  Destination node;
  std::optional<Gid> gid;
  counters::PmaSupport support;  ///< what the PMA says that it can do
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
