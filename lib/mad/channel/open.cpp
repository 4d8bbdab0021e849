// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/channel/open.hpp"

#include <fmt/format.h>

#include <bitset>

#include "base/error.hpp"

namespace ib::mad {

namespace {

/// Properties of the channel must hold for both of its parts.
class SplitChannel final : public Channel {
 public:
  SplitChannel(std::unique_ptr<Channel> gmps, OpenChannel open_umad)
      : Channel(gmps->end_port()), gmps_(std::move(gmps)), open_umad_(std::move(open_umad)) {}

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
  unsigned max_in_flight() const override { return gmps_->max_in_flight(); }

 private:
  void attached() override {
    gmps_->attach(*events_, *loop_);
    if (umad_) umad_->attach(*events_, *loop_);
  }
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
};

std::unique_ptr<Channel> open_split(const sys::EndPort& end_port) { return make_split_channel(open_verbs(end_port), open_umad); }

std::unique_ptr<Channel> open_first_that_works(const sys::EndPort& end_port) {
  const bool has_umad = !end_port.umad_of(false).empty(), has_verbs = !end_port.device->uverbs.empty();
  if (end_port.link_layer == sys::LinkLayer::unknown) return open_umad(end_port);  // which says that such a port has no MADs
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

path::Path Source::path(const sys::EndPort& end_port, std::uint8_t mgmt_class) const {
  path::IbPath path;
  const bool smp = is_smp(mgmt_class);
  const sys::EndPort& carrier = end_port.carrier(smp);
  path.end_port = &end_port;
  path.slid = slid;
  path.dlid = Lid{static_cast<std::uint16_t>(carrier.lid.value | dlid_bits)};
  path.sl = sl;
  path.sqpn = Qpn{sqpn};
  path.dqpn = Qpn{smp ? 0U : 1U};
  // The kernel does not report the Q_Key. All GMPs have the same one (IBA 13.5.1).
  path.qkey = !smp && qkey == 0 ? path::qp1_qkey : qkey;
  // SMPs have the default P_Key, whatever index a driver reports (IBA 10.9.8, figure 156).
  if (!smp && pkey_index < carrier.pkeys.size()) path.pkey = carrier.pkeys[pkey_index];
  path.has_grh = has_grh;
  if (has_grh) {
    path.sgid = sgid;
    path.dgid = dgid;
    path.hop_limit = hop_limit;
    path.traffic_class = traffic_class;
    path.flow_label = flow_label;
  }
  return path;
}

std::unique_ptr<Channel> make_split_channel(std::unique_ptr<Channel> gmps, OpenChannel open_umad) {
  return std::make_unique<SplitChannel>(std::move(gmps), std::move(open_umad));
}

std::unique_ptr<Channel> open_channel(const sys::EndPort& end_port, GmpCarrier carrier) {
  if (carrier == GmpCarrier::umad) return open_umad(end_port);
  return carrier == GmpCarrier::verbs ? open_split(end_port) : open_first_that_works(end_port);
}

}  // namespace ib::mad
