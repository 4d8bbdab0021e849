// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/stored_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "formats/fabric_file.hpp"
#include "snapshot/format.hpp"
#include "snapshot/imported_fabric.hpp"
#include "snapshot/parts.hpp"
#include "snapshot/snapshot.hpp"

namespace ib::snapshot {
namespace {

constexpr std::size_t largest_file = std::size_t{1} << 29U;  // five times the listing of 49,151 nodes; 2,000,000 ports of a cache: 200 MB

std::string read_file(const std::string& file) {
  try {
    return read_regular_file(file, largest_file);
  } catch (const SysError& error) {
    throw UsageError(error.message());
  }
}

/// "a snapshot of ibtool, a cache of libibnetdisc or topology text"
std::string all_kinds() {
  std::string all = "a snapshot of ibtool";
  const auto kinds = formats::fabric_formats();
  for (const auto& kind : kinds) all.append(&kind == &kinds.back() ? " or " : ", ").append(kind.name);
  return all;
}

}  // namespace

std::string StoredFabric::lack(std::string_view what) const {
  if (format().empty()) return fmt::format("The snapshot {} has no {}", in_quotes(file_), what);
  return fmt::format("{} is {}: it has no {}", in_quotes(file_), format(), what);
}

std::string StoredFabric::remedy(std::string_view name, std::string_view they) const {
  const std::optional<Part> part = find_part(name);
  if (format().empty() && part && !is_usual(*part)) return fmt::format(": take one with --also {}", name);
  if (format().empty()) return fmt::format(": take one without --skip {0} (or with --only {0})", name);
  return fmt::format("; `ibtool snapshot` keeps {}", they);
}

std::string StoredFabric::why_without(std::string_view name, std::string_view what) {
  return has_part(name) ? std::string() : lack(what) + remedy(name, "them");
}

std::unique_ptr<StoredFabric> open_fabric(const std::string& file) {
  if (is_snapshot_file(file)) return std::make_unique<Snapshot>(file);
  const std::string content = read_file(file);
  const Bytes bytes = as_bytes(content);
  const auto kinds = formats::fabric_formats();
  const auto format = std::ranges::find_if(kinds, [bytes](const auto& one) { return one.is_one(bytes); });
  if (format == kinds.end()) throw UsageError(fmt::format("{} holds no fabric: it is not {}", in_quotes(file), all_kinds()));
  try {
    return std::make_unique<ImportedFabric>(file, *format, bytes);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{} cannot be read as {}: {}", in_quotes(file), format->name, error.message()));
  }
}

}  // namespace ib::snapshot
