// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A page of metrics, made while it is sent: each call makes some more of its text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/families.hpp"

namespace ib::metrics {

/// The part of all metrics that is wanted.
struct PageWanted {
  Format format{};
  std::uint8_t selected = select_all;   ///< Selection
  std::uint32_t shards = 1, shard = 0;  ///< devices are parted by their GUIDs; what has no device is in shard 0
};

/// Whether the device with that GUID is in shard `shard` of `shards`. A GUID is always in the same one.
bool is_in_shard(Guid guid, std::uint32_t shards, std::uint32_t shard);

/// What all pages have in common, for as long as an exporter runs.
struct PageRules {
  Exported exported;
  std::vector<Family> families;  ///< of `exported`
  std::string labels;            ///< constant_labels()

  PageRules(const Exported& of, std::string constant) : exported(of), families(metrics::families(of)), labels(std::move(constant)) {}
};

class Page {
 public:
  /// `rules` must outlive this object; `view` must not change.
  Page(const PageRules& rules, View view, PageWanted wanted);

  /// Makes text until `out`, which is emptied, has about `size` bytes, or a little more. False: the page has ended, and `out` is empty.
  bool next(std::string& out, std::size_t size);

 private:
  bool is_selected(const Family& family) const;
  void write_item(const Family& family);

  const PageRules& rules_;
  View view_;
  PageWanted wanted_;
  Exposition exposition_;
  FamilyHead head_;
  std::size_t family_{}, item_{};
  bool has_begun_{}, has_ended_{};
};

}  // namespace ib::metrics
