// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one output model: a report describes itself to a Sink as a stream of named, typed values. JSON, tables and the snapshot
// store are sinks. A document tree of a whole fabric is never built.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "iba/types.hpp"

namespace ib::out {

/// Receives a report as events. Inside an object every event has a non-empty `key`; inside an array keys are ignored. Strings
/// may hold any bytes that a remote node sent; the sink escapes them.
class Sink {
 public:
  virtual ~Sink() = default;

  virtual void begin_object(std::string_view key = {}) = 0;
  virtual void end_object() = 0;
  virtual void begin_array(std::string_view key = {}) = 0;
  virtual void end_array() = 0;

  virtual void null(std::string_view key) = 0;
  virtual void boolean(std::string_view key, bool value) = 0;
  virtual void integer(std::string_view key, std::int64_t value) = 0;
  virtual void unsigned_integer(std::string_view key, std::uint64_t value) = 0;
  virtual void real(std::string_view key, double value) = 0;
  virtual void text(std::string_view key, std::string_view value) = 0;
  virtual void guid(std::string_view key, Guid value) = 0;
  virtual void gid(std::string_view key, const Gid& value) = 0;
  /// Closes everything that is open inside the outermost object, so that an error can still become a member of that object.
  virtual void unwind() = 0;
  /// Drops the document. Returns false, and does nothing, if a part of it has been written already.
  virtual bool withdraw() { return false; }

  void value(std::string_view key, bool v) { boolean(key, v); }
  template <std::signed_integral T>
  void value(std::string_view key, T v) {
    integer(key, v);
  }
  template <std::unsigned_integral T>
  void value(std::string_view key, T v) {
    unsigned_integer(key, v);
  }
  void value(std::string_view key, double v) { real(key, v); }
  void value(std::string_view key, std::string_view v) { text(key, v); }
  void value(std::string_view key, const char* v) { text(key, v); }
  void value(std::string_view key, Guid v) { guid(key, v); }
  void value(std::string_view key, const Gid& v) { gid(key, v); }
  void value(std::string_view key, Lid v) { unsigned_integer(key, v.value); }
  void value(std::string_view key, Pkey v) { unsigned_integer(key, v.value); }
  void value(std::string_view key, Qpn v) { unsigned_integer(key, v.value); }

  /// Writes a coded value: the number as `key` and its word as `key`_text. An empty `word` means that the number has no word;
  /// it becomes null.
  template <class T>
  void symbol(std::string_view key, T number, std::string_view word) {
    if constexpr (std::is_enum_v<T>) {
      value(key, static_cast<std::underlying_type_t<T>>(number));
    } else {
      value(key, number);
    }
    text_or_null(std::string(key) + "_text", word);
  }
  /// Writes a coded value that is not known: both members are null.
  void no_symbol(std::string_view key) {
    null(key);
    null(std::string(key) + "_text");
  }
  /// Writes a text, or null if the text is empty.
  void text_or_null(std::string_view key, std::string_view v) { v.empty() ? null(key) : text(key, v); }
};

}  // namespace ib::out
