// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What reading registers costs, in one process, for phy.py: bench-phy TOPOLOGY reads all linked ports of the fabric in the file, first
// their registers as `ibtool phy` does, then their counters as ibqueryerrors does. Each request is answered at once, so that only our own
// work is measured. Prints one line of JSON: for both the MADs and their CPU time, for phy also the MADs of ports and of devices, and the
// memory of its rows.
#include <fmt/format.h>
#include <malloc.h>

#include <ctime>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "counters/readings.hpp"
#include "formats/topology_text.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/reg.hpp"
#include "iba/generic.hpp"
#include "mad/error.hpp"
#include "mad/request.hpp"
#include "phy/reading.hpp"
#include "subnet/model/port_paths.hpp"

using namespace ib;

namespace {

/// A device that answers every request at once with the request's own index fields; GeneralInfo says that it has AccessRegister.
class Answering final : public mad::Transactor {
 public:
  explicit Answering(const sys::EndPort& port) : Transactor(port) {
    mlx::Is4GeneralInfo info;
    info.capability_mask = mlx::general_capabilities::is_access_register_supported;
    general_ = wire::packed_vector(info);
  }

  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    ++sent;
    const bool is_general =
        request.mgmt_class == mlx::Is4GeneralInfo::mgmt_class && request.attribute_id == mlx::Is4GeneralInfo::attribute_id;
    general += is_general ? 1 : 0;
    mad::Reply reply;
    reply.bytes = mad::answer_to(request, 0, mad::data_area(request.mgmt_class), is_general ? Bytes(general_) : Bytes(request.payload));
    co_return reply;
  }

  std::uint64_t sent{}, general{};

 private:
  std::vector<std::uint8_t> general_;
};

/// The bytes that are allocated, small pieces and large ones.
std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string measured(std::uint64_t mads, double seconds) {
  return fmt::format("\"mads\": {}, \"cpu_seconds\": {:.3f}, \"microseconds_per_mad\": {:.3f}", mads, seconds,
                     seconds * 1e6 / static_cast<double>(mads));
}

async::Task<> read_both(const sys::EndPort& end_port, const subnet::Subnet& subnet, std::string& out) {
  Answering devices(end_port);
  const path::Path start = path::IbDrPath(&end_port);
  const subnet::PortPaths paths(subnet, start);
  std::vector<subnet::PortIndex> ports;
  std::vector<subnet::NodeIndex> nodes;
  for (subnet::NodeIndex node = 0; node < subnet.nodes().size(); ++node) {
    nodes.push_back(node);
    for (unsigned number = 1; number < subnet.node(node).slots; ++number) {
      const subnet::PortIndex port = subnet.port_of(node, number);
      if (subnet.port(port).peer != subnet::none) ports.push_back(port);
    }
  }
  const std::size_t port_count = ports.size();
  phy::ReadingOptions options;
  options.paths = &paths;
  options.per_second = 1000000000;
  const std::size_t before = allocated();
  const double begin = cpu_seconds();
  const phy::Reading found = co_await phy::read_phy(devices, subnet, std::move(ports), options);
  const double end = cpu_seconds();
  const std::size_t memory = allocated() - before;
  std::size_t read = 0;
  for (const phy::PortRow& row : found.ports) read += row.has(phy::Part::statistics) ? 1 : 0;
  out = fmt::format(
      "{{\"nodes\": {}, \"ports\": {}, \"ports_read\": {}, \"phy\": {{{}, \"mads_of_devices\": {}, \"bytes_per_port\": {:.0f}}}, ",
      nodes.size(), port_count, read, measured(devices.sent, end - begin), devices.general,
      static_cast<double>(memory) / static_cast<double>(port_count));

  Answering agents(end_port);
  subnet::SurveyOptions survey(start);
  survey.paths = &paths;
  counters::ReadingPlan plan;
  plan.ports = counters::ReadingPlan::Ports::each;
  plan.on_node = [](const counters::PmaNode&) {};
  const double again = cpu_seconds();
  const counters::PmaReadings readings = co_await counters::read_pmas(agents, subnet, std::move(nodes), std::move(plan), survey);
  out += fmt::format("\"counters\": {{{}, \"failures\": {}}}}}", measured(agents.sent, cpu_seconds() - again), readings.failures.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bench-phy TOPOLOGY\n");
    return 2;
  }
  try {
    subnet::Subnet subnet;
    formats::read_topology_text(read_regular_file(argv[1], std::size_t{1} << 30), subnet);
    sys::EndPort port;
    port.number = 1;
    port.lid = Lid{1};
    async::Loop loop;
    std::string out;
    loop.run(read_both(port, subnet, out));
    fmt::print("{}\n", out);
  } catch (const Error& error) {
    fmt::print(stderr, "E: {}\n", error.what());
    return 3;
  }
}
