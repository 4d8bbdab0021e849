// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that answers from a snapshot and sends nothing. What failed when the snapshot was taken fails in the same way.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mad/transactor.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/model.hpp"

namespace ib::snapshot {

/// A snapshot does not have what is asked for. The message says what to read when one is taken.
class NotRead : public Error {
 public:
  using Error::Error;
};

/// What is wanted changes a fabric, or needs one that is alive.
class NeedsFabric : public UsageError {
 public:
  using UsageError::UsageError;
};

class StoredAnswers final : public mad::Transactor {
 public:
  /// Answers as if at `end_port`, one of those of `snapshot`, which both must outlive this.
  StoredAnswers(Snapshot& snapshot, const sys::EndPort& end_port);

  /// The stored answer, or the stored failure. Throws NotRead for what was not asked, NeedsFabric for all but Get and GetTable,
  /// and UsageError for a damaged file.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Result<mad::Reply> answer(const mad::Request& request);
  mad::Result<mad::Reply> answer_of_sa(const mad::Request& request);
  mad::Result<mad::Reply> answer_of_node(const mad::Request& request, const Place& place);
  mad::Result<mad::Reply> silence(const mad::Request& request, const Place& place);
  [[noreturn]] void not_read(const mad::Request& request);
  const subnet::Subnet& subnet();

  Snapshot& snapshot_;
  std::optional<subnet::Subnet> subnet_;
};

}  // namespace ib::snapshot
