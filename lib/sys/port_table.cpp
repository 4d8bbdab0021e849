// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/port_table.hpp"

#include <algorithm>

#include "iba/text.hpp"
#include "iba/types.hpp"
#include "sys/sysfs.hpp"

namespace ib::sys {
namespace {

constexpr std::uint64_t max_index = 0xffff;  // GID and P_Key indexes have 16 bits at most

void parse(const std::string& text, Gid& gid) { gid = parse_gid(text).value_or(Gid{}); }

void parse(const std::string& text, Pkey& pkey) {
  const auto value = parse_number(text).value_or(0);
  pkey = Pkey{static_cast<std::uint16_t>(value <= 0xffff ? value : 0)};
}

template <class T>
T read_entry(const std::string& path) {
  T entry{};
  parse(attribute_or_empty(path), entry);
  return entry;
}

}  // namespace

template <class T>
PortTable<T> PortTable<T>::in_directory(std::string path) {
  PortTable table;
  table.directory_ = std::move(path);
  return table;
}

template <class T>
const std::vector<T>& PortTable<T>::entries() const {
  if (directory_.empty()) return entries_;
  for (const std::string& name : unsorted_directory(directory_)) {
    const auto number = index_of(name, max_index);
    if (!number) continue;
    const auto index = static_cast<std::size_t>(*number);
    if (entries_.size() <= index) entries_.resize(index + 1);
    entries_[index] = index == 0 ? first() : read_entry<T>(directory_ + name);
  }
  directory_.clear();
  return entries_;
}

template <class T>
const T& PortTable<T>::first() const {
  if (!first_) first_ = !directory_.empty() ? read_entry<T>(directory_ + "0") : entries_.empty() ? T{} : entries_.front();
  return *first_;
}

template <class T>
bool PortTable<T>::empty() const {
  if (directory_.empty()) return entries_.empty();
  const auto is_entry = [](const std::string& name) { return index_of(name, max_index).has_value(); };
  const bool has_none = std::ranges::none_of(unsorted_directory(directory_), is_entry);
  if (has_none) directory_.clear();  // the table is complete: it is not read again
  return has_none;
}

template class PortTable<Gid>;
template class PortTable<Pkey>;

}  // namespace ib::sys
