// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "counters/readings.hpp"
#include "counters/row.hpp"
#include "iba/dialects.hpp"
#include "iba/generic.hpp"
#include "sa/resolve.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/host.hpp"
#include "tools/shared/survey.hpp"

namespace ib::tools::perfquery {
namespace {

/// What a row holds of an attribute. The ClassPortInfo of the PMA need not be known: all of its counters are shown.
counters::CounterRow row_of(const StructInfo& info, const PortReading& reading) {
  constexpr counters::PmaSupport every_counter{0xffff, 0xffffffff};
  counters::CounterRow row;
  if (counters::source_of(info)) row.take(every_counter, info, reading.bytes, reading.time);
  return row;
}

/// The column that a field fills; absent if it fills none.
std::optional<std::size_t> column_in(const StructInfo& info, const FieldInfo& field) {
  const auto found = std::ranges::find_if(counters::columns, [&](const counters::Column& column) {
    return column.field == field.name && column.source == counters::source_of(info);
  });
  return found == counters::columns.end() ? std::nullopt : std::optional<std::size_t>(found - counters::columns.begin());
}

std::optional<double> seconds_since(const std::optional<PortReading>& before, const PortReading& now) {
  return before ? counters::seconds_between(before->time, now.time) : std::nullopt;
}

/// The change of a counter that no row holds: those by VL, by SL and by lane are many, and nothing but perfquery reads them.
counters::CounterChange change_beside_rows(const FieldInfo& field, std::uint32_t index, const std::optional<PortReading>& before,
                                           const PortReading& now) {
  const std::uint64_t value = read_number(now.bytes, field, index);
  counters::CounterChange change;
  if (before) change = counters::change_of(read_number(before->bytes, field, index), value, field, seconds_since(before, now), {});
  change.counter = &field;
  change.now = value;
  return change;
}

}  // namespace

/// Calls `use` with the field of each counter that is shown, its index, and what it has counted.
template <class Use>
void WatchReport::each_counter(std::size_t at, Use use) const {
  const PortReading& reading = ports[at];
  const std::optional<PortReading>& last = before[at];
  const counters::CounterRow row = row_of(info, reading), row_before = last ? row_of(info, *last) : row;
  const counters::RowDifference difference(last ? &row_before : nullptr, row, {});
  for (const FieldInfo& field : info.fields) {
    if (counters::is_selector(field)) continue;
    const std::optional<std::size_t> column = column_in(info, field);
    for (std::uint32_t index = 0; index < std::max<std::uint32_t>(field.count, 1); ++index) {
      const counters::CounterChange change = column ? difference.change(*column) : change_beside_rows(field, index, last, reading);
      if (is_shown(field, change)) use(field, field.count > 1 ? std::optional(index) : std::nullopt, change);
    }
  }
}

bool WatchReport::is_shown(const FieldInfo& field, const counters::CounterChange& change) const {
  if (thresholds == nullptr) return dialects_of(field).was.empty() || change.now != 0;  // counters that few PMAs have, if they are not zero
  const std::optional<std::uint64_t> least = thresholds->find(field.name);
  return least && change.per_second && *change.per_second > 0 && *change.per_second >= static_cast<double>(*least);
}

void WatchReport::text(TextOut& out) const {
  constexpr std::size_t column = 33;
  for (std::size_t at = 0; at < ports.size(); ++at) {
    out.print("# Port counters: {} port {}\n", node, ports[at].port);
    each_counter(at, [&](const FieldInfo& field, std::optional<std::uint32_t> index, const counters::CounterChange& change) {
      std::string name = styled_name(field, names);
      if (index) name += fmt::format("[{}]", *index);
      growth_line(out, fmt::format("{:.<{}}", name, column), change);
    });
  }
}

void WatchReport::visit(report::Sink& sink) const {
  begin_round(sink, round);
  sink.value("attribute", info.iba_name);
  sink.begin_array("ports");
  for (std::size_t at = 0; at < ports.size(); ++at) {
    sink.begin_object();
    sink.value("port_num", ports[at].port);
    sink.value("seconds", seconds_since(before[at], ports[at]));
    sink.begin_array("counters");
    each_counter(at, [&](const FieldInfo&, std::optional<std::uint32_t> index, const counters::CounterChange& change) {
      visit_growth(sink, change, {.has_index = true, .index = index});
    });
    sink.end_array();
    sink.end_object();
  }
  sink.end_array();
  sink.end_object();
}

async::Task<std::shared_ptr<const Error>> check_owner(Stack& stack, Destination node, WatchedNode& watched) {
  mad::Transactor* smps = owner_transactor(stack);
  if (smps == nullptr || !subnet::takes_smps(node.path)) co_return nullptr;
  std::shared_ptr<const mad::MadError> error;
  if (watched.node) {
    error = co_await counters::check_owner(*smps, node.path, counters::owner_of(*watched.node));
  } else {
    const mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(*smps, node.path);
    if (found) watched.node = *found;
    if (!found) error = found.shared_error();
  }
  watched.is_lost = error != nullptr;
  if (!error) co_return nullptr;
  const bool was_known = watched.node.has_value();
  const std::string why =
      was_known ? counters::why_not_read(*error) : "the node at the end of the path is not known to be the one of TARGET";
  co_return std::make_shared<Error>(fmt::format("{}: the counters are not read", why));
}

async::Task<Destination> find_again(Stack& stack, const Target& target, Destination last, const WatchedNode& watched) {
  stack.resolver().clear();
  try {
    if (!watched.node) {
      Destination found = co_await stack.manners().gmp_node(target);
      co_return found;
    }
    path::IbPath to;
    to.dgid = Gid::from(stack.host().end_port().default_gid().prefix(), watched.node->port_guid);
    const path::Path wanted = to;
    const path::Path found = co_await stack.gmp_path(&wanted);
    co_return Destination{found, to_text(found)};
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    stack.host().log().warning(fmt::format("The node is not found again: {}", error.message()));
  }
  co_return last;
}

}  // namespace ib::tools::perfquery
