// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/trouble.hpp"

#include <algorithm>
#include <array>

#include "iba-gen/reg.hpp"

namespace ib::phy {
namespace {

constexpr std::uint16_t no_trouble = 0, no_information = 1023;

constexpr std::string_view both_ends = "Compare speed, FEC and firmware of both ends; reseat the cable, then replace it.";
constexpr std::string_view signal =
    "Clean and reseat both ends of the cable; replace the cable, then the module at the end with the weaker light.";
constexpr std::string_view supported = "Replace the cable or module with one that the device supports, or update its firmware.";

/// Codes from `first` to `last`.
struct Group {
  std::uint16_t first, last;
  std::string_view text, remedy;
};
constexpr std::array groups{
    Group{1, 1, "", "Open the port: ibportstate enable, or in the configuration of the switch."},
    Group{2, 4, "negotiation failed", both_ends},
    Group{5, 8, "link training failed", signal},
    Group{9, 13, "logical mismatch", both_ends},
    Group{14, 14, "", "Look at the other end of the link, which reports the fault."},
    Group{15, 15, "", signal},
    Group{16, 16, "", supported},
    Group{17, 17, "bad signal integrity", signal},
    Group{23, 23, "", "Reset the port; if it fails again, replace the module."},
    Group{24, 32, "cable and port do not match", supported},
    Group{34, 35, "speed degraded", signal},
    Group{36, 39, "negotiation failed", both_ends},
    Group{42, 42, "bad signal integrity", signal},
    Group{48, 49, "bad signal integrity", signal},
    Group{52, 52, "bad signal integrity", signal},
    Group{56, 56, "", "Replace the module."},
    Group{57, 57, "", "Check that the cable is plugged in at both ends, and that the other end sends light."},
    Group{60, 60, "", "Check that the other end is powered on and its port open."},
    Group{70, 70, "", signal},
    Group{1024, 1024, "", "Plug the cable in, or reseat it."},
    Group{1025, 1025, "", supported},
    Group{1026, 1026, "", "Reseat the module; if the bus stays stuck, replace it."},
    Group{1027, 1029, "", supported},
    Group{1030, 1030, "", "Check the airflow and the temperature of the module, then reset it."},
    Group{1031, 1031, "", "Replace the cable."},
    Group{1032, 1032, "", "Use a module of a lower power class, or another cage."},
    Group{1033, 1034, "", "Enable the port or module in the configuration of the device."},
    Group{1042, 1054, "the module does not start", "Reset or reseat the module; update its firmware."},
    Group{1055, 1063, "fault of the external laser", "Check the external laser source and its fibre."},
};

const Group* group_of(std::uint16_t code) {
  const auto* const found = std::ranges::find_if(groups, [=](const Group& group) { return code >= group.first && code <= group.last; });
  return found != groups.end() ? &*found : nullptr;
}

}  // namespace

std::string_view trouble_text(std::uint16_t code) {
  const std::string_view exact = reg::to_text(static_cast<reg::LinkTrouble>(code));
  const Group* group = group_of(code);
  return exact.empty() && group != nullptr ? group->text : exact;
}

std::string_view remedy(std::uint16_t code) {
  const Group* group = group_of(code);
  return group != nullptr ? group->remedy : std::string_view{};
}

bool is_trouble(std::uint16_t code) { return code != no_trouble && code != no_information; }

}  // namespace ib::phy
