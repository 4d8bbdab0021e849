// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one output model: a report describes itself to a Sink as a stream of named, typed values. A number comes with its Measure: its kind
// and unit. JSON, JSON lines and tables (CSV, TSV) are sinks. A document tree of a whole fabric is never built.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "iba/types.hpp"

namespace ib::report {

/// The kind and the unit of a number, for formats that distinguish counters, gauges and states.
struct Measure {
  enum class Kind : std::uint8_t {
    none,     ///< an address, a name, a capability, …
    counter,  ///< only grows until it is set to zero, stops at the greatest value of its field or wraps
    gauge,    ///< goes up and down
    state,    ///< one of several states, or a set of flags
  };
  Kind kind{};
  std::string_view unit{};  ///< "ms", "4 bytes", …; empty: a plain number. Has static storage duration
  bool operator==(const Measure&) const = default;
};

constexpr Measure counter(std::string_view unit = {}) { return {Measure::Kind::counter, unit}; }
constexpr Measure gauge(std::string_view unit = {}) { return {Measure::Kind::gauge, unit}; }
constexpr Measure state() { return {Measure::Kind::state, {}}; }

/// "counter", "gauge" or "state"; empty for none.
constexpr std::string_view name(Measure::Kind kind) {
  constexpr std::string_view names[] = {"", "counter", "gauge", "state"};
  return names[static_cast<std::size_t>(kind)];
}

/// Receives a report as events. Inside an object every event has a non-empty `key`; inside an array keys are ignored. Strings
/// may hold any bytes that a remote node sent; the sink escapes them.
class Sink {
 public:
  virtual ~Sink() = default;

  enum class Nest : bool { object, array };
  virtual void begin(std::string_view key, Nest nest) = 0;
  virtual void end(Nest nest) = 0;
  void begin_object(std::string_view key = {}) { begin(key, Nest::object); }
  void end_object() { end(Nest::object); }
  void begin_array(std::string_view key = {}) { begin(key, Nest::array); }
  void end_array() { end(Nest::array); }

  /// A number, true, false or null, in the digits or letters of JSON. `measure` is of a number, as far as the report gives it; other
  /// measures are in the dictionary of keys.
  virtual void literal(std::string_view key, std::string_view value, const Measure& measure = {}) = 0;
  virtual void text(std::string_view key, std::string_view value) = 0;
  /// An object whose values are not known. `unknown_members` writes its members as null, into an open object. A TableSink calls it to get
  /// the columns; other sinks write null for the object.
  virtual void null_object(std::string_view key, const std::function<void(Sink&)>& unknown_members);
  /// The names of the members of the elements of the array that is open, for formats that name their columns also where there is no row:
  /// "a.b" is the member b of the object a, "list[].b" the member b of the elements of a list within.
  virtual void columns(const std::vector<std::string>& /*names*/) {}
  /// Closes everything that is open inside the outermost object, so that an error can still become a member of that object.
  virtual void unwind() = 0;
  /// Drops the document. Returns false, and does nothing, if a part of it has been written already.
  virtual bool withdraw() { return false; }

  void null(std::string_view key) { literal(key, "null"); }
  void value(std::string_view key, bool v) { literal(key, v ? "true" : "false"); }
  template <std::integral T>
  void value(std::string_view key, T v, const Measure& measure = {}) {
    literal(key, std::to_string(v), measure);
  }
  /// A number that is not finite is null. Others have no exponent unless they are tiny or huge: 100000 and 25781.25, not 1e+05.
  void value(std::string_view key, double v, const Measure& measure = {});
  void value(std::string_view key, std::string_view v) { text(key, v); }
  void value(std::string_view key, const char* v) { text(key, v); }
  void value(std::string_view key, Guid v);
  void value(std::string_view key, const Gid& v);
  void value(std::string_view key, Lid v) { value(key, v.value); }
  void value(std::string_view key, Pkey v) { value(key, v.value); }
  void value(std::string_view key, Qpn v) { value(key, v.value); }
  /// A key, mask or ID of 64 bits, not a quantity: a text, 0x and 16 digits, because many readers round numbers of 64 bits.
  void hex64(std::string_view key, std::uint64_t value);

  template <class T>
  void value(std::string_view key, const std::optional<T>& v) {
    v ? value(key, *v) : null(key);
  }
  template <class T>
  void value_or_null(std::string_view key, bool known, const T& v) {
    known ? value(key, v) : null(key);
  }
  /// Writes a LID, or null for LID 0, which is no LID.
  void lid_or_null(std::string_view key, Lid lid) { value_or_null(key, lid != Lid{}, lid); }

  /// Writes a coded value: the number as `key`, its word as `key`_text; null where the number has no word (an empty one).
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
  /// Writes an array of what `visit` writes for each of `items`.
  template <class Items, class Visit>
  void array(std::string_view key, const Items& items, Visit visit) {
    begin_array(key);
    for (const auto& item : items) visit(item);
    end_array();
  }
  template <class Items>
  void values(std::string_view key, const Items& items) {
    array(key, items, [&](const auto& item) { value({}, item); });
  }
  /// Writes an array with an object for each of `items`, whose members `visit` writes.
  template <class Items, class Visit>
  void objects(std::string_view key, const Items& items, Visit visit) {
    array(key, items, [&](const auto& item) {
      begin_object();
      visit(item);
      end_object();
    });
  }
  void text_or_null(std::string_view key, std::string_view v) { v.empty() ? null(key) : text(key, v); }
};

/// The names of the members that `visit` writes into an open object. "a.b" is the member b of the object a, "list[].b" the member b of the
/// elements of a list. A name that comes again is there once.
std::vector<std::string> member_names(const std::function<void(Sink&)>& visit);

/// Says which members the elements of the open array have: the members that `visit` writes. A table without rows has columns then, too.
inline void announce(Sink& sink, const std::function<void(Sink&)>& visit) { sink.columns(member_names(visit)); }

}  // namespace ib::report
