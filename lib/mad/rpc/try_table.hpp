// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tries that are in flight or may still be answered, by transaction ID.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"

namespace ib::mad {

class Channel;
class Rpc;
class RpcTry;

/// Owns the tries of an engine and gives them their transaction IDs. IDs are assigned in sequence, but for those whose low bits an open try
/// has: a try therefore stands in a slot of its own.
class TryTable {
 public:
  /// `channel`, which must outlive this object, decides which bits of an ID an answer returns.
  explicit TryTable(const Channel& channel);
  ~TryTable();
  TryTable(const TryTable&) = delete;
  TryTable& operator=(const TryTable&) = delete;

  /// A try with a new transaction ID. Its other members may have the values of an earlier try.
  RpcTry& add(Rpc& rpc);
  /// Takes `attempt` out. It stays valid, and add() may return it again.
  void remove(RpcTry& attempt);
  /// The try that `mad` answers or reports on, by class and transaction ID (IBA C13-19.1.1). Null if there is none.
  RpcTry* find(Bytes mad) const;
  /// Whether `mad`, which has a whole header, has the transaction ID of a try that was removed.
  bool is_late(Bytes mad) const;

 private:
  RpcTry*& slot(std::uint64_t tid) { return slots_[tid & (slots_.size() - 1)]; }

  const Channel& channel_;
  std::uint64_t first_tid_, tid_;
  std::vector<std::unique_ptr<RpcTry>> all_;  // in use or not
  std::vector<RpcTry*> free_;
  std::vector<RpcTry*> slots_;  // by the low bits of the ID; the size is a power of two
};

}  // namespace ib::mad
