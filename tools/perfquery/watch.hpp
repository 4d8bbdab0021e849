// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An attribute of counters that is read again and again: what it holds, and what was counted since it was read before. The node is the one
// that answered first at the end of the path, wherever its LID is later.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/thresholds.hpp"
#include "iba-gen/smp.hpp"
#include "iba/dump.hpp"
#include "tools/frame/stack.hpp"
#include "tools/perfquery/readings.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools::perfquery {

/// One reading. In JSON an element of the list that is open.
struct WatchReport final : Report {
  explicit WatchReport(const StructInfo& structure) : info(structure) {}
  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;

  const StructInfo& info;
  NameStyle names = NameStyle::iba;
  std::string node;  ///< "Lid 2 (fe80::20:0)"
  Round round;
  std::vector<PortReading> ports;
  std::vector<std::optional<PortReading>> before;  ///< of the same ports; absent the first time
  /// Only counters that grew at least so much a second are shown; null: all.
  const counters::ErrorThresholds* thresholds{};

 private:
  template <class Use>
  void each_counter(std::size_t at, Use use) const;
  bool is_shown(const FieldInfo& field, const counters::CounterChange& change) const;
};

struct WatchedNode {
  std::optional<smp::NodeInfo> node;                                         ///< absent until it has answered
  bool is_lost{};                                                            ///< it did not answer at the end of the path in the last round
  std::map<std::pair<Guid, std::int32_t>, std::optional<PortReading>> last;  ///< by node and port
};

/// Checks that the node at the end of the path is the watched one (counters/readings.hpp). Returns null if it is, or if SMPs do not go
/// there.
async::Task<std::shared_ptr<const Error>> check_owner(Stack& stack, Destination node, WatchedNode& watched);

/// Looks for the node that is watched by its port GUID; before it has answered, for `target`. Where the SA does not know it, or none
/// answers, `last` is returned.
async::Task<Destination> find_again(Stack& stack, const Target& target, Destination last, const WatchedNode& watched);

}  // namespace ib::tools::perfquery
