// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Passes an arriving MAD to its handler and sends the answer.
#include "mad/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "iba/registry.hpp"
#include "mad/describe.hpp"
#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

namespace {

constexpr std::uint8_t base_version = 1;  // IBA 13.4.2

/// Whether `method` has an answer. Send and Trap expect none, and TrapRepress is itself an answer (IBA 13.4.5).
bool has_answer(std::uint8_t method) { return method != method::send && method != method::trap && method != method::trap_repress; }

/// Clears the RMPP header of a request. The answer is another transfer, or no transfer.
void clear_rmpp(MutableBytes mad) {
  if (has_rmpp(mad[1])) std::ranges::fill(mad.subspan(header_size, rmpp_header_size - header_size), std::uint8_t{0});
}

/// The header of an answer, with the length of the class header. The answer repeats the class-specific fields of the request
/// (keys, masks, the OUI).
std::vector<std::uint8_t> reply_header(const Incoming& incoming, const ReplyHeader& header) {
  const Bytes request = incoming.bytes();
  const auto end = request.begin() + static_cast<std::ptrdiff_t>(data_area(request[1]).offset);
  std::vector<std::uint8_t> mad(request.begin(), end);
  clear_rmpp(mad);
  mad[3] = response_method(mad[3]);
  store_be(&mad[4], header.status);
  if (header.attribute_id) store_be(&mad[16], *header.attribute_id);
  if (header.attribute_modifier) store_be(&mad[20], *header.attribute_modifier);
  if (mad[1] == mgmt_class::sa) store_be(&mad[attribute_offset_offset], header.attribute_offset);
  return mad;
}

}  // namespace

Incoming::Incoming(Bytes mad, const Source& source, const sys::EndPort& end_port)
    : bytes_(mad.begin(), mad.end()), path_(source.path(end_port, mad[1])) {
  bytes_.resize(std::max(bytes_.size(), packet_size));
}

path::Path Incoming::reply_path() const {
  path::Path path = path_;
  path::reverse(path);
  return path;
}

MadError Incoming::error(std::uint16_t reply_status, std::string message) const {
  return {std::move(message), bytes_, {}, path_, reply_status};
}

Server::Server(Rpc& rpc) : rpc_(rpc) { rpc_.server_ = this; }
Server::~Server() { rpc_.server_ = nullptr; }

void Server::serve(const Service& service) {
  if (is_smp(service.mgmt_class)) throw std::invalid_argument("SMPs are answered by the SMA only");
  rpc_.serve(service);
  services_.push_back(service);
}

void Server::on(std::uint8_t mgmt_class, std::uint8_t method, std::uint16_t attribute_id, Handler handler) {
  handlers_[Key{mgmt_class, method, attribute_id}] = std::move(handler);
}

const Service* Server::find_service(Bytes mad) const {
  const auto place = std::ranges::find_if(
      services_, [&](const Service& s) { return s.mgmt_class == mad[1] && (!has_oui(s.mgmt_class) || s.oui == mad_oui(mad)); });
  return place == services_.end() ? nullptr : &*place;
}

const Server::Handler& Server::find_handler(const Incoming& incoming, const Service& service) const {
  const HeaderView header = incoming.header();
  const auto refusal = [&](std::uint16_t status, std::string_view what) {
    return incoming.error(status, fmt::format("{} {}", what, describe(incoming.bytes())));
  };
  if (header.base_version() != base_version || header.class_version() != service.class_version)
    throw refusal(status::bad_version, "Invalid version");
  const Key key{header.mgmt_class(), header.method(), header.attribute_id()};
  const auto handler = handlers_.find(key);
  if (handler != handlers_.end()) return handler->second;
  const bool method_known = std::ranges::any_of(
      handlers_, [&](const auto& known) { return known.first.mgmt_class == key.mgmt_class && known.first.method == key.method; });
  if (!method_known) throw refusal(status::unsupported_method, "Unsupported method");
  throw refusal(status::unsupported_method_attribute, "Unsupported attribute ID for");
}

void Server::requested(Bytes mad, const Source& source) {
  // A request that came by RMPP may have any length.
  const bool whole = mad.size() == packet_size || (RmppView::is_active(mad) && mad.size() >= data_area(mad[1]).offset);
  const Service* service = whole ? find_service(mad) : nullptr;
  if (service == nullptr) {
    ++counts_.ignored;
    return;
  }
  const Incoming incoming(mad, source, rpc_.end_port());
  try {
    find_handler(incoming, *service)(incoming);
  } catch (...) {
    refuse(incoming, report_caught());
  }
}

/// Reports the exception of a handler and returns the status of the answer. No exception of a handler ends the server.
std::uint16_t Server::report_caught() const {
  try {
    throw;
  } catch (const MadError& error) {
    report(error);
    return error.reply_status();
  } catch (const Error& error) {
    report(error);
  } catch (const std::exception& error) {
    report(Error(fmt::format("A request cannot be answered: {}", error.what())));
  } catch (...) {
    report(Error("A request cannot be answered, for a reason unknown"));
  }
  return status::unsupported_method_attribute;
}

void Server::send_reply(const Incoming& incoming, Bytes payload, const ReplyHeader& header) {
  std::vector<std::uint8_t> mad = reply_header(incoming, header);
  if (mad.size() + payload.size() > packet_size) throw std::invalid_argument("the payload is too long for its class");
  mad.insert(mad.end(), payload.begin(), payload.end());
  mad.resize(packet_size);
  if (transmit(incoming, mad)) ++counts_.answered;
}

void Server::send_rmpp_reply(const Incoming& incoming, Bytes payload, const ReplyHeader& header) {
  std::vector<std::uint8_t> mad = reply_header(incoming, header);
  if (!has_rmpp(mad[1])) throw std::invalid_argument("the class has no RMPP");
  set_whole(mad);
  mad.insert(mad.end(), payload.begin(), payload.end());
  if (transmit(incoming, mad)) {
    ++counts_.answered;
  } else {
    refuse(incoming, status::busy);
  }
}

void Server::refuse(const Incoming& incoming, std::uint16_t status) {
  if (!has_answer(incoming.header().method())) return;
  const Bytes request = incoming.bytes().first(packet_size);
  std::vector<std::uint8_t> mad(request.begin(), request.end());
  clear_rmpp(mad);
  mad[3] = response_method(mad[3]);
  store_be(&mad[4], status);
  if (transmit(incoming, mad)) ++counts_.refused;
}

/// Sends an answer. False if it could not be sent; the requester will repeat its request.
bool Server::transmit(const Incoming& incoming, Bytes mad) {
  try {
    rpc_.send_unanswered(mad, incoming.reply_path());
    return true;
  } catch (Error& error) {
    error.note(fmt::format("The answer to {} could not be sent to '{}'", describe(incoming.bytes()), path::to_text(incoming.path())));
    report(error);
    return false;
  }
}

void Server::report(const Error& error) const {
  if (reporter_) reporter_(error);
}

Task<> Server::run() {
  co_await stopped_;
  if (broken_) std::rethrow_exception(broken_);
}

void Server::broken(std::exception_ptr error) {
  broken_ = error;
  stop();
}

}  // namespace ib::mad
