// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/open.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mad/umad.hpp"
#include "mad/verbs.hpp"

namespace ib::mad {

namespace {

/// GMPs by verbs, SMPs by umad. What is told of the channel as a whole holds for both.
class SplitChannel final : public Channel {
 public:
  explicit SplitChannel(std::unique_ptr<Channel> gmps) : gmps_(std::move(gmps)) {}

  const sys::EndPort& end_port() const override { return gmps_->end_port(); }
  void attach(ChannelEvents& events, async::Loop& loop) override {
    events_ = &events;
    loop_ = &loop;
    gmps_->attach(events, loop);
  }
  void detach() override {
    gmps_->detach();
    if (smps_) smps_->detach();
    events_ = nullptr;
  }
  void send(Bytes mad, const path::Path& path, Duration timeout) override { (is_smp(mad[1]) ? smps() : *gmps_).send(mad, path, timeout); }
  void serve(const Service& service) override { gmps_->serve(service); }
  /// umad's.
  std::uint64_t tid_mask() const override { return 0xffffffffU; }
  bool reports_timeouts() const override { return false; }
  bool does_rmpp(std::uint8_t mgmt_class) const override { return gmps_->does_rmpp(mgmt_class); }
  unsigned max_in_flight() const override { return gmps_->max_in_flight(); }

 private:
  Channel& smps() {
    if (!smps_) {
      smps_ = open_umad(end_port());
      if (events_ != nullptr) smps_->attach(*events_, *loop_);
    }
    return *smps_;
  }

  std::unique_ptr<Channel> gmps_, smps_;
  ChannelEvents* events_{};
  async::Loop* loop_{};
};

std::unique_ptr<Channel> open_split(const sys::EndPort& end_port) { return std::make_unique<SplitChannel>(open_verbs(end_port)); }

std::unique_ptr<Channel> open_first_that_works(const sys::EndPort& end_port) {
  const bool has_umad = !end_port.gsi_umad.empty(), has_verbs = !end_port.device->uverbs.empty();
  std::exception_ptr refusal;
  try {
    if (has_umad || !has_verbs) return open_umad(end_port);
  } catch (const SysError&) {
    refusal = std::current_exception();
  }
  try {
    return open_split(end_port);
  } catch (const Error&) {
    if (refusal) std::rethrow_exception(refusal);
    return open_umad(end_port);
  }
}

}  // namespace

std::unique_ptr<Channel> open_channel(const sys::EndPort& end_port, GmpCarrier carrier) {
  switch (carrier) {
    case GmpCarrier::umad:
      return open_umad(end_port);
    case GmpCarrier::verbs:
      return open_split(end_port);
    case GmpCarrier::automatic:
      break;
  }
  return open_first_that_works(end_port);
}

}  // namespace ib::mad
