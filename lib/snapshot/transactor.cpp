// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/transactor.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/escape.hpp"
#include "counters/readings.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/mlx.hpp"
#include "iba/queries.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "mad/describe.hpp"
#include "mad/error.hpp"
#include "mad/request.hpp"
#include "snapshot/format.hpp"
#include "snapshot/parts.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::snapshot {
namespace {

/// A reply with the stored payload.
std::vector<std::uint8_t> reply_to(const mad::Request& request, std::uint16_t status, Bytes payload) {
  return mad::answer_to(request, status, stored_area(request.mgmt_class), payload);
}

mad::Result<mad::Reply> as_result(const mad::Request& request, std::vector<std::uint8_t> bytes) {
  if (auto error = mad::status_error(mad::to_mad(request), bytes, request.path)) return std::shared_ptr<const mad::MadError>(error);
  mad::Reply reply;
  reply.bytes = std::move(bytes);
  return reply;
}

mad::Result<mad::Reply> timeout(const mad::Request& request, unsigned tries, std::chrono::nanoseconds waited) {
  if (tries == 0) {
    tries = request.path.ib().retries + 1;
    waited = tries * mad_timeout(request.path.ib());
  }
  auto error = std::make_shared<mad::MadTimeout>(mad::to_mad(request), request.path, tries, waited);
  error->set_reported(true);
  return std::shared_ptr<const mad::MadError>(error);
}

template <class E>
mad::Result<mad::Reply> failure(const mad::Request& request, const std::string& why) {
  return std::shared_ptr<const mad::MadError>(std::make_shared<E>(why, mad::to_mad(request), Bytes{}, request.path));
}

/// The timeout that was stored.
mad::Result<mad::Reply> stored_timeout(const mad::Request& request, const StoredAnswer& stored) {
  if (stored.payload.size() < 12) return timeout(request, 0, {});
  const auto waited = std::chrono::nanoseconds(load_be<std::uint64_t>(stored.payload.data() + 4));
  return timeout(request, load_be<std::uint32_t>(stored.payload.data()), waited);
}

/// "PortInfo", or the number of an attribute that is not known.
std::string name_of(const StructInfo* info, std::uint16_t attribute) {
  return info != nullptr ? std::string(info->title) : fmt::format("attribute 0x{:x}", attribute);
}

/// The part that reads an attribute, or none if no part does.
std::optional<Part> part_of(std::uint8_t mgmt_class, std::uint16_t attribute) {
  if (mgmt_class == mad::mgmt_class::sa) return Part::sa;
  if (const QueryInfo* query = find_query(mad::is_smp(mgmt_class) ? mad::mgmt_class::smp : mgmt_class, attribute))
    return query->part == name(Part::topology) ? Part::ports : find_part(query->part);
  // What the class itself says, and what is read by a plan of its own.
  if (mgmt_class == mad::mgmt_class::congestion) return Part::congestion;
  if (mgmt_class == mlx::GeneralInfo::mgmt_class) return attribute == mlx::AccessRegister::attribute_id ? Part::phy : Part::vendor;
  const bool is_pma = mgmt_class == mad::mgmt_class::performance && attribute == mad::ClassPortInfo::attribute_id;
  return is_pma ? std::optional(Part::counters) : std::nullopt;
}

/// Sets all bits of the keys in the stored_area() of a reply.
void set_keys(std::vector<std::uint8_t>& payload, const AnswerKey& key) {
  const StructInfo* info = find_attribute(key.mgmt_class, mad::class_version_of(key.mgmt_class), key.attribute);
  if (info == nullptr) return;
  const std::size_t before = mad::data_area(key.mgmt_class).offset - stored_area(key.mgmt_class).offset;
  for (const FieldPlace& place : secret_places(*info)) {
    payload.resize(std::max(payload.size(), before + place.offset + place.size));
    std::fill_n(payload.begin() + static_cast<std::ptrdiff_t>(before + place.offset), place.size, std::uint8_t{0xff});
  }
}

/// Whether the request itself names the port that it is about. If so, the entry port of the node does not matter.
bool names_port(const mad::Request& request) {
  if (request.mgmt_class == mad::mgmt_class::performance && request.attribute_id != mad::ClassPortInfo::attribute_id)
    return request.payload.size() > 1 && request.payload[1] != 0 && request.payload[1] != subnet::all_ports;
  if (!mad::is_smp(request.mgmt_class) || request.attribute_id == smp::SMInfo::attribute_id) return false;
  if (request.attribute_id == smp::SLToVLMappingTable::attribute_id) return true;
  const QueryInfo* query = find_query(mad::mgmt_class::smp, request.attribute_id);
  if (query == nullptr || query->access == Access::node) return request.attribute_modifier != 0;
  const std::span<const ModifierInfo> parts = query->info->modifier;
  const auto port = std::ranges::find(parts, std::string_view("port"), &ModifierInfo::name);
  constexpr std::uint32_t all_bits = 32;
  return port != parts.end() && request.attribute_modifier << port->bit_offset >> (all_bits - port->bits) != 0;
}

/// The port that a request names in its attribute modifier, as far as it belongs to the key of a failure.
std::uint32_t port_of_request(std::string_view attribute, std::uint32_t port) {
  return attribute == smp::PortInfo::info().title ? port : 0;
}

}  // namespace

bool was_answered(const mad::Result<mad::Reply>& result) { return result || result.error().status() != 0; }

SnapshotTransactor::SnapshotTransactor(StoredFabric& stored, const sys::EndPort& end_port, Keys keys)
    : Transactor(end_port), stored_(stored), keys_(keys), sa_(end_port, [this](const QueryInfo& table) { return load_table(table); }) {}

const subnet::Subnet& SnapshotTransactor::subnet() {
  if (fabric_) return fabric_->subnet;
  fabric_ = stored_.read_fabric(&end_port());
  for (const subnet::Failure& failure : fabric_->failures) {
    if (failure.node == subnet::none || !failure.error) continue;
    const std::uint32_t port = failure.port < 0 ? failure.modifier & 0xffU : static_cast<std::uint32_t>(failure.port);
    if (!failure.beyond) {
      missed_.emplace(std::tuple(failure.node, failure.attribute, port_of_request(failure.attribute, port)), &failure);
    } else if (const auto* silent = dynamic_cast<const mad::MadTimeout*>(failure.error.get()); silent != nullptr && failure.port >= 0) {
      silent_.emplace(fabric_->subnet.port_of(failure.node, port), silent);
    }
  }
  return fabric_->subnet;
}

mad::Task<mad::Result<mad::Reply>> SnapshotTransactor::try_call(const mad::Request& request) {
  const bool reads =
      request.method == mad::method::get || (request.mgmt_class == mad::mgmt_class::sa && mad::is_list_method(request.method));
  if (!reads) {
    throw NeedsFabric(fmt::format("{} changes the fabric: it cannot be sent to {} {}", mad::describe(mad::to_mad(request)),
                                  stored_.subject(), in_quotes(stored_.file())));
  }
  if (request.mgmt_class == mad::mgmt_class::sa) {
    if (const auto why = sa_.not_in_table(request)) co_return not_read(request, sa_.is_unread(request) ? std::string() : *why);
    co_return sa_.answer(request);
  }
  const subnet::PathEnd place = subnet::end_of_path(subnet(), request.path);
  if (place.node != subnet::none) co_return answer_of_node(request, place);
  const auto silent = place.beyond == subnet::none ? silent_.end() : silent_.find(place.beyond);
  if (silent == silent_.end()) co_return timeout(request, 0, {});
  co_return timeout(request, silent->second->tries(), silent->second->waited());
}

std::optional<mad::Result<mad::Reply>> SnapshotTransactor::known_answer(const mad::Request& request) {
  const subnet::PathEnd place = subnet::end_of_path(subnet(), request.path);
  if (place.node == subnet::none) return std::nullopt;
  mad::Result<mad::Reply> stored = answer_of_node(request, place);
  return was_answered(stored) ? std::optional(std::move(stored)) : std::nullopt;
}

std::optional<StoredAnswer> SnapshotTransactor::find(const mad::Request& request, const AnswerKey& key) {
  std::optional<StoredAnswer> stored = stored_.find(key);
  const bool of_arrival = key.mgmt_class == mad::mgmt_class::smp && key.attribute == smp::NodeInfo::attribute_id && key.selector == by_lid;
  if (of_arrival && (!stored || stored->status != answered)) {
    AnswerKey by_route = key;
    by_route.selector = 0;
    stored = stored_.find(by_route);
  }
  if (!stored && names_port(request)) stored = stored_.find_at_other_port(key);
  if (!stored) stored = stored_.find_lack(key);
  if (stored) return stored;
  // An agent that answered nothing got no further requests when the snapshot was taken.
  const std::optional<Part> part = part_of(request.mgmt_class, request.attribute_id);
  return part && stored_.has_part(name(*part)) ? stored_.find_silence(key) : std::nullopt;
}

mad::Result<mad::Reply> SnapshotTransactor::answer_of_node(const mad::Request& request, const subnet::PathEnd& place) {
  const AnswerKey key = key_of(fabric_->subnet, place, request);
  std::optional<StoredAnswer> stored = find(request, key);
  if (!stored) {
    if (auto failed = swept_failure(request, key)) return *failed;
    return not_read(request, why_unread(key));
  }
  if (stored->status == no_answer) return stored_timeout(request, *stored);
  if (stored->status == false_answer) return failure<subnet::FalseAnswer>(request, std::string(as_text(stored->payload)));
  std::vector<std::uint8_t>& payload = stored->payload;
  if (stored->status == answered) set_arrival(payload, key, place);
  if (stored->hides_key && keys_ == Keys::hidden) set_keys(payload, key);
  return as_result(request, reply_to(request, static_cast<std::uint16_t>(stored->status), payload));
}

/// What the sweep got instead of an answer: its requests are stored with the model.
std::optional<mad::Result<mad::Reply>> SnapshotTransactor::swept_failure(const mad::Request& request, const AnswerKey& key) const {
  const StructInfo* info = find_attribute(request.mgmt_class, request.class_version, request.attribute_id);
  if (key.mgmt_class != mad::mgmt_class::smp || info == nullptr) return std::nullopt;
  const auto found = missed_.find(std::tuple(key.node, std::string(info->title), port_of_request(info->title, key.modifier)));
  if (found == missed_.end()) return std::nullopt;
  const subnet::Failure& missed = *found->second;
  const auto* error = dynamic_cast<const mad::MadError*>(missed.error.get());
  if (const auto* silent = dynamic_cast<const mad::MadTimeout*>(error)) return timeout(request, silent->tries(), silent->waited());
  if (error != nullptr && error->status() != 0) return as_result(request, reply_to(request, error->status(), {}));
  return failure<mad::MadError>(request, missed.why);
}

/// Why a request of a part that was read was not sent; empty if this is not known.
std::string SnapshotTransactor::why_unread(const AnswerKey& key) {
  const std::optional<Part> part = part_of(key.mgmt_class, key.attribute);
  if (!part || !stored_.has_part(name(*part))) return {};
  const std::optional<AnswerKey> unanswered = stored_.find_unanswered(key);
  if (!unanswered) return {};
  const StructInfo* info = find_attribute(key.mgmt_class, mad::class_version_of(key.mgmt_class), unanswered->attribute);
  return fmt::format("it was not requested, since {} was not answered", name_of(info, unanswered->attribute));
}

/// Puts the port by which a request came into a NodeInfo or PortInfo.
void SnapshotTransactor::set_arrival(std::vector<std::uint8_t>& payload, const AnswerKey& key, const subnet::PathEnd& place) {
  const bool has_port_num = key.attribute == smp::NodeInfo::attribute_id || key.attribute == smp::PortInfo::attribute_id;
  if (key.mgmt_class != mad::mgmt_class::smp || !has_port_num) return;
  subnet::set_arrival(fabric_->subnet, place, place.arrival ? *place.arrival : arrival_by_lid(place.node), key.attribute, payload);
}

/// The port through which LID-routed SMPs come in at a switch: its stored answer, else the entry port of the route on which it was found.
std::uint8_t SnapshotTransactor::arrival_by_lid(subnet::NodeIndex node) {
  const AnswerKey key{.mgmt_class = mad::mgmt_class::smp, .attribute = smp::NodeInfo::attribute_id, .node = node, .selector = by_lid};
  const std::optional<StoredAnswer> stored = stored_.find(key);
  if (!stored || stored->status != answered) return fabric_->subnet.node(node).entry_port;
  return smp::NodeInfo::unpack(stored->payload).local_port_num;
}

std::optional<mad::Result<mad::Reply>> SnapshotTransactor::load_table(const QueryInfo& table) {
  const std::optional<StoredAnswer> stored = stored_.find(table_key(table));
  if (!stored) return std::nullopt;
  const mad::Request request = sa::sa_request(sa_path(), *table.info, mad::method::get_table, {}, 0);
  if (stored->status == no_answer) return stored_timeout(request, *stored);
  if (stored->status != answered) return as_result(request, reply_to(request, static_cast<std::uint16_t>(stored->status), {}));
  if (stored->payload.size() < mad::data_area(mad::mgmt_class::sa).offset)
    throw Error(fmt::format("The stored {} ends within its header", sa::table_name(table)));
  return as_result(request, stored->payload);
}

mad::Result<mad::Reply> SnapshotTransactor::not_read(const mad::Request& request, std::string_view why) const {
  const StructInfo* info = find_attribute(request.mgmt_class, request.class_version, request.attribute_id, request.oui);
  std::optional<Part> part = part_of(request.mgmt_class, request.attribute_id);
  // The part vendor requests GeneralInfo of devices with a ClassPortInfo, the part phy of all.
  const bool is_general = request.mgmt_class == mlx::GeneralInfo::mgmt_class && request.attribute_id == mlx::GeneralInfo::attribute_id;
  if (is_general && stored_.has_part(name(Part::vendor))) part = Part::phy;
  std::string reason, cause = stored_.lack(name_of(info, request.attribute_id));
  const std::string who = fmt::format("{} of '{}'", cause, to_text(request.path));
  if (!why.empty()) {
    reason = fmt::format(": {}", why);
  } else if (!part) {
    reason = ": no snapshot has it";
  } else if (!stored_.has_part(name(*part))) {
    reason = stored_.remedy(name(*part));
    if (stored_.format().empty()) cause = stored_.lack(fmt::format("part '{}'", name(*part)));
  }
  return std::shared_ptr<const mad::MadError>(
      std::make_shared<mad::NotRead>(who + reason, cause + reason, mad::to_mad(request), request.path));
}

}  // namespace ib::snapshot
