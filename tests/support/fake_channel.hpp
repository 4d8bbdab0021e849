// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A channel that a test plays the network of: every send goes to a function of the test, which has answers, reports
// and silence delivered after a time on the loop's (fake) clock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "async/loop.hpp"
#include "mad/channel/channel.hpp"

namespace ibtest {

/// A host whose one port, fake0/1, has the P_Keys 0xffff and 0x8001 and its SM at LID 2.
struct FakeHost {
  explicit FakeHost(std::uint16_t lid = 1);
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;
  /// The way from this port to a LID, to QP0 or QP1. No timeout: as long as the engine says.
  ib::path::Path to_lid(std::uint16_t lid, unsigned qp, std::optional<ib::async::Duration> timeout, unsigned retries) const;
  ib::sys::Device device;
  ib::sys::EndPort port;
};

class FakeChannel final : public ib::mad::Channel {
 public:
  /// Called for every MAD sent. May throw what Channel::send() may.
  using Network = std::function<void(FakeChannel& channel, ib::Bytes mad, const ib::path::Path& path, ib::async::Duration timeout)>;

  FakeChannel(const ib::sys::EndPort& end_port, Network network) : Channel(end_port), network_(std::move(network)) {}

  void send(ib::Bytes mad, const ib::path::Path& path, ib::async::Duration timeout) override;
  void serve(const ib::mad::Service& service) override {
    services.push_back(service);
    if (on_serve) on_serve(*this);
  }
  std::uint64_t tid_mask() const override { return mask; }
  bool reports_timeouts() const override { return reports; }
  bool does_rmpp(std::uint8_t) const override { return rmpp; }
  unsigned max_in_flight() const override { return most_in_flight; }

  /// What the network does with it, for use by Network functions and tests.
  void deliver(std::vector<std::uint8_t> mad, ib::async::Duration after);
  void fail(ib::Bytes mad, int error, ib::async::Duration after);
  void later(ib::async::Duration after, std::function<void()> what);
  void break_down(int error);
  /// Reports `mad` as the kernel reports a MAD that could not be sent.
  void report_failure(ib::Bytes mad, int error) { events_->send_failed(mad, error); }

  std::uint64_t mask = 0xffffffffU;  ///< as umad; ~0 as verbs
  bool reports = true;               ///< as the kernel: an unanswered request is reported after its timeout
  bool rmpp = false;                 ///< whether it says that it does RMPP
  unsigned most_in_flight = ~0U;
  int refuse_sends = 0;  ///< the error of every send; 0 for none
  /// Statistics.
  std::size_t sent = 0, most_pending = 0;
  std::size_t pending() const { return pending_.size(); }
  std::vector<ib::mad::Service> services;              ///< what serve() was called with
  std::function<void(FakeChannel& channel)> on_serve;  ///< called by serve(); may throw what that may
  /// MADs that will arrive.
  std::size_t in_network() const { return deliveries_.size(); }
  /// The source that received MADs show.
  ib::mad::Source source;

 private:
  struct Delivery final : ib::async::Timer {
    void expired() override { channel->due(*this); }
    FakeChannel* channel{};
    std::vector<std::uint8_t> mad;
    int error{};
    std::function<void()> what;  // instead of a MAD
  };
  /// A request that the "kernel" waits with for its answer, by the low half of its transaction ID.
  struct Pending final : ib::async::Timer {
    void expired() override { channel->timed_out(*this); }
    FakeChannel* channel{};
    std::vector<std::uint8_t> header;
  };
  void due(Delivery& delivery);
  void timed_out(Pending& pending);

  Network network_;
  std::vector<std::unique_ptr<Delivery>> deliveries_;
  std::map<std::uint32_t, std::unique_ptr<Pending>> pending_;
};

/// An answer to `request`: the same MAD with the method of a response, the D bit where it belongs and `status`.
std::vector<std::uint8_t> answer_to(ib::Bytes request, std::uint16_t status = 0);

}  // namespace ibtest
