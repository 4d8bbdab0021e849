// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks/versions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ib::health {

OddVersions odd_versions(const PlacesByVersion& versions) {
  const auto count = [](const auto& version) { return version.second.size(); };
  const auto most = std::ranges::max_element(versions, {}, count);
  const bool has_most = std::ranges::count(versions, most->second.size(), count) == 1;
  OddVersions odd;
  std::string words;
  for (const auto& [version, places] : versions) {
    if (has_most && version == most->first) continue;
    odd.places.insert(odd.places.end(), places.begin(), places.end());
    words += (words.empty() ? "" : ", ") + version;
    if (!has_most) words += fmt::format(" in {}", places.size());
  }
  odd.text = has_most ? fmt::format("firmware {} here, {} in {} others", words, most->first, most->second.size())
                      : fmt::format("firmware {}: none is that of most", words);
  return odd;
}

}  // namespace ib::health
