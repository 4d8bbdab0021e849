// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// MADs through verbs. A queue pair has only one P_Key, so there is a queue pair for each P_Key in use.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/error.hpp"
#include "mad/channel/open.hpp"
#include "verbs/datagrams.hpp"

namespace ib::mad {

namespace {

class VerbsChannel final : public Channel, private verbs::DatagramEvents {
 public:
  explicit VerbsChannel(const sys::EndPort& end_port)
      : end_port_(end_port), gsi_(end_port.carrier(false)), context_(*gsi_.device), domain_(context_) {
    // A missing permission is found early.
    path::IbPath path;
    path.end_port = &gsi_;
    if (!gsi_.pkeys.empty() && std::ranges::find(gsi_.pkeys, path.pkey) == gsi_.pkeys.end()) path.pkey = gsi_.pkeys.first();
    port(path);
  }
  ~VerbsChannel() override { VerbsChannel::detach(); }

  const sys::EndPort& end_port() const override { return end_port_; }
  void attach(ChannelEvents& events, async::Loop& loop) override {
    events_ = &events;
    loop_ = &loop;
    for (const auto& [index, port] : ports_) port->attach(*this, loop);
  }
  void detach() override {
    for (const auto& [index, port] : ports_) port->detach();
    events_ = nullptr;
  }
  void send(Bytes mad, const path::Path& path, Duration /*timeout*/) override {
    if (is_smp(mad[1])) throw Error(fmt::format("SMPs do not travel over verbs: {} sends them by umad only", end_port_.name()));
    path::IbPath ib = path.ib();
    ib.end_port = &gsi_;
    port(ib).send(mad, ib);
  }
  /// Nothing to do: every MAD to the number of a queue pair is delivered.
  void serve(const Service& /*service*/) override {}
  std::uint64_t tid_mask() const override { return ~std::uint64_t{0}; }
  bool reports_timeouts() const override { return false; }
  /// Half of the receive buffers of a queue pair, because answers may come twice, and in segments.
  unsigned max_in_flight() const override {
    std::size_t least = verbs::DatagramPort::receives;
    for (const auto& [index, port] : ports_) least = std::min(least, port->receive_buffers());
    return std::max(1U, static_cast<unsigned>(least) / 2);
  }

 private:
  verbs::DatagramPort& port(const path::IbPath& path) {
    const std::uint16_t index = verbs::pkey_index_of(path);
    if (const auto known = ports_.find(index); known != ports_.end()) return *known->second;
    std::unique_ptr<verbs::DatagramPort> made = open_port(path);
    if (events_ != nullptr) made->attach(*this, *loop_);
    return *(ports_[index] = std::move(made));
  }

  std::unique_ptr<verbs::DatagramPort> open_port(path::IbPath path) const {
    path.qkey = path::qp1_qkey;
    try {
      return std::make_unique<verbs::DatagramPort>(domain_, path);
    } catch (const SysError& error) {
      if (error.code() != EPERM) throw;
      throw Error(
          fmt::format("{} cannot send GMPs by verbs: the kernel grants the Q_Key of QP1 only to programs with CAP_NET_RAW, such as "
                      "those of root",
                      gsi_.name()));
    }
  }

  void arrived(const verbs::DatagramPort& port, Bytes payload, const std::optional<verbs::ReceivedGrh>& grh,
               const ibv_wc& completion) override {
    Source source;
    source.slid = Lid{completion.slid};
    source.sl = completion.sl;
    source.dlid_bits = completion.dlid_path_bits;
    source.pkey_index = port.pkey_index();
    source.sqpn = completion.src_qp;
    source.qkey = path::qp1_qkey;
    source.has_grh = grh.has_value();
    if (grh) {
      source.sgid = grh->sgid;
      source.dgid = grh->dgid;
      source.hop_limit = grh->hop_limit;
      source.traffic_class = grh->traffic_class;
      source.flow_label = grh->flow_label;
    }
    events_->received(payload, source);
  }
  void broken(std::exception_ptr error) override { events_->broken(std::move(error)); }

  const sys::EndPort& end_port_;
  const sys::EndPort& gsi_;  ///< the port that carries GMPs of the end port; another port only on planarized HCAs
  verbs::Context context_;
  verbs::ProtectionDomain domain_;
  std::map<std::uint16_t, std::unique_ptr<verbs::DatagramPort>> ports_;  // by P_Key index
  ChannelEvents* events_{};
  async::Loop* loop_{};
};

}  // namespace

std::unique_ptr<Channel> open_verbs(const sys::EndPort& end_port) { return std::make_unique<VerbsChannel>(end_port); }

}  // namespace ib::mad
