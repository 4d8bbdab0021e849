// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cache also keeps data of libibnetdisc that the model does not have, so that a loaded fabric is stored unchanged.
#include "tools/shared/stored_fabric.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/find_port.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t largest_file = std::size_t{1} << 29U;  // 2,000,000 ports take 200 MB

Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

CannotLoad not_a_fabric(const std::string& file, const UsageError& error) {
  return CannotLoad(fmt::format("{} can not be read as a stored fabric: {}", in_quotes(file), error.message()));
}

class StoredFabric final : public FabricSource {
 public:
  explicit StoredFabric(std::string file) : file_(std::move(file)) {}

  std::string_view name() const override { return {}; }
  std::shared_ptr<const formats::NetdiscCache> stored() const override { return cache_; }
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) override {
    if (wanted.notice) wanted.notice(fmt::format("Loading discovery cache from {}", in_quotes(file_)));
    Fabric loaded;
    load_fabric(file_, loaded);
    cache_ = loaded.stored;
    into = std::move(loaded);
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
    throw not_a_fabric(file, error);
  }
}

std::unique_ptr<FabricSource> stored_fabric(const std::string& file) { return std::make_unique<StoredFabric>(file); }

void load_fabric(const std::string& file, Fabric& fabric) {
  if (!snapshot::is_snapshot_file(file)) fabric.stored = read_cache(file);
  try {
    if (fabric.stored) return fill_subnet(*fabric.stored, fabric.subnet);
    static_cast<subnet::SweptSubnet&>(fabric) = snapshot::Snapshot(file).read_fabric(nullptr);
  } catch (const UsageError& error) {
    throw fabric.stored ? not_a_fabric(file, error) : CannotLoad(error.message());
  }
}

}  // namespace ib::tools
