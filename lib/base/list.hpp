// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A doubly linked list whose links are part of the elements. Joining and leaving take constant time, and a destroyed element
// leaves its list.
#pragma once

namespace ib {

/// The membership in one List. An element derives from one ListHook<Tag> for each list that it can be in.
template <class Tag>
class ListHook {
 public:
  ListHook() = default;
  ListHook(const ListHook&) = delete;
  ListHook& operator=(const ListHook&) = delete;
  ~ListHook() { unlink(); }
  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (next_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class, class>
  friend class List;
  void insert_before(ListHook& place) {
    previous_ = place.previous_;
    next_ = &place;
    previous_->next_ = this;
    place.previous_ = this;
  }
  ListHook* next_{};
  ListHook* previous_{};
};

template <class T, class Tag>
class List {
  using Hook = ListHook<Tag>;

 public:
  List() { head_.next_ = head_.previous_ = &head_; }
  ~List() {
    while (!empty()) head_.next_->unlink();
    head_.next_ = head_.previous_ = nullptr;
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool empty() const { return head_.next_ == &head_; }
  T* front() { return empty() ? nullptr : static_cast<T*>(head_.next_); }
  T* pop_front() {
    T* element = front();
    if (element != nullptr) static_cast<Hook*>(element)->unlink();
    return element;
  }
  void push_back(T& element) { static_cast<Hook&>(element).insert_before(head_); }
  void push_front(T& element) { static_cast<Hook&>(element).insert_before(*head_.next_); }

 private:
  Hook head_;
};

}  // namespace ib
