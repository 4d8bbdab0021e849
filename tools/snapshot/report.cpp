// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/snapshot/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/escape.hpp"
#include "tools/frame/counted.hpp"

namespace ib::tools {
namespace {

std::string plural(std::uint64_t count, std::string_view one) { return fmt::format("{} {}{}", counted(count), one, count == 1 ? "" : "s"); }

/// "34 MB".
std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t thousand = 1000;
  std::string_view unit = "kB";
  std::uint64_t size = (bytes + thousand - 1) / thousand;
  for (const std::string_view larger : {"MB", "GB"}) {
    if (size < 10 * thousand) break;
    size /= thousand;
    unit = larger;
  }
  return fmt::format("{} {}", counted(size), unit);
}

}  // namespace

std::size_t SnapshotReport::known_port_count() const {
  const auto ports = fabric.subnet.ports();
  return static_cast<std::size_t>(std::ranges::count_if(ports, [](const subnet::Port& port) { return port.has_info; }));
}

/// The number of nodes that did not answer at all or in part. A missing node counts by the port that leads to it.
std::size_t SnapshotReport::silent_node_count() const {
  std::set<std::pair<subnet::NodeIndex, int>> nodes;
  for (const subnet::Failure& failure : fabric.failures) {
    const bool is_silent = failure.node != subnet::none && failure.kind == subnet::Failure::Kind::no_answer;
    if (is_silent) nodes.emplace(failure.node, failure.beyond ? failure.port : -1);
  }
  return nodes.size();
}

void SnapshotReport::visit(report::Sink& sink) const {
  sink.value("file", escaped(file));
  sink.value("file_bytes", bytes);
  sink.value("elapsed_seconds", seconds);
  sink.value("node_count", fabric.subnet.nodes().size());
  sink.value("port_count", known_port_count());
  sink.value("answers", answers);
  sink.objects("parts", parts, [&](const PartRow& row) {
    sink.value("part", name(row.part));
    sink.value("planned", row.planned);
    sink.value("answered", row.answered);
    sink.value("refused", row.refused);
    sink.value("failures", row.failures);
    sink.value("elapsed_seconds", row.seconds);
  });
  visit_failures(sink);
}

void SnapshotReport::text(TextOut& out) const {
  for (const PartRow& row : parts) {
    if (!verbose) break;
    const std::string refused = row.refused == 0 ? "" : fmt::format(", {} refused", counted(row.refused));
    const std::string failed = row.failures == 0 ? "" : fmt::format(", {} not answered", counted(row.failures));
    out.print("{:<11} {}{}{}, {:.1f} s\n", name(row.part), plural(row.answered, row.part == snapshot::Part::sa ? "table" : "answer"),
              refused, failed, row.seconds);
  }
  const std::size_t silent = silent_node_count();
  std::string missing;
  if (silent != 0) {
    missing = fmt::format("; {} did not answer", plural(silent, "node"));
  } else if (!fabric.failures.empty()) {
    missing = "; not complete";
  }
  out.print("{}, {}, {} in {}, {}{}\n", plural(fabric.subnet.nodes().size(), "node"), plural(known_port_count(), "port"),
            plural(answers, "answer"), escaped(file), size_text(bytes), missing);
}

}  // namespace ib::tools
