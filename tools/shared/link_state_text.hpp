// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The words of python-rdma for port states (IBA 14.2.5.6).
#pragma once

#include <string>

namespace ib::tools {

/// PortState: `Down`, `Active`; `?? 9` for others.
std::string link_state_text(unsigned state);
/// PortPhysicalState: `Polling`, `Link UP`; `?? 9` for others.
std::string phys_link_state_text(unsigned state);

}  // namespace ib::tools
