// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The simulated umad as a UmadHost.
#include "mad/channel/simulator.hpp"

#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "mad/channel/umad_host.hpp"
#include "mad/rmpp/rmpp.hpp"
#include "sys/umad_port.hpp"

namespace ib::mad {

namespace {

bool is_known_to_kernel(int fd) { return ::fcntl(fd, F_GETFD) >= 0 || errno != EBADF; }

bool is_only_segment_of_request(Bytes mad) {
  constexpr std::uint8_t whole = rmpp::flags::active | rmpp::flags::first | rmpp::flags::last;
  return RmppView::is_active(mad) && !HeaderView(mad).is_response() && RmppView(mad).type() == rmpp::Type::data &&
         RmppView(mad).flags() == whole;
}

/// Whether `mad` is the beginning of a table that an SA has left to its kernel to segment.
bool is_table_without_segments(Bytes mad) {
  return HeaderView(mad).mgmt_class() == mgmt_class::sa && HeaderView(mad).is_response() && RmppView::is_active(mad) &&
         RmppView(mad).type() == rmpp::Type::none;
}

constexpr std::size_t rmpp_flags_at = 26;  // IBA 13.6.2.1

class Simulator final : public UmadHost {
 public:
  bool reports_timeouts() const override { return false; }
  unsigned max_in_flight() const override { return 20; }  // two sockets of 11 packets
  /// The loop sees a signal or another descriptor at least that often.
  async::Duration poll_slice() const override { return std::chrono::milliseconds(100); }
  /// The SA repeats the RMPP header of a request in its answer, where the header of a segment would be wrong. The only segment
  /// of a request is therefore sent with the header that programs give to their kernel.
  void prepare(MutableBytes mad) const override {
    if (is_only_segment_of_request(mad)) set_whole(mad);
  }
  std::size_t receive(MutableBytes mad) const override {
    if (passes_all_bytes_ || mad.size() <= simulator_bytes) return mad.size();
    std::ranges::fill(mad.subspan(simulator_bytes), std::uint8_t{});
    if (!is_table_without_segments(mad)) return mad.size();
    mad[rmpp_flags_at] |= rmpp::flags::first;
    return simulator_bytes;
  }
  void serve(const sys::EndPort& end_port, const std::function<void(std::uint8_t mgmt_class)>& add_agent) override {
    if (issm_) return;
    for (const std::uint8_t mgmt_class : {mgmt_class::smp, mgmt_class::smp_directed}) add_agent(mgmt_class);
    issm_ = sys::open_issm(end_port);
  }

 private:
  bool passes_all_bytes_ = ::dlsym(RTLD_DEFAULT, simulator_tail_symbol) != nullptr;
  UniqueFd issm_;  // requests arrive only while it is open
};

}  // namespace

std::unique_ptr<UmadHost> find_umad_host(int fd) {
  if (is_known_to_kernel(fd)) return std::make_unique<UmadHost>();
  return std::make_unique<Simulator>();
}

void keep_simulator_quiet() { ::unsetenv("SIM_SET_ISSM"); }

}  // namespace ib::mad
