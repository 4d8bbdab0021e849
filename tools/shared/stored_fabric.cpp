// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cache also keeps data of libibnetdisc that the model does not have, so that a loaded fabric is stored unchanged.
#include "tools/shared/stored_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/find_port.hpp"

namespace ib::tools {
namespace {

class StoredSource final : public FabricSource {
 public:
  /// Without a host `file` is opened.
  StoredSource(std::string file, Host* host) : file_(std::move(file)), host_(host) {}

  std::string_view name() const override { return {}; }
  std::shared_ptr<const formats::NetdiscCache> stored() const override { return cache_; }
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) override {
    if (wanted.notices != nullptr) wanted.notices->debug(fmt::format("Loading discovery cache from {}", in_quotes(file_)));
    Fabric loaded;
    if (host_ != nullptr) {  // which answers requests from the same file later
      static_cast<subnet::SweptSubnet&>(loaded) = host_->stored().read_fabric(&host_->end_port());
      loaded.stored = host_->stored().netdisc();
    } else {
      load_fabric(file_, loaded);
    }
    cache_ = loaded.stored;
    into = std::move(loaded);
    const path::Path* const start = wanted.start ? &*wanted.start : wanted.around.path ? &*wanted.around.path : nullptr;
    if (start != nullptr) into.subnet.start = subnet::get_port(into, *start);
    co_return subnet::DiscoverStats{};
  }

 private:
  std::string file_;
  Host* host_;
  std::shared_ptr<const formats::NetdiscCache> cache_;
};

}  // namespace

std::unique_ptr<FabricSource> stored_fabric(const std::string& file) { return std::make_unique<StoredSource>(file, nullptr); }

std::unique_ptr<FabricSource> stored_fabric(Host& host) { return std::make_unique<StoredSource>(host.stored().file(), &host); }

bool is_listing(const Fabric& fabric) { return std::ranges::any_of(fabric.subnet.nodes(), &subnet::Node::is_listed); }

void load_fabric(const std::string& file, Fabric& fabric) try {
  const std::unique_ptr<snapshot::StoredFabric> stored = snapshot::open_fabric(file);
  fabric.stored = stored->netdisc();
  static_cast<subnet::SweptSubnet&>(fabric) = stored->take_fabric(nullptr);
} catch (const UsageError& error) {
  throw CannotLoad(error.message());
}

void load_diags_fabric(const std::string& file, Fabric& fabric) {
  load_fabric(file, fabric);
  if (is_listing(fabric)) throw CannotLoad(fmt::format("{} is topology text, not a cache of libibnetdisc", in_quotes(file)));
}

}  // namespace ib::tools
