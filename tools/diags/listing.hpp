// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The listings of infiniband-diags: "Label:......value", one field a line, with libibmad's labels, order and words,
// which differ from python-rdma's and so from ibtool's own. Offsets come from the descriptors; a listing names our
// fields and says which of libibmad's ways of writing a number applies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"

namespace ib::diags {

/// How libibmad writes a value.
enum class Form : std::uint8_t {
  decimal,
  hex,  ///< 0x and as many digits as the field's whole bytes take
  node_type,
  port_state,
  physical_state,
  link_down_default,
  mtu,
  vl_cap,
  operational_vls,
  width_active,
  width_enabled,
  width_supported,  ///< as enabled, marked where IBA defines no such combination
  speed_active,
  speeds,
  ext_speed_active,
  ext_speeds,
  ext_speeds_enabled,
  ext_speed2_active,
  ext_speeds2,
  capability_mask,  ///< in hex, then the names of the bits on lines of their own
  capability_mask2,
};

struct ListedField {
  std::string_view field;  ///< of the descriptor
  std::string_view label;  ///< libibmad's
  Form form = Form::decimal;
};

/// A structure as a tool of infiniband-diags lists it.
struct Listing {
  std::string_view structure;  ///< "smp::NodeInfo"
  std::span<const ListedField> fields;
};

extern const Listing node_info_listing, switch_info_listing, port_info_listing, port_info_xdr_listing, port_info_extended_listing,
    mlnx_ext_port_info_listing;

/// "Label:" with dots up to the column of the values, and the value.
std::string listed_line(std::string_view label, std::string_view value);
/// A value in libibmad's words; `bits` is the field's width.
std::string listed_value(Form form, std::uint64_t value, unsigned bits);
/// All lines of a listing, each with its newline. The value of the field called `hidden` is not shown.
std::string listed(const Listing& listing, Bytes bytes, std::string_view hidden = {});

}  // namespace ib::diags
