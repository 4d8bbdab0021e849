// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Snapshots: reading one throws UsageError or gives a fabric; every answer found in it is one that can be used. An input is a whole file,
// or begins with P and has four bytes for each byte of a good file to change: its place, then its value. Most whole files that are
// mutated are none that SQLite opens; with single bytes changed, the rows are reached.
#include "snapshot/snapshot.hpp"

#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "fuzz.hpp"
#include "snapshot/writer.hpp"
#include "support/temporary_directory.hpp"

using namespace ib;

namespace {

const std::string& file_name() {
  static const ibtest::TemporaryDirectory directory;
  static const std::string name = directory.file("snapshot");
  return name;
}

struct Host {
  Host() {
    device.name = "ibsim0";
    port = device.ports.emplace_back(std::make_unique<sys::EndPort>()).get();
    port->device = &device;
    port->number = 1;
    port->smi_port = port->gsi_port = port;
  }
  sys::Device device;
  sys::EndPort* port;
};

Host& host() {
  static Host instance;
  return instance;
}

/// A host at a switch that has another port, and something that did not answer.
subnet::Subnet small_fabric() {
  subnet::Subnet subnet;
  smp::NodeInfo adapter, leaf;
  adapter.node_type = smp::NodeType{1};
  adapter.num_ports = 1;
  adapter.node_guid.value = 0x100;
  leaf.node_type = smp::NodeType{2};
  leaf.num_ports = 4;
  leaf.node_guid.value = 0x200;
  subnet.add_node(adapter);
  subnet.add_node(leaf);
  subnet.start = subnet.port_of(0, 1);
  subnet.link(subnet.start, subnet.port_of(1, 1));
  subnet.node(1).via = subnet.start;
  smp::PortInfo info;
  info.lid = Lid{1};
  std::array<std::uint8_t, smp::PortInfo::wire_size> bytes{};
  info.pack(bytes);
  subnet.set_port_info(subnet.start, bytes);
  subnet::Failure& failure = subnet.failures.emplace_back();
  failure.node = 1;
  failure.port = 2;
  failure.why = "no answer";
  return subnet;
}

const std::string& good_file() {
  static const std::string file = [] {
    snapshot::Writer writer(file_name(), Keys::hidden);
    writer.put_origin(*host().port);
    writer.put_fabric(small_fabric());
    writer.put_part("lft");
    writer.commit();
    std::ifstream in(file_name(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return file;
}

/// The good file with the changes that `input` lists.
std::string patched(const std::string& input) {
  std::string file = good_file();
  for (std::size_t at = 1; at + 4 <= input.size(); at += 4) {
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(input[at + i])); };
    file[(byte(0) << 16U | byte(1) << 8U | byte(2)) % file.size()] = input[at + 3];
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const std::string file = input.starts_with('P') ? patched(input) : input;
  std::ofstream(file_name(), std::ios::binary | std::ios::trunc).write(file.data(), static_cast<std::streamsize>(file.size()));
  try {
    snapshot::Snapshot snapshot(file_name());
    static_cast<void>(snapshot.devices());
    static_cast<void>(snapshot.port_number());
    static_cast<void>(snapshot.has_part("lft"));
    subnet::Subnet subnet;
    snapshot.read_fabric(subnet, host().port);
    ibtest::must(subnet.start < subnet.ports().size(), "no port to begin at");
    for (const subnet::Port& port : subnet.ports())
      ibtest::must(port.peer == subnet::none || port.peer < subnet.ports().size(), "a bad link");
    snapshot::AnswerKey key{.mgmt_class = 1, .attribute = smp::PortInfo::attribute_id, .modifier = 1};
    static_cast<void>(snapshot.find(key));
    static_cast<void>(snapshot.find_at_other_port(key));
    static_cast<void>(snapshot.find_lack(key));
    static_cast<void>(snapshot.find_silence(key));
  } catch (const UsageError& error) {
    ibtest::must(!error.message().empty() && error.message().find('\n') == std::string::npos, "an error that is not one sentence");
  }
  return 0;
}

std::vector<std::string> ibtest::seeds() {
  std::vector<std::string> seeds{good_file()};
  // One byte in each stretch of the file.
  constexpr std::size_t stretch = 97;
  for (std::size_t at = 0; at < good_file().size(); at += stretch) {
    seeds.push_back({'P', static_cast<char>(at >> 16U), static_cast<char>(at >> 8U), static_cast<char>(at), static_cast<char>(at * 7)});
  }
  return seeds;
}
