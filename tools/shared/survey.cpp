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

async::Task<mad::Result<bool>> read_rows(subnet::SurveyPort port, const routing::Network& network, const routing::WantedLanes& of,
                                         routing::SlToVlTables& lanes) {
  const unsigned count = lane_count(network.subnet().port(port.index).info().operational_vls);
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
    lanes.set(of.at, network.switches()[of.at].slots, of.in[i], of.out, vls);
  }
  if (blocks.error) co_return blocks.error;
  co_return true;
}

/// The options of a survey that reports its progress in ports.
subnet::SurveyOptions port_survey(Stack& stack, subnet::SurveyWay way = subnet::SurveyWay::gmp) {
  subnet::SurveyOptions options(stack.here(), way);
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "ports"); };
  return options;
}

}  // namespace

async::Task<subnet::Failures> read_lanes(Stack& stack, const routing::Network& network, std::vector<routing::WantedLanes> ports,
                                         routing::SlToVlTables& lanes) {
  std::unordered_map<PortIndex, const routing::WantedLanes*> by_port;
  std::vector<PortIndex> to;
  for (const routing::WantedLanes& of : ports) {
    const PortIndex at = network.port_of(network.port_id(of.at, of.out));
    by_port[at] = &of;
    if (!of.in.empty()) to.push_back(at);
  }
  const subnet::SurveyOptions options = port_survey(stack, subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<bool> question = [&](subnet::SurveyPort port) {
    return read_rows(port, network, *by_port.at(port.index), lanes);
  };
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
