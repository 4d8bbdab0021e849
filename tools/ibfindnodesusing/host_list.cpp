// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The list begins with an empty name, as in infiniband-diags. This name makes the blank at the beginning of the line. Its number is 0.
#include "tools/ibfindnodesusing/host_list.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

namespace ib::tools::using_link {
namespace {

struct HostName {
  std::string text, digits;
  double number() const { return std::strtod(digits.c_str(), nullptr); }
};

HostName split(const std::string& name) {
  constexpr std::string_view all_digits = "0123456789";
  const std::size_t last = name.find_last_not_of(all_digits);
  const std::size_t at = last == std::string::npos ? 0 : last + 1;
  return {name.substr(0, at), name.substr(at)};
}

using Run = std::vector<HostName>;

bool continues(const std::vector<Run>& runs, const HostName& name) {
  const double before = runs.empty() || runs.back().empty() ? 0 : runs.back().back().number();
  return before == name.number() - 1;
}

std::string text_of(const Run& run) {
  return run.front().text + (run.size() == 1 ? run.front().digits : run.front().digits + "-" + run.back().digits);
}

}  // namespace

std::string host_list(std::vector<std::string> names) {
  std::vector<HostName> sorted{HostName{}};
  for (const std::string& name : names) sorted.push_back(split(name));
  std::ranges::stable_sort(sorted, {}, &HostName::number);
  std::map<std::string, std::vector<Run>> by_text;
  for (HostName& name : sorted) {
    std::vector<Run>& runs = by_text[name.text];
    if (runs.empty()) runs.emplace_back();
    if (!continues(runs, name)) runs.emplace_back();
    runs.back().push_back(std::move(name));
  }
  std::string list;
  for (const auto& [text, runs] : by_text) {
    for (const Run& run : runs) {
      if (!run.empty()) list += text_of(run) + ",";
    }
  }
  // Commas within names are replaced too. Empty names at the end are dropped.
  list.erase(list.find_last_not_of(',') + 1);
  std::ranges::replace(list, ',', ' ');
  return list;
}

}  // namespace ib::tools::using_link
