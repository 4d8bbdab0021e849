// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The rows that requests are stored in.
#include "snapshot/answer_key.hpp"

#include "iba-gen/reg.hpp"
#include "support/catch.hpp"
#include "unit/snapshot/recorder.hpp"

namespace snapshot_answer_key_tests {

using namespace ib;
using ibtest::CountingFabric;
using ibtest::ReadFabric;

TEST_CASE("a vendor's request with a key in front selects what one without it does") {
  CountingFabric bench;
  ReadFabric read(bench.fabric);
  const auto key = [&](std::uint64_t vs_key, std::uint8_t port) {
    reg::PddrOperation wanted;
    wanted.vs_key = vs_key;
    wanted.local_port = port;
    const std::vector<std::uint8_t> payload = wire::packed_vector(wanted);
    const path::Path path = read.start;
    return snapshot::key_of(read.subnet, {.node = 0},
                            mad::attribute_request(path, reg::PddrOperation::info(), mad::method::get, reg::Pddr::register_id, payload));
  };
  CHECK(key(0, 3) == key(0x1234, 3));
  CHECK(key(0, 3) != key(0, 4));
}

}  // namespace snapshot_answer_key_tests
