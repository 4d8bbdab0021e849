// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/health/stored_baseline.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "subnet/diff/counterparts.hpp"
#include "tools/health/sources.hpp"

namespace ib::tools::health {

StoredBaseline::StoredBaseline(const std::optional<std::string>& file, const subnet::NodeNameMap& names) {
  if (!file) return;
  stored_ = snapshot::open_fabric(*file);
  static_cast<subnet::SweptSubnet&>(fabric_.emplace()) = stored_->read_fabric(nullptr);
  fabric_->names = names;
  if (stored_->has_part("counters")) counters_time_ = stored_->ended().value_or(0);  // refused when it is to begin a window
}

async::Task<> StoredBaseline::read_tables() {
  if (stored_) tables_ = co_await tables_in_file(*stored_);
}

bool StoredBaseline::is_first_reading(Host& host) const {
  if (!counters_time_ || !host.options().from) return counters_time_.has_value();
  return host.stored().has_part("counters") && host.stored().ended().value_or(0) > *counters_time_;
}

const Baseline* StoredBaseline::compare(const subnet::Subnet& current) {
  if (!fabric_) return nullptr;
  compared_.emplace(fabric_->subnet, subnet::changes(current, fabric_->subnet), tables_);
  const std::string other = subnet::other_fabric(current, fabric_->subnet, compared_->changes.pairs);
  if (!other.empty()) throw UsageError(fmt::format("--baseline: {} cannot be compared: {}", in_quotes(stored_->file()), other));
  return &*compared_;
}

}  // namespace ib::tools::health
