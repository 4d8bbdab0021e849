// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The factories of all commands, one line each, next to where they are defined.
#pragma once

#include <memory>

#include "tools/command.hpp"

namespace ib::tools {

std::unique_ptr<Command> make_decode_mad();
std::unique_ptr<Command> make_help();
std::unique_ptr<Command> make_ibaddr();
std::unique_ptr<Command> make_ibhosts();
std::unique_ptr<Command> make_iblinkinfo();
std::unique_ptr<Command> make_ibnetdiscover();
std::unique_ptr<Command> make_ibnodes();
std::unique_ptr<Command> make_ibping();
std::unique_ptr<Command> make_ibportstate();
std::unique_ptr<Command> make_ibprintca();
std::unique_ptr<Command> make_ibprintrt();
std::unique_ptr<Command> make_ibprintswitch();
std::unique_ptr<Command> make_ibrouters();
std::unique_ptr<Command> make_ibstat();
std::unique_ptr<Command> make_ibstatus();
std::unique_ptr<Command> make_ibswitches();
std::unique_ptr<Command> make_ibsysstat();
std::unique_ptr<Command> make_ibv_devices();
std::unique_ptr<Command> make_init_all_ports();
std::unique_ptr<Command> make_query();
std::unique_ptr<Command> make_rdma_bw();
std::unique_ptr<Command> make_saquery();
std::unique_ptr<Command> make_set_guid();
std::unique_ptr<Command> make_set_nodedesc();
std::unique_ptr<Command> make_set_port_state();
std::unique_ptr<Command> make_sminfo();
std::unique_ptr<Command> make_smpdump();
std::unique_ptr<Command> make_smpquery();
std::unique_ptr<Command> make_vendstat();

}  // namespace ib::tools
