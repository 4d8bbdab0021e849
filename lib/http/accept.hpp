// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a client accepts, by the fields Accept and Accept-Encoding (RFC 9110, 12.4.2 and 12.5).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ib::http {

/// One member of such a field.
struct Acceptable {
  std::string name;        ///< "gzip" or "text/plain", in lower case
  unsigned weight = 1000;  ///< in thousandths; 0: not acceptable
};

/// The members of a field. An invalid weight is taken for none.
std::vector<Acceptable> acceptable(std::string_view field);

/// The greatest weight among the members with that name; nothing if there is none.
std::optional<unsigned> weight_of(const std::vector<Acceptable>& members, std::string_view name);

/// Whether the field Accept-Encoding `accepted` allows gzip, and does not prefer that nothing is compressed.
bool accepts_gzip(std::string_view accepted);

}  // namespace ib::http
