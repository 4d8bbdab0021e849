// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The messages of failed requests in plain words, and their details in python-rdma's.
#include "mad/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/describe.hpp"

namespace ib::mad {

namespace {

constexpr std::uint8_t code_shift = 2, code_mask = 7;  // IBA 13.4.7: bits 2 to 4
enum StatusCode : std::uint8_t { bad_version = 1, unsupported_method = 2, unsupported_attribute = 3, invalid_value = 7 };

bool is_set(Bytes request) { return HeaderView(request).method() == method::set; }

/// "the Get of NodeInfo", "the Set of PortInfo of port 3", "the request for NodeRecord".
std::string request_text(Bytes request) {
  const std::uint8_t method = HeaderView(request).method();
  const std::string what = attribute_text(request);
  if (method == method::get) return "the Get of " + what;
  if (method == method::set) return "the Set of " + what;
  return "the request for " + what;
}

std::string sa_text(Bytes request, unsigned code) {
  const std::string what = attribute_text(request);
  const std::array<std::string, 9> texts{"",
                                         fmt::format("The SA lacks the resources to answer {} now", request_text(request)),
                                         fmt::format("The SA rejects {} as invalid", request_text(request)),
                                         fmt::format("The SA has no {} that matches", what),
                                         fmt::format("The SA has several {}s that match, where one was requested", what),
                                         fmt::format("The SA knows no such GID ({})", what),
                                         fmt::format("The SA wants more components in {}", request_text(request)),
                                         fmt::format("The SA denies {}", request_text(request)),
                                         fmt::format("The SA suggests another priority ({})", what)};
  return code != 0 && code < texts.size() ? texts[code] : fmt::format("The SA refuses {} (status {})", request_text(request), code);
}

/// The request and its path in python-rdma's words, for -v. Empty for an error that has only its message.
std::string rpc_text(const MadError& error) {
  const Bytes request = error.request();
  if (const auto* const timeout = dynamic_cast<const MadTimeout*>(&error)) {
    const std::string what = describe(request), where = path::to_text(error.path());
    if (timeout->tries() == 0) return fmt::format("RPC {} was not sent to '{}'", what, where);
    return fmt::format("RPC {} timed out to '{}'", what, where);
  }
  if (dynamic_cast<const MadStatusError*>(&error) == nullptr) return {};
  const HeaderView header(error.reply());
  if (dynamic_cast<const MadClassError*>(&error) == nullptr)
    return fmt::format("RPC {} got error status 0x{:x} - {}", describe(request), header.status(), mad_status_text(header.status()));
  const unsigned code = class_code(header.status());
  const std::string what = header.mgmt_class() == mgmt_class::sa ? sa_status_text(code) : fmt::format("{}", code);
  return fmt::format("RPC {} got class specific error {}", describe(request), what);
}

/// "No answer from LID 99 about PortInfo of port 20 (4 tries in 1.2 s)". `whom` names the destination. With 0 tries, the request was not
/// sent because its destination was already silent.
std::string no_answer_text(Bytes request, std::string_view whom, unsigned tries, std::chrono::nanoseconds waited, std::string_view before) {
  const std::string what = attribute_text(request);
  if (tries == 0) return fmt::format("{} has stopped answering: {} was not requested", whom, what);
  const std::string effort = effort_text(tries, waited);
  if (HeaderView(request).mgmt_class() == mgmt_class::sa)
    return fmt::format("No subnet administrator answers at {} ({}{}{}: {})", whom, before, before.empty() ? "" : ", then ", what, effort);
  if (is_about_manager(request)) return fmt::format("No subnet manager answers at {} ({})", whom, effort);
  return fmt::format("No answer from {} {} {} ({})", whom, is_set(request) ? "to the Set of" : "about", what, effort);
}

/// The sentence for a status other than 0: "LID 4 does not support SwitchInfo (status 0xc)".
std::string status_text(Bytes request, Bytes reply, std::string_view whom) {
  const HeaderView header(reply);
  if (header.mgmt_class() == mgmt_class::sa) whom = "The SA";
  const std::uint16_t status = header.status();
  const unsigned code = status >> code_shift & code_mask, by_class = class_code(status);
  const std::string wanted = request_text(request), what = attribute_text(request);
  if (code == 0 && by_class != 0) {
    if (header.mgmt_class() == mgmt_class::sa) return sa_text(request, by_class);
    return fmt::format("{} refuses {} (class-specific status {})", whom, wanted, by_class);
  }
  switch (code) {
    case bad_version:
      return fmt::format("{} does not support this version of the management class (status 0x{:x}, {})", whom, status, wanted);
    case unsupported_method:
      return fmt::format("{} does not support this method (status 0x{:x}, {})", whom, status, wanted);
    case unsupported_attribute:
      return fmt::format("{} does not support {} (status 0x{:x})", whom, is_set(request) ? wanted : what, status);
    case invalid_value:
      return fmt::format("{} rejects {} as invalid (status 0x{:x})", whom, wanted, status);
    default:
      if ((status & status::busy) != 0) return fmt::format("{} is busy: it did not answer {} (status 0x{:x})", whom, wanted, status);
      return fmt::format("{} refuses {} (status 0x{:x}, {})", whom, wanted, status, mad_status_text(status));
  }
}

}  // namespace

std::string target_text(const path::Path& path) {
  const path::IbPath& ib = path.ib();
  if (const path::IbDrPath* const route = path.directed()) {
    const bool starts_here = route->dr_slid == permissive_lid, ends_there = route->dr_dlid == permissive_lid;
    if (route->hops == 0 && starts_here && ends_there) return "this node";
    std::string text = "route 0";
    for (const std::uint8_t port : route->ports()) text += fmt::format(",{}", port);
    if (!starts_here && ib.dlid != permissive_lid) text += fmt::format(" from LID {}", ib.dlid.value);
    if (!ends_there) text += fmt::format(" and on to LID {}", route->dr_dlid.value);
    return text;
  }
  if (ib.dlid == Lid{} && ib.dgid) return fmt::format("GID {}", to_text(*ib.dgid));
  return fmt::format("LID {}", ib.dlid.value);
}

bool is_about_manager(Bytes request) {
  const HeaderView header(request);
  return is_smp(header.mgmt_class()) && header.attribute_id() == smp::SMInfo::attribute_id;
}

std::optional<unsigned> port_of_request(Bytes request) {
  const StructInfo* const attribute = request.size() < header_size ? nullptr : find_attribute_in(request);
  if (attribute == nullptr) return std::nullopt;
  std::uint64_t port = 0;
  const auto modifier =
      std::ranges::find_if(attribute->modifier, [](const ModifierInfo& part) { return part.name == "port" || part.name == "input_port"; });
  if (modifier != attribute->modifier.end()) {
    constexpr unsigned modifier_begin = 160;  // in bits
    port = wire::get_bits(request, modifier_begin + modifier->bit_offset, modifier->bits);
  } else if (const FieldInfo* const select = find_field(*attribute, "port_select")) {
    const DataArea data = data_area(HeaderView(request).mgmt_class());
    if (request.size() < data.offset + attribute->bytes) return std::nullopt;
    port = wire::get_bits(request.subspan(data.offset), select->bit_offset, select->bits);
  }
  return port == 0 ? std::nullopt : std::optional(static_cast<unsigned>(port));
}

std::string attribute_text(Bytes request) {
  constexpr unsigned all_ports = 255;
  const StructInfo* const attribute = find_attribute_in(request);
  const HeaderView header(request);
  const std::string name = attribute != nullptr ? std::string(attribute->title) : fmt::format("attribute 0x{:04x}", header.attribute_id());
  const std::optional<unsigned> port = port_of_request(request);
  if (!port) return name;
  return *port == all_ports ? name + " of all ports" : fmt::format("{} of port {}", name, *port);
}

std::string effort_text(unsigned tries, std::chrono::nanoseconds waited) {
  return fmt::format("{} {} in {:.1f} s", tries, tries == 1 ? "try" : "tries", std::chrono::duration<double>(waited).count());
}

std::string plain_text(const MadError& error, std::string_view whom) {
  if (const auto* const timeout = dynamic_cast<const MadTimeout*>(&error))
    return no_answer_text(error.request(), whom, timeout->tries(), timeout->waited(), timeout->before());
  if (dynamic_cast<const MadStatusError*>(&error) != nullptr) return status_text(error.request(), error.reply(), whom);
  return error.message();
}

MadError::MadError(std::string message, Bytes request, Bytes reply, path::Path path, std::uint16_t reply_status)
    : Error(std::move(message)),
      request_(request.begin(), request.end()),
      reply_(reply.begin(), reply.end()),
      path_(std::move(path)),
      reply_status_(reply_status) {}

void MadError::raise_with(std::string text) const {
  try {
    raise();
  } catch (MadError& error) {
    error.note(std::move(text));
    throw;
  }
  std::abort();  // raise() always throws
}

std::uint16_t MadError::status() const { return reply_.size() < header_size ? std::uint16_t{0} : HeaderView(reply_).status(); }

std::vector<std::string> MadError::lines(int verbosity, Keys keys) const {
  std::vector<std::string> lines = Error::lines(verbosity, keys);
  if (verbosity >= 1) {
    if (std::string rpc = rpc_text(*this); !rpc.empty()) lines.push_back(std::move(rpc));
    lines.push_back("MAD path was " + path::to_spec(path_, keys));
  }
  if (verbosity >= 2) {
    // One entry for each packet, because a printer puts its prefix before the first line of an entry only.
    const auto add = [&lines, keys](std::string_view what, Bytes mad) {
      std::string text = fmt::format("{} Packet {}\n{}", what, format_name(mad), dump_packet(mad, keys));
      while (text.ends_with('\n')) text.pop_back();
      lines.push_back(std::move(text));
    };
    if (!request_.empty()) add("Request", request_);
    if (!reply_.empty()) add("Reply", reply_);
  }
  return lines;
}

MadTimeout::MadTimeout(Bytes request, const path::Path& path, unsigned tries, std::chrono::nanoseconds waited, std::string before)
    : MadError(no_answer_text(request, target_text(path), tries, waited, before), request, {}, path),
      tries_(tries),
      waited_(waited),
      before_(std::move(before)) {}

std::optional<unsigned> unanswered_tries(const Error& error) {
  const auto* timeout = dynamic_cast<const MadTimeout*>(&error);
  return timeout != nullptr ? std::optional(timeout->tries()) : std::nullopt;
}

MadStatusError::MadStatusError(Bytes request, Bytes reply, const path::Path& path)
    : MadError(status_text(request, reply, target_text(path)), request, reply, path) {}

std::shared_ptr<MadError> status_error(Bytes request, Bytes reply, const path::Path& path) {
  const std::uint16_t status = HeaderView(reply).status();
  if ((status & 0x1fU) != 0) return std::make_shared<MadStatusError>(request, reply, path);
  if (class_code(status) == 0) return nullptr;
  if (HeaderView(reply).mgmt_class() == mgmt_class::sa) return std::make_shared<SaError>(request, reply, path);
  return std::make_shared<MadClassError>(request, reply, path);
}

}  // namespace ib::mad
