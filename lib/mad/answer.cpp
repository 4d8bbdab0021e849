// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/answer.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace ib::mad {

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
