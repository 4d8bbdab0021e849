// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How many errors of a kind a port may have counted before somebody is told, in the file format of infiniband-diags. One line a
// counter:
//   SymbolErrorCounter=10
// The counter is named as in the IBA, by libibmad or by perfquery, in any case; the number is in C notation. Lines that are empty or
// begin with '#' say nothing. The last line of a counter wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/counters.hpp"

namespace ib::subnet {

/// The site's thresholds; the file need not exist.
inline constexpr const char* default_error_thresholds_file = "/etc/infiniband-diags/error_thresholds";

/// The counter of that name, in any case, as the IBA (`portXmitDiscards`), libibmad (`PortXmitDiscards`), perfquery (`XmtDiscards`) or
/// iba-defs (`port_xmit_discards`) have it; null where there is none.
const CounterInfo* find_counter(std::string_view name);

class ErrorThresholds {
 public:
  /// A counter is beyond its threshold where it is greater than `value`.
  struct Threshold {
    const CounterInfo* counter;
    std::uint64_t value;
  };
  /// A line that says nothing though it should.
  struct BadLine {
    std::size_t number;  ///< from 1
    std::string text;    ///< as it stands in the file
    std::string why;     ///< one line for people
  };

  /// Those of who says nothing else: 10 of the errors that a good link does not have, 100 of the others. Counters of traffic and of
  /// waiting have none.
  static ErrorThresholds usual();
  /// Reads the text of a file.
  static ErrorThresholds parse(std::string_view text);
  /// Reads `file`, which may have 1 MiB. Throws as read_regular_file() does.
  static ErrorThresholds read(const std::string& file);

  /// The threshold of a counter, by its name in iba-defs; nothing where it has none.
  std::optional<std::uint64_t> find(std::string_view counter) const;
  /// All of them, in the order in which they were first named.
  const std::vector<Threshold>& all() const { return all_; }
  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }

  void set(const CounterInfo& counter, std::uint64_t value);
  /// Takes over all that `other` says, its bad lines too.
  void add(const ErrorThresholds& other);

 private:
  std::vector<Threshold> all_;
  std::vector<BadLine> bad_lines_;
};

}  // namespace ib::subnet
