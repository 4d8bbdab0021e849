// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Keys in stored answers are found wherever iba-defs/ marks one.
#include "snapshot/answer_key.hpp"

#include <algorithm>
#include <vector>

#include "iba-gen/mad.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "mad/packet.hpp"
#include "mad/request.hpp"
#include "support/catch.hpp"

namespace snapshot_stored_keys_tests {

using namespace ib;

namespace {

/// Whether keys are found in an answer of `content`, and only if there are some.
bool is_found(std::uint8_t mgmt_class, const StructInfo& info, const std::vector<std::uint8_t>& content) {
  snapshot::AnswerKey key;
  key.mgmt_class = mgmt_class;
  key.attribute = static_cast<std::uint16_t>(info.attribute_id);
  std::vector<std::uint8_t> payload(mad::data_area(mgmt_class).offset - snapshot::stored_area(mgmt_class).offset);
  payload.insert(payload.end(), content.begin(), content.end());
  const auto without = snapshot::without_keys_of(key, payload);
  const bool has_keys = has_secrets(content, layout_of(info, content));
  CAPTURE(info.name, unsigned{mgmt_class});
  CHECK(without.has_value() == has_keys);
  if (without) CHECK(std::ranges::count(*without, 0) > std::ranges::count(payload, 0));
  return has_keys;
}

}  // namespace

TEST_CASE("A key in a stored answer is found, whatever attribute holds it") {
  std::size_t found = 0;
  for (const StructInfo& info : all_structs()) {
    for (const AttributeClass& of : classes_of(info)) {
      const auto attribute = static_cast<std::uint16_t>(info.attribute_id);
      const bool is_stored =
          of.mgmt_class != mad::mgmt_class::sa && find_attribute(of.mgmt_class, mad::class_version_of(of.mgmt_class), attribute) == &info;
      if (is_stored) found += is_found(of.mgmt_class, info, std::vector<std::uint8_t>(info.bytes, 0xff)) ? 1 : 0;
    }
  }
  CHECK(found > 2);
}

TEST_CASE("A key in the data of a trap is found") {
  std::size_t found = 0;
  for (unsigned trap = 0; trap < 1024; ++trap) {
    std::vector<std::uint8_t> notice(mad::Notice::info().bytes, 0xff);
    notice[4] = static_cast<std::uint8_t>(trap >> 8U);
    notice[5] = static_cast<std::uint8_t>(trap);
    found += is_found(mad::mgmt_class::smp, mad::Notice::info(), notice) ? 1 : 0;
  }
  CHECK(found > 0);
}

}  // namespace snapshot_stored_keys_tests
