// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor for requests to nodes that a sweep has read: an attribute that is in the model is not requested again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mad/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/find_port.hpp"

namespace ib::subnet {

/// An attribute of SMPs of the node at `end` as the sweep read it: NodeInfo, NodeDescription, SwitchInfo or PortInfo. Nothing if it was
/// not read as a whole, and for other attributes.
std::optional<std::vector<std::uint8_t>> swept_content(const Subnet& subnet, const PathEnd& end, std::uint16_t attribute,
                                                       std::uint32_t modifier);

/// Answers NodeInfo, NodeDescription, SwitchInfo and PortInfo from a model.
class SweptTransactor final : public mad::Layer {
 public:
  /// `below` sends what the sweep did not read. `swept` may be null at any time. Both must outlive this.
  SweptTransactor(mad::Transactor& below, const std::unique_ptr<SweptSubnet>& swept) : Layer(below), swept_(swept) {}
  /// After the first request that changes something, all requests are sent to the nodes.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  const std::unique_ptr<SweptSubnet>& swept_;
  bool changed_{};
};

}  // namespace ib::subnet
