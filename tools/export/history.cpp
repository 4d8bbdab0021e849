// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/export/history.hpp"

#include <fmt/format.h>

#include <chrono>
#include <unordered_map>
#include <utility>

namespace ib::tools::history {
namespace {

using metrics::Family;
using metrics::View;

/// " 1764000000.250": what stands behind the value of a sample. Seconds since 1970.
std::string timestamp(const View& view) {
  constexpr int per_second = 1000;
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(view.reading->time.time_since_epoch()).count();
  return fmt::format(" {}.{:03}", time / per_second, time % per_second);
}

/// The samples of one family: those of a series in one text, series in the order in which they appear.
class SeriesTexts {
 public:
  /// Takes the lines of `page`, and puts `time` behind each sample. Comments go to `comments`.
  void add(std::string_view page, std::string_view time) {
    while (!page.empty()) {
      const std::string_view line = page.substr(0, page.find('\n'));
      page.remove_prefix(line.size() + 1);
      if (line.starts_with('#')) {
        if (texts_.empty()) (comments += line) += '\n';
      } else {
        text_of(line.substr(0, line.rfind(' '))).append(line).append(time) += '\n';
      }
    }
  }
  const std::vector<std::string>& texts() const { return texts_; }

  std::string comments;

 private:
  std::string& text_of(std::string_view series) {
    const auto [found, is_new] = places_.try_emplace(std::string(series), texts_.size());
    if (is_new) texts_.emplace_back();
    return texts_[found->second];
  }

  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> texts_;
};

/// The samples of one family in one reading.
std::string page_of(const View& view, const metrics::Exported& exported, const Family& family, const std::string& labels) {
  metrics::Exposition page(metrics::Format::openmetrics, labels);
  const metrics::FamilyHead head = family.head();
  page.begin(head);
  for (std::size_t number = 0; number < metrics::count(view, family.items); ++number)
    family.write({view, exported, family, metrics::item_of(view, family.items, number), page});
  return std::move(page.buffer());
}

}  // namespace

std::vector<Family> fabric_families(const metrics::Exported& exported) {
  std::vector<Family> families = metrics::families(exported);
  std::erase_if(families, [](const Family& family) { return family.items == metrics::Items::exporter || family.is_live; });
  return families;
}

void write_history(const std::vector<View>& views, const metrics::Exported& exported, const std::string& labels, bool timestamps,
                   const std::function<void(std::string_view text)>& write) {
  for (const Family& family : fabric_families(exported)) {
    SeriesTexts series;
    for (const View& view : views) series.add(page_of(view, exported, family, labels), timestamps ? timestamp(view) : std::string());
    write(series.comments);
    for (const std::string& text : series.texts()) write(text);
  }
  metrics::Exposition end(metrics::Format::openmetrics, labels);
  end.end();
  write(end.buffer());
}

}  // namespace ib::tools::history
