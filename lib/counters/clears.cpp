// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/clears.hpp"

#include <set>

#include "counters/pma_supports.hpp"
#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib::counters {
namespace {

constexpr unsigned counter_select_bits = 16;

void put(MutableBytes bytes, const StructInfo& attribute, std::string_view name, std::uint64_t value) {
  const FieldInfo* const field = find_field(attribute, name);
  if (field != nullptr) wire::set_bits(bytes, field->bit_offset, field->bits, value);
}

/// Clears the counters for survey_clears().
class ClearSurvey {
 public:
  ClearSurvey(const subnet::Subnet& subnet, const std::vector<subnet::PortIndex>& ports, CounterChoice choice)
      : subnet_(subnet), choice_(std::move(choice)), supports_(subnet) {
    std::map<subnet::NodeIndex, std::set<unsigned>> external;
    for (const subnet::PortIndex at : ports) {
      const subnet::Port& port = subnet.port(at);
      if (port.number != 0 && subnet.node(port.node).kind() == subnet::NodeKind::sw) external[port.node].insert(port.number);
    }
    for (const auto& [node, numbers] : external) {
      if (numbers.size() > 1 && numbers.size() >= subnet.node(node).info.num_ports) whole_.insert(node);
    }
  }

  async::Task<mad::Result<CounterClear>> clear(subnet::SurveyPort port) {
    const mad::Result<PmaSupport> support = co_await supports_.of(port);
    if (!support) co_return support.shared_error();
    const subnet::NodeIndex node = subnet_.port(port.index).node;
    const bool has_all = support->all_port_select();
    if (whole_.contains(node) && has_all && port.number != 0) {
      mad::Result<CounterClear> all = co_await clear_all(node, port, *support);
      // The PMA may refuse only PortSelect 255, so single ports are tried next. A silent PMA would not answer these either.
      if (all || mad::tries_in_vain(all.error())) co_return all;
    }
    co_return co_await clear_counters(port.transactor, port.path, port.number, *support, choice_);
  }

 private:
  /// Sends the one Set for a whole switch. The other ports wait for its end.
  async::Task<mad::Result<CounterClear>> clear_all(subnet::NodeIndex node, subnet::SurveyPort port, PmaSupport support) {
    return cleared_.get(node, clear_counters(port.transactor, port.path, subnet::all_ports, support, choice_));
  }

  const subnet::Subnet& subnet_;
  CounterChoice choice_;
  PmaSupports supports_;
  std::set<subnet::NodeIndex> whole_;  // switches with all external ports in the survey
  async::Once<subnet::NodeIndex, mad::Result<CounterClear>> cleared_{has_answered};
};

}  // namespace

async::Task<mad::Result<std::vector<std::uint8_t>>> reset_counters(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                                   std::uint8_t number, std::uint64_t mask) {
  std::vector<std::uint8_t> bytes(attribute.bytes);
  put(bytes, attribute, "port_select", number);
  put(bytes, attribute, "counter_select", mask);
  put(bytes, attribute, "counter_select2", mask >> counter_select_bits);
  co_return co_await transactor.try_set(pma, attribute, 0, bytes);
}

CounterClear clear_of(const PmaSupport& support, const CounterChoice& choice) {
  CounterClear clear;
  for (const CounterInfo& info : counter_infos()) {
    if (!choice(info)) continue;
    if (support.narrow(info)) clear.port_counters |= info.narrow_reset;
    if (support.wide(info)) clear.port_counters_extended |= info.wide_reset;
  }
  return clear;
}

async::Task<mad::Result<CounterClear>> clear_counters(mad::Transactor& transactor, path::Path pma, std::uint8_t number, PmaSupport support,
                                                      CounterChoice choice) {
  CounterClear clear = clear_of(support, choice);
  clear.by_all_ports = number == subnet::all_ports;
  if (clear.port_counters != 0) {
    const auto reply = co_await reset_counters(transactor, pma, pm::PortCounters::info(), number, clear.port_counters);
    if (!reply) co_return reply.shared_error();
  }
  if (clear.port_counters_extended != 0) {
    const auto reply = co_await reset_counters(transactor, pma, pm::PortCountersExt::info(), number, clear.port_counters_extended);
    if (!reply) co_return reply.shared_error();
  }
  co_return clear;
}

async::Task<subnet::Surveyed<CounterClear>> survey_clears(mad::Transactor& transactor, const subnet::Subnet& subnet,
                                                          std::vector<subnet::PortIndex> ports, CounterChoice choice,
                                                          subnet::SurveyOptions options) {
  ClearSurvey clears(subnet, ports, std::move(choice));
  const subnet::SurveyQuestion<CounterClear> ask = [&clears](subnet::SurveyPort port) { return clears.clear(port); };
  co_return co_await survey(transactor, subnet, std::move(ports), std::move(options), ask);
}

}  // namespace ib::counters
