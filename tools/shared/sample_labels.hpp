// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The option --label of commands that write samples for Prometheus: labels that all samples of a page have.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ib::tools {

class OptionSet;

class SampleLabels {
 public:
  /// Adds --label. This object must outlive `set`.
  void add_option(OptionSet& set);
  /// NAME=VALUE; the last one of a name counts. Throws OptionError for a text that is no label, and for a label of our samples.
  void add(std::string_view text);
  /// The labels as metrics::constant_labels() makes them.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> labels_;
};

}  // namespace ib::tools
