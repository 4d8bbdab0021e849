// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/set/set_target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba/text.hpp"

namespace ib::subnet {
namespace {

constexpr unsigned guids_in_block = 8;  // IBA 14.2.5.5

/// Whether the port that answers at `path` has the alias GUID `guid`.
async::Task<bool> has_alias(mad::Transactor& transactor, path::Path path, Guid guid) {
  const mad::Result<smp::PortInfo> port = co_await transactor.try_subn_get<smp::PortInfo>(path);
  const unsigned blocks = port ? (port->guid_cap + guids_in_block - 1) / guids_in_block : 0;
  for (unsigned block = 0; block < blocks; ++block) {
    const mad::Result<smp::GuidInfo> guids = co_await transactor.try_subn_get<smp::GuidInfo>(path, block);
    if (!guids) co_return false;
    if (std::ranges::find(guids->guid_block, guid) != guids->guid_block.end()) co_return true;
  }
  co_return false;
}

std::shared_ptr<const mad::MadError> wrong_node(const mad::Request& request, const mad::Reply& reply, const smp::NodeInfo& node,
                                                const path::Path& path) {
  const bool is_one_of_many = node.node_type != smp::NodeType::switch_ && node.num_ports > 1;
  const std::string port = is_one_of_many ? fmt::format("port {} of ", node.local_port_num) : std::string();
  const std::string text = fmt::format("{} leads to {}the node {} now, and {} was meant: nothing was set", path::to_text(path), port,
                                       to_text(node.node_guid), to_text(path.ib().expected_node_guid));
  return std::make_shared<WrongNode>(text, mad::to_mad(request), reply.bytes, path);
}

}  // namespace

path::Path smp_path_of(const path::Path& path) {
  if (path.directed() != nullptr) return path;
  path::IbPath smp = path.ib();
  smp.use_qp(Qpn{0});
  smp.has_grh = false;
  return smp;
}

bool takes_smps(const path::Path& path) {
  const path::IbPath& ib = path.ib();
  return ib.end_port->link_layer != sys::LinkLayer::ethernet && (!ib.has_grh || ib.hop_limit <= 1);
}

async::Task<mad::Result<smp::NodeInfo>> check_set_target(mad::Transactor& transactor, path::Path path) {
  const Guid meant = path.ib().expected_node_guid;
  const path::Path smp = smp_path_of(path);
  mad::Request request = mad::attribute_request(smp, smp::NodeInfo::info(), mad::method::get);
  request.reason = identified_before_set;
  const mad::Result<mad::Reply> reply = co_await transactor.try_call(request);
  if (!reply) co_return reply.shared_error();
  const smp::NodeInfo node = smp::NodeInfo::unpack(reply->payload());
  if (meant == Guid{} || node.node_guid == meant || node.port_guid == meant) co_return node;
  const bool is_alias = co_await has_alias(transactor, smp, meant);
  if (!is_alias) co_return wrong_node(request, *reply, node, path);
  // The last request before the Set: the node that has listed the alias is still the one at the end of the path.
  const mad::Result<mad::Reply> last = co_await transactor.try_call(request);
  if (!last) co_return last.shared_error();
  const smp::NodeInfo node_now = smp::NodeInfo::unpack(last->payload());
  if (node_now.node_guid != node.node_guid || node_now.port_guid != node.port_guid) co_return wrong_node(request, *last, node_now, path);
  co_return node;
}

void mean_node(path::Path& path, const smp::NodeInfo& node) {
  if (path.ib().expected_node_guid == Guid{}) path.ib().expected_node_guid = node.node_guid;
}

}  // namespace ib::subnet
