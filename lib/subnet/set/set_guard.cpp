// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/set/set_guard.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "mad/rpc/request_queue.hpp"
#include "mad/rpc_names.hpp"
#include "sa/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::subnet {
namespace {

/// The port that a request changes. A node that is no switch has an agent at each port: the one that gets the request, unless it names one.
std::optional<unsigned> changed_port(const PlannedSet& set, const std::optional<smp::NodeInfo>& node) {
  const mad::HeaderView header(set.mad);
  std::optional<unsigned> port;
  if (mad::is_smp(header.mgmt_class())) port = port_in_modifier(header.attribute_id(), header.attribute_modifier());
  if (const StructInfo* info = set.attribute(); info != nullptr && header.mgmt_class() == mad::mgmt_class::performance) {
    if (const FieldInfo* field = find_field(*info, "port_select")) port = static_cast<unsigned>(read_number(set.data(), *field));
  }
  const bool is_end_node = node && node->node_type != smp::NodeType::switch_;
  if (is_end_node && port.value_or(0) == 0) port = node->local_port_num;
  return port;
}

bool is_busy(const mad::MadError& error) { return (error.status() & mad::status::busy) != 0; }

/// Whether a Set that failed so may be sent once more. A silent agent (mad::Responder) got none.
bool may_be_repeated(const mad::MadError& error) { return is_busy(error) || (error.reply().empty() && mad::unanswered_tries(error) != 0U); }

using Failed = std::shared_ptr<const mad::MadError>;

/// The error of the last of several tries. If it was not answered, the error names all of them.
Failed after_tries(Failed last, const mad::Request& request, unsigned tries, async::Duration waited) {
  const auto* timeout = dynamic_cast<const mad::MadTimeout*>(last.get());
  if (timeout == nullptr || timeout->tries() == 0) return last;
  const auto all = std::make_shared<mad::MadTimeout>(timeout->request(), request.path, tries, waited);
  all->set_reported(timeout->reported());
  return all;
}

}  // namespace

const StructInfo* PlannedSet::attribute() const {
  const mad::HeaderView header(mad);
  return find_attribute(header.mgmt_class(), header.class_version(), header.attribute_id(), mad_oui(mad));
}

Bytes PlannedSet::data() const {
  const Bytes all = Bytes(mad).subspan(mad::data_area(mad::HeaderView(mad).mgmt_class()).offset);
  const StructInfo* info = attribute();
  return info != nullptr && info->bytes < all.size() ? all.first(info->bytes) : all;
}

std::string PlannedSet::done() const {
  const mad::HeaderView header(mad);
  const StructInfo* info = attribute();
  std::string text = header.method() == mad::method::delete_ ? "Deleted " : "Set ";
  text += info != nullptr ? std::string(info->iba_name)
                          : fmt::format("attribute 0x{:04x} of class 0x{:02x}", header.attribute_id(), header.mgmt_class());
  text += " of";
  if (!description.empty()) text += ' ' + in_quotes(description);
  text += ' ' + (node_guid != Guid{} ? to_text(node_guid) : path::to_text(path));
  if (port) text += *port == all_ports ? " all ports" : fmt::format(" port {}", *port);
  return text;
}

mad::Task<mad::Result<mad::Reply>> SetGuard::try_call(const mad::Request& request) {
  if (!mad::changes_something(request)) return below_.try_call(request);  // no frame of its own: sweeps send millions
  return set(request);
}

mad::Task<mad::Result<mad::Reply>> SetGuard::set(const mad::Request& request) {
  if (!policy_.refusal.empty()) throw UsageError(policy_.refusal);
  std::optional<PlannedSet> described;
  if (policy_.report || policy_.rehearses) described = co_await describe(request);
  // The last request before the Set, since LIDs and cables may change hands while anything else is read, above all by its retries.
  const mad::Result<std::optional<smp::NodeInfo>> node = co_await check(request);
  if (!node) co_return node.shared_error();
  if (described) complete(*described, *node);
  if (policy_.rehearses) co_return plan(request, std::move(*described));
  mad::Result<mad::Reply> sent = co_await send(request);
  if (sent && described) policy_.report(*described);
  co_return sent;
}

/// Sends a Set that was checked. It is checked again before each further try: a LID may have changed hands while the one before was lost.
mad::Task<mad::Result<mad::Reply>> SetGuard::send(const mad::Request& request) {
  if (!is_checked(target_of(request))) co_return co_await below_.try_call(request);
  const async::Loop& loop = co_await async::current_loop;
  const async::Time begun = loop.now();
  const unsigned tries = request.path.ib().retries + 1;
  path::Path path = request.path;
  path.ib().retries = 0;
  mad::Request once = mad::on_path(request, path);
  for (unsigned tried = 1;; ++tried) {
    once.optional = request.optional || tried < tries;  // a single lost try makes no agent silent
    mad::Result<mad::Reply> sent = co_await below_.try_call(once);
    if (sent || (tried < tries && !may_be_repeated(sent.error()))) co_return sent;
    if (tried == tries) co_return after_tries(sent.shared_error(), request, tries, loop.now() - begun);
    co_await async::sleep_for(mad::delay_after(tried, is_busy(sent.error())));
    const mad::Result<std::optional<smp::NodeInfo>> node = co_await check(request);
    if (!node) co_return node.shared_error();
  }
}

/// The path to the node that a Set changes. It is the one of the request but for what goes to a manager.
const path::Path& SetGuard::target_of(const mad::Request& request) const { return policy_.node ? *policy_.node : request.path; }

/// The SA, where it is queried for who a node is: the program wants no SMPs, and the Set goes to the SA itself. Else null.
std::unique_ptr<mad::Transactor> SetGuard::by_sa(const mad::Request& request) const {
  if (!policy_.names_by_sa || request.mgmt_class != mad::mgmt_class::sa) return nullptr;
  return std::make_unique<sa::SaTransactor>(below_);
}

/// Whether check() requests a NodeInfo.
bool SetGuard::is_checked(const path::Path& target) const {
  const bool by_route = target.directed() == nullptr && routes_.contains(target.ib().dlid);
  return takes_smps(target) && (by_route || target.ib().expected_node_guid != Guid{});
}

/// The NodeInfo of the node that the Set changes; nothing if no node was named. The error is one of a request, or WrongNode.
mad::Task<mad::Result<std::optional<smp::NodeInfo>>> SetGuard::check(const mad::Request& request) {
  path::Path path = target_of(request);
  const std::unique_ptr<mad::Transactor> sa = by_sa(request);  // answers by LID, not by route
  if (!is_checked(path) || (sa && path.ib().expected_node_guid == Guid{})) co_return std::optional<smp::NodeInfo>();
  if (const auto route = routes_.find(path.ib().dlid); !sa && route != routes_.end() && path.directed() == nullptr) {
    path::Path end = route->second;
    end.ib().expected_node_guid = path.ib().expected_node_guid;
    const mad::Result<smp::NodeInfo> node = co_await check_set_target(below_, end);
    if (!node) co_return node.shared_error();
    path.ib().expected_node_guid = node->node_guid;
  }
  mad::Transactor& transactor = sa ? *sa : below_;
  mad::Result<smp::NodeInfo> node = co_await check_set_target(transactor, path);
  if (!node) co_return node.shared_error();
  co_return std::optional(std::move(*node));
}

/// The Set with the description of the node that it changes, and with the GUID and the port where no check() gives them.
mad::Task<PlannedSet> SetGuard::describe(const mad::Request& request) {
  PlannedSet set{request.path, mad::to_mad(request), {}, {}, policy_.port, policy_.node.has_value()};
  const path::Path& target = target_of(request);
  if (!takes_smps(target)) co_return set;
  const path::Path smp = smp_path_of(target);
  const std::unique_ptr<mad::Transactor> sa = by_sa(request);
  mad::Transactor& names = sa ? *sa : below_;
  Guid guid = target.ib().expected_node_guid;
  if (!is_checked(target)) {
    const mad::Result<smp::NodeInfo> node = co_await names.try_subn_get<smp::NodeInfo>(smp);
    if (node) complete(set, *node);
    guid = set.node_guid;
  }
  if (const auto known = descriptions_.find(guid); guid != Guid{} && known != descriptions_.end()) {
    set.description = known->second;
    co_return set;
  }
  set.description = co_await mad::description_at(names, smp);
  if (guid != Guid{} && !set.description.empty()) descriptions_.emplace(guid, set.description);
  co_return set;
}

/// Adds what the NodeInfo of the changed node says.
void SetGuard::complete(PlannedSet& set, const std::optional<smp::NodeInfo>& node) {
  if (node) set.node_guid = node->node_guid;
  if (!set.port) set.port = changed_port(set, node);
}

/// Records the Set. The reply is as of a node that accepts all values.
mad::Reply SetGuard::plan(const mad::Request& request, PlannedSet set) {
  mad::Reply reply{set.mad, mad::Source()};
  reply.bytes[3] = mad::response_method(request.method);
  policy_.planned.push_back(std::move(set));
  return reply;
}

}  // namespace ib::subnet
