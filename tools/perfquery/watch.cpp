// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "counters/attributes.hpp"
#include "iba/generic.hpp"

namespace ib::tools::perfquery {
/// Calls `use` with the field of each counter that is shown, and what it has counted.
template <class Use>
void WatchReport::each_counter(const Sample& sample, Use use) const {
  for (const FieldInfo& field : info.fields) {
    if (counters::is_selector(field)) continue;
    for (std::uint32_t index = 0; index < std::max<std::uint32_t>(field.count, 1); ++index) {
      const std::uint64_t now = read_number(sample.now.bytes, field, index);
      counters::CounterChange change;
      if (sample.before) change = counters::change_of(read_number(sample.before->bytes, field, index), now, field.bits);
      change.counter = &field;
      change.now = now;
      Growth counter(change, sample.seconds());
      if (field.count > 1) counter.index = index;
      if (is_shown(field, counter)) use(field, counter);
    }
  }
}

bool WatchReport::is_shown(const FieldInfo& field, const Growth& counter) const {
  if (thresholds == nullptr) return field.was.empty() || counter.change.now != 0;  // counters that few PMAs have, if they are not zero
  const std::optional<std::uint64_t> least = thresholds->find(field.name);
  return least && counter.per_second && *counter.per_second > 0 && *counter.per_second >= static_cast<double>(*least);
}

void WatchReport::text(TextOut& out) const {
  constexpr std::size_t column = 33;
  for (const Sample& sample : samples) {
    out.print("# Port counters: {} port {}\n", node, sample.now.port);
    each_counter(sample, [&](const FieldInfo& field, const Growth& counter) {
      std::string name = styled_name(field, names);
      if (counter.index) name += fmt::format("[{}]", *counter.index);
      growth_line(out, fmt::format("{:.<{}}", name, column), counter);
    });
  }
}

void WatchReport::visit(report::Sink& sink) const {
  begin_round(sink, round);
  sink.value("attribute", info.iba_name);
  sink.objects("ports", samples, [&](const Sample& sample) {
    sink.value("port_num", sample.now.port);
    sink.value("seconds", sample.seconds());
    sink.begin_array("counters");
    each_counter(sample, [&](const FieldInfo&, const Growth& counter) { visit_growth(sink, counter, {.index = true}); });
    sink.end_array();
  });
  sink.end_object();
}

}  // namespace ib::tools::perfquery
