// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the PortInfo of this host's port, or of the port at a LID: port_info [LID]. The calls that ask have the names of
// the IBA, SubnGet(PortInfo) is subn_get<smp::PortInfo>().
#include <fmt/core.h>

#include "iba-gen/smp.hpp"
#include "iba/dump.hpp"
#include "iba/text.hpp"
#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"

using namespace ib;

/// Where SMPs go: to the port at `lid`, or through none but this host's.
path::Path path_to(const sys::EndPort& here, std::optional<Lid> lid) {
  path::IbDrPath local(&here);
  if (!lid) return local;
  path::IbPath path = local;
  path.dlid = *lid;
  path.slid = here.lid;
  return path;
}

int main(int argc, char** argv) {
  const sys::DeviceList devices = sys::DeviceList::read();  // paths and errors refer to its ports
  try {
    const sys::EndPort& here = devices.default_end_port();
    async::Loop loop;
    mad::Rpc mads(loop, mad::open_umad(here));

    const path::Path path = path_to(here, argc > 1 ? parse_lid(argv[1]) : std::nullopt);
    const auto port = loop.run(mads.subn_get<smp::PortInfo>(path));
    fmt::print("The subnet manager is at LID {}\n{}", to_text(port.master_sm_lid), dotted(port));
  } catch (const Error& error) {  // what failed, and above it what for
    for (const std::string& line : error.lines(1)) fmt::print(stderr, "{}\n", line);
    return 1;
  }
}
