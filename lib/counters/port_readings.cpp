// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/port_readings.hpp"

#include "async/group.hpp"
#include "counters/readings.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::counters {
namespace {

constexpr std::size_t ports_at_once = 64;

async::Task<> read_port(mad::Transactor& transactor, const path::Path& pma, const StructInfo& attribute, PortReading& reading) {
  const mad::Result<mad::Reply> answer =
      co_await request_counters(transactor, pma, attribute, static_cast<std::uint8_t>(reading.port), true);
  const async::Loop& loop = co_await async::current_loop;
  reading.time = loop.now();
  if (answer) {
    reading.bytes.assign(answer->payload().begin(), answer->payload().end());
  } else {
    reading.error = answer.shared_error();
  }
  reading.bytes.resize(attribute.bytes);
}

}  // namespace

async::Task<std::vector<PortReading>> read_ports(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                 std::vector<std::int32_t> ports) {
  std::vector<PortReading> readings;
  for (const std::int32_t port : ports) readings.push_back({port, {}});
  const auto read = [&](PortReading& reading) { return read_port(transactor, pma, attribute, reading); };
  co_await async::for_each(readings, ports_at_once, read);
  co_return readings;
}

PortReading sum_of(const std::vector<PortReading>& ports, const StructInfo& attribute) {
  std::vector<std::uint8_t> total = ports.front().bytes;
  each_counter(attribute, [&](const FieldInfo& field, std::uint32_t index) {
    const std::uint32_t at = field.bit_offset + index * field.bits;
    const std::uint64_t most = field.bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << field.bits) - 1;
    std::uint64_t value = 0;
    for (const PortReading& port : ports) {
      const std::uint64_t one = wire::get_bits(port.bytes, at, field.bits);
      value = one > most - value ? most : value + one;
    }
    wire::set_bits(total, at, field.bits, value);
  });
  const FieldInfo* select = find_field(attribute, "port_select");
  wire::set_bits(total, select->bit_offset, select->bits, subnet::all_ports);
  return {subnet::all_ports, std::move(total), std::ranges::max_element(ports, {}, &PortReading::time)->time};
}

std::optional<double> seconds_between(const std::optional<PortReading>& before, const PortReading& now) {
  return before ? seconds_between(before->time, now.time) : std::nullopt;
}

CounterChange change_of(const std::optional<PortReading>& before, const PortReading& now, const FieldInfo& counter, std::uint32_t index) {
  const std::uint64_t value = read_number(now.bytes, counter, index);
  CounterChange change;
  if (before) change = change_of(read_number(before->bytes, counter, index), value, counter, seconds_between(before, now), {});
  change.counter = &counter;
  change.now = value;
  return change;
}

}  // namespace ib::counters
