// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What one asks of a node and what comes back. A Request is a small view: it refers to the path and the payload of
// its maker, who keeps both until the call has ended.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "iba/struct_info.hpp"
#include "mad/channel.hpp"
#include "mad/packet.hpp"
#include "path/path.hpp"

namespace ib::mad {

/// Why a MAD was sent, for statistics; a name with static storage.
using Reason = std::string_view;
inline constexpr Reason asked = "asked";

class Responder;

struct Request {
  const path::Path& path;
  std::uint8_t mgmt_class{};
  std::uint8_t class_version = 1;
  std::uint8_t method = mad::method::get;
  std::uint16_t attribute_id{};
  std::uint32_t attribute_modifier{};
  Bytes payload;                   ///< of the attribute; zeros follow it
  std::uint64_t component_mask{};  ///< SA only
  std::uint32_t oui{};             ///< vendor classes of range 2 only
  Reason reason = asked;
  Responder* responder{};  ///< the node that is asked, so that its silence is noticed (mad/responder.hpp); null: nobody cares
  bool optional{};         ///< nodes need not know the attribute: that it goes unanswered does not make one silent
};

/// The class of an SMP on `path`: directed route or LID routed.
inline std::uint8_t smp_class(const path::Path& path) { return path.directed() != nullptr ? mgmt_class::smp_directed : mgmt_class::smp; }

/// `method` of the attribute that `info` describes: class, its version and its OUI are those of the attribute, for SMPs as `path`
/// is routed. For one that several classes have, like ClassPortInfo, `mgmt_class` says which. Throws std::invalid_argument for a
/// structure that is no attribute, or not known to be one of which class.
Request attribute_request(const path::Path& path, const StructInfo& info, std::uint8_t method, std::uint32_t modifier = 0,
                          Bytes payload = {}, std::uint8_t mgmt_class = 0);

/// The same request on another path, which must live as long as it.
Request on_path(const Request& request, const path::Path& path);

/// The whole MAD of `request` but for its transaction ID. M_Key, SM_Key, CC_Key, the directed route come from its path. It has
/// packet_size, or where it must go in segments (IBA 13.6) the length of its data and the Active flag: a payload longer than
/// its class has room for, and SubnAdmGetMulti always (IBA 15.3.1). Throws std::invalid_argument for a payload too long where
/// the class has no RMPP.
std::vector<std::uint8_t> to_mad(const Request& request);

/// A valid, successful answer.
struct Reply {
  std::vector<std::uint8_t> bytes;  ///< the whole MAD: of packet_size, or after RMPP of any length from the header of its class up
  Source source;

  HeaderView header() const { return HeaderView(bytes); }
  /// The attribute, or for RMPP all records.
  Bytes payload() const {
    const DataArea area = data_area(bytes[1]);
    return Bytes(bytes).subspan(area.offset);
  }
};

}  // namespace ib::mad
