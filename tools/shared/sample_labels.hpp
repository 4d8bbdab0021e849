// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the commands have in common that write samples for Prometheus.
#pragma once

#include <fmt/format.h>

#include <array>

#include "base/escape.hpp"
#include "metrics/families.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/report.hpp"

namespace ib::tools {

/// Adds --label. The last value of a label counts. A label of our samples is refused.
inline void add_labels(OptionSet& set, metrics::Labels& labels) {
  static constexpr std::array ours{"guid",         "port",       "switch",     "hca",        "uplink",     "uplink_guid", "uplink_type",
                                   "uplink_port",  "uplink_lid", "lid",        "collector",  "node",       "version",     "portid",
                                   "counter_name", "component",  "local_name", "local_guid", "local_port", "remote_guid", "remote_port",
                                   "remote_name",  "check",      "level",      "confidence"};
  set.value("--label", "NAME=VALUE", "A label that all samples have; several times for several.", [&labels](std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (equals == std::string_view::npos || !metrics::is_label_name(name))
      throw OptionError(fmt::format("--label: {} is not NAME=VALUE", in_quotes(text)));
    if (std::ranges::find(ours, name) != ours.end()) throw OptionError(fmt::format("--label: samples have a label {} already", name));
    std::erase_if(labels, [name](const auto& other) { return other.first == name; });
    labels.emplace_back(name, text.substr(equals + 1));
  });
}

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
