// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Checks of a port and of its link. Each check reads the model and sends no requests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "iba/types.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

struct Mismatch {
  enum class Relation : std::uint8_t {
    equal,      ///< `found` should be `expected`
    not_equal,  ///< `found` should not be `expected`
    at_most,    ///< `found` should not be more than `expected`
  };
  bool error{};              ///< an error: the port cannot be used so; else a warning
  std::string_view field{};  ///< its name in the IBA: `linkSpeedActive`
  std::string found{}, expected{};
  Relation relation{};
  std::string words{};  ///< a sentence, where the check compares no field; else empty

  /// The finding as a sentence without its full stop: "linkSpeedActive is 'SDR', expected 'QDR'".
  std::string sentence() const;
};
using Mismatches = std::vector<Mismatch>;

/// Whether a port's link is trained, so that its width and speed mean something (IBA 14.2.5.6: PortPhysicalState).
bool is_trained(const Port& port);
/// Whether a port's link is up and its PortState is Active. In the other states of a link that is up, only SMPs pass.
bool is_link_active(const Port& port);
/// Whether a port is an end port: port 0 of a switch, or a port of another node. Port 0 of another node is not an end port.
bool is_end_port(const Subnet& subnet, PortIndex port);
/// Whether packets can be sent to an end port: its PortInfo was read, and its link is Active; for port 0 of a switch, any link of the
/// switch.
bool is_end_port_in_use(const Subnet& subnet, PortIndex port);
/// The LIDs that several end ports in use claim, with LMC, and these ports by node GUID and number.
std::map<std::uint16_t, std::vector<PortIndex>> contested_lids(const Subnet& subnet);

/// Whether a PortInfo says that a subnet manager runs at the port (IsSM of CapabilityMask, IBA 14.2.5.6).
bool has_is_sm(const smp::PortInfo& info);
/// Whether a subnet manager may run at an end port: it has IsSM, or the port from which the model was read has its LID as the LID of its
/// subnet manager.
bool may_have_manager(const Subnet& subnet, PortIndex port);

// Checks of a port whose PortInfo is known. Port 0 of a switch has no link: only its LIDs are checked, and the state of an enhanced port 0.

/// PortPhysicalState should be LinkUp, and PortState should be Active. The first finding is an error, the second a warning. PortState is
/// not checked where PortPhysicalState is wrong.
Mismatches check_port_state(const Subnet& subnet, PortIndex port);
/// LinkWidthActive of a trained link should be the greatest width that both ends support. Nothing is checked where one end is not known.
Mismatches check_link_width(const Subnet& subnet, PortIndex port);
/// The active speed of a trained link should be the highest speed that both ends support. Nothing is checked where one end is not known.
Mismatches check_link_speed(const Subnet& subnet, PortIndex port);
Mismatches check_lids(const Subnet& subnet, PortIndex port);

/// The first port that was found with each LID and GUID.
struct IdOwners {
  std::unordered_map<unsigned, PortIndex> lids;
  std::unordered_map<Guid, PortIndex> node_guids, port_guids;

  /// The port that was found with `id` before, else none: it is `port` now.
  template <class Id>
  static PortIndex before(std::unordered_map<Id, PortIndex>& owners, const Id& id, PortIndex port) {
    const auto [known, is_new] = owners.try_emplace(id, port);
    return is_new ? none : known->second;
  }
};
/// The LID and the GUIDs of an end port should not be zero, and none of the ports in `owners` should have them. The port is added to these.
Mismatches check_ids(const Subnet& subnet, IdOwners& owners, PortIndex port);

struct PortChecks {
  bool state{};  ///< PortPhysicalState and PortState
  bool width{};  ///< LinkWidthActive
  bool speed{};  ///< the active speed, and the LIDs of end ports

  bool any() const { return state || width || speed; }
  /// Whether the width or speed of the link of a port is checked, by both of its ends.
  bool needs_peer(const Port& port) const { return (width || speed) && is_trained(port) && port.number != 0; }
};
/// If the link of the port is not up, this is the only finding.
Mismatches check_port(const Subnet& subnet, PortIndex port, PortChecks checks);

}  // namespace ib::subnet
