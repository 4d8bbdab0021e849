// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a stranger sends to the TCP port of rdma_bw: it is refused in words, or it is a message whose every number is one that the
// other end can work with, and the same when it is packed again.
#include <algorithm>

#include "base/error.hpp"
#include "fuzz.hpp"
#include "verbs/bandwidth.hpp"

namespace ibtest::fuzz_bandwidth {

using ib::verbs::BandwidthMessage;
using ib::verbs::BandwidthStage;
using ibtest::must;

int try_input(const std::uint8_t* data, std::size_t size) {
  BandwidthMessage::Wire wire{};
  std::copy_n(data, std::min(size, wire.size()), wire.begin());
  BandwidthMessage message;
  try {
    message = BandwidthMessage::unpack(wire);
  } catch (const ib::Error& error) {
    must(error.message().starts_with("sent ") || error.message().starts_with("speaks "), "a refusal that is no sentence");
    return 0;
  }
  const BandwidthMessage::Wire packed = message.pack();
  must(BandwidthMessage::unpack(packed).pack() == packed, "a message that is not what it says");
  must(message.text.size() <= 112, "a text beyond the message");
  if (message.stage != BandwidthStage::offer && message.stage != BandwidthStage::answer) return 0;
  must(message.size >= 1 && message.size <= BandwidthMessage::most_bytes && message.iterations >= 1, "an amount that can not be");
  must(message.qpn >= 2 && message.qpn < 1U << 24 && message.psn < 1U << 24, "a queue pair that can not be");
  must(message.mtu >= 1 && message.mtu <= 5 && message.path.sl <= 15 && message.path.flow_label < 1U << 20, "a path that can not be");
  return 0;
}

std::vector<std::string> seeds() {
  BandwidthMessage message;
  message.qpn = 0x4711;
  message.psn = 77;
  message.remote_key = 0xdeadbeef;
  message.address = 0x7f0000000000;
  message.size = 65536;
  message.iterations = 1000;
  message.gid.bytes[15] = 1;
  message.mtu = 4;
  message.text = "no reason";
  std::vector<std::string> all;
  for (const BandwidthStage stage :
       {BandwidthStage::offer, BandwidthStage::answer, BandwidthStage::ready, BandwidthStage::done, BandwidthStage::failed}) {
    message.stage = stage;
    const BandwidthMessage::Wire wire = message.pack();
    all.emplace_back(wire.begin(), wire.end());
  }
  return all;
}

}  // namespace ibtest::fuzz_bandwidth
