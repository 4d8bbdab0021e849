// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The facts of the host's device: what is stored of a device is read back whole.
#include "snapshot/snapshot.hpp"

#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace ib;

namespace {

using Facts = std::map<std::string, std::string>;

sys::Device two_ports() {
  sys::Device device;
  device.name = "mlx5_0";
  device.ca_type = "MT4123";
  device.firmware = "20.31.1014";
  device.hardware = "0";
  device.board_id = "MT_0000000223";
  device.node_description = "caf\xc3\xa9 \xff\n HCA-1";  // as sysfs has it
  device.node_type = 1;
  device.node_guid = Guid{0xb8599f0300a00010};
  device.system_image_guid = Guid{0xffffffffffffffff};
  for (const unsigned number : {1U, 2U}) {
    sys::EndPort& port = *device.ports.emplace_back(std::make_unique<sys::EndPort>());
    port.number = number;
  }
  sys::EndPort& port = *device.ports[0];
  port.link_layer = sys::LinkLayer::infiniband;
  port.link_layer_text = "InfiniBand";
  port.state = 4;
  port.phys_state = 5;
  port.state_text = "ACTIVE";
  port.phys_state_text = "LinkUp";
  port.rate_text = "200 Gb/sec (4X HDR)";
  port.lid = Lid{0xbfff};
  port.sm_lid = Lid{7};
  port.lmc = 7;
  port.sm_sl = 15;
  port.capability_mask = 0xa651e848;
  port.gids = {Gid::from(link_local_prefix, Guid{0xb8599f0300a00011}), Gid{}, Gid::from(GidPrefix{1}, Guid{2})};
  port.pkeys = {Pkey{0xffff}, Pkey{0}, Pkey{0x7fff}};
  port.umad = "umad0";
  port.subnet_timeout = 31;
  return device;
}

Facts facts_of(sys::Device& device) {
  Facts facts;
  for (const auto& port : device.ports) port->device = &device;
  snapshot::put_origin_facts(*device.ports[1],
                             [&facts](std::string_view name, std::string_view value) { CHECK(facts.emplace(name, value).second); });
  return facts;
}

sys::DeviceList devices_of(const Facts& facts) {
  return snapshot::origin_devices([&facts](std::string_view name) {
    const auto at = facts.find(std::string(name));
    return at == facts.end() ? std::string() : at->second;
  });
}

}  // namespace

TEST_CASE("A device that was stored is read back whole, and its facts are the same again") {
  sys::Device device = two_ports();
  const Facts facts = facts_of(device);
  CHECK(facts.at("device node_guid") == "b859:9f03:00a0:0010");
  CHECK(facts.at("device node_description") == "caf\xc3\x83\xc2\xa9 \xc3\xbf\n HCA-1");  // UTF-8: a character for each byte
  CHECK(facts.at("device ports") == "1 2");
  CHECK(facts.at("device port 1 gids") == "fe80::b859:9f03:a0:11 :: ::1:0:0:0:2");
  CHECK(facts.at("device port 1 pkeys") == "0xffff 0x0000 0x7fff");
  CHECK(facts.at("device port 2 gids").empty());
  const sys::DeviceList list = devices_of(facts);
  REQUIRE(list.devices().size() == 1);
  sys::Device& read = *list.devices().front();
  CHECK(read.node_description == device.node_description);
  CHECK(read.system_image_guid == device.system_image_guid);
  REQUIRE(read.ports.size() == 2);
  const sys::EndPort& port = *read.ports[0];
  CHECK(port.device == &read);
  CHECK(port.gids.entries() == device.ports[0]->gids.entries());
  CHECK(port.pkeys.entries() == device.ports[0]->pkeys.entries());
  CHECK(port.umad_of(true) == "umad0");
  CHECK(port.gsi_port == &port);
  CHECK(port.capability_mask == 0xa651e848);
  CHECK(read.ports[1]->pkeys.empty());
  CHECK(facts_of(read) == facts);
}

TEST_CASE("A device of which a fact of numbers is missing is refused") {
  sys::Device device = two_ports();
  for (const auto& [name, value] : facts_of(device)) {
    CAPTURE(name);
    if (value.find_first_not_of("0123456789") != std::string::npos || name == "device hardware") continue;
    Facts rest = facts_of(device);
    rest.erase(name);
    if (value.empty()) {
      CHECK(devices_of(rest).devices().size() == 1);
    } else {
      CHECK_THROWS_AS(devices_of(rest), UsageError);
    }
  }
}
