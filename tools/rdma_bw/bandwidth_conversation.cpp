// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/rdma_bw/bandwidth_conversation.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/escape.hpp"

namespace ib::tools {

async::Task<> BandwidthConversation::send(BandwidthMessage message) {
  const BandwidthMessage::Wire wire = message.pack();
  co_await stream_.write(wire, patience);
}

async::Task<> BandwidthConversation::send(BandwidthMessage::Kind kind) {
  BandwidthMessage message;
  message.kind = kind;
  co_await send(message);
}

async::Task<BandwidthMessage> BandwidthConversation::receive(BandwidthMessage::Kind expected, async::Duration timeout) {
  BandwidthMessage::Wire wire{};
  co_await stream_.read(wire, timeout);
  co_return checked(wire, expected);
}

BandwidthMessage BandwidthConversation::checked(const BandwidthMessage::Wire& wire, BandwidthMessage::Kind expected) const {
  BandwidthMessage message;
  try {
    message = BandwidthMessage::unpack(wire);
  } catch (const Error& error) {
    throw Error(fmt::format("{} {}", peer(), error.message()));
  }
  if (message.kind == BandwidthMessage::Kind::failed) throw Error(fmt::format("{} gave up: {}", peer(), escaped(message.text)));
  if (message.kind != expected) throw Error(fmt::format("{} sent an rdma_bw message out of turn", peer()));
  return message;
}

}  // namespace ib::tools
