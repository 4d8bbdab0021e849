// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Classes, methods, attributes and statuses in the words of libibumad, which infiniband-diags prints.
#pragma once

#include <cstdint>
#include <string_view>

namespace ib {

/// `SubnAdm`, `Perf`, …; `Vendor` and `Application` for their ranges, else `<unknown>`.
std::string_view umad_class_text(std::uint8_t mgmt_class);
/// `Get`, `GetTable`, …; SA methods in class 0x03 only. `<unknown` (without a bracket) is libibumad's own.
std::string_view umad_method_text(std::uint8_t mgmt_class, std::uint8_t method);
/// `NodeInfo`, `PathRecord`, `Class Port Info`, …, else `<unknown>`.
std::string_view umad_attribute_text(std::uint8_t mgmt_class, std::uint16_t attribute_id);
/// The general part of a MAD status (IBA 13.4.7): `Success`, `Busy`, `Bad Version`, …
std::string_view umad_status_text(std::uint16_t status);
/// The class-specific part of an SA status (IBA 15.2.4): `Success`, `No Records`, …, `Undefined Error`.
std::string_view umad_sa_status_text(std::uint16_t status);

}  // namespace ib
