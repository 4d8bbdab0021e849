// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/snapshot/phy_part.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "mad/error.hpp"
#include "phy/planes.hpp"
#include "phy/reading.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace {

/// Counts what passes through to another Transactor.
class Counting final : public mad::Transactor {
 public:
  Counting(mad::Transactor& below, snapshot::SurveyedPart& counts) : Transactor(below.end_port()), below_(below), counts_(counts) {}
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    ++counts_.planned;
    mad::Result<mad::Reply> result = co_await below_.try_call(request);
    if (result) {
      ++counts_.answered;
    } else if (!mad::is_timeout(result.error())) {
      ++counts_.refused;
    }
    co_return result;
  }

 private:
  mad::Transactor& below_;
  snapshot::SurveyedPart& counts_;
};

}  // namespace

async::Task<snapshot::SurveyedPart> read_phy_part(Stack& stack, mad::Transactor& transactor, const subnet::Subnet& subnet,
                                                  const subnet::PortPaths& paths, const phy::VsKeys& vs_keys) {
  snapshot::SurveyedPart result;
  Counting counting(transactor, result);
  std::vector<subnet::NodeIndex> nodes(subnet.nodes().size());
  std::iota(nodes.begin(), nodes.end(), subnet::NodeIndex{0});
  phy::Planes planes = co_await phy::read_planes(counting, subnet, stack.here(), nodes);
  std::vector<subnet::PortIndex> ports;
  for (const subnet::NodeIndex node : nodes) {
    for (unsigned number = 1; number < subnet.node(node).slots; ++number) {
      const subnet::PortIndex port = subnet.port_of(node, number);
      if (subnet.port(port).has_info) ports.push_back(port);
    }
  }
  phy::ReadingOptions options = reading_options(stack, paths, vs_keys);
  options.histogram = true;
  options.planes = &planes;
  std::set<subnet::NodeIndex> silent;
  options.silent = &silent;
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "registers of ports"); };
  phy::Reading found = co_await phy::read_phy(counting, subnet, ports, options);
  options.wanted = phy::Wanted::environment;
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "registers of devices"); };
  const phy::Reading environment = co_await phy::read_phy(counting, subnet, std::move(ports), options);
  result.failures = std::move(found.failures);
  for (const subnet::Failure& failure : environment.failures) {
    const bool is_known = std::ranges::find(result.failures, failure.node, &subnet::Failure::node) != result.failures.end();
    if (!is_known) result.failures.push_back(failure);
  }
  result.failures.insert(result.failures.end(), planes.failures.begin(), planes.failures.end());
  co_return result;
}

}  // namespace ib::tools
