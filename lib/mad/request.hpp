// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A request to a node and its reply. A Request is a small view: it refers to the path and the payload of the caller, who must
// keep both until the call has ended.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "iba/struct_info.hpp"
#include "mad/channel/channel.hpp"
#include "mad/packet.hpp"
#include "path/path.hpp"

namespace ib::mad {

/// Why a MAD was sent, for statistics. A name with static storage duration.
using Reason = std::string_view;
inline constexpr Reason requested = "requested";

class Responder;

/// A request to a node. Refers to `path` and `payload`, which must live until the call has ended.
struct Request {
  const path::Path& path;
  std::uint8_t mgmt_class{};
  std::uint8_t class_version = 1;
  std::uint8_t method = mad::method::get;
  std::uint16_t attribute_id{};
  std::uint32_t attribute_modifier{};
  Bytes payload;                   ///< the bytes of the attribute; zeros follow
  std::uint64_t component_mask{};  ///< SA only
  std::uint32_t oui{};             ///< vendor classes of range 2 only
  Reason reason = requested;
  Responder* responder{};  ///< of the destination; notices that it is silent (mad/rpc/responder.hpp); may be null
  bool optional{};         ///< nodes need not implement the attribute, so a missing answer does not make a node silent
};

inline std::uint8_t smp_class(const path::Path& path) { return path.directed() != nullptr ? mgmt_class::smp_directed : mgmt_class::smp; }

/// The ClassVersion of a class that the IBA defines.
std::uint8_t class_version_of(std::uint8_t mgmt_class);

/// A request with `method` for the attribute that `info` describes. The attribute determines class, class version and OUI;
/// the class of an SMP follows from `path`. For an attribute of several classes, like ClassPortInfo, `mgmt_class` gives the
/// class. Throws std::invalid_argument if the structure is not an attribute, or if its class is not known.
Request attribute_request(const path::Path& path, const StructInfo& info, std::uint8_t method, std::uint32_t modifier = 0,
                          Bytes payload = {}, std::uint8_t mgmt_class = 0);

/// A copy of `request` with the path `path`, which must outlive the copy.
Request on_path(const Request& request, const path::Path& path);

/// The whole MAD of `request`, without a transaction ID. M_Key, SM_Key, CC_Key and the directed route come from the path. The MAD has
/// packet_size bytes. A request that must be sent in segments (IBA 13.6) has the length of its data instead, and the Active flag: a payload
/// that is too long for one MAD of the class, and every SubnAdmGetMulti (IBA 15.3.1). Throws std::invalid_argument for a payload too long
/// where the class has no RMPP.
std::vector<std::uint8_t> to_mad(const Request& request);

/// The MAD by which a node would answer `request`, with `status` and, from the beginning of `area`, `payload`; zeros follow. For
/// Transactors that answer from stored data.
std::vector<std::uint8_t> answer_to(const Request& request, std::uint16_t status, const DataArea& area, Bytes payload);

/// A valid answer with status success.
struct Reply {
  std::vector<std::uint8_t> bytes;  ///< the whole MAD: packet_size bytes, or after RMPP any length from the size of the class header up
  Source source;

  HeaderView header() const { return HeaderView(bytes); }
  /// The attribute, or all records after RMPP.
  Bytes payload() const {
    const DataArea area = data_area(bytes[1]);
    return Bytes(bytes).subspan(area.offset);
  }
};

}  // namespace ib::mad
