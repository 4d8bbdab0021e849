// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/channel/split.hpp"

#include <fmt/format.h>

#include <bitset>

#include "base/error.hpp"

namespace ib::mad {

namespace {

/// Properties of the channel must hold for both of its parts.
class SplitChannel final : public Channel {
 public:
  SplitChannel(std::unique_ptr<Channel> gmps, OpenChannel open_umad) : gmps_(std::move(gmps)), open_umad_(std::move(open_umad)) {}

  const sys::EndPort& end_port() const override { return gmps_->end_port(); }
  void attach(ChannelEvents& events, async::Loop& loop) override {
    events_ = &events;
    loop_ = &loop;
    gmps_->attach(events, loop);
    if (umad_) umad_->attach(events, loop);
  }
  void detach() override {
    gmps_->detach();
    if (umad_) umad_->detach();
    events_ = nullptr;
  }
  void send(Bytes mad, const path::Path& path, Duration timeout) override {
    (is_smp(mad[1]) || served_[mad[1]] ? umad() : *gmps_).send(mad, path, timeout);
  }
  void serve(const Service& service) override {
    try {
      umad();
    } catch (const Error& error) {
      throw Error(fmt::format("{} cannot serve: requests come to its QP1, which only umad reaches. {}", end_port().name(), error.what()));
    }
    umad_->serve(service);
    served_.set(service.mgmt_class);
  }
  /// The limit of umad.
  std::uint64_t tid_mask() const override { return 0xffffffffU; }
  bool reports_timeouts() const override { return false; }
  unsigned max_in_flight() const override { return gmps_->max_in_flight(); }

 private:
  Channel& umad() {
    if (!umad_) {
      std::unique_ptr<Channel> opened = open_umad_(end_port());
      if (events_ != nullptr) opened->attach(*events_, *loop_);
      umad_ = std::move(opened);
    }
    return *umad_;
  }

  std::unique_ptr<Channel> gmps_, umad_;
  OpenChannel open_umad_;
  std::bitset<256> served_;  // indexed by class
  ChannelEvents* events_{};
  async::Loop* loop_{};
};

}  // namespace

std::unique_ptr<Channel> make_split_channel(std::unique_ptr<Channel> gmps, OpenChannel open_umad) {
  return std::make_unique<SplitChannel>(std::move(gmps), std::move(open_umad));
}

}  // namespace ib::mad
