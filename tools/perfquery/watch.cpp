// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba/generic.hpp"
#include "subnet/counters.hpp"

namespace ib::tools::perfquery {
namespace {

/// What a counter has counted, as far as that is known.
std::optional<std::uint64_t> growth_of(const FieldInfo& field, std::optional<std::uint64_t> before, std::uint64_t now) {
  if (!before) return std::nullopt;
  const auto bits = static_cast<std::uint8_t>(field.bits);
  return subnet::least_growth({*before, bits}, {now, bits});
}

}  // namespace

/// Calls `use` with each counter that is shown: its field, its index, its value and the one before.
template <class Use>
void WatchReport::each_counter(const Sample& sample, Use use) const {
  for (const FieldInfo& field : info.fields) {
    if (is_selector(field)) continue;
    for (std::uint32_t index = 0; index < std::max<std::uint32_t>(field.count, 1); ++index) {
      const std::uint64_t value = read_number(sample.bytes, field, index);
      std::optional<std::uint64_t> before;
      if (!sample.before.empty()) before = read_number(sample.before, field, index);
      if (is_shown(sample, field, value, before)) use(field, index, value, before);
    }
  }
}

bool WatchReport::is_shown(const Sample& sample, const FieldInfo& field, std::uint64_t value, std::optional<std::uint64_t> before) const {
  if (thresholds == nullptr) return field.was.empty() || value != 0;  // counters that few PMAs have, where there is something to see
  const std::optional<std::uint64_t> least = thresholds->find(field.name), growth = growth_of(field, before, value);
  if (!least || !sample.seconds || !growth || *growth == 0) return false;
  return static_cast<double>(*growth) / *sample.seconds >= static_cast<double>(*least);
}

void WatchReport::text(TextOut& out) const {
  constexpr std::size_t column = 33;
  for (const Sample& sample : samples) {
    out.print("# Port counters: {} port {}\n", node, sample.port);
    each_counter(sample, [&](const FieldInfo& field, std::uint32_t index, std::uint64_t value, std::optional<std::uint64_t> before) {
      std::string name = styled_name(field, names);
      if (field.count > 1) name += fmt::format("[{}]", index);
      out.print("{:.<{}}", name, column);
      const std::optional<std::uint64_t> growth = growth_of(field, before, value);
      if (!before || value == *before || !sample.seconds) {
        out.print("{}\n", value);
      } else if (!growth) {
        out.print("{:<8} (reset)\n", value);
      } else {
        out.print("{:<8} (+ {:.3f}/s)\n", value, static_cast<double>(*growth) / *sample.seconds);
      }
    });
  }
}

void WatchReport::visit(out::Sink& sink) const {
  sink.begin_object();
  sink.value("time", round.time);
  round.seconds ? sink.value("seconds", *round.seconds) : sink.null("seconds");
  sink.value("attribute", info.iba_name);
  sink.begin_array("ports");
  for (const Sample& sample : samples) {
    sink.begin_object();
    sink.value("port_num", sample.port);
    sample.seconds ? sink.value("seconds", *sample.seconds) : sink.null("seconds");
    sink.begin_array("counters");
    each_counter(sample, [&](const FieldInfo& field, std::uint32_t index, std::uint64_t value, std::optional<std::uint64_t> before) {
      sink.begin_object();
      sink.value("counter", field.name);
      field.count > 1 ? sink.value("index", index) : sink.null("index");
      sink.value("count", value);
      const std::optional<std::uint64_t> growth = growth_of(field, before, value);
      growth ? sink.value("delta", *growth) : sink.null("delta");
      growth&& sample.seconds ? sink.value("per_second", static_cast<double>(*growth) / *sample.seconds) : sink.null("per_second");
      sink.end_object();
    });
    sink.end_array();
    sink.end_object();
  }
  sink.end_array();
  sink.end_object();
}

}  // namespace ib::tools::perfquery
