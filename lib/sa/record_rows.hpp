// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The records of an answer, one after another in one buffer at a constant distance (stride). A table of millions of records
// needs no memory but its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace ib::sa {

/// A view of records in a buffer that someone else owns.
class RecordRows {
 public:
  class Iterator;

  RecordRows() = default;
  /// `count` records of `size` bytes each, which begin at multiples of `stride` in `bytes`. The last record may be shorter: it
  /// ends at the end of `bytes`.
  RecordRows(Bytes bytes, std::size_t stride, std::size_t size, std::size_t count)
      : bytes_(bytes), stride_(stride), size_(size), count_(count) {}

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// The bytes of record `at`, which must be less than size().
  Bytes operator[](std::size_t at) const {
    const Bytes rest = bytes_.subspan(at * stride_);
    return rest.first(std::min(size_, rest.size()));
  }
  Iterator begin() const;
  Iterator end() const;

  /// The records cut to their first `size` bytes. Shorter records stay whole.
  RecordRows first(std::size_t size) const { return {bytes_, stride_, std::min(size, size_), count_}; }

 private:
  friend class RecordBuffer;
  Bytes bytes_;
  std::size_t stride_{}, size_{}, count_{};
};

class RecordRows::Iterator {
 public:
  using iterator_concept = std::forward_iterator_tag;
  using value_type = Bytes;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  Iterator(const RecordRows& rows, std::size_t at) : rows_(rows), at_(at) {}
  Bytes operator*() const { return rows_[at_]; }
  Iterator& operator++() {
    ++at_;
    return *this;
  }
  Iterator operator++(int) {
    Iterator before = *this;
    ++at_;
    return before;
  }
  bool operator==(const Iterator& other) const { return at_ == other.at_; }

 private:
  RecordRows rows_;
  std::size_t at_{};
};

inline RecordRows::Iterator RecordRows::begin() const { return {*this, 0}; }
inline RecordRows::Iterator RecordRows::end() const { return {*this, count_}; }

class RecordBuffer {
 public:
  RecordBuffer() = default;
  /// An empty buffer for push_back() of records of up to `size` bytes.
  explicit RecordBuffer(std::size_t size) : stride_(size), size_(size) {}
  /// Takes over `bytes`, which contain `rows`.
  RecordBuffer(std::vector<std::uint8_t> bytes, const RecordRows& rows)
      : bytes_(std::move(bytes)),
        offset_(rows.empty() ? 0 : static_cast<std::size_t>(rows.bytes_.data() - bytes_.data())),
        length_(rows.empty() ? 0 : rows.bytes_.size()),
        stride_(rows.stride_),
        size_(rows.size_),
        count_(rows.count_) {}

  RecordRows rows() const { return {Bytes(bytes_).subspan(offset_, length_), stride_, size_, count_}; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Bytes operator[](std::size_t at) const { return rows()[at]; }
  RecordRows::Iterator begin() const { return rows().begin(); }
  RecordRows::Iterator end() const { return rows().end(); }

  /// Adds a record at the end; a shorter record is filled with zeros. Only for a buffer made with a record size. Throws
  /// std::invalid_argument if the record is longer.
  void push_back(Bytes record) {
    if (record.size() > size_ || stride_ != size_ || offset_ != 0) throw std::invalid_argument("no room for such a record");
    bytes_.insert(bytes_.end(), record.begin(), record.end());
    bytes_.resize(stride_ * ++count_);
    length_ = bytes_.size();
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t offset_{}, length_{}, stride_{}, size_{}, count_{};
};

}  // namespace ib::sa
