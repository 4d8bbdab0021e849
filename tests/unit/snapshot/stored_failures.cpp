// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What it costs to look for what a snapshot does not have.
#include "snapshot/snapshot.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "mad/error.hpp"
#include "snapshot/transactor.hpp"
#include "snapshot/writer.hpp"
#include "support/catch.hpp"
#include "support/small_fabric.hpp"
#include "support/temporary_directory.hpp"
#include "unit/subnet/swept.hpp"

namespace snapshot_stored_failures_tests {

using namespace ib;
using namespace ibtest;
using snapshot::AnswerKey;
using snapshot::Snapshot;

namespace {

AnswerKey key_of(subnet::NodeIndex node, std::uint32_t block, std::uint8_t entry_port = 0) {
  return {.mgmt_class = mad::mgmt_class::smp,
          .attribute = smp::LinearForwardingTable::attribute_id,
          .node = node,
          .entry_port = entry_port,
          .modifier = block};
}

/// The instructions of SQLite's machine that a snapshot has run since this object was made. The snapshot must outlive it.
class Cost {
 public:
  explicit Cost(Snapshot& snapshot) : handle_(snapshot.database().handle()) { count_by(&count_one); }
  ~Cost() { count_by(nullptr); }
  Cost(const Cost&) = delete;
  Cost& operator=(const Cost&) = delete;

  std::uint64_t count() const { return count_; }

 private:
  static int count_one(void* count) {
    ++*static_cast<std::uint64_t*>(count);
    return 0;
  }
  void count_by(int (*handler)(void*)) { sqlite3_progress_handler(handle_, 1, handler, &count_); }

  sqlite3* handle_;
  std::uint64_t count_{};
};

struct Bench {
  TemporaryDirectory directory;
  SmallFabric small;
  std::string file = directory.file("one");

  /// A file in which `put` stored answers.
  template <class Put>
  Snapshot stored(Put put) {
    snapshot::Writer writer(file, Keys::hidden);
    put(writer);
    writer.commit();
    return Snapshot(file);
  }
  mad::MadTimeout silence() const {
    const std::vector<std::uint8_t> request(mad::packet_size);
    return {request, path::IbDrPath(&small.fabric.end_port()), 4, std::chrono::seconds(1)};
  }
  mad::MadStatusError refusal() const {
    const std::vector<std::uint8_t> request(mad::packet_size);
    std::vector<std::uint8_t> reply(mad::packet_size);
    reply[5] = 12;
    return {request, reply, path::IbDrPath(&small.fabric.end_port())};
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "Looking for all that many silent nodes did not answer costs a few steps for each") {
  const auto cost_of = [this](subnet::NodeIndex nodes) {
    Snapshot snapshot = stored([&](snapshot::Writer& writer) {
      for (subnet::NodeIndex node = 0; node < nodes; ++node) writer.put_failure(key_of(node, 0), silence());
    });
    const Cost cost(snapshot);
    for (subnet::NodeIndex node = 0; node < nodes; ++node) {
      REQUIRE(snapshot.find_lack(key_of(node, 7)));
      REQUIRE(snapshot.find_unanswered(key_of(node, 7)));
    }
    CHECK_FALSE(snapshot.find_unanswered(key_of(nodes, 7)));
    return cost.count();
  };
  const std::uint64_t one = cost_of(1000), twice = cost_of(2000);
  CHECK(one > 1000);
  CHECK(twice < 3 * one);
}

TEST_CASE_METHOD(Bench, "Looking for blocks that a node with a long table did not send costs a few steps for each") {
  const auto cost_of = [this](std::uint32_t blocks) {
    Snapshot snapshot = stored([&](snapshot::Writer& writer) {
      const std::vector<std::uint8_t> table(64, 1);
      for (std::uint32_t block = 0; block < blocks; ++block) writer.put_answer(key_of(0, block, 1), table);
    });
    const Cost cost(snapshot);
    for (std::uint32_t block = 0; block < blocks; ++block) {
      REQUIRE(snapshot.find_at_other_port(key_of(0, block)));
      REQUIRE_FALSE(snapshot.find_at_other_port(key_of(0, block + blocks)));
      REQUIRE_FALSE(snapshot.find_lack(key_of(0, block + blocks)));
    }
    return cost.count();
  };
  const std::uint64_t one = cost_of(1000), twice = cost_of(2000);
  CHECK(one > 1000);
  CHECK(twice < 3 * one);
}

TEST_CASE_METHOD(Bench, "Which failure shows that an agent lacks an attribute, and which one that it did not answer") {
  Snapshot snapshot = stored([this](snapshot::Writer& writer) {
    writer.put_failure(key_of(1, 5), refusal());
    writer.put_failure(key_of(1, 3), refusal());
    writer.put_failure(key_of(2, 0), silence());
    const std::vector<std::uint8_t> table(64, 1);
    writer.put_answer(key_of(3, 0), table);
  });
  REQUIRE(snapshot.find_lack(key_of(1, 9)));
  CHECK(snapshot.find_lack(key_of(1, 9))->status == 12);
  CHECK_FALSE(snapshot.find_unanswered(key_of(1, 9)));
  CHECK(snapshot.find_unanswered(key_of(2, 9)) == key_of(2, 0));
  CHECK(snapshot.find_lack(key_of(2, 9)));
  CHECK_FALSE(snapshot.find_lack(key_of(3, 9)));
  AnswerKey of_other_attribute = key_of(2, 9);
  of_other_attribute.attribute = smp::PKeyTable::attribute_id;
  CHECK_FALSE(snapshot.find_lack(of_other_attribute));
  CHECK(snapshot.find_unanswered(of_other_attribute) == key_of(2, 0));
  // An SMA answered the sweep: one attribute that it did not answer says nothing of the others.
  CHECK_FALSE(snapshot.find_silence(of_other_attribute));
}

TEST_CASE_METHOD(Bench, "A PMA is silent if it answered neither ClassPortInfo nor PortCounters") {
  const auto key = [](subnet::NodeIndex node, std::uint16_t attribute, std::uint32_t select = 0) {
    return AnswerKey{.mgmt_class = mad::mgmt_class::performance, .attribute = attribute, .node = node, .selector = select};
  };
  constexpr std::uint16_t class_port_info = mad::ClassPortInfo::attribute_id, counters = pm::PortCounters::attribute_id,
                          details = pm::PortXmitDiscardDetails::attribute_id;
  const std::vector<std::uint8_t> payload(8, 1);
  Snapshot snapshot = stored([&](snapshot::Writer& writer) {
    writer.put_failure(key(1, class_port_info), silence());
    writer.put_answer(key(2, class_port_info), payload);
    writer.put_failure(key(2, counters, 1), silence());
    writer.put_failure(key(3, class_port_info), silence());
    writer.put_answer(key(3, counters, 4), payload);
    writer.put_failure(key(4, class_port_info), refusal());
    writer.put_failure(key(4, counters, 1), silence());
  });
  REQUIRE(snapshot.find_silence(key(1, details, 1)));
  CHECK(snapshot.find_silence(key(1, details, 1))->payload.size() == 12);
  for (const subnet::NodeIndex node : {2U, 3U, 4U, 5U}) CHECK_FALSE(snapshot.find_silence(key(node, details, 1)));
}

}  // namespace snapshot_stored_failures_tests
