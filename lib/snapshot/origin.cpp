// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"

namespace ib::snapshot {
namespace {

using nlohmann::json;

/// Texts of sysfs may hold any bytes, JSON only UTF-8: each byte becomes the character of its number.
std::string as_utf8(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0U | byte >> 6U);
      text += static_cast<char>(0x80U | (byte & 0x3fU));
    }
  }
  return text;
}

std::string latin1_bytes(const std::string& text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead >= 0xc0 && at + 1 < text.size()) {
      bytes += static_cast<char>((lead & 0x3U) << 6U | (static_cast<unsigned char>(text[++at]) & 0x3fU));
    } else {
      bytes += text[at];
    }
  }
  return bytes;
}

json from_gid(const Gid& gid) { return json::array({gid.prefix().value, gid.guid().value}); }

json from_port(const sys::EndPort& port) {
  json gids = json::array(), pkeys = json::array();
  for (const Gid& gid : port.gids) gids.push_back(from_gid(gid));
  for (const Pkey pkey : port.pkeys) pkeys.push_back(pkey.value);
  return {{"number", port.number},
          {"link_layer", port.link_layer},
          {"link_layer_text", as_utf8(port.link_layer_text)},
          {"state", port.state},
          {"phys_state", port.phys_state},
          {"state_text", as_utf8(port.state_text)},
          {"phys_state_text", as_utf8(port.phys_state_text)},
          {"rate_text", as_utf8(port.rate_text)},
          {"lid", port.lid.value},
          {"sm_lid", port.sm_lid.value},
          {"lmc", port.lmc},
          {"sm_sl", port.sm_sl},
          {"capability_mask", port.capability_mask},
          {"gids", gids},
          {"pkeys", pkeys},
          {"umad", as_utf8(port.umad)},
          {"subnet_timeout", port.subnet_timeout}};
}

std::string bytes_of(const json& object, const char* name) { return latin1_bytes(object.at(name).get<std::string>()); }

/// A text that the kernel makes, and that is shown as it is.
std::string text_of(const json& object, const char* name) {
  std::string text = bytes_of(object, name);
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::ranges::all_of(text, is_printable)) throw UsageError(fmt::format("its {} is no text", name));
  return text;
}

std::unique_ptr<sys::EndPort> to_port(const json& object, const sys::Device& device) {
  auto port = std::make_unique<sys::EndPort>();
  port->device = &device;
  port->number = object.at("number").get<std::uint8_t>();
  const auto link_layer = object.at("link_layer").get<unsigned>();
  if (link_layer > static_cast<unsigned>(sys::LinkLayer::ethernet)) throw UsageError("its end port has an unknown link layer");
  port->link_layer = static_cast<sys::LinkLayer>(link_layer);
  port->link_layer_text = text_of(object, "link_layer_text");
  port->state = object.at("state").get<std::uint8_t>();
  port->phys_state = object.at("phys_state").get<std::uint8_t>();
  port->state_text = text_of(object, "state_text");
  port->phys_state_text = text_of(object, "phys_state_text");
  port->rate_text = text_of(object, "rate_text");
  port->lid = Lid{object.at("lid").get<std::uint16_t>()};
  port->sm_lid = Lid{object.at("sm_lid").get<std::uint16_t>()};
  port->lmc = object.at("lmc").get<std::uint8_t>() & 7U;
  port->sm_sl = object.at("sm_sl").get<std::uint8_t>() & 0xfU;
  port->capability_mask = object.at("capability_mask").get<std::uint32_t>();
  std::vector<Gid> gids;
  for (const json& gid : object.at("gids"))
    gids.push_back(Gid::from(GidPrefix{gid.at(0).get<std::uint64_t>()}, Guid{gid.at(1).get<std::uint64_t>()}));
  port->gids = std::move(gids);
  std::vector<Pkey> pkeys;
  for (const json& pkey : object.at("pkeys")) pkeys.push_back(Pkey{pkey.get<std::uint16_t>()});
  port->pkeys = std::move(pkeys);
  port->umad = port->smi_umad = port->gsi_umad = text_of(object, "umad");
  port->subnet_timeout = object.at("subnet_timeout").get<std::uint8_t>() & 0x1fU;
  port->smi_port = port->gsi_port = port.get();
  return port;
}

}  // namespace

std::string origin_text(const sys::EndPort& port) {
  const sys::Device& device = *port.device;
  json ports = json::array();
  for (const auto& one : device.ports) ports.push_back(from_port(*one));
  const json object{{"name", as_utf8(device.name)},
                    {"ca_type", as_utf8(device.ca_type)},
                    {"firmware", as_utf8(device.firmware)},
                    {"hardware", as_utf8(device.hardware)},
                    {"board_id", as_utf8(device.board_id)},
                    {"node_description", as_utf8(device.node_description)},
                    {"node_type", device.node_type},
                    {"node_guid", device.node_guid.value},
                    {"system_image_guid", device.system_image_guid.value},
                    {"ports", ports}};
  return object.dump();
}

sys::DeviceList origin_devices(std::string_view text) {
  try {
    const json object = json::parse(text);
    auto device = std::make_unique<sys::Device>();
    device->name = text_of(object, "name");
    device->ca_type = text_of(object, "ca_type");
    device->firmware = text_of(object, "firmware");
    device->hardware = text_of(object, "hardware");
    device->board_id = text_of(object, "board_id");
    device->node_description = bytes_of(object, "node_description");
    device->node_type = object.at("node_type").get<std::uint8_t>();
    device->node_guid = Guid{object.at("node_guid").get<std::uint64_t>()};
    device->system_image_guid = Guid{object.at("system_image_guid").get<std::uint64_t>()};
    for (const json& port : object.at("ports")) device->ports.push_back(to_port(port, *device));
    std::vector<std::unique_ptr<sys::Device>> devices;
    devices.push_back(std::move(device));
    return sys::DeviceList(std::move(devices));
  } catch (const json::exception&) {
    throw UsageError("it does not say by which device it was taken");
  }
}

}  // namespace ib::snapshot
