// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The header of a segment, and failures in words.
#include "mad/rmpp.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ib::mad {

namespace {
constexpr std::uint8_t no_response_time = 0x1f;  // RRespTime: none is given (IBA 13.6.2.1)

std::string status_name(rmpp::Status status) {
  const std::string_view known = to_text(status);
  return fmt::format("{}({})", known.empty() ? "status" : known, static_cast<unsigned>(status));
}
}  // namespace

void set_rmpp(Packet& packet, rmpp::Type type, std::uint8_t flags, rmpp::Status status, std::uint32_t data1, std::uint32_t data2) {
  packet[24] = 1;  // RMPPVersion
  packet[25] = static_cast<std::uint8_t>(type);
  packet[26] = static_cast<std::uint8_t>(no_response_time << 3 | flags | rmpp::flags::active);
  packet[27] = static_cast<std::uint8_t>(status);
  store_be(&packet[28], data1);
  store_be(&packet[32], data2);
  std::fill(packet.begin() + static_cast<std::ptrdiff_t>(data_area(packet[1]).offset), packet.end(), std::uint8_t{0});
}

std::string describe_segment(Bytes mad) {
  if (mad.size() < rmpp_header_size) return "a truncated MAD";
  const RmppView view(mad);
  switch (view.type()) {
    case rmpp::Type::data:
      return fmt::format("DATA {}{}{} length {}", view.segment(), (view.flags() & rmpp::flags::first) != 0 ? " first" : "",
                         (view.flags() & rmpp::flags::last) != 0 ? " last" : "", view.length());
    case rmpp::Type::ack:
      return fmt::format("ACK {} window {}", view.segment(), view.new_window_last());
    case rmpp::Type::stop:
    case rmpp::Type::abort:
      return fmt::format("{} {}", to_text(view.type()), status_name(view.status()));
    default:
      return fmt::format("type {}", static_cast<unsigned>(view.type()));
  }
}

std::string RmppFailure::text() const {
  const std::string name = status_name(status);
  if (by_peer) return "the other side gave up: " + name;
  return reason.empty() ? name : fmt::format("{} - {}", reason, name);
}

}  // namespace ib::mad
