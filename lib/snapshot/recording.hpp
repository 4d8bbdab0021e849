// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that stores the answers to what it passes on: of every Get that goes to a node of the model. Tables of the SA are
// stored by the one who reads them (Writer::put_table()).
#pragma once

#include "mad/transactor.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model.hpp"

namespace ib::snapshot {

class Recording final : public mad::Transactor {
 public:
  /// Stores nothing until record().
  explicit Recording(mad::Transactor& below);
  Recording(mad::Transactor& below, const subnet::Subnet& subnet, Writer& writer) : Recording(below) { record(subnet, writer); }
  /// From now on answers are stored in `writer`. `subnet` is the model that `writer` has; it must not grow, and both must live
  /// as long as requests are passed on.
  void record(const subnet::Subnet& subnet, Writer& writer);

  /// Throws what `writer` throws, besides what the Transactor below throws.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  void store(const mad::Request& request, const mad::Result<mad::Reply>& result);

  mad::Transactor& below_;
  const subnet::Subnet* subnet_{};
  Writer* writer_{};
};

}  // namespace ib::snapshot
