// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes that commands read by name, and those that a snapshot keeps: what iba-defs says of them with <query>. smpquery, saquery,
// the parts of a snapshot and its tables for SQL, help, completion and manual pages take their lists from here, so that an attribute needs
// no C++ of its own.
#pragma once

#include <cstdint>
#include <span>

#include "iba/struct_info.hpp"

namespace ib {

/// How an attribute is read.
enum class Access : std::uint8_t {
  node,    ///< by SMP one value a node, by GMP one an agent
  port,    ///< one value a port: the attribute modifier is the number of the port, 0 the port at which an SMP arrives; of performance
           ///< management, PortSelect is
  block,   ///< a table in blocks, which the attribute modifier selects
  record,  ///< a record of the subnet administrator
};

/// Whether a table of the SA is read with an SM_Key when it is kept.
enum class Trust : std::uint8_t {
  none,       ///< without a key
  keys,       ///< without a key, unless keys in records are wanted: they are zero in answers to queries without an SM_Key
  preferred,  ///< with a key; without one if the SA does not accept it
  required,   ///< with a key only
};

/// A name of an attribute, and how it is read. A record may have several names.
struct QueryInfo {
  InfoRef<StructInfo> info;
  Access access;
  std::uint8_t mgmt_class;  ///< in which it is read; 0x01 for SMPs of either kind
  bool switches;            ///< only switches have it
  bool vendor;              ///< only devices of Mellanox have it: it is sent to no others
  bool classic;             ///< a name of python-rdma: its abbreviations take precedence over the abbreviations of others
  Trust trust;
  std::uint32_t modifier;  ///< of Access::node: the attribute modifier
  std::uint32_t needs;     ///< flags of smp::CapabilityMask: ports that do not have all of them are taken not to answer; usually 0
  Word name;               ///< `MlnxExtPortInfo`, `LFTRecord`
  Word alias;              ///< `MEPI`; empty if there is none
  Word about;              ///< what it holds, as a phrase; empty: nothing that its name does not say
  Word part;               ///< the part of a snapshot that keeps it; empty: none
  Word entries;            ///< of Access::block: the field of SwitchInfo that has the number of its entries, or empty
  Word argument;           ///< of a record, the short form in help texts: `[LID]/[PORT]`; empty if there is none
  Word members;            ///< of a record, the members that the short form sets: `endportLID/portNum`

  bool by_smp() const { return mgmt_class == 0x01; }
  bool by_sa() const { return access == Access::record; }
};

/// Every name, in the order of the definitions.
std::span<const QueryInfo> all_queries();

/// What is said of an attribute of a class; 0x01 stands for all SMPs. Null if nothing is said.
const QueryInfo* find_query(std::uint8_t mgmt_class, std::uint16_t attribute_id);

}  // namespace ib
