// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A small subnet with a subnet administrator that a test plays, for the tests of saquery and query.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba-gen/sa.hpp"
#include "iba/wire.hpp"
#include "mad/packet.hpp"
#include "support/fake_fabric.hpp"

namespace ibtest::sa_subnet {

using namespace ib;

/// A host at LID 1 behind a switch at LID 2, with an SA that `answer` plays.
struct Subnet {
  explicit Subnet(std::function<std::optional<FakeFabric::Answer>(Bytes)> answer) {
    const auto host = fabric.add_ca(0x200, 1, "host");
    leaf = fabric.add_switch(0x100, 4, "leaf");
    fabric.link(leaf, 1, host, 1);
    fabric.assign_lids();
    fabric.attach(host);
    fabric.network.rmpp = true;
    fabric.network.gmp = [this, answer = std::move(answer)](Bytes request, const path::Path&) {
      asked.emplace_back(request.begin(), request.end());
      asked.back().resize(std::max(request.size(), mad::packet_size));
      return answer(asked.back());
    };
  }
  FakeFabric fabric;
  FakeFabric::NodeId leaf{};
  std::vector<std::vector<std::uint8_t>> asked;
};

inline sa::NodeRecord node(std::string_view description) {
  sa::NodeRecord record;
  record.lid = Lid{2};
  record.node_info.node_type = smp::NodeType::switch_;
  record.node_info.port_guid = Guid{0x100};
  std::copy(description.begin(), description.end(), record.node_description.node_string.begin());
  return record;
}

inline std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

inline std::uint64_t mask_of(const std::vector<std::uint8_t>& mad) { return load_be<std::uint64_t>(&mad[48]); }

}  // namespace ibtest::sa_subnet
