// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// MADs from the wire: whatever they hold and wherever they end, they can be described, dumped and listed.
#include <algorithm>

#include "fuzz.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "mad/channel/channel.hpp"
#include "mad/describe.hpp"

namespace ibtest::fuzz_packet {

using namespace ib;

int try_input(const std::uint8_t* data, std::size_t size) {
  const Bytes mad(data, size);
  static_cast<void>(mad::describe(mad));
  static_cast<void>(mad::format_name(mad));
  static_cast<void>(mad::dump_packet(mad));
  mad::Source source;
  mad::parse_grh(mad, sys::LinkLayer::ethernet, source);
  mad::parse_grh(mad, sys::LinkLayer::infiniband, source);
  static_cast<void>(mad::without_keys(mad));
  if (size < 3) return 0;
  const auto all = all_structs();
  const auto& info = all[(data[0] + 256U * data[1]) % all.size()];
  const Bytes payload = mad.subspan(2);
  if (payload.size() < info.bytes) return 0;
  const Keys keys = (data[0] & 32) != 0 ? Keys::shown : Keys::hidden;
  static_cast<void>(dump_words(payload, info, keys, data[0]));
  DottedOptions options;
  options.names = static_cast<NameStyle>(data[0] % 4);
  options.colon = (data[0] & 4) != 0;
  options.reserved = (data[0] & 8) != 0;
  options.element_lines = (data[0] & 16) != 0;
  options.keys = keys;
  static_cast<void>(dotted(payload, info, options));
  return 0;
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  // A MAD of every class and of its attributes as far as they are known.
  for (const auto& info : all_structs()) {
    if (info.attribute_id < 0) continue;
    std::string mad(256, '\x5a');
    mad[0] = 1;
    mad[1] = static_cast<char>(info.mgmt_class);
    mad[2] = static_cast<char>(info.class_version);
    mad[3] = static_cast<char>(0x81);
    mad[16] = static_cast<char>(info.attribute_id >> 8);
    mad[17] = static_cast<char>(info.attribute_id);
    all.push_back(mad);
  }
  for (std::size_t i = 0; i < all_structs().size(); ++i) {
    all.push_back(std::string{static_cast<char>(i), static_cast<char>(i >> 8)} +
                  std::string(std::max(all_structs()[i].bytes, 16U), '\xc3'));
  }
  // An IPv4 header behind what an IPv6 header left there.
  all.push_back(std::string("\x60\0\0\0\x01\x18\x11\x40", 8) + std::string(12, '\xfe') +
                std::string("\x45\x10\x01\x30\0\0\x40\0\x3f\x11\xb6\xa9\xc0\0\x02\x01\xc0\0\x02\x02", 20));
  // A later segment of a table of records with keys, whose size is absurd.
  for (const char words : {'\0', '\x01', '\x16'}) {
    std::string segment(256, '\x77');
    const std::string header{'\x01', '\x03', '\x02', '\x92'};
    segment.replace(0, header.size(), header);
    segment.replace(16, 2, std::string{'\0', '\x31'});                  // ServiceRecord
    segment.replace(24, 4, std::string{'\x01', '\x01', '\x01', '\0'});  // DATA, active
    segment.replace(28, 4, std::string{'\0', '\0', '\0', '\x03'});
    segment.replace(44, 2, std::string{'\0', words});
    all.push_back(segment);
  }
  return all;
}

}  // namespace ibtest::fuzz_packet
