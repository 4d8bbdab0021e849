// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Another channel, slowed down: between one segment of an answer and the next it lets some time pass.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "mad/channel/channel.hpp"
#include "mad/rmpp/rmpp.hpp"

namespace ibtest {

class SlowChannel final : public ib::mad::Channel, private ib::async::Timer {
 public:
  SlowChannel(std::unique_ptr<ib::mad::Channel> channel, ib::async::Duration between)
      : Channel(channel->end_port()), channel_(std::move(channel)), between_(between) {}

  void send(ib::Bytes mad, const ib::path::Path& path, ib::async::Duration timeout) override {
    const bool data = ib::mad::RmppView::is_active(mad) && !ib::mad::RmppView::is_control(mad);
    if (!data || !ib::mad::HeaderView(mad).is_response()) {
      channel_->send(mad, path, timeout);
      return;
    }
    waiting_.emplace_back(std::vector<std::uint8_t>(mad.begin(), mad.end()), path);
    if (!armed()) loop_->arm(*this, loop_->now() + between_);
  }
  void serve(const ib::mad::Service& service) override { channel_->serve(service); }
  std::uint64_t tid_mask() const override { return channel_->tid_mask(); }
  bool reports_timeouts() const override { return channel_->reports_timeouts(); }
  bool does_rmpp(std::uint8_t mgmt_class) const override { return channel_->does_rmpp(mgmt_class); }
  unsigned max_in_flight() const override { return channel_->max_in_flight(); }

  std::size_t segments = 0;  ///< that have left

 private:
  void attached() override { channel_->attach(*events_, *loop_); }
  void expired() override {
    ++segments;
    channel_->send(waiting_.front().first, waiting_.front().second, ib::async::Duration::zero());
    waiting_.pop_front();
    if (!waiting_.empty()) loop_->arm(*this, loop_->now() + between_);
  }

  std::unique_ptr<ib::mad::Channel> channel_;
  ib::async::Duration between_;
  std::deque<std::pair<std::vector<std::uint8_t>, ib::path::Path>> waiting_;
};

}  // namespace ibtest
