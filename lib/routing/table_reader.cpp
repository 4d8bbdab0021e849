// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/table_reader.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>

#include "iba-gen/mad.hpp"
#include "iba-gen/mlx.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::routing {

AdaptiveRouting unread_adaptive_routing(const Network& network) {
  AdaptiveRouting found;
  std::ranges::transform(network.switches(), std::back_inserter(found), [&network](const Switch& at) {
    return subnet::is_mellanox(network.subnet().node(at.node).info) ? Adaptive::not_read : Adaptive::off;
  });
  return found;
}

async::Task<Adaptive> read_adaptive(mad::Transactor& transactor, const path::Path& path) {
  mad::Request request = mad::attribute_request(path, mlx::AdaptiveRoutingInfo::info(), mad::method::get);
  request.optional = true;
  const mad::Result<mad::Reply> reply = co_await transactor.try_call(request);
  const std::uint16_t status = reply ? 0 : reply.error().status();
  if (!reply) co_return status == 0 || status == mad::status::busy ? Adaptive::not_read : Adaptive::off;
  co_return mlx::AdaptiveRoutingInfo::unpack(reply->payload()).enabled != 0 ? Adaptive::on : Adaptive::off;
}

namespace {

class TableReader {
 public:
  TableReader(const Network& network, TablesToRead to) : network_(network), to_(to) {}

  /// Called again for a switch that fell silent and came back: then only what is missing is read.
  async::Task<mad::Result<bool>> read(subnet::SurveyPort port) {
    const subnet::Node& node = network_.subnet().node(network_.subnet().port(port.index).node);
    const SwitchIndex at = network_.switch_of(network_.subnet().port(port.index).node);
    Open& open = open_[at];
    if (!open.info) {
      const mad::Result<smp::SwitchInfo> info = co_await switch_info(port, node);
      if (!info) co_return info.shared_error();
      open.info = *info;
      if (to_.linear != nullptr) open.linear = subnet::LinearTable(*info);
      if (to_.multicast != nullptr) open.multicast = subnet::MulticastTable(*info, node.info.num_ports);
    }
    std::shared_ptr<const mad::MadError> error = co_await subnet::read_table(port.transactor, port.path, open.linear);
    const std::shared_ptr<const mad::MadError> of_groups = co_await subnet::read_table(port.transactor, port.path, open.multicast);
    if (!error) error = of_groups;
    if (to_.adaptive != nullptr && (*to_.adaptive)[at] == Adaptive::not_read) {
      (*to_.adaptive)[at] = co_await read_adaptive(port.transactor, port.path);
    }
    if (error) co_return error;
    keep(at, open);
    open_.erase(at);
    co_return true;
  }

  /// Keeps what came of tables that are not complete.
  void finish() {
    for (const auto& [at, open] : open_) {
      if (open.info) keep(at, open);
    }
  }

 private:
  struct Open {
    std::optional<smp::SwitchInfo> info;
    subnet::LinearTable linear;  // without entries, which is complete, where it is not wanted
    subnet::MulticastTable multicast;
  };

  static async::Task<mad::Result<smp::SwitchInfo>> switch_info(subnet::SurveyPort port, const subnet::Node& node) {
    if (node.has_switch_info) co_return node.switch_info();
    mad::Result<smp::SwitchInfo> answer = co_await port.transactor.try_subn_get<smp::SwitchInfo>(port.path);
    co_return answer;
  }

  void keep(SwitchIndex at, const Open& open) {
    if (to_.linear != nullptr) to_.linear->set(at, open.linear);
    if (to_.multicast != nullptr) to_.multicast->add(at, open.multicast);
  }

  const Network& network_;
  TablesToRead to_;
  std::map<SwitchIndex, Open> open_;  // a switch leaves it when all was read
};

}  // namespace

async::Task<std::vector<subnet::Failure>> read_tables(mad::Transactor& transactor, const Network& network,
                                                      std::vector<SwitchIndex> switches, TablesToRead to, subnet::SurveyOptions options) {
  std::vector<subnet::PortIndex> ports;
  for (const SwitchIndex at : switches) ports.push_back(network.subnet().node(network.switches()[at].node).first_port);
  TableReader reader(network, to);
  const subnet::SurveyQuestion<bool> question = [&reader](subnet::SurveyPort port) { return reader.read(port); };
  subnet::Surveyed<bool> surveyed = co_await subnet::survey(transactor, network.subnet(), std::move(ports), std::move(options), question);
  reader.finish();
  co_return std::move(surveyed.failures);
}

std::vector<SwitchIndex> all_switches(const Network& network) {
  std::vector<SwitchIndex> all(network.switches().size());
  std::iota(all.begin(), all.end(), SwitchIndex{0});
  return all;
}

}  // namespace ib::routing
