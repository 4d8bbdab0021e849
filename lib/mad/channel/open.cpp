// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/channel/open.hpp"

#include "base/error.hpp"
#include "mad/channel/split.hpp"
#include "mad/channel/umad.hpp"
#include "mad/channel/verbs.hpp"

namespace ib::mad {

namespace {

std::unique_ptr<Channel> open_split(const sys::EndPort& end_port) { return make_split_channel(open_verbs(end_port), open_umad); }

std::unique_ptr<Channel> open_first_that_works(const sys::EndPort& end_port) {
  const bool has_umad = !end_port.gsi_umad.empty(), has_verbs = !end_port.device->uverbs.empty();
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
