// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An agent for congestion control (IBA annex A10), for test_congestion.py: `serve-cc switch|ca`, which says of whom its log is. What is set
// is kept. Requests with a CC_Key other than its own are answered while its protection bit is not set, and not at all while it is.
#include <fmt/core.h>

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "iba-gen/cc.hpp"
#include "mad/server.hpp"
#include "mad/umad.hpp"

using namespace ib;

namespace {

constexpr std::size_t key_offset = 24, log_offset = 32, data_offset = 64, data_size = 192;  // IBA A10.4.1

/// A log with two events.
template <class Log>
std::vector<std::uint8_t> packed_log(const Log& log) {
  std::vector<std::uint8_t> bytes(data_offset - log_offset + data_size);
  log.pack(MutableBytes(bytes).first(Log::wire_size));
  return bytes;
}

std::vector<std::uint8_t> log_of_switch() {
  cc::CongestionLogSwitch log;
  log.log_type = 1;
  log.congestion_flags = 0x81;
  log.log_events_counter = 515;
  log.current_time_stamp = 0x12345678;
  log.port_map[31] = 0x16;
  log.port_map[0] = 0xa5;
  log.entry_list[0] = {.slid = Lid{3}, .dlid = Lid{49151}, .sl = 15, .timestamp = 99};
  log.entry_list[14].timestamp = 4000000000;
  return packed_log(log);
}

std::vector<std::uint8_t> log_of_ca() {
  cc::CongestionLogCa log;
  log.log_type = 2;
  log.threshold_event_counter = 7;
  log.threshold_congestion_event_map = 0x8001;
  log.current_time_stamp = 77;
  log.log_event[0] = {
      .local_qp = 0xabcdef, .sl = 3, .service_type = 9, .remote_qp = 0x123456, .local_lid = Lid{4}, .remote_lid = Lid{5}, .timestamp = 88};
  log.log_event[12].remote_lid = Lid{1};
  return packed_log(log);
}

class Agent {
 public:
  Agent(mad::Server& server, const sys::EndPort& end_port, bool is_switch) : server_(server), end_port_(end_port) {
    log_ = is_switch ? log_of_switch() : log_of_ca();
    // Every attribute has bytes that are not zero, so that fields which are mixed up are seen.
    for (std::uint16_t attribute = 0x11; attribute <= 0x18; ++attribute) {
      for (std::uint32_t block = 0; block < 4; ++block) {
        auto& bytes = values_[{attribute, block}];
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes.at(i) = static_cast<std::uint8_t>(i * 37 + attribute + block * 11);
      }
    }
    store_be(values_[{0x12, 0}].data(), std::uint64_t{0});
    values_[{0x12, 0}][8] = 0;  // nothing is protected
    for (std::uint32_t block = 0; block < 4; ++block) store_be(values_[{0x17, block}].data(), std::uint16_t{130});
  }

  void serve() {
    server_.serve(mad::service_of<cc::CongestionInfo>());
    for (const std::uint8_t method : {mad::method::get, mad::method::set}) {
      for (std::uint16_t attribute = 0x11; attribute <= 0x18; ++attribute)
        server_.on(mad::mgmt_class::congestion, method, attribute, [this](const mad::Incoming& incoming) { answer(incoming); });
    }
    server_.on(mad::mgmt_class::congestion, mad::method::get, 1, [this](const mad::Incoming& incoming) {
      std::array<std::uint8_t, 72> info{1, 2, 0x01, 0x02, 0, 0, 0, 17};
      server_.send_reply(incoming, Bytes(info));
    });
  }

 private:
  bool may(const mad::Incoming& incoming) {
    const auto& info = values_[{0x12, 0}];
    const bool is_protected = (info[8] & 0x80U) != 0;
    return !is_protected || load_be<std::uint64_t>(info.data()) == load_be<std::uint64_t>(&incoming.bytes()[key_offset]);
  }

  void answer(const mad::Incoming& incoming) {
    if (!may(incoming)) return;
    const std::uint16_t attribute = incoming.header().attribute_id();
    if (attribute == cc::CongestionLogSwitch::attribute_id) return send_log(incoming);
    const auto value = values_.find({attribute, incoming.header().attribute_modifier()});
    if (value == values_.end()) throw incoming.error(mad::status::invalid_attribute_or_modifier, "no such block");
    if (incoming.header().method() == mad::method::set) std::ranges::copy(incoming.payload(), value->second.begin());
    server_.send_reply(incoming, Bytes(value->second));
  }

  /// The log begins before the data: the answer repeats a request that has it there.
  void send_log(const mad::Incoming& incoming) {
    std::vector<std::uint8_t> bytes(incoming.bytes().begin(), incoming.bytes().end());
    const auto data = log_.begin() + (data_offset - log_offset);
    std::copy(log_.begin(), data, bytes.begin() + log_offset);
    mad::Source source;
    source.slid = incoming.path().ib().slid;
    source.sqpn = 1;
    source.qkey = path::qp1_qkey;
    server_.send_reply(mad::Incoming(bytes, source, end_port_), Bytes(log_).subspan(data_offset - log_offset));
  }

  mad::Server& server_;
  const sys::EndPort& end_port_;
  std::vector<std::uint8_t> log_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::array<std::uint8_t, data_size>> values_;  // by attribute and modifier
};

}  // namespace

int main(int argc, char** argv) {
  const sys::DeviceList devices = sys::DeviceList::read();
  try {
    async::Loop loop;
    const sys::EndPort& end_port = devices.default_end_port();
    mad::Rpc mads(loop, mad::open_umad(end_port));
    mad::Server server(mads);
    Agent agent(server, end_port, argc > 1 && std::string_view(argv[1]) == "switch");
    agent.serve();
    server.set_reporter([](const Error& error) { fmt::print(stderr, "refused: {}\n", error.what()); });
    loop.run(server.run());
  } catch (const Error& error) {
    for (const std::string& line : error.lines(1)) fmt::print(stderr, "{}\n", line);
    return 1;
  }
}
