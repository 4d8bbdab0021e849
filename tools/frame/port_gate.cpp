// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/port_gate.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "mad/rpc_names.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/diff/counterparts.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

/// The port at the other end of the link of `port`, as a stored fabric has it; none if it does not have it, or has several such nodes.
subnet::PortIndex peer_in(const subnet::Subnet& subnet, const sys::EndPort& port) {
  const subnet::NodeIndex node = subnet::only_node(subnet, port.device->node_guid);
  if (node == subnet::none) return subnet::none;
  const subnet::PortIndex at = subnet.port_of(node, port.number);
  return at == subnet::none ? subnet::none : subnet.port(at).peer;
}

mad::Task<mad::Result<mad::Reply>> refused(const mad::Request& request, std::string why) {
  const std::vector<std::uint8_t> sent = mad::to_mad(request);
  std::string cause = why;
  co_return std::make_shared<mad::NotRead>(std::move(why), std::move(cause), sent, request.path);
}

}  // namespace

bool stays_here(const path::Path& path) {
  const path::IbDrPath* const directed = path.directed();
  return directed != nullptr && directed->hops == 0 && (directed->dr_slid == permissive_lid || directed->dr_slid == Lid{});
}

std::string FormerLink::clause() const { return fmt::format("; it was linked to {} (in {})", other_end, in_quotes(file)); }

std::optional<FormerLink> former_link(const World& world, const sys::EndPort& port, const std::vector<KnownFabric>& known) {
  for (const KnownFabric& fabric : known) {
    try {
      const std::optional<std::string> file = fabric.file(world, port);
      if (!file) continue;
      const subnet::Subnet subnet = snapshot::open_fabric(*file)->take_fabric(nullptr).subnet;
      const subnet::PortIndex peer = peer_in(subnet, port);
      if (peer == subnet::none) continue;
      const subnet::Node& node = subnet.node(subnet.port(peer).node);
      const std::string name = node.has_description ? in_quotes(node.description()) + " " : std::string();
      return FormerLink{*file, fmt::format("port {} of {}{}", subnet.port(peer).number, name, to_text(node.guid()))};
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

PortGate::PortGate(mad::Transactor& below, Stack& stack) : Transactor(below.end_port()), below_(below), stack_(stack) {
  sa_path() = below.sa_path();
}

mad::Task<mad::Result<mad::Reply>> PortGate::try_call(const mad::Request& request) {
  if (mad::is_smp(request.mgmt_class)) {
    if (!stays_here(request.path)) stack_.require_link();
    return below_.try_call(request);
  }
  const bool is_for_sa = request.mgmt_class == mad::mgmt_class::sa;
  const std::string why = stack_.why_no_gmps();
  if (!why.empty()) return refused(request, why);
  if (!is_for_sa) return below_.try_call(request);
  stack_.require_sa();
  return query_sa(request);
}

mad::Task<mad::Result<mad::Reply>> PortGate::query_sa(const mad::Request& request) {
  constexpr std::chrono::milliseconds short_try{500};
  constexpr std::chrono::minutes memory{1};
  const Lid lid = request.path.ib().dlid;
  const bool reads = !mad::changes_something(request.method);
  const bool is_silent = silent_sa_ && silent_sa_->lid == lid && stack_.loop().now() < silent_sa_->until;
  path::Path path = request.path;
  if (is_silent && reads) {
    if (!std::exchange(silent_sa_->is_reported, true))
      stack_.warn(fmt::format("{}: further requests to it get one try of {:.1f} s", silent_sa_->why,
                              std::chrono::duration<double>(path.ib().timeout.value_or(short_try)).count()));
    path.ib().retries = 0;
    if (!path.ib().timeout) path.ib().timeout = short_try;
  }
  const mad::Request sent = mad::on_path(request, path);
  mad::Result<mad::Reply> reply = co_await below_.try_call(sent);
  if (reply || dynamic_cast<const mad::MadTimeout*>(&reply.error()) == nullptr) {
    silent_sa_.reset();
  } else if (!is_silent) {
    silent_sa_ = SilentSa{lid, stack_.loop().now() + memory, reply.error().message()};
  }
  co_return reply;
}

}  // namespace ib::tools
