// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions of the checks, by the file of their topic. Each adds what it finds; their texts are in the table (checks.cpp).
#pragma once

#include <string_view>

#include "health/finding.hpp"
#include "health/input.hpp"

namespace ib::health {

// own_port.cpp
/// The check of the port on which the host stands. If it finds something, no other check is done.
inline constexpr std::string_view own_port_check = "own-port";
void find_own_port(const Input& input, Findings& findings);

// baseline.cpp
void find_gone_links(const Input& input, Findings& findings);
void find_new_links(const Input& input, Findings& findings);
void find_moved_links(const Input& input, Findings& findings);
void find_slower_links(const Input& input, Findings& findings);
void find_new_nodes(const Input& input, Findings& findings);
void find_replaced_nodes(const Input& input, Findings& findings);
void find_renamed_nodes(const Input& input, Findings& findings);
void find_changes(const Input& input, Findings& findings);

// regions.cpp
void find_gone_regions(const Input& input, Findings& findings);
void find_gone_nodes(const Input& input, Findings& findings);

// ways.cpp
void find_broken_ways(const Input& input, Findings& findings);

// nodes.cpp
void find_silent_nodes(const Input& input, Findings& findings);
void find_partial_nodes(const Input& input, Findings& findings);

// identities.cpp
void find_duplicate_guids(const Input& input, Findings& findings);
void find_default_descriptions(const Input& input, Findings& findings);
void find_duplicate_descriptions(const Input& input, Findings& findings);

// siblings.cpp
void find_other_siblings(const Input& input, Findings& findings);

// rails.cpp
void find_other_rails(const Input& input, Findings& findings);

// ports.cpp
void find_initialize(const Input& input, Findings& findings);
void find_armed(const Input& input, Findings& findings);
void find_zero_lids(const Input& input, Findings& findings);
void find_duplicate_lids(const Input& input, Findings& findings);
void find_other_lmcs(const Input& input, Findings& findings);

// managers.cpp
void find_no_manager(const Input& input, Findings& findings);
void find_silent_managers(const Input& input, Findings& findings);
void find_silent_sa(const Input& input, Findings& findings);
void find_many_masters(const Input& input, Findings& findings);
void find_no_standby(const Input& input, Findings& findings);
void find_better_standbys(const Input& input, Findings& findings);
void find_other_sm_lids(const Input& input, Findings& findings);
void find_stuck_managers(const Input& input, Findings& findings);

// partitions.cpp
void find_pkey_mismatches(const Input& input, Findings& findings);
void find_partitions_without_full_member(const Input& input, Findings& findings);

// groups.cpp
void find_fast_groups(const Input& input, Findings& findings);

// route_analysis.cpp
void find_route_faults(const Input& input, Findings& findings);

// links.cpp
void find_slow_links(const Input& input, Findings& findings);
void find_misconfigured_ports(const Input& input, Findings& findings);
void find_misconnected_links(const Input& input, Findings& findings);
void find_fec_mismatches(const Input& input, Findings& findings);
void find_mtu_mismatches(const Input& input, Findings& findings);
void find_vl_mismatches(const Input& input, Findings& findings);

// errors.cpp
void find_symbol_errors(const Input& input, Findings& findings);
void find_receive_errors(const Input& input, Findings& findings);
void find_uncorrectable_blocks(const Input& input, Findings& findings);
void find_recoveries(const Input& input, Findings& findings);
void find_integrity_errors(const Input& input, Findings& findings);
void find_overruns(const Input& input, Findings& findings);
void find_constraint_errors(const Input& input, Findings& findings);
void find_dropped_vl15(const Input& input, Findings& findings);
void find_relay_errors(const Input& input, Findings& findings);

// physical.cpp
void find_effective_ratios(const Input& input, Findings& findings);
void find_symbol_ratios(const Input& input, Findings& findings);
void find_weak_lanes(const Input& input, Findings& findings);
/// A part of find_uncorrectable_blocks().
void find_uncorrected_by_registers(const Input& input, Findings& findings);

// unhealthy.cpp
void find_unhealthy_ports(const Input& input, Findings& findings);
void find_asymmetric_planes(const Input& input, Findings& findings);

// modules.cpp
void find_hot_modules(const Input& input, Findings& findings);
void find_weak_light(const Input& input, Findings& findings);
void find_unsupported_modules(const Input& input, Findings& findings);
void find_mixed_modules(const Input& input, Findings& findings);
void find_down_ports(const Input& input, Findings& findings);

// devices.cpp
void find_hot_devices(const Input& input, Findings& findings);
void find_slow_fans(const Input& input, Findings& findings);
void find_mixed_firmware(const Input& input, Findings& findings);

// flaps.cpp
void find_flaps(const Input& input, Findings& findings);
void find_restarts(const Input& input, Findings& findings);

// discards.cpp
void find_congestion_discards(const Input& input, Findings& findings);
void find_mtu_discards(const Input& input, Findings& findings);
void find_inactive_discards(const Input& input, Findings& findings);
void find_other_discards(const Input& input, Findings& findings);

// congestion.cpp
void find_congestion(const Input& input, Findings& findings);

// counters.cpp
void find_stuck_counters(const Input& input, Findings& findings);
void find_cleared_counters(const Input& input, Findings& findings);

}  // namespace ib::health
