// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in memory for tests of Sets: every node has a PMA, and one switch can have the agents of all classes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "mad/packet.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_fabric.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_sets_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::FakeSa;
using ibtest::ibtool;
using ibtest::Outcome;

using Words = std::vector<std::string>;

/// A spine (LID 1) with two leaves (2 and 3) at its ports 1 and 2, and a host at each leaf (4, the one of the test, and 5).
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId spine, leaf1, leaf10, here, other;

  Site() {
    spine = fabric.add_switch(0x100, 4, "spine");
    leaf1 = fabric.add_switch(0x200, 4, "MF0;leaf1:SB7800/U1");
    leaf10 = fabric.add_switch(0x300, 4, "leaf10");
    here = fabric.add_ca(0x400, 1, "here");
    other = fabric.add_ca(0x500, 1, "other");
    fabric.link(spine, 1, leaf1, 1);
    fabric.link(spine, 2, leaf10, 1);
    fabric.link(leaf1, 2, here, 1);
    fabric.link(leaf10, 2, other, 1);
    fabric.link(spine, 3, leaf10, 3);
    fabric.assign_lids();
    fabric.attach(here);
    for (const auto node : {spine, leaf1, leaf10, here, other}) pmas.push_back(&ibtest::run_pma(fabric, node));
  }

  /// Runs `words` and calls `change` right before request number `at`.
  template <class Change>
  Outcome run_changing(const Words& words, unsigned at, Change change) {
    unsigned requests = 0;
    fabric.network.tamper = [&, at](ib::Bytes, std::optional<FakeFabric::Answer> answer) {
      if (++requests == at) change();
      return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
    };
    Outcome outcome = ibtool(fabric, words);
    fabric.network.tamper = nullptr;
    requests_ = requests;
    return outcome;
  }
  unsigned requests_ = 0;
  unsigned agent_sets = 0;  ///< that came to an agent of run_all_agents()

  /// Has leaf10 and the agents that no node has otherwise: of vendors, of congestion control and a subnet manager.
  void run_all_agents() {
    FakeFabric::Node& node = fabric.node(leaf10);
    for (const std::uint8_t mgmt_class : {ib::subnet::mlnx_vendor_class, ib::mad::mgmt_class::congestion}) {
      node.services[mgmt_class].answer = [this](unsigned, ib::Bytes request) {
        if (ib::mad::HeaderView(request).method() != ib::mad::method::get) ++agent_sets;
        return ibtest::answer_to(request);
      };
    }
    node.ports.at(0).info.capability_mask |= ib::smp::capability_mask::is_vendor_class_supported;
    node.sm_info = ib::smp::SMInfo{};
  }

  /// Runs a command line. With `changes` leaf10 is another node as soon as it has answered a Get of the class; it has its LID and route.
  /// Returns how many requests that change something were sent.
  unsigned changes_sent(bool legacy, const Words& words, std::uint8_t mgmt_class, bool changes, Outcome& outcome) {
    unsigned sent = 0;
    fabric.network.tamper = [&](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
      const ib::mad::HeaderView header(request);
      if (header.method() == ib::mad::method::set || header.method() == ib::mad::method::delete_) ++sent;
      const bool is_smp = ib::mad::is_smp(header.mgmt_class());
      const bool identifies = is_smp && header.attribute_id() == ib::smp::NodeInfo::attribute_id;
      const bool is_of_class = mgmt_class == (is_smp ? ib::mad::mgmt_class::smp : header.mgmt_class());
      if (changes && answer && is_of_class && !identifies) fabric.node(leaf10).info.node_guid = ib::Guid{0x999};
      return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
    };
    outcome = legacy ? diags(fabric, words) : ibtool(fabric, words);
    fabric.network.tamper = nullptr;
    fabric.node(leaf10).info.node_guid = ib::Guid{0x300};
    return sent;
  }

  std::size_t pma_sets() const {
    std::size_t sets = 0;
    for (const FakePma* pma : pmas)
      sets += static_cast<std::size_t>(std::ranges::count(pma->asked, std::uint8_t{ib::mad::method::set}, &FakePma::Asked::method));
    return sets;
  }

  std::vector<FakePma*> pmas;
};

}  // namespace tools_sets_tests
