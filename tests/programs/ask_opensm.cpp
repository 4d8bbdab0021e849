// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibdmchk wants to know beyond the files that opensm writes, requested on the simulated fabric:
//
//     ask_opensm join     every host joins IPoIB's broadcast group, and every third a group of its own
//     ask_opensm psl      prints the SL of each pair of hosts that the SA gives: source's node GUID, DLID, SL
//     ask_opensm slvl     prints the SL2VL tables of all switches: node GUID, input port, output port, two SLs a byte
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "iba-gen/sa.hpp"
#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"
#include "programs/programs.hpp"
#include "sa/subn_adm.hpp"
#include "sys/device.hpp"

namespace ibtest::programs::ask_opensm {

using namespace ib;

namespace {

mad::Task<std::vector<sa::NodeRecord>> nodes(mad::Rpc& rpc, smp::NodeType type) {
  sa::NodeRecord::Query query;
  query.node_type(type);
  std::vector<sa::NodeRecord> found = co_await sa::subn_adm_get_table(rpc, query);
  std::ranges::sort(found, {}, [](const sa::NodeRecord& node) { return node.lid; });
  co_return found;
}

Gid port_gid(const sa::NodeRecord& node) { return Gid::from(link_local_prefix, node.node_info.port_guid); }

mad::Task<> join(mad::Rpc& rpc) {
  const Gid broadcast{{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}};
  const Gid another{{0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x07, 0x77}};
  constexpr std::uint8_t full_member = 1;
  const std::vector<sa::NodeRecord> hosts = co_await nodes(rpc, smp::NodeType::channel_adapter);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    sa::MCMemberRecord::Query query;
    query.mgid(broadcast).port_gid(port_gid(hosts[i])).join_state(full_member);
    co_await sa::subn_adm_set(rpc, query);
    if (i % 3 != 0) continue;
    sa::MCMemberRecord::Query create;  // IBA 15.2.5.17: these components, for the first to join
    create.mgid(another)
        .port_gid(port_gid(hosts[i]))
        .join_state(full_member)
        .q_key(0x0b1b)
        .t_class(0)
        .p_key(default_pkey.value)
        .sl(0)
        .flow_label(0);
    co_await sa::subn_adm_set(rpc, create);
  }
}

mad::Task<> print_psl(mad::Rpc& rpc) {
  const std::vector<sa::NodeRecord> hosts = co_await nodes(rpc, smp::NodeType::channel_adapter);
  for (const sa::NodeRecord& from : hosts) {
    for (const sa::NodeRecord& to : hosts) {
      if (from.lid == to.lid) continue;
      sa::PathRecord::Query query;
      query.slid(from.lid).dlid(to.lid).reversible(1).numb_path(1);
      const sa::PathRecord path = co_await mad::taken(sa::try_subn_adm_get(rpc, query));
      fmt::print("0x{:016x} {} {}\n", from.node_info.node_guid.value, to.lid.value, path.sl);
    }
  }
}

mad::Task<> print_slvl(mad::Rpc& rpc) {
  std::map<Lid, std::set<unsigned>> linked;
  const std::vector<sa::LinkRecord> links = co_await sa::subn_adm_get_table(rpc, sa::LinkRecord::Query{});
  for (const sa::LinkRecord& link : links) {
    linked[link.from_lid].insert(link.from_port);
    linked[link.to_lid].insert(link.to_port);
  }
  const std::vector<sa::NodeRecord> switches = co_await nodes(rpc, smp::NodeType::switch_);
  for (const sa::NodeRecord& node : switches) {
    path::IbPath to = path::IbDrPath(&rpc.end_port());  // the QPs of SMPs
    to.dlid = node.lid;
    to.slid = rpc.end_port().lid;
    const path::Path path = to;
    std::set<unsigned> inputs = linked[node.lid];
    inputs.insert(0);
    for (const unsigned in : inputs) {
      for (const unsigned out : linked[node.lid]) {
        const auto table = co_await rpc.subn_get<smp::SLToVLMappingTable>(path, in << 8U | out);
        fmt::print("0x{:016x} {} {}", node.node_info.node_guid.value, in, out);
        for (std::size_t sl = 0; sl < table.sl_to_vl.size(); sl += 2) fmt::print(" 0x{:x}{:x}", table.sl_to_vl[sl], table.sl_to_vl[sl + 1]);
        fmt::print("\n");
      }
    }
  }
}

}  // namespace

int run(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  std::optional<sys::DeviceList> devices;  // outlives an error, whose path refers to its ports
  try {
    devices = sys::DeviceList::read();
    async::Loop loop;
    mad::Rpc rpc(loop, mad::open_umad(devices->default_end_port()));
    if (word == "join") {
      loop.run(join(rpc));
    } else if (word == "psl") {
      loop.run(print_psl(rpc));
    } else if (word == "slvl") {
      loop.run(print_slvl(rpc));
    } else {
      fmt::print(stderr, "ask_opensm join|psl|slvl\n");
      return 2;
    }
  } catch (const Error& error) {
    for (const std::string& line : error.lines(1)) fmt::print(stderr, "E: {}\n", line);
    return 3;
  }
  return 0;
}

}  // namespace ibtest::programs::ask_opensm
