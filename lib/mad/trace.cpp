// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The lines of -d and -dd.
#include "mad/trace.hpp"

#include <fmt/format.h>

#include "mad/describe.hpp"
#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

void LineTracer::dump(std::string_view what, Bytes mad) const {
  if (detail_ >= 2) write_(fmt::format("{} {}\n{}", what, describe(mad), dump_packet(mad, keys_)));
}

void LineTracer::completed(Bytes request, const path::Path& path, Bytes reply) {
  const std::string what = describe(request);
  write_(reply.empty() ? fmt::format("RPC {} TIMED OUT to '{}'.", what, path::to_text(path))
                       : fmt::format("RPC {} completed to '{}' len {}.", what, path::to_text(path), reply.size()));
  dump("Request", request);
  if (!reply.empty()) dump("Reply", reply);
}

void LineTracer::retried(Bytes request, const path::Path& path) {
  write_(fmt::format("RPC {} retry to '{}'.", describe(request), path::to_text(path)));
}

void LineTracer::unexpected(Bytes mad, const path::Path& path, bool late) {
  std::string text = late ? fmt::format("Got late reply {} from '{}'.\n", describe(mad), path::to_text(path))
                          : fmt::format("Got unexpected MAD from '{}'.\n", path::to_text(path));
  if (detail_ >= 2 && mad.size() >= header_size) text += dump_packet(mad, keys_);
  write_(text);
}

void LineTracer::segment(Bytes mad, const path::Path& path, bool sent) {
  if (detail_ >= 2) write_(fmt::format("RMPP {} {} '{}'.", describe_segment(mad), sent ? "to" : "from", path::to_text(path)));
}

void LineTracer::requested(Bytes mad, const path::Path& path) {
  write_(fmt::format("RPC {} received from '{}' len {}.", describe(mad), path::to_text(path), mad.size()));
  dump("Incoming request", mad);
}

void LineTracer::replied(Bytes mad, const path::Path& path) {
  write_(fmt::format("RPC {} reply to '{}'", describe(mad), path::to_text(path)));
  dump("Outgoing reply", mad);
}

}  // namespace ib::mad
