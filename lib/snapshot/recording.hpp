// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that stores what became of what it passes on: of every Get that goes to a node of the model. Tables of the SA are
// stored by the one who reads them (Writer::put_table()).
#pragma once

#include "mad/transactor.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model.hpp"

namespace ib::snapshot {

class Recording final : public mad::Transactor {
 public:
  /// `subnet` is the model that `writer` has; it must not grow, and both must live as long as requests are passed on.
  Recording(mad::Transactor& below, const subnet::Subnet& subnet, Writer& writer);

  /// Throws what `writer` throws, besides what the Transactor below throws.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Transactor& below_;
  const subnet::Subnet& subnet_;
  Writer& writer_;
};

/// Whether a request got a reply: what was asked, or a refusal.
bool was_answered(const mad::Result<mad::Reply>& result);
/// Stores in `writer`, whose model is `subnet`, what became of a request, if that was a Get to a node of the model. Throws what `writer`
/// throws.
void store(Writer& writer, const subnet::Subnet& subnet, const mad::Request& request, const mad::Result<mad::Reply>& result);

}  // namespace ib::snapshot
