// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/lane_tables.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "iba-gen/smp.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::tools {
namespace {

using subnet::PortIndex;

/// The number of VLs for data of a port; packets on others are discarded (IBA 14.2.5.6: PortInfo.OperationalVLs). All where it is not
/// known.
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

}  // namespace

async::Task<subnet::Failures> read_lanes(Stack& stack, const routing::Network& network, std::vector<routing::WantedLanes> ports,
                                         routing::SlToVlTables& lanes) {
  LaneReader reader(network, std::move(ports), lanes);
  subnet::SurveyOptions options(stack.here(), subnet::SurveyWay::smp);
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "ports"); };
  const subnet::SurveyQuestion<bool> question = [&reader](subnet::SurveyPort port) { return reader.read(port); };
  std::vector<PortIndex> to = reader.ports();
  subnet::Surveyed<bool> surveyed = co_await subnet::survey(stack.transactor(), network.subnet(), std::move(to), options, question);
  co_return std::move(surveyed.failures);
}

}  // namespace ib::tools
