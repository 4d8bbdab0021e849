// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

namespace {

constexpr std::size_t m_key_offset = 24;           // IBA 14.2.1.1
constexpr std::size_t initial_path_offset = 128;   // IBA 14.2.1.2
constexpr std::size_t cc_key_offset = 24;          // IBA A10.4.1
constexpr std::size_t oui_offset = 37;             // IBA 16.5.1
constexpr std::size_t sm_key_offset = 36;          // IBA 15.2.1.1
constexpr std::size_t component_mask_offset = 48;  // IBA 15.2.1.1

bool needs_rmpp(const Request& request) {
  if (!has_rmpp(request.mgmt_class)) return false;
  const bool is_multi = request.mgmt_class == mgmt_class::sa && request.method == method::get_multi;
  return is_multi || request.payload.size() > data_area(request.mgmt_class).size;
}

void set_route(MutableBytes mad, const path::IbDrPath& path) {
  mad[7] = path.hops;  // the hop pointer, mad[6], starts at 0
  store_be(&mad[32], path.dr_slid.value);
  store_be(&mad[34], path.dr_dlid.value);
  std::copy(path.route.begin(), path.route.end(), mad.begin() + initial_path_offset);
}

}  // namespace

std::uint8_t class_version_of(std::uint8_t mgmt_class) {
  return mgmt_class == mgmt_class::sa || mgmt_class == mgmt_class::congestion ? 2 : 1;
}

Request attribute_request(const path::Path& path, const StructInfo& info, std::uint8_t method, std::uint32_t modifier, Bytes payload,
                          std::uint8_t mgmt_class) {
  const bool is_common = info.mgmt_class == 0;
  if (!is_common) mgmt_class = info.mgmt_class;
  if (info.attribute_id < 0 || mgmt_class == 0) throw std::invalid_argument(fmt::format("{} has no management class", info.iba_name));
  return {.path = path,
          .mgmt_class = is_smp(mgmt_class) ? smp_class(path) : mgmt_class,
          .class_version = is_common ? class_version_of(mgmt_class) : info.class_version,
          .method = method,
          .attribute_id = static_cast<std::uint16_t>(info.attribute_id),
          .attribute_modifier = modifier,
          .payload = payload,
          .oui = info.oui};
}

Request on_path(const Request& request, const path::Path& path) {
  return {.path = path,
          .mgmt_class = request.mgmt_class,
          .class_version = request.class_version,
          .method = request.method,
          .attribute_id = request.attribute_id,
          .attribute_modifier = request.attribute_modifier,
          .payload = request.payload,
          .component_mask = request.component_mask,
          .oui = request.oui,
          .reason = request.reason,
          .responder = request.responder,
          .optional = request.optional};
}

std::vector<std::uint8_t> to_mad(const Request& request) {
  const DataArea area = data_area(request.mgmt_class);
  const bool by_rmpp = needs_rmpp(request);
  if (!by_rmpp && request.payload.size() > area.size) throw std::invalid_argument("the payload is too long for its class");
  std::vector<std::uint8_t> mad(by_rmpp ? area.offset + request.payload.size() : packet_size);
  if (by_rmpp) set_whole(mad);
  mad[0] = 1;  // base version
  mad[1] = request.mgmt_class;
  mad[2] = request.class_version;
  mad[3] = request.method;
  store_be(&mad[16], request.attribute_id);
  store_be(&mad[20], request.attribute_modifier);
  if (is_smp(request.mgmt_class)) {
    store_be(&mad[m_key_offset], request.path.ib().m_key);
    if (const path::IbDrPath* directed = request.path.directed()) set_route(mad, *directed);
  } else if (request.mgmt_class == mgmt_class::sa) {
    store_be(&mad[sm_key_offset], request.path.ib().sm_key);
    store_be(&mad[component_mask_offset], request.component_mask);
  } else if (request.mgmt_class == mgmt_class::congestion) {
    store_be(&mad[cc_key_offset], request.path.ib().cc_key);
  } else if (has_oui(request.mgmt_class)) {
    for (std::size_t i = 0; i < 3; ++i) mad[oui_offset + i] = static_cast<std::uint8_t>(request.oui >> (16 - 8 * i));
  }
  std::ranges::copy(request.payload, mad.begin() + static_cast<std::ptrdiff_t>(area.offset));
  return mad;
}

std::vector<std::uint8_t> answer_to(const Request& request, std::uint16_t status, const DataArea& area, Bytes payload) {
  constexpr std::uint16_t direction_bit = 0x8000;  // IBA 14.2.1.2: of the status of a directed-route SMP that comes back
  std::vector<std::uint8_t> mad = to_mad(request);
  mad[3] = response_method(request.method);
  if (request.mgmt_class == mgmt_class::smp_directed) {
    status |= direction_bit;
    mad[6] = 0;  // the hop pointer is back at the start
  }
  store_be(&mad[4], status);
  const auto data = mad.begin() + static_cast<std::ptrdiff_t>(area.offset);
  std::fill_n(data, area.size, std::uint8_t{0});
  std::copy_n(payload.begin(), std::min(payload.size(), area.size), data);
  return mad;
}

}  // namespace ib::mad
