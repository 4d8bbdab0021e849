// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --interval: which ports counted errors since the reading before.
#pragma once

#include <map>
#include <optional>

#include "tools/ibqueryerrors/wanted.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools::ibqueryerrors {

/// What a counter counted between two readings of its port. A reading that is lost makes the time between them longer, port by port.
struct Growth {
  const subnet::CounterInfo* counter;
  std::uint64_t count, delta;
  std::uint64_t threshold{};
};

/// One of several readings. In JSON an element of the list that is open.
class GrowthReport final : public FabricReport {
 public:
  GrowthReport(const Fabric& of, const Wanted& what, const ErrorRules& applied) : FabricReport(of), wanted_(what), rules_(applied) {}

  /// The ports of `now` that grew against `before`, which holds the reading before of each port and gets this one.
  void take(const subnet::PmaReadings& now, std::map<subnet::PortIndex, subnet::PmaReading>& before);

  void visit(out::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override { return bad_ports_ != 0 ? Exit::findings : FabricReport::status(); }

  Round round;

 private:
  struct Row {
    subnet::PortIndex port;
    std::vector<Growth> errors, traffic;
    std::optional<double> error_seconds{}, traffic_seconds{};  ///< between the two readings of the port
  };
  std::vector<Growth> errors_of(const subnet::PmaReading& now, const subnet::PmaReading& before) const;
  std::vector<Growth> traffic_of(const subnet::PmaReading& now, const subnet::PmaReading& before) const;
  static void visit_growth(out::Sink& sink, std::string_view key, const std::vector<Growth>& growth, std::optional<double> seconds);
  static std::string growth_text(const std::vector<Growth>& growth, std::optional<double> seconds);

  const Wanted& wanted_;
  const ErrorRules& rules_;
  std::vector<Row> rows_;  ///< by node
  std::size_t nodes_{}, bad_nodes_{}, ports_{}, bad_ports_{};
};

}  // namespace ib::tools::ibqueryerrors
