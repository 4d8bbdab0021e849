// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/phy/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "async/signals.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "mad/error.hpp"
#include "phy/port_row.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/names.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/target.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t shortest_word = 3;  // shorter names are in too many bytes by chance
constexpr std::size_t m_key_offset = 24, m_key_size = 8;

bool is_zero_or_ones(Bytes bytes) {
  const auto all = [&](std::uint8_t value) { return std::ranges::all_of(bytes, [=](std::uint8_t byte) { return byte == value; }); };
  return all(0) || all(0xff);
}

/// The value of a field: a text without what pads it.
std::vector<std::uint8_t> value_of(Bytes bytes, bool is_text) {
  if (!is_text) return {bytes.begin(), bytes.end()};
  const std::string text = phy::padded_text(bytes);
  return {text.begin(), text.end()};
}

bool is_any_read(const phy::Reading& found, phy::ReadingScope wanted) {
  return std::ranges::any_of(found.devices, [wanted](const phy::DeviceRow& row) {
    return wanted == phy::ReadingScope::nothing ? row.firmware.has_value() : row.state == phy::DeviceState::read;
  });
}

/// Says which devices were not read, and what was seen of them.
void note_unread(const Host& host, const std::vector<phy::DeviceRow>& devices) {
  for (const auto& [state, why] : {std::pair{phy::DeviceState::other_vendor, "they are not NVIDIA's"},
                                   {phy::DeviceState::no_registers, "their GeneralInfo does not list AccessRegister"},
                                   {phy::DeviceState::refused, "they refuse GeneralInfo"}}) {
    const auto unread = std::ranges::count(devices, state, &phy::DeviceRow::state);
    if (unread != 0) host.note(fmt::format("Registers of {} of {} devices are not read: {}", unread, devices.size(), why));
  }
}

/// Says what stands in registers where a value is not known because it cannot be.
void note_impossible(const Host& host, const Fabric& fabric, const phy::Reading& found) {
  const auto note = [&host](const std::string& where, const std::vector<phy::ImpossibleValue>& values) {
    for (const phy::ImpossibleValue& of : values)
      host.log().debug(fmt::format("{}: {} is not known: the register has {}, {}", where, of.key, of.bytes, of.why));
  };
  const auto name = [&fabric](NodeIndex node) {
    return in_quotes(subnet::name_of(fabric.subnet.node(node), &fabric.names)) + subnet::twin_mark(fabric.subnet, node);
  };
  for (const phy::PortRow& row : found.ports) {
    const subnet::Port& port = fabric.subnet.port(row.port);
    const std::string plane = row.plane != 0 ? fmt::format(" plane {}", row.plane) : std::string();
    note(fmt::format("{} port {}{}", name(port.node), port.number, plane), phy::impossible_values(row));
  }
  for (const phy::EnvironmentRow& row : found.environments) note(name(row.node), phy::impossible_values(row));
}

}  // namespace

/// Keeps the requests of a run, for the fabric and for registers, and their answers, byte by byte, so that a site can send what a device
/// really answers.
/// The file does not say whose fabric it is: GUIDs, GIDs, node descriptions and serial numbers (iba/secrets.hpp) are replaced by made-up
/// ones, the same by the same, and keys are zero. What follows the layout of a register, and MADs without a layout, are zero. Wherever else
/// the bytes of an original value stand, they are zero, too.
class RawFile {
 public:
  /// Begins the file at `path`. `loop` must outlive this object. Throws UsageError and SysError.
  RawFile(std::string path, async::Loop& loop) : file_(std::move(path)), loop_(loop), start_(loop.now()) {}

  /// A Transactor whose requests go to `below`, and are kept. It lives as long as this object.
  mad::Transactor& on(mad::Transactor& below) { return *keeping_.emplace_back(std::make_unique<Keeping>(*this, below)); }
  /// Writes what was kept of the nodes of `subnet`. Throws SysError.
  void write(const subnet::Subnet& subnet) {
    learn_fabric(subnet);
    for (const Kept& one : kept_) learn(one.mad);
    std::string text =
        "# ibtool phy --raw: requests (>) and their answers (<, ! for none), with milliseconds.\n"
        "# GUIDs, GIDs, node descriptions and serial numbers are made up, keys are zero.\n";
    std::map<NodeIndex, std::size_t> numbers;
    std::vector<std::size_t> number_of;  // of the node of each MAD; 0: it is not known
    for (const Kept& one : kept_) {
      const NodeIndex node = subnet::end_of_path(subnet, one.path).node;
      const auto [place, is_new] = numbers.emplace(node, node == subnet::none ? 0 : numbers.size() - numbers.count(subnet::none) + 1);
      number_of.push_back(place->second);
      if (place->second == 0 || !is_new) continue;
      const smp::NodeInfo& info = subnet.node(node).info;
      text += fmt::format("# node {}: NodeType {}, VendorID 0x{:06x}, DeviceID {}, Revision 0x{:x}, {} ports\n", place->second,
                          static_cast<unsigned>(info.node_type), info.vendor_id, info.device_id, info.revision, info.num_ports);
    }
    file_.write(text);
    for (std::size_t at = 0; at < kept_.size(); ++at) {
      const Kept& one = kept_[at];
      file_.write(fmt::format("{} {} {:.3f} {}\n", one.direction, number_of[at], one.time.count(),
                              one.mad.empty() ? "-" : hex_text(anonymous(one.mad))));
    }
    file_.keep();
  }

 private:
  using Content = std::vector<std::uint8_t>;
  struct Kept {
    path::Path path;
    char direction;  ///< '>' to the node, '<' from it, '!' no answer
    std::chrono::duration<double, std::milli> time;
    Content mad;
  };

  class Keeping final : public mad::Transactor {
   public:
    Keeping(RawFile& file, mad::Transactor& below) : Transactor(below.end_port()), file_(file), below_(below) {
      sa_path() = below.sa_path();
    }

    mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
      const path::Path path = request.path;
      file_.keep(path, '>', mad::to_mad(request));
      mad::Result<mad::Reply> result = co_await below_.try_call(request);
      const Bytes answer = result ? Bytes(result->bytes) : result.error().reply();
      file_.keep(path, answer.empty() ? '!' : '<', answer);
      co_return result;
    }

   private:
    RawFile& file_;
    mad::Transactor& below_;
  };

  void keep(const path::Path& path, char direction, Bytes mad) {
    kept_.push_back({path, direction, loop_.now() - start_, {mad.begin(), mad.end()}});
  }

  void learn_fabric(const subnet::Subnet& subnet) {
    for (const subnet::Node& node : subnet.nodes()) {
      const std::string_view name = node.description();
      learn_word(Bytes(reinterpret_cast<const std::uint8_t*>(name.data()), name.size()));
      for (const Guid guid : {node.info.node_guid, node.info.port_guid, node.info.system_image_guid}) learn_guid(guid);
      for (unsigned number = 0; number < node.slots; ++number) learn_guid(subnet.port_guid(node.first_port + number));
    }
  }

  /// The values that a MAD says of a node or a piece of hardware.
  void learn(Bytes mad) {
    const StructInfo* info = find_attribute_in(mad);
    if (info == nullptr) return;
    const std::size_t data = std::min(mad::data_area(mad[1]).offset, mad.size());
    for (const FieldPlace& place : identity_places(mad.subspan(data), *info)) {
      if (data + place.offset + place.size <= mad.size())
        learn_word(value_of(mad.subspan(data + place.offset, place.size), place.field->kind == FieldKind::text));
    }
  }

  /// A value that must not be in the file, in binary or as text.
  void learn_word(Bytes word) {
    if (word.size() >= shortest_word && !is_zero_or_ones(word)) originals_.emplace(word.begin(), word.end());
  }

  void learn_guid(Guid guid) {
    constexpr std::size_t shortest_number = 6;  // digits
    std::vector<std::uint8_t> bytes(sizeof(guid.value));
    store_be(bytes.data(), guid.value);
    learn_word(bytes);
    for (const std::string& text : {fmt::format("{:x}", guid.value), fmt::format("{:X}", guid.value)}) {
      if (text.size() >= shortest_number) originals_.emplace(text.begin(), text.end());
    }
  }

  Content anonymous(Bytes mad) {
    Content copy(mad.begin(), mad.end());
    const std::size_t data = std::min(mad::data_area(mad[1]).offset, mad.size());
    if (mad::is_smp(mad[1])) std::fill_n(copy.begin() + m_key_offset, m_key_size, std::uint8_t{0});
    const StructInfo* info = find_attribute_in(mad);
    const std::size_t end = info != nullptr ? std::min(data + info->bytes, mad.size()) : data;
    std::fill(copy.begin() + static_cast<std::ptrdiff_t>(end), copy.end(), std::uint8_t{0});
    if (info == nullptr) return copy;
    const Content without_keys = without_secrets(Bytes(copy).subspan(data), *info);
    std::ranges::copy(without_keys, copy.begin() + static_cast<std::ptrdiff_t>(data));
    for (const FieldPlace& place : identity_places(mad.subspan(data), *info)) {
      if (data + place.offset + place.size > mad.size()) continue;
      const bool is_text = place.field->kind == FieldKind::text;
      const Content value = made_up(value_of(mad.subspan(data + place.offset, place.size), is_text), place.size, is_text);
      std::ranges::copy(value, copy.begin() + static_cast<std::ptrdiff_t>(data + place.offset));
    }
    wipe_originals(std::span(copy).subspan(data));
    return copy;
  }

  /// The value that stands for another one: the same for the same.
  Content made_up(const Content& original, std::size_t size, bool is_text) {
    Content value(size);
    if (original.empty() || is_zero_or_ones(original)) return value;
    const unsigned number = numbers_.emplace(original, static_cast<unsigned>(numbers_.size() + 1)).first->second;
    if (is_text) {
      const std::string text = fmt::format("X{:06}", number).substr(0, size);
      std::ranges::copy(text, value.begin());
    } else {
      constexpr std::uint64_t beginning = 0xfe00000000000000U;  // no vendor has these GUIDs
      store_be(value.data() + (size - sizeof(beginning)), beginning + number);
    }
    return value;
  }

  void wipe_originals(std::span<std::uint8_t> bytes) const {
    for (const Content& original : originals_) {
      for (auto found = std::ranges::search(bytes, original); !found.empty(); found = std::ranges::search(bytes, original))
        std::ranges::fill(found, std::uint8_t{0});
    }
  }

  FileReplacement file_;
  async::Loop& loop_;
  async::Time start_;
  std::vector<std::unique_ptr<mad::Transactor>> keeping_;
  std::vector<Kept> kept_;
  std::set<Content> originals_;          ///< that must not be in the file
  std::map<Content, unsigned> numbers_;  ///< of what was replaced
};

PhyCommand::PhyCommand() = default;
PhyCommand::~PhyCommand() = default;

mad::Transactor& PhyCommand::transactor(Session& session) {
  return raw_file_ ? raw_file_->on(session.stack().transactor()) : session.stack().transactor();
}

/// The nodes of the targets; of all nodes where there is none. Around a single node nothing else is discovered.
async::Task<std::vector<ChosenNode>> PhyCommand::find_targets(Session& session) {
  std::vector<ChosenNode> chosen;
  if (targets_.size() == 1 && targets_.front().target.path) {
    const NodeIndex node = co_await discover_around(session, discovery_, targets_.front().target, fabric_);
    chosen.push_back({node, targets_.front().target.text(), targets_.front().port});
    co_return chosen;
  }
  co_await discover(session, discovery_, fabric_);
  co_return chosen_nodes(fabric_, targets_);
}

/// Adds the ports of a node that are read, each once. Throws Error for a port that the node does not have.
void PhyCommand::add_ports(const ChosenNode& chosen) {
  const unsigned slots = fabric_.subnet.node(chosen.node).slots;
  if (chosen.port && (*chosen.port == 0 || *chosen.port >= slots)) {
    throw Error(fmt::format("{} has no port {}: its ports are 1 to {}", in_quotes(chosen.word), *chosen.port, slots == 0 ? 0 : slots - 1));
  }
  for (unsigned number = 1; number < slots; ++number) {
    const PortIndex port = fabric_.subnet.port_of(chosen.node, number);
    const bool is_chosen = chosen.port ? number == *chosen.port : is_wanted(fabric_.subnet, port);
    const bool may_be_there = !targets_.empty();
    if (is_chosen && !(may_be_there && std::ranges::find(ports_, port) != ports_.end())) ports_.push_back(port);
  }
}

/// Discovers the fabric, and finds the ports to read. Throws Error for a port that its node does not have.
async::Task<> PhyCommand::discover_ports(Session& session) {
  const std::vector<ChosenNode> chosen = co_await find_targets(session);
  const subnet::Subnet& subnet = fabric_.subnet;
  std::vector<NodeIndex> nodes;
  for (const ChosenNode& one : chosen) {
    nodes.push_back(one.node);
    add_ports(one);
  }
  if (reads_planes_) {
    const bool is_whole =
        targets_.size() != 1 || subnet.start == subnet::none || subnet.port_guid(subnet.start) == session.host().end_port().port_guid();
    const path::Path* target = is_whole ? nullptr : &*targets_.front().target.path;
    planes_ = co_await phy::read_planes(transactor(session), subnet, co_await session.stack().smp_path(target), nodes);
    add_failures(session.host(), fabric_, std::move(planes_.failures));
  }
  subnet::PortPaths& paths = paths_.emplace(subnet, session.stack().here());
  if (!session.host().options().skip_sl) co_await session.stack().read_service_levels(paths);
}

phy::ReadingOptions PhyCommand::reading_options(Session& session) {
  phy::ReadingOptions options = tools::reading_options(session.stack(), *paths_, vs_keys_, reading_);
  options.planes = &planes_;
  options.silent = &silent_;
  const std::string_view what = reading_.wanted == phy::ReadingScope::ports ? "ports" : "devices";
  options.progress = [&session, what](std::size_t done, std::size_t of) { session.stack().progress().count(done, of, what); };
  return options;
}

void PhyCommand::finish_reading(Host& host, phy::Reading& found) {
  require_read(is_any_read(found, reading_.wanted), found.failures);
  note_unread(host, found.devices);
  if (host.options().error_level() >= 1) note_impossible(host, fabric_, found);
  add_failures(host, fabric_, std::move(found.failures));
}

async::Task<phy::Reading> PhyCommand::read_ports(Session& session) {
  phy::Reading found = co_await phy::read_phy(transactor(session), fabric_.subnet, ports_, reading_options(session));
  finish_reading(session.host(), found);
  co_return found;
}

async::Task<> PhyCommand::read(Session& session, Emit& emit) {
  phy::Reading found;
  async::Task<> reading = phy::read_phy_into(found, transactor(session), fabric_.subnet, ports_, reading_options(session));
  async::Interrupt interrupt(session.stack().loop());
  const bool is_whole = co_await async::until_interrupted(session.stack().loop(), interrupt, std::move(reading));
  subnet::sort(found.failures, fabric_.subnet);
  finish_reading(session.host(), found);
  if (!is_whole) {
    const std::string why = "Interrupted: registers that were not read yet are missing.";
    add_failures(session.host(), fabric_, {{.kind = subnet::Failure::Kind::not_read, .attribute = {}, .why = why, .error = {}}});
  }
  show(session.host(), emit, found);
}

void PhyCommand::add_options(OptionSet& set, CommonOptions& common, std::vector<std::string> keys) {
  set.optional_operands();
  set.target_patterns("TARGET", targets_);
  set.number("--rate", reading_.per_second, "N", "Send at most this many requests a second; 2000 by default.", {.low = 1, .high = 1000000});
  add_vs_keys(set, vs_keys_file_);
  add_discovery(set, discovery_);
  add_table_options(set, common, shown_, std::move(keys));
  add_common(set, common, group_target | group_sl);
}

async::Task<> PhyCommand::run(Session& session, Emit& emit) {
  prepare(session.host());
  vs_keys_ = read_vs_keys(session.host(), vs_keys_file_);
  if (raw_) {
    raw_file_ = std::make_unique<RawFile>(*raw_, session.stack().loop());
    discovery_.through = [this](mad::Transactor& below) -> mad::Transactor& { return raw_file_->on(below); };
  }
  co_await discover_ports(session);
  co_await read(session, emit);
  if (raw_file_) raw_file_->write(fabric_.subnet);
}

report::Cell node_name_cell(const Fabric& fabric, NodeIndex node) {
  const subnet::Node& of = fabric.subnet.node(node);
  return report::text_cell(std::string(subnet::name_of(of, &fabric.names)));
}

report::Cell node_guid_cell(const Fabric& fabric, NodeIndex node) { return fabric.subnet.node(node).guid(); }

report::Cell port_label_cell(const Fabric& fabric, PortIndex port) { return report::text_cell(subnet::port_label(fabric.subnet, port)); }

}  // namespace ib::tools
