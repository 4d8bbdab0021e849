// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/cache.hpp"

#include <utility>

namespace ib::snapshot {

Cache::Cache(mad::Transactor& below, std::string file, Keys keys)
    : Transactor(below.end_port()), below_(below), recording_(below), file_(std::move(file)), keys_(keys) {
  sa_path() = below.sa_path();
}

void Cache::begin(const subnet::Subnet& subnet) {
  swept_ = subnet;
  write_into(Writer::Begin::empty, swept_);
  writer_->put_origin(end_port());
  writer_->put_fabric(swept_);
}

void Cache::use() {
  snapshot_.emplace(file_);
  stored_.emplace(*snapshot_, end_port(), keys_);
}

void Cache::write_into(Writer::Begin how, const subnet::Subnet& subnet) {
  writer_.emplace(file_, keys_, how);
  recording_.record(subnet, *writer_);
}

bool Cache::save() {
  if (!writer_) return false;
  writer_->commit();
  writer_.reset();
  return true;
}

mad::Task<mad::Result<mad::Reply>> Cache::try_call(const mad::Request& request) {
  if (!mad::is_smp(request.mgmt_class) || request.method != mad::method::get) {
    mad::Result<mad::Reply> live = co_await below_.try_call(request);
    co_return live;
  }
  if (stored_) {
    mad::Result<mad::Reply> stored = co_await stored_->try_call(request);
    if (stored || dynamic_cast<const NotRead*>(&stored.error()) == nullptr) co_return stored;
    if (!writer_) write_into(Writer::Begin::with_old_content, stored_->subnet());
  }
  mad::Result<mad::Reply> live = co_await recording_.try_call(request);
  co_return live;
}

}  // namespace ib::snapshot
