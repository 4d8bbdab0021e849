// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads a fabric as `ibtool snapshot` does and keeps nothing of it, for snapshot.py: the same requests by the same surveys, but no
// Recording, no Writer and no file. Arguments are the parts besides the topology; without arguments, those are read that a snapshot has
// by default. Prints one line of JSON: the requests that were planned, answered and refused in each part, and what did not answer.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"
#include "sa/stored_tables.hpp"
#include "snapshot/fabric_survey.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/discovery.hpp"
#include "sys/device.hpp"

using namespace ib;
using snapshot::Part;

namespace {

struct Told {
  Part part;
  std::uint64_t planned, answered, refused;
  std::size_t failures;
};

path::Path start_at(const sys::EndPort& port) {
  path::IbDrPath start(&port);
  start.sqpn = Qpn{0};
  return start;
}

async::Task<snapshot::SurveyedPart> read_sa(mad::Transactor& mads) {
  snapshot::SurveyedPart result;
  std::vector<const QueryInfo*> tables;
  for (const QueryInfo& table : sa::stored_table_infos()) tables.push_back(&table);
  result.planned = tables.size();
  sa::TableReading how;
  how.keep = [&result](const QueryInfo&, const mad::Reply&) { ++result.answered; };
  const std::vector<sa::TableFailure> failed = co_await sa::read_tables(mads, std::move(tables), std::move(how));
  result.refused = failed.size();
  co_return result;
}

async::Task<> read_all(mad::Transactor& mads, std::vector<Part> parts, std::vector<Told>& told) {
  const sys::EndPort& port = mads.end_port();
  const path::Path start = start_at(port);
  constexpr unsigned active = 4;  // IBA 14.2.5.6: PortState
  subnet::SweptSubnet fabric;
  subnet::Subnet& subnet = fabric.subnet;
  subnet::DiscoverOptions sweep;
  if (port.state == active && port.lid.is_unicast()) sweep.routing = subnet::Routing::lid;
  sweep.mlnx_extended_port_info = std::ranges::find(parts, Part::ports) == parts.end();
  subnet::Discovered discovered = co_await subnet::discover(mads, subnet, start, sweep);
  fabric.failures = std::move(discovered.failures);
  const std::uint64_t plan = discovered.stats.plan;
  told.push_back({Part::topology, plan, plan, 0, fabric.failures.size()});
  subnet::PortPaths paths(subnet, start);
  snapshot::FabricSurveyOptions how(start);
  how.paths = &paths;
  how.find_paths = [&] { return paths.read_service_levels(mads); };
  how.read_sa = read_sa;
  how.ended = [&told](Part part, const snapshot::SurveyedPart& done) {
    told.push_back({part, done.planned, done.answered, done.refused, done.failures.size()});
  };
  snapshot::FabricSurvey reading(mads, fabric, how);
  co_await snapshot::read_arrivals(mads, subnet, start);
  co_await reading.read(std::move(parts));
}

std::vector<Part> parts_of(int argc, char** argv) {
  std::vector<Part> parts;
  for (const auto& [part, part_name, description] : snapshot::all_parts) {
    if (part == Part::topology) continue;
    const bool is_named = std::any_of(argv + 1, argv + argc, [name = part_name](const char* word) { return name == word; });
    if ((argc == 1 && is_usual(part)) || is_named) parts.push_back(part);
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const sys::DeviceList devices = sys::DeviceList::read();
    async::Loop loop;
    mad::Rpc rpc(loop, mad::open_umad(devices.default_end_port()));
    std::vector<Told> told;
    loop.run(read_all(rpc, parts_of(argc, argv), told));
    std::string text;
    for (const Told& one : told) {
      text += fmt::format("{}\"{}\": {{\"planned\": {}, \"answered\": {}, \"refused\": {}, \"failures\": {}}}", text.empty() ? "" : ", ",
                          name(one.part), one.planned, one.answered, one.refused, one.failures);
    }
    fmt::print("{{\"sent\": {}, \"parts\": {{{}}}}}\n", rpc.stats()->sent(), text);
  } catch (const Error& error) {
    fmt::print(stderr, "E: {}\n", error.what());
    return 3;
  }
}
