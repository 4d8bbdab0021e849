// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/sample_labels.hpp"

#include <fmt/format.h>

#include <array>

#include "base/escape.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

void add_labels(OptionSet& set, metrics::Labels& labels) {
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

}  // namespace ib::tools
