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
    const auto known = slots_.find(key);
    return known != slots_.end() && known->second->value ? &*known->second->value : nullptr;
  }
  /// The number of values that are kept or being fetched.
  std::size_t size() const { return slots_.size(); }
  void clear() { slots_.clear(); }
  /// The value of `key`: the kept value; else the value that another task is fetching now; else the result of `fetch`. `fetch` is started
  /// only in the third case. If the fetching task is cancelled or throws, one of the waiting tasks starts its own `fetch`. The object must
  /// outlive the task.
  Task<T> get(Key key, Task<T> fetch) {
    for (;;) {
      const auto [place, is_new] = slots_.try_emplace(key);
      if (is_new) place->second = std::make_shared<Slot>();
      const std::shared_ptr<Slot> slot = place->second;
      if (is_new) {
        const Fetching fetching(*this, key, slot);
        T value = co_await std::move(fetch);
        slot->value.emplace(std::move(value));
      } else if (!slot->value) {
        co_await slot->ended;
      }
      if (slot->value) co_return *slot->value;
    }
  }

 private:
  struct Slot {
    std::optional<T> value;
    Event ended;
  };
  /// Lives as long as the task that fetches the value. Its end wakes the waiting tasks.
  struct Fetching {
    Fetching(Once& in, const Key& of, std::shared_ptr<Slot> at) : once(in), key(of), slot(std::move(at)) {}
    Fetching(const Fetching&) = delete;
    Fetching& operator=(const Fetching&) = delete;
    ~Fetching() {
      const auto known = once.slots_.find(key);
      const bool is_kept = slot->value && once.keeps_(*slot->value);
      if (known != once.slots_.end() && known->second == slot && !is_kept) once.slots_.erase(known);
      slot->ended.set();
    }
    Once& once;
    const Key& key;
    std::shared_ptr<Slot> slot;
  };

  Keeps keeps_;
  std::map<Key, std::shared_ptr<Slot>> slots_;
};

}  // namespace ib::async
