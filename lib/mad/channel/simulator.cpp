// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What differs between the kernel and the simulated umad.
#include "mad/channel/simulator.hpp"

#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "mad/channel/umad.hpp"
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

}  // namespace

UmadHost::UmadHost(int fd)
    : is_simulated_(!is_known_to_kernel(fd)),
      passes_all_bytes_(!is_simulated_ || ::dlsym(RTLD_DEFAULT, simulator_tail_symbol) != nullptr) {}

unsigned UmadHost::max_in_flight() const { return is_simulated_ ? 20 : ~0U; }  // two sockets of 11 packets

/// The loop sees a signal or another descriptor at least that often.
async::Duration UmadHost::poll_slice() const { return std::chrono::milliseconds(is_simulated_ ? 100 : 0); }

/// The SA repeats the RMPP header of a request in its answer, where the header of a segment would be wrong. The only segment
/// of a request is therefore sent with the header that programs give to their kernel.
void UmadHost::prepare(MutableBytes mad) const {
  if (is_simulated_ && is_only_segment_of_request(mad)) set_whole(mad);
}

std::size_t UmadHost::receive(MutableBytes mad) const {
  if (passes_all_bytes_ || mad.size() <= simulator_bytes) return mad.size();
  std::ranges::fill(mad.subspan(simulator_bytes), std::uint8_t{});
  if (!is_table_without_segments(mad)) return mad.size();
  mad[rmpp_flags_at] |= rmpp::flags::first;
  return simulator_bytes;
}

void UmadHost::serve(const sys::EndPort& end_port, const std::function<void(std::uint8_t mgmt_class)>& add_agent) {
  if (!is_simulated_ || issm_) return;
  for (const std::uint8_t mgmt_class : {mgmt_class::smp, mgmt_class::smp_directed}) add_agent(mgmt_class);
  issm_ = sys::open_issm(end_port);
}

void keep_simulator_quiet() { ::unsetenv("SIM_SET_ISSM"); }

}  // namespace ib::mad
