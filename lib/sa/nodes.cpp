// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/nodes.hpp"

#include "base/escape.hpp"
#include "iba/wire.hpp"
#include "sa/records.hpp"

namespace ib::sa {

async::Task<Nodes> find_nodes(mad::Transactor& transactor, const Pattern& pattern) {
  const Records records = co_await find_records(transactor, pattern);
  Nodes nodes;
  nodes.torn = records.torn;
  for (const Bytes record : records.bytes) nodes.records.push_back(wire::unpack_short<NodeRecord>(record));
  co_return nodes;
}

async::Task<Nodes> find_nodes_by_name(mad::Transactor& transactor, std::string_view name) {
  Pattern pattern(NodeRecord::info());
  pattern.match("nodeDescription.nodeString", name);
  Nodes nodes = co_await find_nodes(transactor, pattern);
  // Some SAs ignore this bit of the component mask.
  std::erase_if(nodes.records, [&](const NodeRecord& node) { return fixed_text(node.node_description.node_string) != name; });
  co_return nodes;
}

async::Task<Nodes> find_nodes_by_guid(mad::Transactor& transactor, Guid guid) {
  Nodes nodes;
  for (const std::string_view member : {"nodeInfo.nodeGUID", "nodeInfo.systemImageGUID"}) {
    Pattern pattern(NodeRecord::info());
    pattern.match(member, guid.value);
    nodes = co_await find_nodes(transactor, pattern);
    if (!nodes.records.empty()) break;
  }
  co_return nodes;
}

}  // namespace ib::sa
