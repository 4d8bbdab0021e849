// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "mad/error.hpp"

namespace ib::counters {
namespace {

using Counts = ReadingPlan::Counts;

/// The capabilities of a PMA whose ClassPortInfo was not read: everything is requested.
constexpr PmaSupport every_counter{0xffff, 0};

PmaSupport without_extended(PmaSupport support) {
  constexpr unsigned extended = pm::capability_mask::is_extended_width_supported | pm::capability_mask::is_extended_width_no_ietf_supported;
  support.capability_mask = static_cast<std::uint16_t>(support.capability_mask & ~extended);
  return support;
}

async::Task<mad::Result<CounterRow>> read_select(mad::Transactor& transactor, path::Path pma, std::uint8_t select, PmaSupport support,
                                                 Counts counts) {
  ReadingPlan plan;
  plan.counts = counts;
  PmaReading reading = co_await read_pma(transactor, pma, select, support, plan);
  // Without ClassPortInfo it is not known whether the PMA has PortCountersExtended.
  const bool is_refused =
      counts == Counts::traffic && support.extended() && !reading.known() && !mad::is_timeout(*reading.problems.back().error);
  if (is_refused) reading = co_await read_pma(transactor, pma, select, without_extended(support), plan);
  if (!reading.known()) co_return reading.problems.back().error;
  co_return reading.row;
}

}  // namespace

async::Task<mad::Result<CounterRow>> read_row(mad::Transactor& transactor, path::Path pma, std::uint8_t select, unsigned num_ports,
                                              ReadingPlan::Counts counts) {
  const bool is_sum = select == subnet::all_ports;
  PmaSupport support = every_counter;
  if (is_sum || counts == Counts::all) {
    const mad::Result<PmaSupport> answer = co_await read_pma_support(transactor, pma);
    if (!answer) co_return answer.shared_error();
    support = *answer;
  }
  if (counts == Counts::errors) support = without_extended(support);
  if (!is_sum || support.all_port_select()) co_return co_await read_select(transactor, pma, select, support, counts);
  CounterRow sum;
  for (unsigned port = 1; port <= num_ports; ++port) {
    const mad::Result<CounterRow> reading = co_await read_select(transactor, pma, static_cast<std::uint8_t>(port), support, counts);
    if (!reading) co_return reading.shared_error();
    sum.add(*reading);
  }
  co_return sum;
}

}  // namespace ib::counters
