// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cache also keeps data of libibnetdisc that the model does not have, so that a loaded fabric is stored unchanged.
#include "tools/shared/stored_fabric.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/find_port.hpp"

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
  explicit StoredFabric(std::string file) : file_(std::move(file)) {}

  std::string_view name() const override { return {}; }
  std::shared_ptr<const formats::NetdiscCache> stored() const override { return cache_; }
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) override {
    if (wanted.tell) wanted.tell(fmt::format("Loading discovery cache from {}", in_quotes(file_)));
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

std::unique_ptr<FabricSource> stored_fabric(const std::string& file) { return std::make_unique<StoredFabric>(file); }

void load_fabric(const std::string& file, Fabric& fabric) {
  if (snapshot::is_snapshot_file(file)) {
    static_cast<subnet::SweptSubnet&>(fabric) = fabric_of_snapshot(file);
    return;
  }
  fabric.stored = read_cache(file);
  fill(*fabric.stored, fabric.subnet, file);
}

}  // namespace ib::tools
