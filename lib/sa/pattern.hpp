// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A record as a pattern: the required values of some components, and the component mask that names these components (IBA
// 15.2.1.1). This is the generic counterpart of the generated Query builders, for programs that take record and members as
// words. The mask bits come from the descriptors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "iba/generic.hpp"
#include "iba/queries.hpp"
#include "iba/struct_info.hpp"

namespace ib::sa {

constexpr std::uint64_t mask_bit(unsigned number) { return std::uint64_t{1} << number; }

/// A part of a record that has its own bit in the component mask.
struct Component {
  std::string member;    ///< path of the member: `LID`, `nodeInfo.portGUID`, `serviceData8[3]`
  std::string name;      ///< the same path in C++ names: `lid`, `node_info.port_guid`, `service_data8[3]`
  int bit{};             ///< the first of its mask bits
  std::uint64_t mask{};  ///< all of its mask bits
  bool reserved{};
};
/// The components of a record in the order of their mask bits.
std::vector<Component> components(const StructInfo& record);

/// The required components of the records of one kind.
class Pattern {
 public:
  /// A pattern that matches every record. `record` is kept by reference.
  explicit Pattern(const StructInfo& record);

  /// A pattern from a request: the bytes of its form() and its component mask.
  Pattern(const StructInfo& record, Bytes bytes, std::uint64_t component_mask);

  /// The requested attribute. For two attributes, request and answer differ. A request for TraceRecords holds a path in the form
  /// of a PathRecord (IBA 15.2.5.19). A request for a MultiPathRecord is answered with PathRecords (IBA o15-0.2.7).
  const StructInfo& record() const { return *record_; }
  const StructInfo& form() const { return *form_; }
  /// The structure of the records in the answer.
  const StructInfo& answer() const;

  /// Requires that `member` (a path as for find_path()) has the value `text`. In a MultiPathRecord, each SGID and DGID adds one
  /// GID to the earlier ones. Throws UsageError for a wrong value, or if the record does not have `member` or cannot be queried
  /// by it; the message lists the possible members.
  void match(std::string_view member, std::string_view text);
  /// Requires that `member` has the low bits of `value`.
  void match(std::string_view member, std::uint64_t value);
  /// Whether the pattern requires a value of `member`.
  bool matches_on(std::string_view member) const;
  /// Sets missing selectors. An MTU, rate or packet life time goes with a selector (IBA 15.2.5.16, table 172). If the pattern
  /// has such a value without its selector, the selector becomes "exactly this value". An SA ignores a value without a selector.
  void complete_selectors();

  /// A required member.
  struct Match {
    Component component;
    std::string shown;  ///< its value as debugging output shows it
    bool secret;        ///< it is a key that is set
  };
  std::vector<Match> matches() const;

  Bytes bytes() const;
  std::uint64_t component_mask() const { return component_mask_; }

 private:
  FieldRef component(std::string_view member) const;
  bool is_multi_path() const;

  const StructInfo *record_, *form_;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t component_mask_ = 0;
};

/// The two GID lists of a MultiPathRecord (IBA 15.2.5.20): first the sources, then the destinations, as many as the counts of the record
/// say. The structure has room for the GIDs that fit into one MAD. These functions work on bytes, which may be longer.
enum class PathEnd { source, destination };

/// Adds a GID to a MultiPathRecord and counts it. `record` has at least the size of the structure. Throws Error if there are
/// 255 GIDs already.
void add_gid(std::vector<std::uint8_t>& record, PathEnd end, const Gid& gid);

/// The part of the record that an SA must read: it ends with the last GID. The whole record if no GIDs are counted.
Bytes used_part(Bytes record);

// Records as words of a command line: the names of python-rdma and infiniband-diags, and the short form that selects records (`2/1` for
// LID 2, port 1). iba-defs has them (iba/queries.hpp).

/// Every record that has a name: first the names of python-rdma, then the others, each in alphabetical order.
std::span<const QueryInfo> record_types();

/// The record with that name, alias or structure name. Letter case does not matter, and an unambiguous abbreviation is enough.
/// Throws UsageError "Unknown operation 'zz'" or "Ambiguous operation 's'"; `list` is the command that lists all names, for the first.
const QueryInfo& find_record_type(std::string_view word, std::string_view list = {});

/// Whether `word` is one of these names of `record`, and no abbreviation.
bool names_record(std::string_view word, const StructInfo& record);

/// The members of the short form with their given values. Removes the words of the short form from the front of `words`: at
/// most as many as `argument` has.
std::vector<std::pair<std::string_view, std::string>> take_argument(const QueryInfo& type, std::vector<std::string>& words);

/// Removes the words MEMBER=VALUE from the end and returns them.
std::vector<std::pair<std::string, std::string>> take_assignments(std::vector<std::string>& words);

}  // namespace ib::sa
