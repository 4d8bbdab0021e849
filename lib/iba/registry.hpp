// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds descriptors by name or by the header of a MAD.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"

namespace ib {

/// Every structure that iba-defs/ defines, chapter by chapter.
std::span<const StructInfo> all_structs();

/// Finds a structure by its dump name (`SMPPortInfo`), its C++ name (`smp::PortInfo`) or its title (`PortInfo`) if the title is
/// unique. Letter case does not matter. Null if there is none.
const StructInfo* find_struct(std::string_view name);

/// The structure of a whole MAD of a class. Vendor classes of range 1 that are not defined, and of range 2 with an unknown OUI, have the
/// generic vendor format. Null if there is none.
const StructInfo* find_format(std::uint8_t mgmt_class, std::uint8_t class_version, std::uint8_t base_version = 1, std::uint32_t oui = 0);

/// The data of every attribute of a class whose attributes all begin with a key (mlx::KeyedData). Null for any other class.
const StructInfo* find_keyed_data(std::uint8_t mgmt_class);

/// The structure of an attribute. Null if there is none. Of AccessRegister it is mlx::AccessRegister, whatever register it carries.
const StructInfo* find_attribute(std::uint8_t mgmt_class, std::uint8_t class_version, std::uint16_t attribute_id, std::uint32_t oui = 0);

/// The layout of a register from the bytes of its attribute (mlx::AccessRegister), which hold the fields that select a layout. Null if the
/// register is not known.
const StructInfo* find_register(std::uint32_t register_id, Bytes attribute);

/// The OUI of a MAD of a vendor class of range 2 (IBA 16.5.1), or 0 for any other class.
std::uint32_t mad_oui(Bytes mad);

/// The structure of the attribute in a MAD, by its header; for AccessRegister it is the register. Null if there is none.
const StructInfo* find_attribute_in(Bytes mad);

/// A management class that an attribute belongs to.
struct AttributeClass {
  std::uint8_t mgmt_class;
  std::uint8_t class_version;
  std::uint32_t oui;  ///< 0 if the class has none
};
/// All classes that `attribute` belongs to. Empty for a structure that is not an attribute.
std::vector<AttributeClass> classes_of(const StructInfo& attribute);

/// The layout of the DataDetails of a trap (IBA 14.2.5.1). Null if there is none.
const StructInfo* find_trap(std::uint16_t trap_number);

/// The SA component-mask bits of the members of a nested structure.
std::span<const MemberMask> member_masks(const FieldInfo& outer);

/// Finds a field by its C++ name, IBA name or legacy name, without regard to case. Null if there is none.
const FieldInfo* find_field(const StructInfo& info, std::string_view name);

}  // namespace ib
