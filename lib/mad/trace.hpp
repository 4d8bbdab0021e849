// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tracing: the messages of -d and -dd about MADs. The engine calls a Tracer only if one is set, and formats nothing itself.
#pragma once

#include <functional>
#include <string_view>

#include "mad/request.hpp"

namespace ib::mad {

/// Receives the events of an Rpc.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// A call ended. `reply` is empty if none came.
  virtual void completed(Bytes request, const path::Path& path, Bytes reply) = 0;
  /// A request is about to be sent again.
  virtual void retried(Bytes request, const path::Path& path) = 0;
  /// A MAD came that no waiting call explains. `late`: it answers a request of ours whose call has ended.
  virtual void unexpected(Bytes mad, const path::Path& path, bool late) = 0;
  /// A packet of an RMPP transfer of the engine was received, or was sent.
  virtual void segment(Bytes /*mad*/, const path::Path& /*path*/, bool /*sent*/) {}
  /// A request for a server came.
  virtual void requested(Bytes /*mad*/, const path::Path& /*path*/) {}
  /// A server has sent an answer.
  virtual void replied(Bytes /*mad*/, const path::Path& /*path*/) {}
};

/// Writes messages for a user who debugs. `detail` 1: one line for each call. `detail` 2: also the decoded requests and
/// replies.
class LineTracer final : public Tracer {
 public:
  using Write = std::function<void(std::string_view text)>;  ///< takes one message: a line, or a line and the dump of a packet
  LineTracer(int detail, Write write, Keys keys = Keys::hidden) : detail_(detail), write_(std::move(write)), keys_(keys) {}
  void completed(Bytes request, const path::Path& path, Bytes reply) override;
  void retried(Bytes request, const path::Path& path) override;
  void unexpected(Bytes mad, const path::Path& path, bool late) override;
  void segment(Bytes mad, const path::Path& path, bool sent) override;
  void requested(Bytes mad, const path::Path& path) override;
  void replied(Bytes mad, const path::Path& path) override;

 private:
  int detail_;
  Write write_;
  Keys keys_;
};

}  // namespace ib::mad
