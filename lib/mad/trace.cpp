// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The lines of -d and -dd.
#include "mad/trace.hpp"

#include <fmt/format.h>

#include "mad/describe.hpp"

namespace ib::mad {

void LineTracer::completed(Bytes request, const path::Path& path, Bytes reply) {
  const std::string what = describe(request);
  std::string text = reply.empty() ? fmt::format("D: RPC {} TIMED OUT to '{}'.\n", what, path::to_text(path))
                                   : fmt::format("D: RPC {} completed to '{}' len {}.\n", what, path::to_text(path), reply.size());
  if (detail_ >= 2) {
    text += fmt::format("D: Request {}\n{}", what, dump_packet(request));
    if (!reply.empty()) text += fmt::format("D: Reply {}\n{}", describe(reply), dump_packet(reply));
  }
  write_(text);
}

void LineTracer::retried(Bytes request, const path::Path& path) {
  write_(fmt::format("D: RPC {} retry to '{}'.\n", describe(request), path::to_text(path)));
}

void LineTracer::unexpected(Bytes mad, const path::Path& path, bool late) {
  std::string text = late ? fmt::format("D: Got late reply {} from '{}'.\n", describe(mad), path::to_text(path))
                          : fmt::format("D: Got unexpected MAD from '{}'.\n", path::to_text(path));
  if (detail_ >= 2 && mad.size() >= header_size) text += dump_packet(mad);
  write_(text);
}

}  // namespace ib::mad
