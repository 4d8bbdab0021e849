// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is not as it should be: with a port and its link, with what the SA says of an end port. Each check looks at what a model holds and
// sends nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "iba/types.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// One thing that is not as it should be.
struct Finding {
  enum class Relation : std::uint8_t {
    equal,      ///< `found` should be `expected`
    not_equal,  ///< it should be anything but that
    at_most,    ///< it should not be more
  };
  bool error{};            ///< nothing works with it; else a warning
  std::string_view field;  ///< by its name in the IBA: `linkSpeedActive`
  std::string found, expected;
  Relation relation{};
  std::string words{};  ///< a sentence, where there is no field that could be compared

  /// As a sentence without its end: "linkSpeedActive is 'SDR', expected 'QDR'".
  std::string sentence() const;
};
using Findings = std::vector<Finding>;

/// Whether a port's link is trained, so that its width and speed mean something (IBA 14.2.5.6: PortPhysicalState).
bool is_trained(const Port& port);

// Of a port whose PortInfo is known. Port 0 of a switch has no link: all that can be said of it is the state of an enhanced one, and
// its LIDs.

/// The physical state should be LinkUp, which is an error, and the state Active. Nothing is said of the second where the first is wrong.
Findings check_port_state(const Subnet& subnet, PortIndex port);
/// A trained link should be as wide as both of its ends can be. Nothing is said where one of them is not known.
Findings check_link_width(const Subnet& subnet, PortIndex port);
/// A trained link should be as fast as both of its ends can be. Nothing is said where one of them is not known.
Findings check_link_speed(const Subnet& subnet, PortIndex port);
/// An end port should have a LID and know that of its subnet manager.
Findings check_lids(const Subnet& subnet, PortIndex port);

/// The SA calls the port at a LID `told`, which calls itself `own`.
Finding other_port_guid(Guid told, Guid own);
/// The SA knows no node at a LID.
Finding no_node_record(Lid lid);
/// The SA knows no path to a port.
Finding no_sa_path(Guid port);

}  // namespace ib::subnet
