// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/called_name.hpp"

#include <vector>

#include "tools/frame/command.hpp"

namespace ib::tools {
namespace {

constexpr unsigned most_links = 40;  // as Linux follows

std::string last_component(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

/// The names that lead to the program: the name that it was called by, the name of the executable, and the names of the links from there
/// on.
std::vector<std::string> names_on_the_way(std::string_view called, const World& world) {
  std::vector<std::string> names{last_component(called)};
  std::string path = world.executable;
  if (path.empty()) return names;
  names.push_back(last_component(path));
  for (unsigned links = 0; world.read_link && links < most_links; ++links) {
    const std::optional<std::string> next = world.read_link(path);
    if (!next || next->empty()) break;
    path = next->front() == '/' ? *next : path.substr(0, path.rfind('/') + 1) + *next;
    names.push_back(last_component(path));
  }
  return names;
}

std::string before_dot(const std::string& name) { return name.substr(0, name.find('.')); }

}  // namespace

std::string called_name(std::string_view called, const World& world) {
  const std::string own = last_component(called);
  if (own.starts_with("ibtool") || find_command(own) != nullptr) return own;
  const std::vector<std::string> names = names_on_the_way(called, world);
  for (const std::string& name : names) {
    if (find_command(name) != nullptr) return name;
  }
  for (const std::string& name : names) {
    if (find_command(before_dot(name)) != nullptr) return before_dot(name);
  }
  // Links to programs of infiniband-diags end at ibtool too: its own name comes last.
  for (const std::string& name : names) {
    if (name.starts_with("ibtool")) return name;
  }
  return {};
}

}  // namespace ib::tools
