// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Stores a fabric whose nodes have names that a shell must quote: stored-names FILE [NAME...]. Each NAME is one more host.
#include <algorithm>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "programs/programs.hpp"
#include "snapshot/writer.hpp"

namespace ibtest::programs::stored_names {

using namespace ib;

namespace {

subnet::NodeIndex add(subnet::Subnet& subnet, smp::NodeType type, std::uint64_t guid, std::uint8_t ports, std::string_view name) {
  smp::NodeInfo info;
  info.node_type = type;
  info.node_guid = info.port_guid = Guid{guid};
  info.num_ports = ports;
  const subnet::NodeIndex index = subnet.add_node(info);
  subnet::Node& node = subnet.node(index);
  node.has_description = true;
  std::ranges::copy(name, node.description_bytes.begin());
  return index;
}

}  // namespace

int run(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    subnet::SweptSubnet fabric;
    subnet::Subnet& subnet = fabric.subnet;
    const auto leaf = add(subnet, smp::NodeType::switch_, 0x100, 4, "MF0;leaf@1:SB7800/U1");
    const auto blanks = add(subnet, smp::NodeType::channel_adapter, 0x200, 1, "host with blanks");
    const auto quote = add(subnet, smp::NodeType::channel_adapter, 0x300, 1, "it's here");
    subnet.link(subnet.port_of(blanks, 1), subnet.port_of(leaf, 1));
    subnet.link(subnet.port_of(leaf, 2), subnet.port_of(quote, 1));
    std::uint64_t guid = 0x400;
    for (const char* const name : std::span(argv, argc).subspan(2)) add(subnet, smp::NodeType::channel_adapter, guid++, 1, name);
    subnet.start = subnet.port_of(blanks, 1);
    snapshot::Writer writer(argv[1], Keys::hidden);
    writer.put_fabric(fabric);
    writer.put_end();
    writer.commit();
  } catch (const Error& error) {
    Log(stderr).error(error.message());
    return 3;
  }
  return 0;
}

}  // namespace ibtest::programs::stored_names
