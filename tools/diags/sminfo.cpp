// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// sminfo of infiniband-diags: what a subnet manager says of itself, or is told.
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "tools/diags/console.hpp"
#include "tools/diags/fabric.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/tools.hpp"
#include "iba-gen/smp.hpp"

namespace ib::diags {
namespace {

constexpr Option options[]{
    {"state", 's', "<0-3>", "set SM state"},
    {"priority", 'p', "<0-15>", "set SM priority"},
    {"activity", 'a', "<val>", "set activity count"},
};
constexpr Tool sminfo_tool{"sminfo", "<sm_lid|sm_dr_path> [modifier]", "sK", options, {}};

constexpr std::array<const char*, 4> states{"SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"};

class Sminfo : public Legacy {
 public:
  const Tool& tool() const override { return sminfo_tool; }

  void option(int letter, const char* value, Settings& /*settings*/) override {
    const auto number = static_cast<unsigned>(std::strtoul(value, nullptr, 0));
    if (letter == 's') mine_.sm_state = static_cast<smp::SMState>(number & 15U);
    if (letter == 'p') mine_.priority = static_cast<std::uint8_t>(number & 15U);
    if (letter == 'a') mine_.act_count = number;
  }

  async::Task<> run(Context& context) override {
    const auto& arguments = context.arguments;
    const auto modifier = static_cast<std::uint32_t>(arguments.size() > 1 ? std::atoi(arguments[1].c_str()) : 0);
    Fabric fabric(context);
    std::optional<Target> target;
    if (arguments.empty()) {
      target = fabric.subnet_manager();
    } else {
      target = co_await fabric.resolve(arguments[0]);
      if (!target) throw Failure("main", fmt::format("can't resolve destination port {}", arguments[0]));
    }
    std::array<std::uint8_t, smp::SMInfo::wire_size> bytes{};
    mine_.pack(bytes);
    std::optional<std::vector<std::uint8_t>> answer;
    if (modifier != 0) {
      answer = co_await fabric.smp_set(*target, smp::SMInfo::attribute_id, modifier, bytes);
    } else {
      answer = co_await fabric.smp_get(*target, smp::SMInfo::attribute_id, 0, bytes);
    }
    if (!answer) throw Failure("main", "query");
    const auto info = smp::SMInfo::unpack(*answer);
    const auto state = static_cast<unsigned>(info.sm_state);
    const unsigned lid = target->path.directed() != nullptr ? 0U : target->path.ib().dlid.value;
    context.out.print("sminfo: sm lid {} sm guid 0x{:x}, activity count {} priority {} state {} {}\n", lid, info.guid.value, info.act_count,
                      info.priority, state, state < states.size() ? states[state] : "???");
  }

 private:
  smp::SMInfo mine_{.sm_state = smp::SMState::standby};
};

}  // namespace

int sminfo(std::span<char* const> words) { return run_legacy<Sminfo>(words); }

}  // namespace ib::diags
