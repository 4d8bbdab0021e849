// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The commands ibchecknode, ibcheckport, ibcheckportstate, ibcheckportwidth and ibcheckerrs check one node or one port. The commands
// ibcheckerrors, ibchecknet, ibcheckstate and ibcheckwidth check the whole fabric.
#include "tools/checks/checks.hpp"

#include "tools/frame/commands.hpp"

namespace ib::tools {

constinit const CommandInfo rooms::ibcheckerrors{
    .name = "ibcheckerrors",
    .group = HelpGroup::counters,
    .summary = "Check every node, the state of every link, and error counters.",
    .make = [] { return checks::make_check({.node = true, .state = true, .errors = true}); },
};
constinit const CommandInfo rooms::ibcheckerrs{
    .name = "ibcheckerrs",
    .group = HelpGroup::counters,
    .summary = "Check the error counters of a port, or of all ports of a switch.",
    .make = [] { return checks::make_check({.one = true, .errors = true}); },
};
constinit const CommandInfo rooms::ibchecknode{
    .name = "ibchecknode",
    .group = HelpGroup::topology,
    .summary = "Check that the SA knows a node as it is, and a path to it.",
    .make = [] { return checks::make_check({.one = true, .node = true}); },
};
constinit const CommandInfo rooms::ibcheckport{
    .name = "ibcheckport",
    .group = HelpGroup::topology,
    .summary = "Check the state, width, speed and LIDs of a port.",
    .make = [] { return checks::make_check({.one = true, .state = true, .width = true, .speed = true}); },
};
constinit const CommandInfo rooms::ibcheckportstate{
    .name = "ibcheckportstate",
    .group = HelpGroup::topology,
    .summary = "Check that the link of a port is up and active.",
    .make = [] { return checks::make_check({.one = true, .state = true}); },
};
constinit const CommandInfo rooms::ibcheckportwidth{
    .name = "ibcheckportwidth",
    .group = HelpGroup::topology,
    .summary = "Check that a link is as wide as both of its ends can be.",
    .make = [] { return checks::make_check({.one = true, .width = true}); },
};
constinit const CommandInfo rooms::ibchecknet{
    .name = "ibchecknet",
    .group = HelpGroup::topology,
    .summary = "Check every node, port and error counter of the fabric.",
    .make = [] { return checks::make_check({.node = true, .state = true, .width = true, .speed = true, .errors = true}); },
};
constinit const CommandInfo rooms::ibcheckstate{
    .name = "ibcheckstate",
    .group = HelpGroup::topology,
    .summary = "Check every node, and that every link is up and active.",
    .make = [] { return checks::make_check({.node = true, .state = true}); },
};
constinit const CommandInfo rooms::ibcheckwidth{
    .name = "ibcheckwidth",
    .group = HelpGroup::topology,
    .summary = "Check every node, and the width of every link.",
    .make = [] { return checks::make_check({.node = true, .width = true}); },
};

}  // namespace ib::tools
