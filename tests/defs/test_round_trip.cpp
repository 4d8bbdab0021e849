// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Properties that hold for every structure: random bytes survive unpack and pack, the typed members equal
// what the generic view reads, short buffers are safe, the registry finds every attribute.

#include "defs/files.hpp"
#include "defs/typed.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/registry.hpp"
#include "support/catch.hpp"
#include "support/clear_changes.hpp"

using namespace ib;

namespace {

/// Random bytes for a structure, without what would change something in a device: that is never packed.
std::vector<std::uint8_t> sendable_bytes(std::mt19937_64& random, const StructInfo& info, std::size_t size) {
  auto bytes = ibtest::random_bytes(random, size);
  ibtest::clear_changes(bytes, info);
  return bytes;
}

}  // namespace

TEST_CASE("random bytes survive unpack and pack, reserved bits included") {
  std::mt19937_64 random(1);
  REQUIRE(ibtest::entries().size() == all_structs().size());
  for (const auto& e : ibtest::entries()) {
    const StructInfo* info = find_struct(e.name);
    REQUIRE(info != nullptr);
    for (int i = 0; i < 20; ++i) {
      INFO(e.name);
      const auto bytes = sendable_bytes(random, *info, info->bytes);
      const auto typed = e.make(bytes);
      REQUIRE(typed.bytes == bytes);
      REQUIRE(typed.same);
    }
  }
}

TEST_CASE("typed members equal what the generic view reads") {
  std::mt19937_64 random(2);
  for (const auto& e : ibtest::entries()) {
    const StructInfo& info = *find_struct(e.name);
    const auto bytes = ibtest::random_bytes(random, info.bytes);
    for (const auto& [path, value] : e.make(bytes).values) {
      INFO(e.name << "." << path);
      const auto ref = find_path(info, path);
      REQUIRE(ref);
      if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        REQUIRE(read_number(bytes, *ref->field, 0, ref->bit_offset - ref->field->bit_offset) == *number);
      } else {
        const Bytes part = Bytes(bytes).subspan(ref->bit_offset / 8, ref->field->bits / 8);
        REQUIRE(std::get<1>(value) == std::vector<std::uint8_t>(part.begin(), part.end()));
      }
    }
  }
}

TEST_CASE("bytes that are missing count as zero, and nothing is read or written outside") {
  std::mt19937_64 random(3);
  for (const auto& e : ibtest::entries()) {
    const StructInfo& info = *find_struct(e.name);
    for (std::size_t size = 0; size < info.bytes; size += 1 + info.bytes / 9) {
      const auto bytes = sendable_bytes(random, info, size);
      auto padded = bytes;
      padded.resize(info.bytes);
      INFO(e.name << " of " << size << " bytes");
      REQUIRE(e.make(bytes).bytes == padded);
      CHECK(dump_words(bytes, info).size() < 100000);
      CHECK(dotted(bytes, info).size() < 100000);
      CHECK(libibmad_listing(bytes, info).size() < 100000);
    }
  }
}

TEST_CASE("a short buffer takes the beginning of a structure") {
  smp::NodeInfo node;
  node.base_version = 1;
  node.num_ports = 36;
  std::array<std::uint8_t, 4> out{};
  node.pack(out);
  CHECK(out == std::array<std::uint8_t, 4>{1, 0, 0, 36});
}

TEST_CASE("values that do not fit do not touch their neighbours") {
  smp::PortInfo port;
  port.lmc = 0xff;
  port.link_round_trip_latency = 0xffffffff;
  std::array<std::uint8_t, 64> out{};
  port.pack(out);
  const auto back = smp::PortInfo::unpack(out);
  CHECK(back.lmc == 7);
  CHECK(back.m_key_protect_bits == 0);
  CHECK(back.link_round_trip_latency == 0xffffff);
  CHECK(back.reserved_448 == 0);
  CHECK(back.link_speed_ext_enabled2 == 0);
}

TEST_CASE("every attribute is found by its class and number") {
  for (const StructInfo& info : all_structs()) {
    if (info.attribute_id < 0 || info.mgmt_class == 0 || !info.variant.empty() || info.register_id >= 0) continue;
    INFO(info.iba_name);
    const std::uint32_t oui = info.mgmt_class == 0x33 ? 0x1405 : 0;
    CHECK(find_attribute(info.mgmt_class, info.class_version, static_cast<std::uint16_t>(info.attribute_id), oui) == &info);
  }
}

TEST_CASE("every register is found by its number and the field that selects its layout") {
  std::size_t found = 0;
  for (const StructInfo& info : all_structs()) {
    if (info.register_id < 0) continue;
    INFO(info.iba_name);
    std::vector<std::uint8_t> bytes(info.bytes);
    select_layout(bytes, info);
    const StructInfo* held = find_register(static_cast<std::uint32_t>(info.register_id), bytes);
    REQUIRE(held != nullptr);
    CHECK(held->register_id == info.register_id);
    CHECK((held == &info || info.selector < 0));  // the layout for any page may have zero as one of its own
    ++found;
  }
  CHECK(found > 20);
}

TEST_CASE("no typed structure sends what would change something in a device") {
  std::mt19937_64 random(4);
  std::size_t found = 0;
  for (const auto& e : ibtest::entries()) {
    const StructInfo& info = *find_struct(e.name);
    const std::vector<std::uint8_t> ones(info.bytes, 0xff);
    auto without = ones;
    ibtest::clear_changes(without, info);
    INFO(e.name);
    CHECK(e.make(ones).bytes == without);
    found += without != ones ? 1 : 0;
  }
  CHECK(found >= 10);
}

TEST_CASE("generic layouts have no gap and fit their structure") {
  for (const StructInfo& info : all_structs()) {
    std::uint32_t at = 0;
    for (const FieldInfo& f : info.fields) {
      INFO(info.iba_name << "." << f.name.view());
      REQUIRE(f.bit_offset == at);
      at += f.bits * f.count;
    }
    REQUIRE(at == info.bytes * 8);
  }
}
