// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the commands have in common that write samples for Prometheus.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "metrics/families.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

class OptionSet;

/// Adds --label. The last value of a label counts. A label of our samples is refused.
void add_labels(OptionSet& set, metrics::Labels& labels);

/// What was read, in JSON. Its text is the samples, which are written apart.
struct SamplesReport final : Report {
  void add(const metrics::Reading& reading) {
    nodes += metrics::read_count(reading);
    ports += reading.rows.size();
    is_whole &= reading.fabric->failures.empty() && std::ranges::none_of(reading.devices, metrics::has_failed);
  }
  void visit(report::Sink& sink) const override {
    if (file) sink.value("file", *file);
    sink.value("nodes_checked", nodes);
    sink.value("ports_checked", ports);
  }
  Exit status() const override { return is_whole ? Exit::ok : Exit::incomplete; }

  std::optional<std::string> file{};  ///< that has the samples
  std::size_t nodes{}, ports{};
  bool is_whole = true;
};

}  // namespace ib::tools
