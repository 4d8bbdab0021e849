// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The messages of failed requests in plain words, and their details in python-rdma's.
#include "mad/error.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "iba/describe.hpp"
#include "mad/describe.hpp"
#include "mad/plain_text.hpp"

namespace ib::mad {

namespace {

std::vector<std::uint8_t> copied(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

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

}  // namespace

MadError::MadError(std::string message, Bytes request, Bytes reply, path::Path path)
    : Error(std::move(message)), request_(copied(request)), reply_(copied(reply)), path_(std::move(path)) {}

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

MadError& MadError::set_reply_status(std::uint16_t status) {
  reply_status_ = status;
  return *this;
}

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

MadTimeout::MadTimeout(Bytes request, const path::Path& path, unsigned tries, std::chrono::nanoseconds waited)
    : MadError(no_answer_text(request, target_text(path), tries, waited), request, {}, path), tries_(tries), waited_(waited) {}

std::optional<unsigned> unanswered_tries(const Error& error) {
  const auto* timeout = dynamic_cast<const MadTimeout*>(&error);
  return timeout != nullptr ? std::optional(timeout->tries()) : std::nullopt;
}

MadStatusError::MadStatusError(Bytes request, Bytes reply, const path::Path& path)
    : MadError(status_text(request, reply, target_text(path)), request, reply, path) {}

MadClassError::MadClassError(Bytes request, Bytes reply, const path::Path& path) : MadStatusError(request, reply, path) {}

std::shared_ptr<MadError> status_error(Bytes request, Bytes reply, const path::Path& path) {
  const std::uint16_t status = HeaderView(reply).status();
  if ((status & 0x1fU) != 0) return std::make_shared<MadStatusError>(request, reply, path);
  if (class_code(status) == 0) return nullptr;
  if (HeaderView(reply).mgmt_class() == mgmt_class::sa) return std::make_shared<SaError>(request, reply, path);
  return std::make_shared<MadClassError>(request, reply, path);
}

}  // namespace ib::mad
