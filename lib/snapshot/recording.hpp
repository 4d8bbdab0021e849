// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that stores the answer to, or the failure of, every Get that it passes on to a node of the model. Tables of the SA are
// stored by the code that reads them (Writer::put_table()).
#pragma once

#include "mad/transactor.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/model.hpp"

namespace ib::snapshot {

class Recording final : public mad::Transactor {
 public:
  /// `subnet` is the model that `writer` has; it must not grow, and both must live as long as requests are passed on.
  Recording(mad::Transactor& below, const subnet::Subnet& subnet, Writer& writer);

  /// Throws the errors of `writer` and those of the Transactor below.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Transactor& below_;
  const subnet::Subnet& subnet_;
  Writer& writer_;
};

/// Whether a request got a reply: the attribute, or a refusal.
bool was_answered(const mad::Result<mad::Reply>& result);
/// Stores the answer to, or the failure of, a request in `writer`, whose model is `subnet`. Does nothing if the request is not a Get to a
/// node of the model. Throws what `writer` throws.
void store(Writer& writer, const subnet::Subnet& subnet, const mad::Request& request, const mad::Result<mad::Reply>& result);

}  // namespace ib::snapshot
