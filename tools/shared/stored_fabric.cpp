// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cache also keeps data of libibnetdisc that the model does not have, so that a loaded fabric is stored unchanged.
#include "tools/shared/stored_fabric.hpp"

#include <fmt/format.h>

#include <numeric>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/find_port.hpp"
#include "subnet/order.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t largest_file = std::size_t{1} << 29U;  // 2,000,000 ports take 200 MB

Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

void fill(const formats::NetdiscCache& cache, subnet::Subnet& subnet, const std::string& file) {
  try {
    fill_subnet(cache, subnet);
  } catch (const UsageError& error) {
    throw CannotLoad(fmt::format("{} can not be read as a stored fabric: {}", in_quotes(file), error.message()));
  }
}

/// The fabric of a snapshot. Throws CannotLoad.
subnet::SweptSubnet fabric_of_snapshot(const std::string& file) {
  try {
    return snapshot::Snapshot(file).read_fabric(nullptr);
  } catch (const UsageError& error) {
    throw CannotLoad(error.message());
  }
}

class StoredFabric final : public FabricSource {
 public:
  StoredFabric(std::string file, bool quiet) : file_(std::move(file)), quiet_(quiet) {}

  std::string_view name() const override { return {}; }
  std::shared_ptr<const formats::NetdiscCache> stored() const override { return cache_; }
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) override {
    if (wanted.tell && !quiet_) wanted.tell(fmt::format("Loading discovery cache from {}", in_quotes(file_)));
    if (snapshot::is_snapshot_file(file_)) {
      into = fabric_of_snapshot(file_);
    } else {
      cache_ = read_cache(file_);
      into = {};
      fill(*cache_, into.subnet, file_);
    }
    if (wanted.around.path) into.subnet.start = subnet::get_port(into, *wanted.around.path);
    co_return subnet::DiscoverStats{};
  }

 private:
  std::string file_;
  bool quiet_;
  std::shared_ptr<const formats::NetdiscCache> cache_;
};

}  // namespace

std::shared_ptr<const formats::NetdiscCache> read_cache(const std::string& file) {
  try {
    const std::string content = read_regular_file(file, largest_file);
    return std::make_shared<formats::NetdiscCache>(formats::read_netdisc_cache(bytes_of(content)));
  } catch (const SysError& error) {
    throw CannotLoad(error.message());
  } catch (const UsageError& error) {
    throw CannotLoad(fmt::format("{} can not be read as a stored fabric: {}", in_quotes(file), error.message()));
  }
}

std::unique_ptr<FabricSource> stored_fabric(const std::string& file, bool quiet) { return std::make_unique<StoredFabric>(file, quiet); }

void load_fabric(const std::string& file, Fabric& fabric) {
  if (snapshot::is_snapshot_file(file)) {
    static_cast<subnet::SweptSubnet&>(fabric) = fabric_of_snapshot(file);
    return;
  }
  fabric.stored = read_cache(file);
  fill(*fabric.stored, fabric.subnet, file);
}

void store_fabric(const Fabric& fabric, bool asks_fdr10, const std::string& file) {
  if (fabric.stored) return replace_file(file, formats::netdisc_cache_file(*fabric.stored));
  const subnet::LegacySweep sweep = subnet::legacy_sweep(fabric.subnet, false, asks_fdr10);
  const std::vector<subnet::NodeIndex> order = subnet::legacy_order(fabric.subnet, sweep);
  replace_file(file, formats::netdisc_cache_file(formats::cache_of(fabric.subnet, sweep, order)));
}

std::vector<subnet::NodeIndex> diags_order(const Fabric& fabric, bool asks_fdr10) {
  if (!fabric.stored) return subnet::legacy_order(fabric.subnet, subnet::legacy_sweep(fabric.subnet, false, asks_fdr10));
  std::vector<subnet::NodeIndex> order(fabric.subnet.nodes().size());
  std::iota(order.rbegin(), order.rend(), subnet::NodeIndex{});
  return order;
}

}  // namespace ib::tools
