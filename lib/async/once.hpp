// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cache of values by key. Where several tasks want one value, one task fetches it and the others wait. It keeps answers of the fabric, so
// that no request is sent twice.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "async/event.hpp"

namespace ib::async {

/// A cache: values by key. T is a type that may hold a failure, like mad::Result. Failures are not kept, unless `keeps` of the constructor
/// accepts them.
template <class Key, class T>
class Once {
 public:
  using Keeps = bool (*)(const T& value);
  explicit Once(Keeps keeps = [](const T& value) { return static_cast<bool>(value); }) : keeps_(keeps) {}
  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;

  /// The value that is kept for `key`, or null.
  const T* find(const Key& key) const {
    const auto known = entries_.find(key);
    return known != entries_.end() && known->second->value ? &*known->second->value : nullptr;
  }
  void erase(const Key& key) { entries_.erase(key); }
  void clear() { entries_.clear(); }
  /// The value of `key`: the kept value; else the value that another task is fetching now; else the result of `fetch`. `fetch` is started
  /// only in the third case. If the fetching task is cancelled or throws, one of the waiting tasks starts its own `fetch`. The object must
  /// outlive the task.
  Task<T> get(Key key, Task<T> fetch) {
    for (;;) {
      const auto [place, is_new] = entries_.try_emplace(key);
      if (is_new) place->second = std::make_shared<Entry>();
      const std::shared_ptr<Entry> entry = place->second;
      if (is_new) {
        const Fetching fetching(*this, key, entry);
        T value = co_await std::move(fetch);
        entry->value.emplace(std::move(value));
      } else if (!entry->value) {
        co_await entry->ended;
      }
      if (entry->value) co_return *entry->value;
    }
  }

 private:
  struct Entry {
    std::optional<T> value;
    Event ended;
  };
  /// Lives as long as the task that fetches the value. Its end wakes the waiting tasks.
  struct Fetching {
    Fetching(Once& in, const Key& of, std::shared_ptr<Entry> at) : once(in), key(of), entry(std::move(at)) {}
    Fetching(const Fetching&) = delete;
    Fetching& operator=(const Fetching&) = delete;
    ~Fetching() {
      const auto known = once.entries_.find(key);
      const bool is_kept = entry->value && once.keeps_(*entry->value);
      if (known != once.entries_.end() && known->second == entry && !is_kept) once.entries_.erase(known);
      entry->ended.set();
    }
    Once& once;
    const Key& key;
    std::shared_ptr<Entry> entry;
  };

  Keeps keeps_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
};

}  // namespace ib::async
