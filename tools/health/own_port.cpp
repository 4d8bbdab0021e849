// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The file of --state has one line of words: its kind, the GUID and the number of the port, the time of the reading in milliseconds since
// 1970, and for each attribute its number and its bytes.
#include "tools/health/own_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/private_file.hpp"
#include "iba-gen/pm.hpp"
#include "iba/text.hpp"
#include "subnet/own_node.hpp"
#include "tools/health/reading_time.hpp"

namespace ib::tools::health {
namespace {

constexpr std::string_view kind_of_file = "ibtool-health-1";
constexpr std::size_t longest_state = 4096, longest_read = std::size_t{1} << 20U;  // bytes
constexpr int hex = 16;

/// The checks that need one link only. The others need the whole fabric, or more MADs.
constexpr std::array local_checks = std::to_array<std::string_view>(
    {"node-silent", "port-init", "port-armed", "lid-zero", "link-slow", "link-misconnected", "mtu-mismatch", "vl-mismatch", "symbol-errors",
     "receive-errors", "link-recovery", "link-flap", "link-restart", "link-integrity", "buffer-overrun", "constraint-errors",
     "counter-stuck", "counter-cleared", "vl15-dropped"});

/// The attributes that hold errors, in the order of the file.
std::array<const StructInfo*, 2> attributes() { return {&pm::PortCounters::info(), &pm::PortCountersExt::info()}; }

counters::CounterKey own_key(const subnet::Subnet& subnet) {
  const subnet::Port& port = subnet.port(subnet.start);
  return counters::counter_key(subnet, port.node, port.number);
}

std::chrono::milliseconds wall_milliseconds(async::Loop& loop, async::Time time) {
  const std::chrono::system_clock::duration age = std::chrono::duration_cast<std::chrono::system_clock::duration>(loop.now() - time);
  return std::chrono::duration_cast<std::chrono::milliseconds>((loop.clock().wall_time() - age).time_since_epoch());
}

std::vector<std::uint8_t> bytes_in(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
    std::uint8_t byte = 0;
    const auto [end, code] = std::from_chars(text.data() + at, text.data() + at + 2, byte, hex);
    if (code != std::errc() || end != text.data() + at + 2) return {};
    bytes.push_back(byte);
  }
  return bytes;
}

}  // namespace

async::Task<> read_own_link(Session& session, Fabric& fabric) {
  DiscoveryOptions options;
  options.mode = "DR";  // by LID the sweep would need PortInfo of port 0 of the switch
  options.needs.switch_infos = false;
  options.needs.descriptions = {subnet::NodeKind::sw, subnet::NodeKind::router, subnet::NodeKind::other};
  options.needs.end_ports = {subnet::NodeKind::ca, subnet::NodeKind::router};  // not the LID of the switch at the other end
  path::Path here = session.here();
  here.ib().retries = 0;  // what did not answer is requested once more at the end of the sweep
  co_await discover_from(session, options, std::move(here), 1, fabric);
  fabric.names = session.node_name_map();
  subnet::describe_node(fabric.subnet.node(fabric.subnet.port(fabric.subnet.start).node), session.end_port().device->node_description);
}

Fabric own_node(Session& session) {
  Fabric fabric;
  fabric.names = session.node_name_map();
  subnet::add_own_node(fabric.subnet, session.stack().down_port());
  return fabric;
}

ib::health::Diagnosis examine_down_port(Session& session, const Fabric& own, const Wanted& wanted, StoredBaseline& baseline) {
  ib::health::Input input(own.subnet, own.failures, wanted.thresholds);
  input.own_port = session.stack().down_port().name();
  if (const auto* compared = baseline.compare(own.subnet)) input.compare_with(*compared);
  return ib::health::examine(input, wanted.selection);
}

ib::health::Scope own_port(const subnet::Subnet& subnet) {
  ib::health::Scope scope{false, std::vector<bool>(subnet.ports().size()), std::vector<bool>(subnet.nodes().size(), true)};
  scope.ports[subnet.start] = true;
  return scope;
}

ib::health::Selection local_selection(const ib::health::Selection& wanted) {
  ib::health::Selection selection;
  for (const std::string_view id : local_checks) {
    const ib::health::Check* check = ib::health::find_check(id);
    if (wanted.has(*check)) selection.only.push_back(check);
  }
  if (selection.only.empty()) throw UsageError("--port local: none of these checks can be done with one link");
  selection.why_not = "--port local looks at one link";
  return selection;
}

std::string load_state(const std::string& state, const subnet::Subnet& subnet, async::Loop& loop, counters::CounterHistory& history) {
  const std::optional<std::string> text = read_private_file(state, longest_read);
  if (!text || text->size() > longest_state) return {};  // what is too long is no state, like anything else, and is replaced
  std::istringstream words(*text);
  std::string kind, guid;
  unsigned port = 0;
  std::int64_t milliseconds = 0;
  const counters::CounterKey key = own_key(subnet);
  if (!(words >> kind >> guid >> port >> milliseconds) || kind != kind_of_file || guid != to_text(key.node) || port != key.port) return {};
  if (std::string why = why_impossible(milliseconds, loop.clock().wall_time()); !why.empty()) return why;
  const async::Time time = time_of(milliseconds, loop);
  std::uint16_t id = 0;
  std::string digits;
  while (words >> id >> digits) {
    const std::vector<std::uint8_t> bytes = bytes_in(digits);
    for (const StructInfo* attribute : attributes()) {
      if (attribute->attribute_id == static_cast<std::int32_t>(id) && bytes.size() == attribute->bytes)
        history.take(key, *attribute, time, bytes);
    }
  }
  return {};
}

void save_state(const std::string& state, const subnet::Subnet& subnet, async::Loop& loop, const counters::CounterHistory& history) {
  const counters::CounterKey key = own_key(subnet);
  std::string samples;
  std::optional<async::Time> time;
  for (const StructInfo* attribute : attributes()) {
    const counters::CounterSample* sample = history.last(key, *attribute);
    if (sample == nullptr) continue;
    samples += fmt::format(" {} {}", attribute->attribute_id, hex_text(sample->bytes));
    time = sample->time;
  }
  if (!time) return;
  replace_private_file(
      state, fmt::format("{} {} {} {}{}\n", kind_of_file, to_text(key.node), key.port, wall_milliseconds(loop, *time).count(), samples));
}

}  // namespace ib::tools::health
