// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tracing: what -d and -dd show of the MADs. The engine calls a Tracer only if there is one, and formats nothing itself.
#pragma once

#include <functional>
#include <string_view>

#include "mad/request.hpp"

namespace ib::mad {

class Tracer {
 public:
  virtual ~Tracer() = default;
  /// A call ended: with `reply`, or without where it is empty.
  virtual void completed(Bytes request, const path::Path& path, Bytes reply) = 0;
  /// A request is about to be sent again.
  virtual void retried(Bytes request, const path::Path& path) = 0;
  /// A MAD came that no waiting call explains; `late`: it answers a request of ours whose call has ended.
  virtual void unexpected(Bytes mad, const path::Path& path, bool late) = 0;
  /// A packet of an RMPP transfer, which the engine does itself, came, or was sent.
  virtual void segment(Bytes /*mad*/, const path::Path& /*path*/, bool /*sent*/) {}
  /// A request came for a server.
  virtual void requested(Bytes /*mad*/, const path::Path& /*path*/) {}
  /// A server has sent an answer.
  virtual void replied(Bytes /*mad*/, const path::Path& /*path*/) {}
};

/// Tells `write` what a debugging user wants to know. `detail` 1: one line for each call; 2: requests and replies decoded too.
class LineTracer final : public Tracer {
 public:
  using Write = std::function<void(std::string_view text)>;  ///< takes one message: a line, and for packets the lines of their dump
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
