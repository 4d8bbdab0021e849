// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An agent for congestion control on a channel adapter, for test_congestion.py: `serve_congestion [CC_KEY]`, with the preload
// ibtest-agents.so. Every attribute holds bytes that follow from their places, until it is set; the log is one of an adapter. With a
// CC_Key, requests with another one are not answered (IBA A10.4.1.1).
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "iba-gen/cc.hpp"
#include "iba-gen/mad.hpp"
#include "mad/channel/open.hpp"
#include "mad/server.hpp"
#include "programs/programs.hpp"

namespace ibtest::programs::serve_congestion {

using namespace ib;

namespace {

constexpr std::size_t key_offset = 24, log_offset = 32, data_offset = 64;  // IBA A10.4.1
constexpr std::uint8_t adapter_log = 2;                                    // LogType, IBA A10.4.3.5

class Agent {
 public:
  explicit Agent(std::uint64_t key) : key_(key) {}

  /// The answer to a request. Nothing for a wrong key.
  std::optional<std::vector<std::uint8_t>> answer(Bytes request) {
    if (key_ != 0 && load_be<std::uint64_t>(&request[key_offset]) != key_) return std::nullopt;
    const mad::HeaderView header(request);
    std::vector<std::uint8_t> reply(request.begin(), request.end());
    reply[3] = mad::response_method(header.method());
    if (header.attribute_id() == cc::CongestionLogCa::attribute_id) {
      fill(MutableBytes(reply).subspan(log_offset));
      reply[log_offset] = adapter_log;
      return reply;
    }
    const auto [value, is_new] = values_.try_emplace({header.attribute_id(), header.attribute_modifier()}, mad::packet_size - data_offset);
    if (is_new) fill(value->second);
    if (header.method() == mad::method::set) std::copy(request.begin() + data_offset, request.end(), value->second.begin());
    std::ranges::copy(value->second, reply.begin() + data_offset);
    return reply;
  }

 private:
  static void fill(MutableBytes bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(3 + 7 * i);
  }

  std::uint64_t key_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<std::uint8_t>> values_;  // by attribute and modifier
};

}  // namespace

int run(int argc, char** argv) {
  const sys::DeviceList devices = sys::DeviceList::read();
  try {
    Agent agent(argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0);
    async::Loop loop;
    mad::Rpc mads(loop, mad::open_umad(devices.default_end_port()));
    mad::Server server(mads);
    server.serve(mad::service_of<cc::CongestionInfo>());
    const auto answer = [&](const mad::Incoming& incoming) {
      // The log begins before the data area, so Server::send_reply() can not write it.
      if (const auto reply = agent.answer(incoming.bytes())) mads.send_unanswered(*reply, incoming.reply_path());
    };
    for (const std::uint8_t method : {mad::method::get, mad::method::set}) {
      for (const std::uint16_t attribute :
           {mad::ClassPortInfo::attribute_id, cc::CongestionInfo::attribute_id, cc::CongestionKeyInfo::attribute_id,
            cc::CongestionLogCa::attribute_id, cc::SwitchCongestionSetting::attribute_id, cc::SwitchPortCongestionSetting::attribute_id,
            cc::CaCongestionSetting::attribute_id, cc::CongestionControlTable::attribute_id, cc::TimeStamp::attribute_id})
        server.on(mad::mgmt_class::congestion, method, attribute, answer);
    }
    loop.run(server.run());
  } catch (const Error& error) {
    for (const std::string& line : error.lines(1)) fmt::print(stderr, "{}\n", line);
    return 1;
  }
  return 0;
}

}  // namespace ibtest::programs::serve_congestion
