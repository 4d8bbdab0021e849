// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Texts for segments and failures.
#include <fmt/format.h>

#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

namespace {

std::string status_name(rmpp::Status status) {
  const std::string_view known = to_text(status);
  return fmt::format("{}({})", known.empty() ? "status" : known, static_cast<unsigned>(status));
}

}  // namespace

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
