// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The topics of checks. Each has a file, with the checks and their words at its end.
#pragma once

#include <span>
#include <string_view>

#include "health/checks.hpp"

namespace ib::health {

/// The check of the port on which the host stands. If it finds something, no other check is done.
inline constexpr std::string_view own_port_check = "own-port";

std::span<const Check> own_port_checks();
std::span<const Check> node_checks();
std::span<const Check> identity_checks();
std::span<const Check> sibling_checks();
std::span<const Check> rail_checks();
std::span<const Check> port_checks();
std::span<const Check> link_checks();
std::span<const Check> error_checks();
std::span<const Check> flap_checks();
std::span<const Check> discard_checks();
std::span<const Check> congestion_checks();
std::span<const Check> counter_checks();
std::span<const Check> physical_checks();
std::span<const Check> module_checks();
std::span<const Check> unhealthy_checks();
std::span<const Check> device_checks();
std::span<const Check> manager_checks();
std::span<const Check> partition_checks();
std::span<const Check> way_checks();           // ways.cpp
std::span<const Check> route_checks();         // route_analysis.cpp
std::span<const Check> cable_change_checks();  // regions.cpp
std::span<const Check> node_change_checks();   // baseline.cpp

}  // namespace ib::health
