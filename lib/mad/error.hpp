// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The errors of a request to a node. Every MadError carries the request, the path and the reply, if there is one. The user can
// see these details (-v, -vv), and a server can answer a request by throwing a MadError.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "mad/packet.hpp"
#include "path/path.hpp"

namespace ib::mad {

/// A request failed. Keeps copies of the request, which has the header of a MAD at least, and of the reply.
class MadError : public Error {
 public:
  /// `reply_status` is the status (IBA 13.4.7) of the answer if this error ends a request that this program serves.
  MadError(std::string message, Bytes request, Bytes reply, path::Path path,
           std::uint16_t reply_status = status::unsupported_method_attribute);

  Bytes request() const { return request_; }
  Bytes reply() const { return reply_; }  ///< empty if no reply came
  const path::Path& path() const { return path_; }
  /// The status of the reply without the D bit, or 0 if no reply came.
  std::uint16_t status() const;
  std::uint16_t reply_status() const { return reply_status_; }
  using Error::lines;
  std::vector<std::string> lines(int verbosity, Keys keys) const override;
  [[noreturn]] virtual void raise() const { throw *this; }
  /// Throws a copy of this error with its dynamic type and with `text` as an additional note on top.
  [[noreturn]] void raise_with(std::string text) const;

 private:
  std::vector<std::uint8_t> request_, reply_;
  path::Path path_;
  std::uint16_t reply_status_;
};

/// The class-specific part of a MAD's status: bits 8 to 15. `status` comes without the D bit of directed routes, so SMPs by
/// directed route have only the lower seven of these bits (IBA 13.4.7, 14.2.1.2).
constexpr std::uint8_t class_code(std::uint16_t status) { return static_cast<std::uint8_t>(status >> 8); }

/// No try of the request was answered.
class MadTimeout : public MadError {
 public:
  /// `waited` is the time from the first try until the last one was given up. `before` is what the destination had not answered earlier,
  /// where this request got fewer tries for that: "NodeRecord: 4 tries in 9.7 s". Only the text of a query to the SA has it.
  MadTimeout(Bytes request, const path::Path& path, unsigned tries, std::chrono::nanoseconds waited, std::string before = {});
  /// The number of tries of the request. 0 means that its node was already known to be silent (mad/rpc/responder.hpp).
  unsigned tries() const { return tries_; }
  std::chrono::nanoseconds waited() const { return waited_; }
  const std::string& before() const { return before_; }
  /// Whether the channel reported the last try as unanswered, as the kernel does. Else nothing at all came back in its time.
  bool reported() const { return reported_; }
  MadTimeout& set_reported(bool reported) { return reported_ = reported, *this; }
  [[noreturn]] void raise() const override { throw *this; }

 private:
  unsigned tries_;
  std::chrono::nanoseconds waited_;
  std::string before_;
  bool reported_{};
};

/// The number of tries of an unanswered request. Nothing if the request failed for another reason.
std::optional<unsigned> unanswered_tries(const Error& error);
/// Whether the request was not answered.
inline bool is_timeout(const Error& error) { return unanswered_tries(error).has_value(); }

/// The node answered with a status of IBA 13.4.7.
class MadStatusError : public MadError {
 public:
  MadStatusError(Bytes request, Bytes reply, const path::Path& path);
  [[noreturn]] void raise() const override { throw *this; }
};

/// The node answered with a class-specific status.
class MadClassError : public MadStatusError {
 public:
  using MadStatusError::MadStatusError;
  std::uint8_t code() const { return class_code(status()); }
  [[noreturn]] void raise() const override { throw *this; }
};

/// A class-specific status of subnet administration (IBA 15.2.4).
class SaError : public MadClassError {
 public:
  using MadClassError::MadClassError;
  [[noreturn]] void raise() const override { throw *this; }
};

/// A stored fabric does not have the answer, because the request was not sent when it was stored. This says nothing about the node.
class NotRead : public MadError {
 public:
  /// `cause` is the reason as a sentence that names no node. It is the same for all requests that fail for the same reason.
  NotRead(std::string message, std::string cause, Bytes request, const path::Path& path)
      : MadError(std::move(message), request, {}, path), cause_(std::move(cause)) {}
  const std::string& cause() const { return cause_; }
  [[noreturn]] void raise() const override { throw *this; }

 private:
  std::string cause_;
};

// The first line about a failed request: what was wanted, of what, and what came instead. The names of methods and classes, and the path,
// belong to the details that -v adds (MadError::lines()).

/// The destination of a path in a sentence: "LID 7", "this node", "route 0,1,30", "route 0,3 from LID 6", "GID fe80::1".
std::string target_text(const path::Path& path);

/// Whether a request, which has a whole header, is an SMP about the subnet manager of its destination.
bool is_about_manager(Bytes request);

/// The port that a request is about, by the attribute modifier or the PortSelect of its attribute. Nothing if the attribute has no port, or
/// if the port is 0, which for most attributes is the port that receives the request.
std::optional<unsigned> port_of_request(Bytes request);

/// "PortInfo of port 20", "NodeInfo": the attribute that a request is about, and the port.
std::string attribute_text(Bytes request);

/// "4 tries in 1.2 s".
std::string effort_text(unsigned tries, std::chrono::nanoseconds waited);

/// The sentence of `error` with another name of the destination. For an error that is neither a timeout nor a status: its message.
std::string plain_text(const MadError& error, std::string_view whom);

/// The error for the status of `reply`, or null for success.
std::shared_ptr<MadError> status_error(Bytes request, Bytes reply, const path::Path& path);

/// A value, or the MadError that came instead. For sweeps, in which a dead node is a result and does not end the sweep.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                // NOLINT: converts on purpose
  Result(std::shared_ptr<const MadError> error) : error_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  const MadError& error() const { return *error_; }
  std::shared_ptr<const MadError> shared_error() const { return error_; }
  /// Returns the value, or throws the error.
  T&& take() && {
    if (!*this) error().raise();
    return *std::move(value_);
  }

 private:
  std::optional<T> value_;
  std::shared_ptr<const MadError> error_;  ///< null if there is a value
};

}  // namespace ib::mad
