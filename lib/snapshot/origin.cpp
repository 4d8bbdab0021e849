// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The facts of a device and of a port are listed once, in visit_port() and visit_device(): the members of a constant object are stored, of
// any other one they are read.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "snapshot/snapshot.hpp"

namespace ib::snapshot {
namespace {

constexpr const char* device_facts = "device ";
std::string port_facts(unsigned number) { return fmt::format("device port {} ", number); }

/// Texts of sysfs may hold any bytes, a fact only UTF-8: each byte becomes the character of its number.
std::string as_utf8(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, static_cast<unsigned char>(c));
  return text;
}

std::string latin1_bytes(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    bytes += c.valid && c.code < 0x100 ? std::string(1, static_cast<char>(c.code)) : std::string(text.substr(0, c.size));
    text.remove_prefix(c.size);
  }
  return bytes;
}

/// The facts of one device or port, whose names have a common prefix. The functions store a constant value, and read any other one. They
/// throw UsageError for a fact that the writer never stores.
class Facts {
 public:
  Facts(std::string prefix, const PutFact& put) : prefix_(std::move(prefix)), put_(&put) {}
  Facts(std::string prefix, const FindFact& find) : prefix_(std::move(prefix)), find_(&find) {}

  void put(std::string_view name, std::string_view value) const { (*put_)(prefix_ + std::string(name), as_utf8(value)); }
  std::string find(std::string_view name) const { return (*find_)(prefix_ + std::string(name)); }

  void bytes(std::string_view name, const std::string& value) const { put(name, value); }
  void bytes(std::string_view name, std::string& value) const { value = latin1_bytes(find(name)); }
  /// A text of the kernel, which is printed as it is.
  void text(std::string_view name, auto& value) const {
    bytes(name, value);
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (find_ != nullptr && !std::ranges::all_of(value, is_printable)) throw UsageError(fmt::format("its {} is not text", name));
  }
  void guid(std::string_view name, const Guid& value) const { put(name, to_text(value)); }
  void guid(std::string_view name, Guid& value) const { value = known(parse_guid(find(name))); }
  template <class T>
  void number(std::string_view name, T& value, std::uint64_t largest = std::numeric_limits<std::uint8_t>::max()) const {
    if constexpr (std::is_const_v<T>) {
      put(name, std::to_string(static_cast<std::uint64_t>(value)));
    } else {
      value = static_cast<T>(within(parse_digits(find(name), 10), largest));
    }
  }
  /// Stores a list, with a space between two elements.
  template <class List, class TextOf>
  void list(std::string_view name, const List& elements, TextOf text_of) const {
    std::vector<std::string> words;
    for (const auto& element : elements) words.push_back(text_of(element));
    put(name, joined(words, " "));
  }
  /// Calls `take` for each element of a list.
  template <class Take>
  void each(std::string_view name, Take take) const {
    constexpr std::size_t most = std::size_t{1} << 16U;  // as many as a table of GIDs or P_Keys may have
    const std::string all = find(name);
    const std::vector<std::string_view> words = split_list(all, " ");
    if (words.size() > most) throw_unknown();
    for (const std::string_view word : words) take(word);
  }

  template <class T>
  static T known(const std::optional<T>& value) {
    if (!value) throw_unknown();
    return *value;
  }
  static std::uint64_t within(const std::optional<std::uint64_t>& number, std::uint64_t largest) {
    if (known(number) > largest) throw_unknown();
    return *number;
  }

 private:
  [[noreturn]] static void throw_unknown() { throw UsageError("it does not say by which device it was taken"); }

  std::string prefix_;
  const PutFact* put_{};
  const FindFact* find_{};
};

template <class Port>
void visit_port(const Facts& facts, Port& port) {
  facts.number("link_layer", port.link_layer, static_cast<unsigned>(sys::LinkLayer::ethernet));
  facts.text("link_layer_text", port.link_layer_text);
  facts.number("state", port.state);
  facts.number("phys_state", port.phys_state);
  facts.text("state_text", port.state_text);
  facts.text("phys_state_text", port.phys_state_text);
  facts.text("rate_text", port.rate_text);
  facts.number("lid", port.lid.value, permissive_lid.value);
  facts.number("sm_lid", port.sm_lid.value, permissive_lid.value);
  facts.number("lmc", port.lmc, 7);
  facts.number("sm_sl", port.sm_sl, 0xf);
  facts.number("capability_mask", port.capability_mask, std::numeric_limits<std::uint32_t>::max());
  facts.text("umad", port.umad);
  facts.number("subnet_timeout", port.subnet_timeout, 0x1f);
}

template <class Device>
void visit_device(const Facts& facts, Device& device) {
  facts.text("name", device.name);
  facts.text("ca_type", device.ca_type);
  facts.text("firmware", device.firmware);
  facts.text("hardware", device.hardware);
  facts.text("board_id", device.board_id);
  facts.bytes("node_description", device.node_description);
  facts.number("node_type", device.node_type);
  facts.guid("node_guid", device.node_guid);
  facts.guid("system_image_guid", device.system_image_guid);
}

std::unique_ptr<sys::EndPort> stored_port(std::uint8_t number, const sys::Device& device, const FindFact& find) {
  const Facts facts(port_facts(number), find);
  auto port = std::make_unique<sys::EndPort>();
  port->device = &device;
  port->number = number;
  visit_port(facts, *port);
  std::vector<Gid> gids;
  facts.each("gids", [&gids](std::string_view word) { gids.push_back(Facts::known(parse_gid(word))); });
  port->gids = std::move(gids);
  std::vector<Pkey> pkeys;
  facts.each("pkeys", [&pkeys](std::string_view word) {
    pkeys.push_back(Pkey{static_cast<std::uint16_t>(Facts::within(parse_number(word), default_pkey.value))});
  });
  port->pkeys = std::move(pkeys);
  port->smi_port = port->gsi_port = port.get();
  return port;
}

}  // namespace

void put_origin_facts(const sys::EndPort& port, const PutFact& put) {
  const sys::Device& device = *port.device;
  const Facts facts(device_facts, put);
  visit_device(facts, device);
  facts.list("ports", device.ports, [](const auto& one) { return std::to_string(one->number); });
  for (const auto& one : device.ports) {
    const Facts of_port(port_facts(one->number), put);
    visit_port(of_port, std::as_const(*one));
    of_port.list("gids", one->gids, [](const Gid& gid) { return to_text(gid); });
    of_port.list("pkeys", one->pkeys, [](Pkey pkey) { return to_hex(pkey.value, 4); });
  }
}

sys::DeviceList origin_devices(const FindFact& find) {
  const Facts facts(device_facts, find);
  std::vector<std::unique_ptr<sys::Device>> devices;
  sys::Device& device = *devices.emplace_back(std::make_unique<sys::Device>());
  visit_device(facts, device);
  facts.each("ports", [&](std::string_view word) {
    const auto number = static_cast<std::uint8_t>(Facts::within(parse_digits(word, 10), std::numeric_limits<std::uint8_t>::max()));
    const bool is_out_of_order = !device.ports.empty() && device.ports.back()->number >= number;
    if (is_out_of_order) throw UsageError("the ports of its device are not in order");
    device.ports.push_back(stored_port(number, device, find));
  });
  return sys::DeviceList(std::move(devices));
}

}  // namespace ib::snapshot
