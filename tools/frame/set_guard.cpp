// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/set_guard.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "mad/rpc/request_queue.hpp"
#include "mad/rpc_names.hpp"
#include "path/json.hpp"
#include "report/structure.hpp"
#include "sa/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::tools {
namespace {

/// The attribute of a request, and its bytes.
struct Attribute {
  const StructInfo* info;
  Bytes bytes;

  explicit Attribute(Bytes request) {
    const mad::HeaderView header(request);
    info = find_attribute(header.mgmt_class(), header.class_version(), header.attribute_id(), mad_oui(request));
    bytes = request.subspan(mad::data_area(header.mgmt_class()).offset);
    if (info != nullptr && info->bytes < bytes.size()) bytes = bytes.first(info->bytes);
  }
};

/// "PerformanceSet(PMPortCounters)".
std::string request_name(Bytes request) {
  const mad::HeaderView header(request);
  const StructInfo* info = Attribute(request).info;
  std::string name = fmt::format("method 0x{:02x} of class 0x{:02x}", header.method(), header.mgmt_class());
  const std::uint8_t mgmt_class = mad::is_smp(header.mgmt_class()) ? mad::mgmt_class::smp : header.mgmt_class();
  for (const mad::RpcName& rpc : mad::rpc_names()) {
    if (rpc.method == header.method() && (rpc.mgmt_class == mgmt_class || (rpc.mgmt_class == 0 && mad::is_vendor(mgmt_class))))
      name = rpc.name;
  }
  return fmt::format("{}({})", name, info != nullptr ? std::string(info->iba_name) : fmt::format("0x{:04x}", header.attribute_id()));
}

/// The port that a request changes. A node that is no switch has an agent at each port: the one that gets the request, unless it names one.
std::optional<unsigned> changed_port(Bytes request, const std::optional<smp::NodeInfo>& node) {
  const mad::HeaderView header(request);
  const Attribute attribute(request);
  std::optional<unsigned> port;
  if (mad::is_smp(header.mgmt_class())) port = subnet::port_in_modifier(header.attribute_id(), header.attribute_modifier());
  if (header.mgmt_class() == mad::mgmt_class::performance && attribute.info != nullptr) {
    if (const FieldInfo* field = find_field(*attribute.info, "port_select"))
      port = static_cast<unsigned>(read_number(attribute.bytes, *field));
  }
  const bool is_end_node = node && node->node_type != smp::NodeType::switch_;
  if (is_end_node && port.value_or(0) == 0) port = node->local_port_num;
  return port;
}

/// Adds " NAME=VALUE" for each field that is not zero.
void add_fields(std::string& text, Bytes bytes, const StructInfo& info, Keys keys, const std::string& before = {}) {
  for (const FieldInfo& field : info.fields) {
    for (std::uint32_t at = 0; !field.reserved && at < field.count; ++at) {
      const std::string name = before + std::string(field.iba_name) + (field.count > 1 ? fmt::format("[{}]", at) : "");
      if (const StructInfo* nested = field.structure) {
        add_fields(text, field_bytes(bytes, field, at), *nested, keys, name + '.');
        continue;
      }
      const bool aligned = field.bits % 8 == 0 && field.bit_offset % 8 == 0;
      if (aligned ? is_zero(field_bytes(bytes, field, at)) : read_number(bytes, field, at) == 0) continue;
      const bool hides = keys == Keys::hidden && holds_secret(bytes, field);
      text += fmt::format(" {}={}", name, hides ? "(not displayed)" : field_text(bytes, field, at));
    }
  }
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

std::string PlannedSet::done() const {
  const mad::HeaderView header(mad);
  const StructInfo* info = Attribute(mad).info;
  std::string text = header.method() == mad::method::delete_ ? "Deleted " : "Set ";
  text += info != nullptr ? std::string(info->iba_name)
                          : fmt::format("attribute 0x{:04x} of class 0x{:02x}", header.attribute_id(), header.mgmt_class());
  text += " of";
  if (!description.empty()) text += ' ' + in_quotes(description);
  text += ' ' + (node_guid != Guid{} ? to_text(node_guid) : path::to_text(path));
  if (port) text += *port == subnet::all_ports ? " all ports" : fmt::format(" port {}", *port);
  return text;
}

void PlannedSets::visit(report::Sink& sink) const {
  sink.value("dry_run", true);
  sink.objects("sets", sets, [&](const PlannedSet& set) {
    const mad::HeaderView header(set.mad);
    const Attribute attribute(set.mad);
    sink.value("request", request_name(set.mad));
    path::visit(sink, "path", set.path);
    sink.value_or_null("node_guid", set.node_guid != Guid{}, set.node_guid);
    sink.text_or_null("node_description", set.description);
    sink.value("modifier", header.attribute_modifier());
    if (attribute.info != nullptr) {
      report::visit_attribute(sink, attribute.bytes, *attribute.info, keys);
    } else {
      sink.null("attribute");
      sink.null("data");
    }
  });
}

void PlannedSets::text(TextOut& out) const {
  for (const PlannedSet& set : sets) {
    const mad::HeaderView header(set.mad);
    const Attribute attribute(set.mad);
    std::string fields;
    if (attribute.info != nullptr) add_fields(fields, attribute.bytes, *attribute.info, keys);
    std::string who = set.node_guid == Guid{} ? std::string() : ' ' + to_text(set.node_guid);
    if (!set.description.empty()) who += ' ' + in_quotes(set.description);
    out.print("Would send {} {} {}{} by {}:{}\n", request_name(set.mad), header.attribute_modifier(), set.is_elsewhere ? "for" : "to", who,
              path::to_text(set.path), fields);
  }
}

SetGuard::SetGuard(mad::Transactor& below, const std::string& refusal, bool dry_run)
    : Transactor(below.end_port()), below_(below), dry_run_(dry_run), refusal_(refusal) {
  sa_path() = below.sa_path();
}

mad::Task<mad::Result<mad::Reply>> SetGuard::try_call(const mad::Request& request) {
  if (!mad::changes_something(request)) return below_.try_call(request);  // no frame of its own: sweeps send millions
  return set(request);
}

mad::Task<mad::Result<mad::Reply>> SetGuard::set(const mad::Request& request) {
  if (!refusal_.empty()) throw UsageError(refusal_);
  std::optional<PlannedSet> described;
  if (report_ || dry_run_) described = co_await describe(request);
  // The last request before the Set, since LIDs and cables may change hands while anything else is read, above all by its retries.
  const mad::Result<std::optional<smp::NodeInfo>> node = co_await check(request);
  if (!node) co_return node.shared_error();
  if (described) complete(*described, *node);
  if (dry_run_) co_return plan(request, std::move(*described));
  mad::Result<mad::Reply> sent = co_await send(request);
  if (sent && described) report_(*described);
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
const path::Path& SetGuard::target_of(const mad::Request& request) const { return aim_ ? *aim_ : request.path; }

/// Whether the SA is queried for who a node is: --sa wants no SMPs, and the Set goes to the SA itself.
bool SetGuard::is_by_sa(const mad::Request& request) const { return names_by_sa_ && request.mgmt_class == mad::mgmt_class::sa; }

/// Whether check() requests a NodeInfo.
bool SetGuard::is_checked(const path::Path& target) const {
  const bool by_route = target.directed() == nullptr && routes_.contains(target.ib().dlid);
  return subnet::takes_smps(target) && (by_route || target.ib().expected_node_guid != Guid{});
}

/// The NodeInfo of the node that the Set changes; nothing if no node was named. The error is one of a request, or WrongNode.
mad::Task<mad::Result<std::optional<smp::NodeInfo>>> SetGuard::check(const mad::Request& request) {
  path::Path path = target_of(request);
  std::optional<sa::SaTransactor> sa;
  if (is_by_sa(request)) sa.emplace(below_);  // which answers by LID, not by route
  if (!is_checked(path) || (sa && path.ib().expected_node_guid == Guid{})) co_return std::optional<smp::NodeInfo>();
  if (const auto route = routes_.find(path.ib().dlid); !sa && route != routes_.end() && path.directed() == nullptr) {
    path::Path end = route->second;
    end.ib().expected_node_guid = path.ib().expected_node_guid;
    const mad::Result<smp::NodeInfo> node = co_await subnet::check_set_target(below_, end);
    if (!node) co_return node.shared_error();
    path.ib().expected_node_guid = node->node_guid;
  }
  mad::Transactor& transactor = sa ? static_cast<mad::Transactor&>(*sa) : below_;
  mad::Result<smp::NodeInfo> node = co_await subnet::check_set_target(transactor, path);
  if (!node) co_return node.shared_error();
  co_return std::optional(std::move(*node));
}

/// The Set with the description of the node that it changes, and with the GUID and the port where no check() gives them.
mad::Task<PlannedSet> SetGuard::describe(const mad::Request& request) {
  PlannedSet set{request.path, mad::to_mad(request), {}, {}, aimed_port_, aim_.has_value()};
  const path::Path& target = target_of(request);
  if (!subnet::takes_smps(target)) co_return set;
  const path::Path smp = subnet::smp_path_of(target);
  std::optional<sa::SaTransactor> sa;
  if (is_by_sa(request)) sa.emplace(below_);
  mad::Transactor& names = sa ? static_cast<mad::Transactor&>(*sa) : below_;
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
  const mad::Result<smp::NodeDescription> description = co_await names.try_subn_get<smp::NodeDescription>(smp);
  if (description) set.description = fixed_text(description->node_string);
  if (guid != Guid{} && description) descriptions_.emplace(guid, set.description);
  co_return set;
}

/// Adds what the NodeInfo of the changed node says.
void SetGuard::complete(PlannedSet& set, const std::optional<smp::NodeInfo>& node) {
  if (node) set.node_guid = node->node_guid;
  if (!set.port) set.port = changed_port(set.mad, node);
}

/// Records the Set. The reply is as of a node that accepts all values.
mad::Reply SetGuard::plan(const mad::Request& request, PlannedSet set) {
  mad::Reply reply{set.mad, mad::Source()};
  reply.bytes[3] = mad::response_method(request.method);
  planned_.push_back(std::move(set));
  return reply;
}

}  // namespace ib::tools
