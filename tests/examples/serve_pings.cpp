// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Serves a part of the vendor class of ibsysstat, and that of infiniband-diags' ibping: `ibsysstat LID` and `ibping LID` find a
// host where this runs. A handler returns what is sent back, or refuses by throwing; what no handler is for the Server refuses by
// itself, as the IBA says.
#include <fmt/core.h>
#include <unistd.h>

#include "iba-gen/ofa.hpp"
#include "mad/channel/open.hpp"
#include "mad/server.hpp"
#include "mad/sysstat.hpp"
#include "sys/host.hpp"

using namespace ib;

ofa::SysStatHostInfo host_info(const mad::Incoming& incoming) {
  if (incoming.header().attribute_modifier() != 0) {
    throw incoming.error(mad::status::invalid_attribute_or_modifier, "HostInfo has no attribute modifier");
  }
  ofa::SysStatHostInfo info;
  gethostname(reinterpret_cast<char*>(info.data_str.data()), info.data_str.size() - 1);
  return info;
}

int main() {
  const sys::DeviceList devices = sys::DeviceList::read();
  try {
    async::Loop loop;
    mad::Rpc mads(loop, mad::open_umad(devices.default_end_port()));

    mad::Server server(mads);
    server.serve(mad::service_of<ofa::SysStatPing>());
    server.on<ofa::SysStatPing>(mad::method::get, [](const auto& ping, const mad::Incoming&) { return ping; });
    server.on<ofa::SysStatHostInfo>(mad::method::get, [](const auto&, const mad::Incoming& incoming) { return host_info(incoming); });
    mad::serve_ping(server, sys::host_name());  // a service that the library has
    server.set_reporter([](const Error& error) { fmt::print(stderr, "refused: {}\n", error.what()); });
    fmt::print(stderr, "serving\n");
    loop.run(server.run());
  } catch (const Error& error) {
    for (const std::string& line : error.lines(1)) fmt::print(stderr, "{}\n", line);
    return 1;
  }
}
