// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What other programs call fields and how they print them: libibmad and infiniband-diags, whose words the legacy names owe, and
// python-rdma, whose listings ours follow. Descriptors (iba/struct_info.hpp) hold nothing of it, since most fields have no other name.
#pragma once

#include <cstdint>

#include "iba/struct_info.hpp"

namespace ib {

/// The text that libibmad prints for a field. The names follow libibmad's mad_dump_* functions.
enum class LibibmadText : std::uint8_t {
  none,
  uint,
  hex,
  array,
  string,
  node_type,
  linkdowndefstate,
  linkspeed,
  linkspeeden,
  linkspeedsup,
  linkspeedext,
  linkspeedexten,
  linkspeedextsup,
  linkspeedext2,
  linkspeedexten2,
  linkspeedextsup2,
  linkwidth,
  linkwidthen,
  linkwidthsup,
  mtu,
  opervls,
  vlcap,
  physportstate,
  portstate,
  portcapmask,
  portcapmask2,
};

/// The words of other programs for one field. A name is empty where the program has none, or uses the name of the IBA.
struct FieldDialects {
  Word smpquery;   ///< in libibmad's listings and smpquery: `Guid`
  Word saquery;    ///< in saquery
  Word perfquery;  ///< in perfquery
  Word libibmad;   ///< in libibmad; `{}` stands for the index of an array element
  Word was;        ///< while the field was reserved; "-" if older versions of the structure end before the field
  LibibmadText libibmad_text = LibibmadText::none;
  std::uint8_t libibmad_bits = 0;  ///< width of libibmad's field if that field covers several of ours, otherwise 0
  std::uint8_t libibmad_rank = 0;  ///< libibmad lists rank 1 after rank 0; rank 2 is listed only if not zero
};

/// The words for a field of a descriptor of iba-defs. A copy of such a FieldInfo has none.
FieldDialects dialects_of(const FieldInfo& field);

}  // namespace ib
