// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The output of infiniband-diags' saquery for -dd.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mad/describe.hpp"
#include "mad/packet.hpp"
#include "mad/trace.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools::saquery {

/// The dump of each query on stdout, which is the 256 bytes of the request, and the answer.
class PacketDump final : public mad::Tracer {
 public:
  PacketDump(TextOut& out, Keys keys) : out_(out), keys_(keys) {}
  void completed(Bytes request, const path::Path& /*path*/, Bytes reply) override {
    std::array<std::uint8_t, mad::packet_size> sent{};
    std::copy_n(request.begin(), std::min(request.size(), sent.size()), sent.begin());
    show("SA Request", sent);
    if (!reply.empty()) show("SA Response", reply);
  }
  void retried(Bytes /*request*/, const path::Path& /*path*/) override {}
  void unexpected(Bytes /*mad*/, const path::Path& /*path*/, bool /*late*/) override {}

 private:
  void show(std::string_view what, Bytes mad) {
    const std::vector<std::uint8_t> masked = mad::without_keys(mad);
    out_.print("{}:\n{}", what, hex_words(keys_ == Keys::shown ? mad : Bytes(masked)));
  }

  TextOut& out_;
  Keys keys_;
};

}  // namespace ib::tools::saquery
