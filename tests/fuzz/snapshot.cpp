// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Snapshots: reading one throws UsageError or gives a fabric that can be walked and shown; every answer found in it is one that can be
// used. An input is a whole file, or a list of changes of a good one. After P come four bytes for each byte to change: its place, then its
// value. Most whole files that are mutated are none that SQLite opens; with single bytes changed, the rows are reached. After R come seven
// bytes for each value of a row to change by SQL: that is a file that somebody made to do harm.
#include "snapshot/snapshot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "formats/topology_text.hpp"
#include "fuzz.hpp"
#include "snapshot/file/sqlite.hpp"
#include "snapshot/format.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "support/temporary_directory.hpp"

namespace ibtest::fuzz_snapshot {

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
subnet::SweptSubnet small_fabric() {
  subnet::SweptSubnet fabric;
  subnet::Subnet& subnet = fabric.subnet;
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
  subnet::Failure& failure = fabric.failures.emplace_back();
  failure.node = 1;
  failure.port = 2;
  failure.why = "no answer";
  return fabric;
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

/// Changes rows of a snapshot's file.
class Rows {
 public:
  explicit Rows(const std::string& file)
      : fd_(::open(file.c_str(), O_RDWR | O_CLOEXEC)), database_(fd_.get(), file, snapshot::Database::Mode::write) {}

  void change(std::size_t table, std::size_t row, std::size_t column, std::int32_t value) {
    const Table& in = tables[table % tables.size()];
    const std::size_t texts_at = in.numbers.size(), all = texts_at + in.texts.size();
    column %= all;
    const bool is_text = column >= texts_at;
    const std::string_view name = is_text ? in.texts[column - texts_at] : in.numbers[column];
    snapshot::Statement update(
        database_, fmt::format("UPDATE OR IGNORE {0} SET {1}=?1 WHERE ({2})=(SELECT {2} FROM {0} LIMIT 1 OFFSET {3})", in.name, name,
                               fmt::join(in.key, ","), row % 64));
    const std::string text(reinterpret_cast<const char*>(&value), sizeof(value));
    if (is_text) {
      update.bind(1, std::string_view(text));
    } else {
      update.bind(1, value % 5 == 0 ? std::int64_t{value} << 31U : std::int64_t{value});
    }
    update.run();
  }

 private:
  /// The columns of a table, those with numbers and those with bytes.
  struct Table {
    std::string_view name;
    std::vector<std::string_view> key, numbers, texts;
  };
  static inline const std::vector<Table> tables{
      {"raw_fact", {"name"}, {}, {"name", "value"}},
      {"raw_node", {"node"}, {"node", "hops", "via_node", "via_port", "entry_port", "lid_refused"}, {}},
      {"raw_port", {"node", "port"}, {"node", "port", "guid", "peer_node", "peer_port", "fdr10", "swept"}, {}},
      {"raw_failure",
       {"failure"},
       {"failure", "kind", "node", "port", "beyond", "modifier", "tries", "waited"},
       {"attribute", "why", "path", "request", "reply"}},
      {"raw_answer",
       {"mgmt_class", "attribute", "node", "entry_port", "modifier", "selector"},
       {"mgmt_class", "attribute", "node", "entry_port", "modifier", "selector", "status", "time", "hides_key"},
       {"payload"}}};

  UniqueFd fd_;
  snapshot::Database database_;
};

/// Writes the good file with the rows that `input` lists changed.
void write_changed(const std::string& input) {
  std::ofstream(file_name(), std::ios::binary | std::ios::trunc)
      .write(good_file().data(), static_cast<std::streamsize>(good_file().size()));
  Rows rows(file_name());
  for (std::size_t at = 1; at + 7 <= input.size(); at += 7) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input[at + i]); };
    std::int32_t value;
    std::memcpy(&value, &input[at + 3], sizeof(value));
    rows.change(byte(0), byte(1), byte(2), value);
  }
}

/// What commands do with a fabric: ways to the nodes, orders, texts.
void use(const subnet::SweptSubnet& fabric) {
  const subnet::Subnet& subnet = fabric.subnet;
  path::IbDrPath start(host().port);
  const formats::TopologyText text(subnet, nullptr);
  std::string out;
  for (const subnet::NodeIndex at : subnet::breadth_first(subnet)) {
    text.node(out, at);
    text.ports(out, at);
    static_cast<void>(subnet::smp_path(subnet, at, start));
  }
  static_cast<void>(subnet::group(subnet, subnet::by_guid(subnet)));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t'; };
  ibtest::must(std::ranges::none_of(out, is_control), "a control character in the text");
  for (const subnet::Failure& failure : fabric.failures) {
    const std::string told = failure.attribute + failure.why + (failure.error ? failure.error->message() : "");
    ibtest::must(std::ranges::none_of(told, is_control) && told.find('\n') == std::string::npos, "a failure that is not one line");
  }
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('R')) {
    write_changed(input);
  } else {
    const std::string file = input.starts_with('P') ? patched(input) : input;
    std::ofstream(file_name(), std::ios::binary | std::ios::trunc).write(file.data(), static_cast<std::streamsize>(file.size()));
  }
  try {
    snapshot::Snapshot snapshot(file_name());
    static_cast<void>(snapshot.devices());
    static_cast<void>(snapshot.port_number());
    static_cast<void>(snapshot.has_part("lft"));
    const subnet::SweptSubnet stored = snapshot.read_fabric(host().port);
    const subnet::Subnet& subnet = stored.subnet;
    ibtest::must(subnet.start < subnet.ports().size(), "no port to begin at");
    for (const subnet::Port& port : subnet.ports())
      ibtest::must(port.peer == subnet::none || port.peer < subnet.ports().size(), "a bad link");
    use(stored);
    snapshot::AnswerKey key{.mgmt_class = 1, .attribute = smp::PortInfo::attribute_id, .modifier = 1};
    static_cast<void>(snapshot.find(key));
    static_cast<void>(snapshot.find_at_other_port(key));
    static_cast<void>(snapshot.find_lack(key));
    static_cast<void>(snapshot.find_silence(key));
  } catch (const UsageError& error) {
    ibtest::must(input != "R", "the good file is refused");
    ibtest::must(!error.message().empty() && error.message().find('\n') == std::string::npos, "an error that is not one sentence");
  }
  return 0;
}

std::vector<std::string> seeds() {
  std::vector<std::string> seeds{good_file(), "R"};
  // One byte in each stretch of the file.
  constexpr std::size_t stretch = 97;
  for (std::size_t at = 0; at < good_file().size(); at += stretch) {
    seeds.push_back({'P', static_cast<char>(at >> 16U), static_cast<char>(at >> 8U), static_cast<char>(at), static_cast<char>(at * 7)});
  }
  // Each value of each row, with a number that is too large and one that is negative.
  for (unsigned table = 0; table < 5; ++table) {
    for (unsigned at = 0; at < 64; ++at) {
      const auto row = static_cast<char>(at / 16), column = static_cast<char>(at % 16), sign = static_cast<char>(at % 2 != 0 ? 0x80 : 0);
      seeds.push_back({'R', static_cast<char>(table), row, column, static_cast<char>(at), '\x1b', '\0', sign});
    }
  }
  // The facts of the device are more than four.
  for (unsigned row = 4; row < 40; ++row)
    seeds.push_back({'R', '\0', static_cast<char>(row), '\1', static_cast<char>(row), '\0', '\0', '\0'});
  return seeds;
}

}  // namespace ibtest::fuzz_snapshot
