// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Broadcast groups of IPoIB. A port whose link is slower than its group cannot join it, or loses packets of it.
#include <fmt/format.h>

#include <algorithm>

#include "health/checks/check_functions.hpp"
#include "iba/text.hpp"
#include "sa/rates.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {
namespace {

/// The place of the rate of a port's link in the order of rates; 0 where it is not known.
unsigned link_order(const subnet::Subnet& subnet, subnet::PortIndex port) {
  const subnet::LinkRate rate = subnet::active_rate(subnet, port);
  return rate.known() ? sa::order_of_data(rate.data_mbps()) : 0;
}

}  // namespace

void find_fast_groups(const Input& input, Findings& findings) {
  for (const BroadcastGroup& group : input.groups) {
    const unsigned wanted = sa::order_of(group.rate);
    std::vector<subnet::PortIndex> slow;
    for (const subnet::PortIndex port : group.members) {
      const unsigned has = link_order(input.subnet, port);
      if (has != 0 && has < wanted) slow.push_back(port);
    }
    if (slow.empty()) continue;
    const auto order = [&input](subnet::PortIndex port) { return link_order(input.subnet, port); };
    const subnet::LinkRate slowest = subnet::active_rate(input.subnet, *std::ranges::min_element(slow, {}, order));
    Finding finding = on_ports(input.subnet, slow);
    finding.subject = Finding::Subject::group;
    finding.detail = fmt::format("The group {} has a rate of {}; the slowest link of its members is {}x {}.", to_text(group.mgid),
                                 to_text(group.rate), slowest.lanes, subnet::name(slowest.speed));
    findings.push_back(std::move(finding));
  }
}

}  // namespace ib::health
