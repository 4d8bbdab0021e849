// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A server and whatever arrives at it: MADs of any length with any header, segments and ACKs of transfers among them. It says at
// most one thing to each that is no segment, to who sent it and with its transaction ID, nothing to answers, and serves on.
#include <algorithm>
#include <set>

#include "fuzz.hpp"
#include "iba-gen/ofa.hpp"
#include "iba-gen/sa.hpp"
#include "mad/sysstat.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"
#include "support/send_table.hpp"

namespace ibtest::fuzz_server {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::must;

namespace {

constexpr std::uint64_t good_tid = 0x600d;

std::string ping(std::uint64_t tid, std::uint8_t mgmt_class = mad::mgmt_class::ofa_sysstat,
                 std::uint16_t attribute = ofa::SysStatPing::attribute_id, std::uint8_t class_version = 1) {
  const path::Path nowhere = path::IbPath();
  auto packet = mad::to_mad({.path = nowhere,
                             .mgmt_class = mgmt_class,
                             .class_version = class_version,
                             .attribute_id = attribute,
                             .payload = {},
                             .oui = mad::openib_oui});
  store_be(&packet[8], tid);
  return {packet.begin(), packet.end()};
}

/// A host that serves both pings, processors that need segments, and a table of an SA.
class Host {
 public:
  explicit Host(bool kernel_does_rmpp) {
    device_.name = "fake0";
    port_.device = &device_;
    port_.number = 1;
    port_.lid = Lid{1};
    port_.pkeys = {default_pkey};
    auto channel = std::make_unique<ibtest::FakeChannel>(
        port_, [this](ibtest::FakeChannel&, Bytes mad, const path::Path& path, async::Duration) { check_sent(mad, path); });
    channel_ = channel.get();
    channel_->rmpp = kernel_does_rmpp;
    rpc_ = std::make_unique<mad::Rpc>(loop_, std::move(channel));
    server_ = std::make_unique<mad::Server>(*rpc_);
    mad::serve_ping(*server_, "host");
    mad::serve_sysstat(*server_, "host", std::string(5000, 'c'));
    server_->serve(mad::Service{.mgmt_class = mad::mgmt_class::sa, .class_version = 2});
    server_->on(mad::mgmt_class::sa, mad::method::get_table, sa::NodeRecord::attribute_id, [this](const mad::Incoming& incoming) {
      const auto wanted = incoming.as<sa::NodeRecord>();
      if (wanted.lid.value % 2 != 0) throw incoming.error(mad::status::invalid_attribute_or_modifier, "odd");
      ibtest::send_table(*server_, incoming, std::vector<sa::NodeRecord>(wanted.lid.value % 50));
    });
  }

  void take(std::vector<std::uint8_t> mad, const mad::Source& source) {
    const bool segment = mad::RmppView::is_active(mad);
    // Those of the classes with RMPP may end with their data.
    const bool may_end_early = mad.size() >= mad::header_size && mad::has_rmpp(mad[1]) && mad.size() >= mad::data_area(mad[1]).offset;
    const bool whole = mad.size() == mad::packet_size || (may_end_early && mad.size() < mad::packet_size && !segment);
    if (mad.size() >= mad::header_size) tids_.insert(load_be<std::uint64_t>(&mad[8]));
    senders_.insert(source.slid.value);
    const bool answer = whole && (mad[3] & 0x80) != 0;
    sent_ = 0;
    channel_->source = source;
    channel_->deliver(std::move(mad), 1us);
    run(10us);
    if (!segment) must(sent_ <= (whole && !answer ? 1U : 0U), "an answer too many");
  }
  void run(async::Duration time) { loop_.run(wait(time)); }
  std::size_t sent() const { return sent_; }

 private:
  async::Task<> wait(async::Duration time) { co_await loop_.sleep_for(time); }

  void check_sent(Bytes mad, const path::Path& path) {
    const bool segment = mad::RmppView::is_active(mad);
    if (!segment) ++sent_;
    must(mad.size() == mad::packet_size || (channel_->rmpp && segment), "a MAD of an odd length");
    must(segment || (mad[3] & 0x80) != 0, "a request");
    must(tids_.contains(load_be<std::uint64_t>(&mad[8])), "a transaction that nobody began");
    must(senders_.contains(path.ib().dlid.value), "an answer to a stranger");
  }

  sys::Device device_;
  sys::EndPort port_;
  ibtest::FakeClock clock_;
  async::Loop loop_{clock_};
  ibtest::FakeChannel* channel_{};
  std::unique_ptr<mad::Rpc> rpc_;
  std::unique_ptr<mad::Server> server_;
  std::set<std::uint64_t> tids_;
  std::set<std::uint16_t> senders_;
  std::size_t sent_{};
};

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  Bytes input(data, size);
  const auto byte = [&input]() -> std::uint8_t {
    if (input.empty()) return 0;
    const std::uint8_t first = input[0];
    input = input.subspan(1);
    return first;
  };
  Host host((byte() & 1) != 0);
  for (int packets = 0; !input.empty() && packets < 40; ++packets) {
    const std::uint8_t what = byte();
    mad::Source source;
    source.slid = Lid{static_cast<std::uint16_t>(what >> 6 | 8)};
    source.sqpn = 1;
    if ((what & 1) != 0) {
      source.has_grh = true;
      source.dgid = Gid::from(link_local_prefix, Guid{byte()});
      source.pkey_index = byte();
      source.sl = byte();
      source.dlid_bits = byte();
    }
    std::size_t length = mad::packet_size;
    if ((what & 6) == 6) length = std::size_t{byte()} * 4;
    const Bytes some = input.first(std::min(length, input.size()));
    input = input.subspan(some.size());
    std::vector<std::uint8_t> mad(some.begin(), some.end());
    mad.resize(length);
    host.take(std::move(mad), source);
    if ((what & 0x38) == 0x38) host.run(5s);
  }
  const std::string good = ping(good_tid);
  mad::Source source;
  source.slid = Lid{7};
  source.sqpn = 1;
  host.take({good.begin(), good.end()}, source);
  must(host.sent() == 1, "a server that has ceased to serve");
  host.run(60s);
  return 0;
}

std::vector<std::string> seeds() {
  const auto packet = [](const std::string& mad, int what = 0) { return std::string(1, static_cast<char>(what)) + mad; };
  const std::string cpus = ping(3, mad::mgmt_class::ofa_sysstat, ofa::SysStatCpuInfo::attribute_id);
  std::string table = ping(4, mad::mgmt_class::sa, sa::NodeRecord::attribute_id, 2);
  table[3] = static_cast<char>(mad::method::get_table);
  table[57] = 40;  // the LID
  const auto control = [](const std::string& request, rmpp::Type type, std::uint32_t segment, std::uint32_t window) {
    mad::Packet bytes{};
    std::copy(request.begin(), request.end(), bytes.begin());
    mad::set_rmpp(bytes, type, 0, {}, segment, window);
    bytes[26] |= 1;
    return std::string(bytes.begin(), bytes.end());
  };
  const std::string ack = control(cpus, rmpp::Type::ack, 1, 40), stop = control(table, rmpp::Type::stop, 0, 0),
                    data = control(table, rmpp::Type::data, 1, 220);
  const auto segment = [](const std::string& request, std::uint32_t number, std::uint8_t flags, std::uint32_t length) {
    mad::Packet bytes{};
    std::copy(request.begin(), request.end(), bytes.begin());
    mad::set_rmpp(bytes, rmpp::Type::data, flags, {}, number, length);
    return std::string(bytes.begin(), bytes.end());
  };
  const auto whole = [](std::string request, std::size_t length) {
    request.resize(length);
    request[26] = static_cast<char>(rmpp::flags::active);
    return static_cast<char>(length / 4) + request;
  };
  std::vector<std::string> all;
  for (const char kernel : {'\0', '\1'}) {
    all.push_back(kernel + packet(ping(1)) + packet(ping(2, mad::mgmt_class::ofa_ping, 0)));
    all.push_back(kernel + packet(cpus) + packet(ack) + packet(ack, 0x38) + packet(ping(5), 0x40));
    all.push_back(kernel + packet(table) + packet(stop) + packet(table, 0x80) + packet(data));
    all.push_back(kernel + packet(std::string("\2\3\4\5", 4) + ping(1), 1) + packet("\x10", 6));
    // A ping of two segments, and one of 1020 bytes as a kernel puts it together.
    all.push_back(kernel + packet(segment(ping(6), 1, rmpp::flags::first, 432)) + packet(segment(ping(6), 2, rmpp::flags::last, 220)));
    all.push_back(kernel + packet(whole(ping(7), 1020), 6));
  }
  return all;
}

}  // namespace ibtest::fuzz_server
