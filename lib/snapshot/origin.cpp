// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/origin.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "iba/text.hpp"

namespace ib::snapshot {
namespace {

/// Texts of sysfs may hold any bytes, a fact only UTF-8: each byte becomes the character of its number.
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

/// The prefix of the names of a port's facts.
std::string port_facts(unsigned number) { return fmt::format("device port {} ", number); }

/// Stores the facts of one device or port, whose names have a common prefix.
class OriginFacts {
 public:
  OriginFacts(std::string prefix, const PutFact& put) : prefix_(std::move(prefix)), put_(put) {}

  void text(std::string_view name, std::string_view bytes) const { put_(prefix_ + std::string(name), as_utf8(bytes)); }
  void number(std::string_view name, std::uint64_t value) const { text(name, std::to_string(value)); }
  /// Stores a list, with a space between two elements.
  void list(std::string_view name, const std::vector<std::string>& words) const { text(name, fmt::format("{}", fmt::join(words, " "))); }

 private:
  std::string prefix_;
  const PutFact& put_;
};

void put_port_facts(const sys::EndPort& port, const PutFact& put) {
  const OriginFacts facts(port_facts(port.number), put);
  facts.number("link_layer", static_cast<unsigned>(port.link_layer));
  facts.text("link_layer_text", port.link_layer_text);
  facts.number("state", port.state);
  facts.number("phys_state", port.phys_state);
  facts.text("state_text", port.state_text);
  facts.text("phys_state_text", port.phys_state_text);
  facts.text("rate_text", port.rate_text);
  facts.number("lid", port.lid.value);
  facts.number("sm_lid", port.sm_lid.value);
  facts.number("lmc", port.lmc);
  facts.number("sm_sl", port.sm_sl);
  facts.number("capability_mask", port.capability_mask);
  std::vector<std::string> gids, pkeys;
  for (const Gid& gid : port.gids) gids.push_back(to_text(gid));
  for (const Pkey pkey : port.pkeys) pkeys.push_back(to_hex(pkey.value, 4));
  facts.list("gids", gids);
  facts.list("pkeys", pkeys);
  facts.text("umad", port.umad);
  facts.number("subnet_timeout", port.subnet_timeout);
}

/// Reads the facts of one device or port. Throws UsageError for a value that the writer never stores.
class StoredOrigin {
 public:
  StoredOrigin(std::string prefix, const FindFact& find) : prefix_(std::move(prefix)), find_(find) {}

  std::string bytes(std::string_view name) const { return latin1_bytes(find_(prefix_ + std::string(name))); }

  /// A text of the kernel, which is printed as it is.
  std::string text(std::string_view name) const {
    std::string text = bytes(name);
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (!std::ranges::all_of(text, is_printable)) throw UsageError(fmt::format("its {} is not text", name));
    return text;
  }

  template <class T>
  T number(std::string_view name) const {
    return value<T>(parse_digits(bytes(name), 10));
  }

  Guid guid(std::string_view name) const { return known(parse_guid(bytes(name))); }

  /// Calls `take` for each element of a list.
  template <class Take>
  void each(std::string_view name, Take take) const {
    constexpr std::size_t most = std::size_t{1} << 16U;  // as many as a table of GIDs or P_Keys may have
    const std::string all = bytes(name);
    std::size_t count = 0;
    for (std::string_view rest = all; !rest.empty();) {
      if (++count > most) throw_unknown();
      const std::size_t end = std::min(rest.find(' '), rest.size());
      take(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  template <class T>
  static T known(std::optional<T> value) {
    if (!value) throw_unknown();
    return *value;
  }
  template <class T>
  static T value(std::optional<std::uint64_t> number) {
    if (known(number) > std::numeric_limits<T>::max()) throw_unknown();
    return static_cast<T>(*number);
  }

 private:
  [[noreturn]] static void throw_unknown() { throw UsageError("it does not say by which device it was taken"); }

  std::string prefix_;
  const FindFact& find_;
};

std::unique_ptr<sys::EndPort> stored_port(std::uint8_t number, const sys::Device& device, const FindFact& find) {
  const StoredOrigin facts(port_facts(number), find);
  auto port = std::make_unique<sys::EndPort>();
  port->device = &device;
  port->number = number;
  const auto link_layer = facts.number<std::uint8_t>("link_layer");
  if (link_layer > static_cast<unsigned>(sys::LinkLayer::ethernet)) throw UsageError("its end port has an unknown link layer");
  port->link_layer = static_cast<sys::LinkLayer>(link_layer);
  port->link_layer_text = facts.text("link_layer_text");
  port->state = facts.number<std::uint8_t>("state");
  port->phys_state = facts.number<std::uint8_t>("phys_state");
  port->state_text = facts.text("state_text");
  port->phys_state_text = facts.text("phys_state_text");
  port->rate_text = facts.text("rate_text");
  port->lid = Lid{facts.number<std::uint16_t>("lid")};
  port->sm_lid = Lid{facts.number<std::uint16_t>("sm_lid")};
  port->lmc = facts.number<std::uint8_t>("lmc") & 7U;
  port->sm_sl = facts.number<std::uint8_t>("sm_sl") & 0xfU;
  port->capability_mask = facts.number<std::uint32_t>("capability_mask");
  std::vector<Gid> gids;
  facts.each("gids", [&gids](std::string_view word) { gids.push_back(StoredOrigin::known(parse_gid(word))); });
  port->gids = std::move(gids);
  std::vector<Pkey> pkeys;
  facts.each("pkeys", [&pkeys](std::string_view word) { pkeys.push_back(Pkey{StoredOrigin::value<std::uint16_t>(parse_number(word))}); });
  port->pkeys = std::move(pkeys);
  port->umad = port->smi_umad = port->gsi_umad = facts.text("umad");
  port->subnet_timeout = facts.number<std::uint8_t>("subnet_timeout") & 0x1fU;
  port->smi_port = port->gsi_port = port.get();
  return port;
}

}  // namespace

void put_origin_facts(const sys::EndPort& port, const PutFact& put) {
  const sys::Device& device = *port.device;
  const OriginFacts facts("device ", put);
  facts.text("name", device.name);
  facts.text("ca_type", device.ca_type);
  facts.text("firmware", device.firmware);
  facts.text("hardware", device.hardware);
  facts.text("board_id", device.board_id);
  facts.text("node_description", device.node_description);
  facts.number("node_type", device.node_type);
  facts.text("node_guid", to_text(device.node_guid));
  facts.text("system_image_guid", to_text(device.system_image_guid));
  std::vector<std::string> numbers;
  for (const auto& one : device.ports) numbers.push_back(std::to_string(one->number));
  facts.list("ports", numbers);
  for (const auto& one : device.ports) put_port_facts(*one, put);
}

sys::DeviceList origin_devices(const FindFact& find) {
  const StoredOrigin facts("device ", find);
  auto device = std::make_unique<sys::Device>();
  device->name = facts.text("name");
  device->ca_type = facts.text("ca_type");
  device->firmware = facts.text("firmware");
  device->hardware = facts.text("hardware");
  device->board_id = facts.text("board_id");
  device->node_description = facts.bytes("node_description");
  device->node_type = facts.number<std::uint8_t>("node_type");
  device->node_guid = facts.guid("node_guid");
  device->system_image_guid = facts.guid("system_image_guid");
  facts.each("ports", [&](std::string_view word) {
    const auto number = StoredOrigin::value<std::uint8_t>(parse_digits(word, 10));
    const bool is_out_of_order = !device->ports.empty() && device->ports.back()->number >= number;
    if (is_out_of_order) throw UsageError("the ports of its device are not in order");
    device->ports.push_back(stored_port(number, *device, find));
  });
  std::vector<std::unique_ptr<sys::Device>> devices;
  devices.push_back(std::move(device));
  return sys::DeviceList(std::move(devices));
}

}  // namespace ib::snapshot
