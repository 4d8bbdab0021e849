// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that answers from a stored fabric and sends nothing. A request that failed when the fabric was stored fails in the same way.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/keys.hpp"
#include "mad/transactor.hpp"
#include "sa/stored_tables.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/model.hpp"

namespace ib::snapshot {

/// The operation changes a fabric, or needs a live one: a file cannot do it.
class NeedsFabric : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Whether a request got a reply: the attribute, or a refusal.
bool was_answered(const mad::Result<mad::Reply>& result);

class SnapshotTransactor final : public mad::Transactor {
 public:
  /// Answers as if the requests were sent from `end_port`, an end port of `stored`. Both must outlive this object. A key that was set but
  /// is not stored has all bits set with Keys::hidden, so that the code that hides keys hides it; with Keys::shown it is zero.
  SnapshotTransactor(StoredFabric& stored, const sys::EndPort& end_port, Keys keys);
  /// Answers as if the requests were sent from the port by which the fabric was read.
  explicit SnapshotTransactor(StoredFabric& stored) : SnapshotTransactor(stored, stored.end_port(), Keys::hidden) {}

  /// The stored answer, or the stored failure; mad::NotRead for a request that was not sent. Throws NeedsFabric for all methods but Get and
  /// GetTable, which a file cannot answer. Throws UsageError for a damaged file.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

  /// The stored answer to a Get that goes to a node, or the stored refusal. Nothing for a request that was not sent or not answered. Throws
  /// UsageError for a damaged file.
  std::optional<mad::Result<mad::Reply>> known_answer(const mad::Request& request);

  /// The model of the fabric, by which paths are followed. It is read at the first call. Throws what StoredFabric::read_fabric() throws.
  const subnet::Subnet& subnet();

 private:
  mad::Result<mad::Reply> answer_of_node(const mad::Request& request, const subnet::PathEnd& place);
  std::optional<mad::Result<mad::Reply>> load_table(const QueryInfo& table);
  void set_arrival(std::vector<std::uint8_t>& payload, const AnswerKey& key, const subnet::PathEnd& place);
  std::uint8_t arrival_by_lid(subnet::NodeIndex node);
  std::optional<mad::Result<mad::Reply>> swept_failure(const mad::Request& request, const AnswerKey& key) const;
  std::string why_unread(const AnswerKey& key);
  mad::Result<mad::Reply> not_read(const mad::Request& request, std::string_view why) const;
  std::optional<StoredAnswer> find(const mad::Request& request, const AnswerKey& key);

  StoredFabric& stored_;
  Keys keys_;
  std::optional<subnet::SweptSubnet> fabric_;
  sa::StoredAnswers sa_;
  // What the sweep got instead of an answer: by node, attribute and port of a PortInfo, and by the port beyond which nothing answered.
  std::map<std::tuple<subnet::NodeIndex, std::string, std::uint32_t>, const subnet::Failure*> missed_;
  std::map<subnet::PortIndex, const mad::MadTimeout*> silent_;
};

}  // namespace ib::snapshot
