// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in memory for tests of health, with two subnet managers and a clock on which something happens between two readings.
#pragma once

#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/fake_clock.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"
#include "tools/shared/fabric.hpp"

namespace ibtest::health {

using namespace ib;
using namespace std::chrono_literals;
using nlohmann::json;

using Words = std::vector<std::string>;

/// A clock on which something happens in the pause between two readings.
class Meanwhile final : public ibtest::FakeClock {
 public:
  std::function<void()> happens;
  bool jump_to(async::Time deadline) override {
    if (deadline - now() > 5s && happens) std::exchange(happens, nullptr)();
    return FakeClock::jump_to(deadline);
  }
  /// The real date, of which snapshots are.
  std::chrono::system_clock::time_point wall_time() const override {
    return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch());
  }
};

/// A subnet manager runs on the leaf, another one on the host `other`.
struct Fabric : ibtest::CountingFabric {
  Fabric() : CountingFabric(1) {
    manage(leaf, 0, smp::SMState::master, 5);
    manage(other, 1, smp::SMState::standby, 4);
  }
  Meanwhile clock;
  ibtest::TemporaryDirectory directory;

  void manage(ibtest::FakeFabric::NodeId id, unsigned port, smp::SMState state, unsigned priority) {
    smp::SMInfo& info = fabric.node(id).sm_info.emplace();
    info.guid = fabric.port_guid(id, port);
    info.sm_state = state;
    info.priority = static_cast<std::uint8_t>(priority);
    fabric.node(id).ports.at(port).info.capability_mask |= smp::capability_mask::is_sm;
  }
  Outcome run(Words words, int status = 0) {
    words.insert(words.begin(), "health");
    Outcome outcome = ibtool(fabric, words, {.clock = &clock});
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == status);
    return outcome;
  }
  json found(Words words = {}, int status = 0) {
    words.emplace_back("--json");
    const Outcome outcome = run(std::move(words), status);
    INFO(outcome.out << outcome.err);
    return json::parse(outcome.out);
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(directory.file(name)) << text;
    return directory.file(name);
  }
};

inline json check(const json& found, const std::string& id) {
  for (const json& one : found["checks"]) {
    if (one["check"] == id) return one;
  }
  return {};
}

}  // namespace ibtest::health
