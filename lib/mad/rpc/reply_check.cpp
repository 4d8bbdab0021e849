// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Compares an answer with its request.
#include <fmt/format.h>

#include "iba-gen/sa.hpp"
#include "mad/rpc/call.hpp"

namespace ib::mad {

namespace {

/// Whether the attribute of `answer` is the requested attribute or its permitted substitute: SubnAdmGetMulti of a
/// MultiPathRecord is answered with PathRecords (IBA o15-0.2.7).
bool may_have_attribute(const HeaderView& sent, const HeaderView& answer) {
  if (answer.attribute_id() == sent.attribute_id()) return true;
  if (is_redirect(answer)) return answer.attribute_id() == attribute_id::class_port_info;
  return sent.mgmt_class() == mgmt_class::sa && sent.method() == method::get_multi &&
         sent.attribute_id() == sa::MultiPathRecord::attribute_id && answer.attribute_id() == sa::PathRecord::attribute_id;
}

}  // namespace

std::string why_invalid(Bytes request, Bytes reply) {
  const HeaderView sent(request), answer(reply);
  const std::size_t least = may_answer_in_segments(sent) && RmppView::is_active(reply) ? data_area(sent.mgmt_class()).offset : packet_size;
  if (reply.size() < least || (reply.size() > packet_size && least == packet_size)) {
    return fmt::format("Invalid reply size. Got {}, expected {}", reply.size(), least);
  }
  const auto differs = [](std::string_view what, unsigned got, unsigned expected) {
    return fmt::format("Invalid reply: {} is 0x{:x}, expected 0x{:x}", what, got, expected);
  };
  if (answer.base_version() != sent.base_version()) return differs("base version", answer.base_version(), sent.base_version());
  if (answer.class_version() != sent.class_version() && (answer.status() & 0x1f) == 0) {
    return differs("class version", answer.class_version(), sent.class_version());
  }
  if (answer.method() != response_method(sent.method())) return differs("method", answer.method(), response_method(sent.method()));
  if (!may_have_attribute(sent, answer)) return differs("attribute", answer.attribute_id(), sent.attribute_id());
  if (sent.mgmt_class() == mgmt_class::smp_directed && (answer.raw_status() & 0x8000U) == 0) {
    return "Invalid reply: the direction bit is not set";
  }
  return {};
}

}  // namespace ib::mad
