// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/survey.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "iba-gen/smp.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {
namespace {

using subnet::PortIndex;

/// The number of VLs for data (IBA 14.2.5.6: PortInfo.OperationalVLs); packets on others are discarded. All where it is not known.
unsigned lane_count(smp::VLCap operational) {
  const auto code = static_cast<unsigned>(operational);
  return code >= 1 && code <= 4 ? 1U << (code - 1) : routing::dropped_vl;
}

/// Reads the rows of SLtoVL tables, one question for each output port.
class LaneReader {
 public:
  LaneReader(const routing::Network& network, std::vector<routing::WantedLanes> wanted, routing::SlToVlTables& lanes)
      : network_(network), wanted_(std::move(wanted)), lanes_(lanes) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) by_port_[network_.port_of(port_id(wanted_[i]))] = i;
  }
  std::vector<PortIndex> ports() const {
    std::vector<PortIndex> all;
    for (const routing::WantedLanes& of : wanted_) {
      if (!of.in.empty()) all.push_back(network_.port_of(port_id(of)));
    }
    return all;
  }

  async::Task<mad::Result<bool>> read(subnet::SurveyPort port) {
    const routing::WantedLanes& of = wanted_[by_port_.at(port.index)];
    const unsigned count = lane_count(network_.subnet().port(port.index).info().operational_vls);
    std::vector<std::uint32_t> modifiers;
    for (const std::uint8_t in : of.in) modifiers.push_back(static_cast<std::uint32_t>(in << 8U | of.out));  // IBA 14.2.5.8
    const subnet::SmpBlocks blocks =
        co_await subnet::try_read_smp_blocks(port.transactor, port.path, smp::SLToVLMappingTable::info(), modifiers);
    for (std::size_t i = 0; i < of.in.size(); ++i) {
      if (std::ranges::binary_search(blocks.unread, i)) continue;
      const auto row = smp::SLToVLMappingTable::unpack(blocks.block(i)).sl_to_vl;
      std::array<std::uint8_t, routing::sl_count> vls{};
      for (unsigned sl = 0; sl < routing::sl_count; ++sl) {
        const auto vl = static_cast<std::uint8_t>(row[sl]);
        vls[sl] = vl < count ? vl : routing::dropped_vl;
      }
      lanes_.set(of.at, network_.switches()[of.at].slots, of.in[i], of.out, vls);
    }
    if (blocks.error) co_return blocks.error;
    co_return true;
  }

 private:
  routing::PortId port_id(const routing::WantedLanes& of) const { return network_.port_id(of.at, of.out); }

  const routing::Network& network_;
  std::vector<routing::WantedLanes> wanted_;
  routing::SlToVlTables& lanes_;
  std::unordered_map<PortIndex, std::size_t> by_port_;
};

/// The options of a survey that reports its progress in ports.
subnet::SurveyOptions port_survey(Stack& stack, subnet::SurveyWay way = subnet::SurveyWay::gmp) {
  subnet::SurveyOptions options(stack.here(), way);
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "ports"); };
  return options;
}

}  // namespace

async::Task<subnet::Failures> read_lanes(Stack& stack, const routing::Network& network, std::vector<routing::WantedLanes> ports,
                                         routing::SlToVlTables& lanes) {
  LaneReader reader(network, std::move(ports), lanes);
  const subnet::SurveyOptions options = port_survey(stack, subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<bool> question = [&reader](subnet::SurveyPort port) { return reader.read(port); };
  std::vector<PortIndex> to = reader.ports();
  subnet::Surveyed<bool> surveyed = co_await subnet::survey(stack.transactor(), network.subnet(), std::move(to), options, question);
  co_return std::move(surveyed.failures);
}

async::Task<std::vector<sa::MCMemberRecord>> read_group_records(Stack& stack, std::string& why) {
  std::vector<sa::MCMemberRecord> records;
  co_await stack.prepare_sa();
  mad::Transactor& transactor = stack.transactor();
  const path::IbPath& sa = transactor.sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) {
    why = subnet::no_sa_is_known;
    co_return records;
  }
  try {
    const sa::MCMemberRecord::Query query;
    const auto answer = co_await sa::try_subn_adm_get_table(transactor, query);
    if (!answer && sa::is_no_records(answer.error())) co_return records;
    if (!answer) {
      why = answer.error().message();
    } else if (answer->torn) {
      why = "the table of the subnet administrator did not arrive whole";
    } else {
      records = answer->records;
    }
  } catch (const SysError&) {
    throw;
  } catch (const Error& error) {  // an answer that contradicts itself, or without its end
    why = error.message();
  }
  co_return records;
}

subnet::SurveyOptions gmp_survey(Stack& stack, const subnet::PortPaths& paths) {
  subnet::SurveyOptions options = port_survey(stack);
  options.paths = &paths;
  return options;
}

mad::Transactor* owner_transactor(Stack& stack) {
  if (stack.host().options().from) return nullptr;
  return stack.host().options().use_sa ? &stack.transactor() : &stack.lowest_transactor();
}

mad::Transactor* owner_transactor(Stack& stack, const std::optional<std::string>& load_cache) {
  return load_cache || stack.uses_cache() ? owner_transactor(stack) : nullptr;
}

}  // namespace ib::tools
