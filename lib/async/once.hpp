// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Values that many tasks want and one of them gets. For answers of the fabric, which must not be asked for twice.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "async/event.hpp"

namespace ib::async {

/// Values by key. T is a value that may fail, like mad::Result; failures are not kept, unless the constructor is told which are.
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
  /// The value of `key`: the kept one, or that which another task is getting just now, or else what `ask` brings, which is not started
  /// otherwise. If the task that gets it is cancelled or throws, one of those that wait asks instead. The object must outlive the task.
  Task<T> get(Key key, Task<T> ask) {
    for (;;) {
      const auto [place, is_new] = entries_.try_emplace(key);
      if (is_new) place->second = std::make_shared<Entry>();
      const std::shared_ptr<Entry> entry = place->second;
      if (is_new) {
        const Asking asking(*this, key, entry);
        T value = co_await std::move(ask);
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
  /// Lives as long as the task that asks.
  struct Asking {
    Asking(Once& in, const Key& of, std::shared_ptr<Entry> at) : once(in), key(of), entry(std::move(at)) {}
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
    ~Asking() {
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
