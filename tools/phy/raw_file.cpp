// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/phy/raw_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "mad/error.hpp"
#include "phy/values.hpp"
#include "subnet/model/find_port.hpp"

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

}  // namespace

/// Sends requests on, and has the file keep them and their answers.
class RawFile::Keeping final : public mad::Transactor {
 public:
  Keeping(RawFile& file, mad::Transactor& below) : Transactor(below.end_port()), file_(file), below_(below) { sa_path() = below.sa_path(); }

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

RawFile::RawFile(FileReplacement& file, async::Loop& loop) : file_(file), loop_(loop), start_(loop.now()) {}

mad::Transactor& RawFile::on(mad::Transactor& below) { return *keeping_.emplace_back(std::make_unique<Keeping>(*this, below)); }

void RawFile::keep(const path::Path& path, char direction, Bytes mad) {
  kept_.push_back({path, direction, loop_.now() - start_, {mad.begin(), mad.end()}});
}

/// A value that must not be in the file, in binary or as text.
void RawFile::learn_word(Bytes word) {
  if (word.size() >= shortest_word && !is_zero_or_ones(word)) originals_.emplace(word.begin(), word.end());
}

void RawFile::learn_fabric(const subnet::Subnet& subnet) {
  for (const subnet::Node& node : subnet.nodes()) {
    const std::string_view name = node.description();
    learn_word(Bytes(reinterpret_cast<const std::uint8_t*>(name.data()), name.size()));
    for (const Guid guid : {node.info.node_guid, node.info.port_guid, node.info.system_image_guid}) learn_guid(guid);
    for (unsigned number = 0; number < node.slots; ++number) learn_guid(subnet.port_guid(node.first_port + number));
  }
}

void RawFile::learn_guid(Guid guid) {
  constexpr std::size_t shortest_number = 6;  // digits
  std::vector<std::uint8_t> bytes(sizeof(guid.value));
  store_be(bytes.data(), guid.value);
  learn_word(bytes);
  for (const std::string& text : {fmt::format("{:x}", guid.value), fmt::format("{:X}", guid.value)}) {
    if (text.size() >= shortest_number) originals_.emplace(text.begin(), text.end());
  }
}

/// The values that a MAD says of a node or a piece of hardware.
void RawFile::learn(Bytes mad) {
  const StructInfo* info = find_attribute_in(mad);
  if (info == nullptr) return;
  const std::size_t data = std::min(mad::data_area(mad[1]).offset, mad.size());
  for (const IdentityPlace& place : identity_places(mad.subspan(data), *info)) {
    if (data + place.offset + place.size <= mad.size())
      learn_word(value_of(mad.subspan(data + place.offset, place.size), place.field->kind == FieldKind::text));
  }
}

/// The value that stands for another one: the same for the same.
RawFile::Content RawFile::made_up(const Content& original, std::size_t size, bool is_text) {
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

RawFile::Content RawFile::anonymous(Bytes mad) {
  Content copy(mad.begin(), mad.end());
  const std::size_t data = std::min(mad::data_area(mad[1]).offset, mad.size());
  if (mad::is_smp(mad[1])) std::fill_n(copy.begin() + m_key_offset, m_key_size, std::uint8_t{0});
  const StructInfo* info = find_attribute_in(mad);
  const std::size_t end = info != nullptr ? std::min(data + info->bytes, mad.size()) : data;
  std::fill(copy.begin() + static_cast<std::ptrdiff_t>(end), copy.end(), std::uint8_t{0});
  if (info == nullptr) return copy;
  const Content without_keys = without_secrets(Bytes(copy).subspan(data), *info);
  std::ranges::copy(without_keys, copy.begin() + static_cast<std::ptrdiff_t>(data));
  for (const IdentityPlace& place : identity_places(mad.subspan(data), *info)) {
    if (data + place.offset + place.size > mad.size()) continue;
    const bool is_text = place.field->kind == FieldKind::text;
    const Content value = made_up(value_of(mad.subspan(data + place.offset, place.size), is_text), place.size, is_text);
    std::ranges::copy(value, copy.begin() + static_cast<std::ptrdiff_t>(data + place.offset));
  }
  wipe_originals(std::span(copy).subspan(data));
  return copy;
}

void RawFile::wipe_originals(std::span<std::uint8_t> bytes) const {
  for (const Content& original : originals_) {
    for (auto found = std::ranges::search(bytes, original); !found.empty(); found = std::ranges::search(bytes, original))
      std::ranges::fill(found, std::uint8_t{0});
  }
}

void RawFile::write(const subnet::Subnet& subnet) {
  learn_fabric(subnet);
  for (const Kept& one : kept_) learn(one.mad);
  std::string text =
      "# ibtool phy --raw: requests (>) and their answers (<, ! for none), with milliseconds.\n"
      "# GUIDs, GIDs, node descriptions and serial numbers are made up, keys are zero.\n";
  std::map<subnet::NodeIndex, std::size_t> numbers;
  std::vector<std::size_t> number_of;  // of the node of each MAD; 0: it is not known
  for (const Kept& one : kept_) {
    const subnet::NodeIndex node = subnet::end_of_path(subnet, one.path).node;
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

}  // namespace ib::tools
