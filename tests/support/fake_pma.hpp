// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A performance management agent (IBA 16.1) for a node of a FakeFabric. It counts in 64 bits per port, and every attribute shows
// these counts as its fields have room: narrow counters stop at their greatest value, those of 64 bits wrap. Each attribute is
// cleared on its own. Fields and widths come from the descriptors of iba-defs.
//
//   FakePma& pma = run_pma(fabric, leaf);
//   pma.count(1, "port_xmit_data") += 1000; pma.capability_mask = 0; pma.service().faults.silent = true;
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "iba-gen/pm.hpp"
#include "iba/struct_info.hpp"
#include "support/fake_fabric.hpp"

namespace ibtest {

class FakePma {
 public:
  /// A PMA for `ports` ports from `first` on.
  FakePma(FakeFabric& fabric, FakeFabric::NodeId node, unsigned first, unsigned ports);
  FakePma(const FakePma&) = delete;
  FakePma& operator=(const FakePma&) = delete;

  /// What port `port` has counted. `counter` is the name of a field of a PM attribute, `index` of an element where it is an array;
  /// fields of the same name share one count. Throws std::invalid_argument for another name.
  std::uint64_t& count(unsigned port, std::string_view counter, unsigned index = 0);

  std::uint16_t capability_mask = ib::pm::capability_mask::all_port_select | ib::pm::capability_mask::is_extended_width_supported |
                                  ib::pm::capability_mask::port_counters_xmit_wait_supported |
                                  ib::pm::capability_mask::is_qp1_drop_supported;
  std::uint32_t capability_mask2 = ib::pm::capability_mask2::is_additional_port_counters_extended_supported;
  std::uint8_t resp_time_value = 10;
  std::optional<std::uint8_t> tick;     ///< PortSamplesControl.Tick; absent: what was set last
  std::set<std::uint16_t> unsupported;  ///< attributes that it does not know
  bool rs_fec = false;                  ///< PortExtendedSpeedsCounters has its layout for RS-FEC
  unsigned sampling_polls = 0;          ///< a sample is "running" for so many polls of it, then "done"

  /// Requests as they came.
  struct Asked {
    std::uint8_t method;
    std::uint16_t attribute;
    unsigned port;
  };
  std::vector<Asked> asked;
  /// The number of requests for `attribute`.
  std::size_t times(std::uint16_t attribute) const;

  /// For the fabric.
  FakeFabric::Answer answer(ib::Bytes request);
  /// Its place in the fabric: faults and numbers of requests.
  FakeFabric::Service& service() { return fabric_.node(node_).services.at(ib::mad::mgmt_class::performance); }

 private:
  using Counter = std::tuple<unsigned, std::string, unsigned>;  // port, name, index
  std::uint16_t fill(std::uint8_t method, const ib::StructInfo& info, ib::Bytes wanted, ib::MutableBytes data);
  std::uint16_t fill_sampling(std::uint8_t method, const ib::StructInfo& info, ib::Bytes wanted, ib::MutableBytes data);
  void fill_class_port_info(ib::MutableBytes data) const;
  bool knows(const ib::StructInfo& info) const;
  std::optional<std::vector<unsigned>> ports_of(unsigned port_select) const;
  std::uint64_t shown(unsigned port, const ib::StructInfo& info, const ib::FieldInfo& field, unsigned index);
  void set(unsigned port, const ib::StructInfo& info, ib::Bytes wanted);
  bool is_kept(const ib::StructInfo& info, const ib::FieldInfo& field) const;
  std::uint64_t sampled(unsigned select, unsigned bits);

  FakeFabric& fabric_;
  FakeFabric::NodeId node_;
  unsigned first_, ports_;
  std::map<Counter, std::uint64_t> counts_;
  std::map<std::pair<std::int32_t, Counter>, std::uint64_t> zeros_;  // the count at which a counter of an attribute was 0
  ib::pm::PortSamplesCtl control_;
  unsigned polls_left_ = 0, sampled_port_ = 0;
  std::map<Counter, std::uint64_t> sample_start_;
};

/// Has a node run a PMA for all its ports, port 0 of a switch too if that is an enhanced one. The fabric owns it.
FakePma& run_pma(FakeFabric& fabric, FakeFabric::NodeId node);

}  // namespace ibtest
