// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/anonymous_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "mad/error.hpp"
#include "phy/port_row.hpp"
#include "subnet/model/find_port.hpp"

namespace ib::snapshot {
namespace {

constexpr std::size_t shortest_word = 3;                  // shorter names are in too many bytes by chance
constexpr std::size_t m_key_offset = 24, m_key_size = 8;  // IBA 14.2.1.1

bool is_zero_or_ones(Bytes bytes) {
  return is_zero(bytes) || std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0xff; });
}

/// A value that identifies something: a text without what pads it.
struct IdentityValue {
  std::size_t offset, size;  ///< in the MAD
  bool is_text;
  std::vector<std::uint8_t> bytes;
};
std::vector<IdentityValue> identities_in(Bytes mad, std::size_t data, const StructInfo& info) {
  std::vector<IdentityValue> values;
  for (const FieldPlace& place : identity_places(mad.subspan(data), info)) {
    const std::size_t at = data + place.offset;
    if (at + place.size > mad.size()) continue;
    const Bytes bytes = mad.subspan(at, place.size);
    const bool is_text = place.field->kind == FieldKind::text;
    const std::string text = is_text ? phy::padded_text(bytes) : std::string(bytes.begin(), bytes.end());
    values.push_back({at, place.size, is_text, {text.begin(), text.end()}});
  }
  return values;
}

std::size_t data_offset(Bytes mad) { return std::min(mad::data_area(mad[1]).offset, mad.size()); }

}  // namespace

class AnonymousLog::Keeping final : public mad::Layer {
 public:
  Keeping(AnonymousLog& log, mad::Transactor& below) : Layer(below), log_(log) {}

  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    const path::Path path = request.path;
    log_.keep(path, '>', mad::to_mad(request));
    mad::Result<mad::Reply> result = co_await below_.try_call(request);
    const Bytes answer = result ? Bytes(result->bytes) : result.error().reply();
    log_.keep(path, answer.empty() ? '!' : '<', answer);
    co_return result;
  }

 private:
  AnonymousLog& log_;
};

mad::Transactor& AnonymousLog::on(mad::Transactor& below) { return *keeping_.emplace_back(std::make_unique<Keeping>(*this, below)); }

void AnonymousLog::write(std::string_view heading, const subnet::Subnet& subnet) {
  learn_fabric(subnet);
  std::string text(heading);
  std::map<subnet::NodeIndex, std::size_t> numbers;
  for (KeptMad& one : kept_) {
    if (const StructInfo* info = find_attribute_in(one.mad)) {
      for (const IdentityValue& value : identities_in(one.mad, data_offset(one.mad), *info)) learn_word(value.bytes);
    }
    const subnet::NodeIndex node = subnet::end_of_path(subnet, one.path).node;
    if (node == subnet::none) continue;
    const auto [place, is_new] = numbers.emplace(node, numbers.size() + 1);
    one.node = place->second;
    if (!is_new) continue;
    const smp::NodeInfo& info = subnet.node(node).info;
    text += fmt::format("# node {}: NodeType {}, VendorID 0x{:06x}, DeviceID {}, Revision 0x{:x}, {} ports\n", one.node,
                        static_cast<unsigned>(info.node_type), info.vendor_id, info.device_id, info.revision, info.num_ports);
  }
  file_.write(text);
  for (const KeptMad& one : kept_) {
    const std::string bytes = one.mad.empty() ? "-" : hex_text(anonymous(one.mad));
    file_.write(fmt::format("{} {} {:.3f} {}\n", one.direction, one.node, one.time.count(), bytes));
  }
  file_.keep();
}

void AnonymousLog::keep(const path::Path& path, char direction, Bytes mad) {
  kept_.push_back({path, direction, loop_.now() - start_, {mad.begin(), mad.end()}});
}

void AnonymousLog::learn_fabric(const subnet::Subnet& subnet) {
  for (const subnet::Node& node : subnet.nodes()) {
    learn_word(as_bytes(node.description()));
    for (const Guid guid : {node.info.node_guid, node.info.port_guid, node.info.system_image_guid}) learn_guid(guid);
    for (unsigned number = 0; number < node.slots; ++number) learn_guid(subnet.port_guid(node.first_port + number));
  }
}

/// A value that must not be in the file, in binary or as text.
void AnonymousLog::learn_word(Bytes word) {
  if (word.size() >= shortest_word && !is_zero_or_ones(word)) originals_.emplace(word.begin(), word.end());
}

void AnonymousLog::learn_guid(Guid guid) {
  constexpr std::size_t shortest_number = 6;  // digits
  Content bytes(sizeof(guid.value));
  store_be(bytes.data(), guid.value);
  learn_word(bytes);
  for (const std::string& text : {fmt::format("{:x}", guid.value), fmt::format("{:X}", guid.value)}) {
    if (text.size() >= shortest_number) originals_.emplace(text.begin(), text.end());
  }
}

AnonymousLog::Content AnonymousLog::anonymous(Bytes mad) {
  const std::size_t data = data_offset(mad);
  Content copy(mad.begin(), mad.begin() + static_cast<std::ptrdiff_t>(data));
  if (mad::is_smp(mad[1])) std::fill_n(copy.begin() + m_key_offset, m_key_size, std::uint8_t{0});
  const StructInfo* info = find_attribute_in(mad);
  if (info != nullptr) {
    const Content value = without_secrets(mad.subspan(data, std::min<std::size_t>(info->bytes, mad.size() - data)), *info);
    copy.insert(copy.end(), value.begin(), value.end());
  }
  copy.resize(mad.size());
  if (info == nullptr) return copy;
  for (const IdentityValue& value : identities_in(mad, data, *info))
    std::ranges::copy(made_up(value.bytes, value.size, value.is_text), copy.begin() + static_cast<std::ptrdiff_t>(value.offset));
  wipe_originals(std::span(copy).subspan(data));
  return copy;
}

/// The value that stands for another one: the same for the same.
AnonymousLog::Content AnonymousLog::made_up(const Content& original, std::size_t size, bool is_text) {
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

void AnonymousLog::wipe_originals(std::span<std::uint8_t> bytes) const {
  for (const Content& original : originals_) {
    for (auto found = std::ranges::search(bytes, original); !found.empty(); found = std::ranges::search(bytes, original))
      std::ranges::fill(found, std::uint8_t{0});
  }
}

}  // namespace ib::snapshot
