// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "out/json.hpp"
#include "snapshot/json_facts.hpp"

namespace ib::snapshot {
namespace {

void put_gid(out::Sink& sink, const Gid& gid) {
  sink.begin_array();
  sink.value("", gid.prefix().value);
  sink.value("", gid.guid().value);
  sink.end_array();
}

void put_port(out::Sink& sink, const sys::EndPort& port) {
  sink.begin_object();
  sink.value("number", port.number);
  sink.value("link_layer", static_cast<unsigned>(port.link_layer));
  sink.value("link_layer_text", as_utf8(port.link_layer_text));
  sink.value("state", port.state);
  sink.value("phys_state", port.phys_state);
  sink.value("state_text", as_utf8(port.state_text));
  sink.value("phys_state_text", as_utf8(port.phys_state_text));
  sink.value("rate_text", as_utf8(port.rate_text));
  sink.value("lid", port.lid);
  sink.value("sm_lid", port.sm_lid);
  sink.value("lmc", port.lmc);
  sink.value("sm_sl", port.sm_sl);
  sink.value("capability_mask", port.capability_mask);
  sink.begin_array("gids");
  for (const Gid& gid : port.gids) put_gid(sink, gid);
  sink.end_array();
  sink.begin_array("pkeys");
  for (const Pkey pkey : port.pkeys) sink.value("", pkey);
  sink.end_array();
  sink.value("umad", as_utf8(port.umad));
  sink.value("subnet_timeout", port.subnet_timeout);
  sink.end_object();
}

/// A text that the kernel makes, and that is shown as it is.
std::string text_of(const JsonFacts& facts, const std::string& name) {
  const std::string& text = facts.bytes(name);
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::ranges::all_of(text, is_printable)) throw UsageError(fmt::format("its {} is no text", name.substr(name.rfind('/') + 1)));
  return text;
}

std::unique_ptr<sys::EndPort> to_port(const JsonFacts& facts, const std::string& in, const sys::Device& device) {
  auto port = std::make_unique<sys::EndPort>();
  port->device = &device;
  port->number = facts.number<std::uint8_t>(in + "/number");
  const auto link_layer = facts.number<unsigned>(in + "/link_layer");
  if (link_layer > static_cast<unsigned>(sys::LinkLayer::ethernet)) throw UsageError("its end port has an unknown link layer");
  port->link_layer = static_cast<sys::LinkLayer>(link_layer);
  port->link_layer_text = text_of(facts, in + "/link_layer_text");
  port->state = facts.number<std::uint8_t>(in + "/state");
  port->phys_state = facts.number<std::uint8_t>(in + "/phys_state");
  port->state_text = text_of(facts, in + "/state_text");
  port->phys_state_text = text_of(facts, in + "/phys_state_text");
  port->rate_text = text_of(facts, in + "/rate_text");
  port->lid = Lid{facts.number<std::uint16_t>(in + "/lid")};
  port->sm_lid = Lid{facts.number<std::uint16_t>(in + "/sm_lid")};
  port->lmc = facts.number<std::uint8_t>(in + "/lmc") & 7U;
  port->sm_sl = facts.number<std::uint8_t>(in + "/sm_sl") & 0xfU;
  port->capability_mask = facts.number<std::uint32_t>(in + "/capability_mask");
  std::vector<Gid> gids;
  for (std::string gid = in + "/gids/0"; facts.has(gid + "/0"); gid = fmt::format("{}/gids/{}", in, gids.size()))
    gids.push_back(Gid::from(GidPrefix{facts.number<std::uint64_t>(gid + "/0")}, Guid{facts.number<std::uint64_t>(gid + "/1")}));
  port->gids = std::move(gids);
  std::vector<Pkey> pkeys;
  for (std::string pkey = in + "/pkeys/0"; facts.has(pkey); pkey = fmt::format("{}/pkeys/{}", in, pkeys.size()))
    pkeys.push_back(Pkey{facts.number<std::uint16_t>(pkey)});
  port->pkeys = std::move(pkeys);
  port->umad = port->smi_umad = port->gsi_umad = text_of(facts, in + "/umad");
  port->subnet_timeout = facts.number<std::uint8_t>(in + "/subnet_timeout") & 0x1fU;
  port->smi_port = port->gsi_port = port.get();
  return port;
}

}  // namespace

std::string origin_text(const sys::EndPort& port) {
  const sys::Device& device = *port.device;
  std::string text;
  out::JsonSink sink(text, out::JsonStyle::lines);
  sink.begin_object();
  sink.value("name", as_utf8(device.name));
  sink.value("ca_type", as_utf8(device.ca_type));
  sink.value("firmware", as_utf8(device.firmware));
  sink.value("hardware", as_utf8(device.hardware));
  sink.value("board_id", as_utf8(device.board_id));
  sink.value("node_description", as_utf8(device.node_description));
  sink.value("node_type", device.node_type);
  sink.value("node_guid", device.node_guid.value);
  sink.value("system_image_guid", device.system_image_guid.value);
  sink.begin_array("ports");
  for (const auto& one : device.ports) put_port(sink, *one);
  sink.end_array();
  sink.end_object();
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

sys::DeviceList origin_devices(std::string_view text) {
  try {
    const JsonFacts facts(text);
    auto device = std::make_unique<sys::Device>();
    device->name = text_of(facts, "/name");
    device->ca_type = text_of(facts, "/ca_type");
    device->firmware = text_of(facts, "/firmware");
    device->hardware = text_of(facts, "/hardware");
    device->board_id = text_of(facts, "/board_id");
    device->node_description = facts.bytes("/node_description");
    device->node_type = facts.number<std::uint8_t>("/node_type");
    device->node_guid = Guid{facts.number<std::uint64_t>("/node_guid")};
    device->system_image_guid = Guid{facts.number<std::uint64_t>("/system_image_guid")};
    for (std::string port = "/ports/0"; facts.has(port + "/number"); port = fmt::format("/ports/{}", device->ports.size()))
      device->ports.push_back(to_port(facts, port, *device));
    std::vector<std::unique_ptr<sys::Device>> devices;
    devices.push_back(std::move(device));
    return sys::DeviceList(std::move(devices));
  } catch (const JsonFacts::NotFound&) {
    throw UsageError("it does not say by which device it was taken");
  }
}

}  // namespace ib::snapshot
