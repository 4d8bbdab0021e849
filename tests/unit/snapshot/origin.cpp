// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The device by which a snapshot was taken: what old files say of it, and what ours say to old programs, which read it as JSON.
#include "snapshot/origin.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace ib;
using nlohmann::json;

namespace {

/// As the first version wrote it: nlohmann_json's order of members, and its escapes.
constexpr std::string_view old_text =
    "{\"board_id\":\"MT_0000000008\",\"ca_type\":\"MT4123\",\"firmware\":\"20.31.1014\",\"hardware\":\"0\",\"name\":\"mlx5_0\","
    "\"node_description\":\"a\\\"b\\\\\\u001b\\n\xc3\xa9\xc2\x80\",\"node_guid\":18446744073709551615,\"node_type\":1,\"ports\":["
    "{\"capability_mask\":4294967295,\"gids\":[[18338657682652659712,9223372036854775809],[0,0]],\"lid\":49151,\"link_layer\":1,"
    "\"link_layer_text\":\"InfiniBand\",\"lmc\":7,\"number\":1,\"phys_state\":5,\"phys_state_text\":\"LinkUp\",\"pkeys\":[65535,0],"
    "\"rate_text\":\"200 Gb/sec (4X HDR)\",\"sm_lid\":1,\"sm_sl\":15,\"state\":4,\"state_text\":\"ACTIVE\",\"subnet_timeout\":31,"
    "\"umad\":\"umad0\"}],\"system_image_guid\":0}";

void check_old(const sys::DeviceList& devices) {
  REQUIRE(devices.devices().size() == 1);
  const sys::Device& device = *devices.devices().front();
  CHECK(device.name == "mlx5_0");
  CHECK(device.board_id == "MT_0000000008");
  CHECK(device.node_description == "a\"b\\\x1b\n\xe9\x80");
  CHECK(device.node_guid.value == 0xffffffffffffffffU);
  REQUIRE(device.ports.size() == 1);
  const sys::EndPort& port = *device.ports.front();
  CHECK(port.device == &device);
  CHECK(port.number == 1);
  CHECK(port.link_layer == sys::LinkLayer::infiniband);
  CHECK(port.capability_mask == 0xffffffffU);
  CHECK(port.gids.entries() ==
        std::vector<Gid>{Gid::from(GidPrefix{0xfe80000000000000U}, Guid{0x8000000000000001U}), Gid::from(GidPrefix{0}, Guid{0})});
  CHECK(port.pkeys.entries() == std::vector<Pkey>{Pkey{0xffff}, Pkey{0}});
  CHECK(port.lid == Lid{49151});
  CHECK(port.lmc == 7);
  CHECK(port.rate_text == "200 Gb/sec (4X HDR)");
  CHECK(port.subnet_timeout == 31);
  CHECK(port.smi_port == &port);
}

bool is_refused(std::string_view text) {
  try {
    static_cast<void>(snapshot::origin_devices(text));
    return false;
  } catch (const UsageError&) {
    return true;
  }
}

}  // namespace

TEST_CASE("The device in an old snapshot is read, and what is written of it is the same to a reader of JSON") {
  const sys::DeviceList devices = snapshot::origin_devices(old_text);
  check_old(devices);
  const std::string text = snapshot::origin_text(*devices.devices().front()->ports.front());
  CHECK(json::parse(text) == json::parse(old_text));
  check_old(snapshot::origin_devices(text));
  check_old(snapshot::origin_devices(json::parse(old_text).dump(2)));
}

TEST_CASE("All bytes of a node description are kept") {
  sys::DeviceList devices = snapshot::origin_devices(old_text);
  std::string all;
  for (unsigned byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  sys::Device& device = *devices.devices().front();
  device.node_description = all;
  const std::string text = snapshot::origin_text(*device.ports.front());
  CHECK(json::accept(text));
  CHECK(snapshot::origin_devices(text).devices().front()->node_description == all);
}

TEST_CASE("A device that is cut, lacks a member or has one that is no such thing is refused") {
  for (std::size_t size = 0; size < old_text.size(); ++size) {
    CAPTURE(size);
    CHECK(is_refused(old_text.substr(0, size)));
  }
  const json whole = json::parse(old_text);
  for (const auto& [name, value] : whole.items()) {
    if (name == "ports") continue;
    CAPTURE(name);
    json changed = whole;
    changed.erase(name);
    CHECK(is_refused(changed.dump()));
    changed[name] = value.is_string() ? json(1) : json("1");
    CHECK(is_refused(changed.dump()));
  }
  for (const auto& [name, value] : whole["ports"][0].items()) {
    if (value.is_array()) continue;
    CAPTURE(name);
    json changed = whole;
    changed["ports"][0][name] = value.is_string() ? json("\x1b") : json(std::uint64_t{1} << 32U);
    CHECK(is_refused(changed.dump()));
  }
  for (const char* number : {"-1", "1.0", "1e3", "01", "0x1", "true", "null", "18446744073709551616", ""}) {
    std::string changed(old_text);
    changed.replace(changed.find("49151"), 5, number);
    CAPTURE(number);
    CHECK(is_refused(changed));
  }
  CHECK(is_refused(std::string(old_text) + "x"));
  CHECK(is_refused("{\"name\":\"\xc4\x80\"}"));
}
