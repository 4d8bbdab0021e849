// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How a request to a node can end badly. Every MadError carries the request, the path and, if one came, the reply, so
// that the deepest layer's facts reach the user (-v, -vv) and a server can answer by throwing one.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "mad/packet.hpp"
#include "path/path.hpp"

namespace ib::mad {

class MadError : public Error {
 public:
  MadError(std::string message, Bytes request, Bytes reply, path::Path path);

  Bytes request() const { return request_; }
  Bytes reply() const { return reply_; }  ///< empty where none came
  const path::Path& path() const { return path_; }
  /// Of the reply, without the D bit; 0 where none came.
  std::uint16_t status() const;
  /// What a server answers its request with where this ends the work on it (IBA 13.4.7).
  std::uint16_t reply_status() const { return reply_status_; }
  MadError& set_reply_status(std::uint16_t status);
  using Error::lines;
  std::vector<std::string> lines(int verbosity, Keys keys) const override;
  /// Throws a copy of this error as what it is.
  [[noreturn]] virtual void raise() const { throw *this; }
  /// The same, with `text` on top of its notes.
  [[noreturn]] void raise_with(std::string text) const;

 private:
  std::vector<std::uint8_t> request_, reply_;
  path::Path path_;
  std::uint16_t reply_status_ = status::unsupported_method_attribute;
};

/// The part of a MAD's status (without the D bit of directed routes) that its class defines: bits 8 to 15, of which SMPs by directed
/// route have the lower seven (IBA 13.4.7, 14.2.1.2).
constexpr std::uint8_t class_code(std::uint16_t status) { return static_cast<std::uint8_t>(status >> 8); }

/// No try was answered.
class MadTimeout : public MadError {
 public:
  /// `waited`: from the first try until the last one was given up.
  MadTimeout(Bytes request, const path::Path& path, unsigned tries, std::chrono::nanoseconds waited);
  /// How often the request was sent. 0: its node had fallen silent before its turn came (mad/responder.hpp).
  unsigned tries() const { return tries_; }
  /// Whether the channel reported the last try as unanswered, as the kernel does. Else nothing at all came back in its time.
  bool reported() const { return reported_; }
  MadTimeout& set_reported(bool reported) { return reported_ = reported, *this; }
  [[noreturn]] void raise() const override { throw *this; }

 private:
  unsigned tries_;
  bool reported_{};
};

/// How often a request was sent that nobody answered; nothing where it failed in another way.
std::optional<unsigned> tries_in_vain(const Error& error);

/// The node answered with a status of IBA 13.4.7.
class MadStatusError : public MadError {
 public:
  MadStatusError(Bytes request, Bytes reply, const path::Path& path);
  [[noreturn]] void raise() const override { throw *this; }

 protected:
  using MadError::MadError;
};

/// The node answered with a status that its class defines.
class MadClassError : public MadStatusError {
 public:
  MadClassError(Bytes request, Bytes reply, const path::Path& path);
  std::uint8_t code() const { return class_code(status()); }
  [[noreturn]] void raise() const override { throw *this; }
};

/// A class-specific status of subnet administration (IBA 15.2.4).
class SaError : public MadClassError {
 public:
  using MadClassError::MadClassError;
  [[noreturn]] void raise() const override { throw *this; }
};

/// The error that the status of `reply` stands for; null for success.
std::shared_ptr<MadError> status_error(Bytes request, Bytes reply, const path::Path& path);

/// A value, or the MadError that came instead: for sweeps, where a dead node is a fact and not the end.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                // NOLINT: converts on purpose
  Result(std::shared_ptr<const MadError> error) : value_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return value_.index() == 0; }
  T& operator*() { return std::get<0>(value_); }
  const T& operator*() const { return std::get<0>(value_); }
  T* operator->() { return &std::get<0>(value_); }
  const T* operator->() const { return &std::get<0>(value_); }
  const MadError& error() const { return *std::get<1>(value_); }
  std::shared_ptr<const MadError> shared_error() const { return std::get<1>(value_); }
  /// The value; throws the error where there is none.
  T&& take() && {
    if (!*this) error().raise();
    return std::get<0>(std::move(value_));
  }

 private:
  std::variant<T, std::shared_ptr<const MadError>> value_;
};

}  // namespace ib::mad
