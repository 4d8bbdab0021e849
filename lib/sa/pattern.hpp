// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A record as a pattern: the values that some of its components must have, and the component mask that says which
// (IBA 15.2.1.1). The generic counterpart of the generated Query builders, for programs that take record and members
// as words; the mask bits come from the descriptors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "iba/generic.hpp"
#include "iba/struct_info.hpp"

namespace ib::sa {

/// A part of a record that has a bit of its own in the component mask.
struct Component {
  std::string member;    ///< its path: `LID`, `nodeInfo.portGUID`, `serviceData8[3]`
  int bit{};             ///< the first of its mask bits
  std::uint64_t mask{};  ///< all of them
  bool reserved{};
};
/// The components of a record, by mask bit.
std::vector<Component> components(const StructInfo& record);

class Pattern {
 public:
  /// Matches every record. `record` is kept by reference.
  explicit Pattern(const StructInfo& record);

  /// Matches what a request with these bytes of its form() and this component mask does.
  Pattern(const StructInfo& record, Bytes bytes, std::uint64_t component_mask);

  /// The attribute that is asked for. Two have answers that they are not the pattern of: the request for TraceRecords says a
  /// path, as a PathRecord (IBA 15.2.5.19), and that for a MultiPathRecord is answered with PathRecords (IBA o15-0.2.7).
  const StructInfo& record() const { return *record_; }
  /// The structure whose members the pattern has.
  const StructInfo& form() const { return *form_; }
  /// The structure of the records that come back.
  const StructInfo& answer() const;

  /// Asks for records whose member (a path as find_path() takes it) has the value that `text` says. Throws UsageError for
  /// a member that the record does not have or that cannot be asked for, naming those that can, and for a wrong value. Of a
  /// MultiPathRecord each SGID and DGID adds one to those that were given.
  void match(std::string_view member, std::string_view text);
  /// The same with a number, of which the member takes its low bits.
  void match(std::string_view member, std::uint64_t value);
  /// Whether records are chosen by this member.
  bool matches_on(std::string_view member) const;
  /// An MTU, rate or packet life time goes with a selector (IBA 15.2.5.16, table 172): where one is asked for and its
  /// selector is not, ask for exactly this value. Without a selector a subnet administrator takes no notice of the value.
  void complete_selectors();

  /// A member that was asked for, as text and as debugging output shows it.
  struct Match {
    int bit;
    std::string member, text, shown;
    bool secret;  ///< a key that is set
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

}  // namespace ib::sa
