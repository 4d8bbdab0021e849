// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <unordered_map>

#include "base/split.hpp"
#include "metrics/families.hpp"

namespace ib::metrics {
namespace {

/// " 1764000000.250": what stands behind the value of a sample. Seconds since 1970.
std::string timestamp(const View& view) {
  constexpr int per_second = 1000;
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(view.reading->time.time_since_epoch()).count();
  return fmt::format(" {}.{:03}", time / per_second, time % per_second);
}

}  // namespace

void write_history(std::span<const View> views, const Exported& exported, const std::string& labels, bool timestamps,
                   const std::function<void(std::string_view)>& write) {
  for (const Family& family : families(exported)) {
    if (family.group.items == Items::exporter || family.group.is_live) continue;  // a snapshot does not have their data
    std::string comments;
    std::vector<std::string> texts;  // of each series, in the order in which the series appear
    std::unordered_map<std::string, std::size_t> places;
    for (const View& view : views) {
      Exposition page(Format::openmetrics, labels);
      page.begin(family);
      for (std::size_t number = 0; number < count(view, family); ++number) family.write({view, exported, family, number, page});
      for (const std::string_view line : split_list(page.buffer(), "\n")) {
        if (line.starts_with('#')) {
          if (texts.empty()) (comments += line) += '\n';
          continue;
        }
        const auto [found, is_new] = places.try_emplace(std::string(line.substr(0, line.rfind(' '))), texts.size());
        if (is_new) texts.emplace_back();
        texts[found->second].append(line).append(timestamps ? timestamp(view) : "") += '\n';
      }
    }
    write(comments);
    for (const std::string& text : texts) write(text);
  }
  Exposition end(Format::openmetrics, labels);
  end.end();
  write(end.buffer());
}

}  // namespace ib::metrics
