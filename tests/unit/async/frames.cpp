// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Memory of coroutine frames: a freed frame is kept for the next one of about its size.
#include "async/frames.hpp"

#include <cstring>

#include "async/task.hpp"
#include "support/catch.hpp"

namespace async_frames_tests {

using namespace ib::async;

namespace {

Task<int> next_to(int number) { co_return number + 1; }

Task<int> count_to(int last) {
  int number = 0;
  while (number < last) number = co_await next_to(number);
  co_return number;
}

}  // namespace

TEST_CASE("a freed frame is the next one of about its size") {
  void* const first = allocate_frame(1000);
  std::memset(first, 1, 1000);
  free_frame(first, 1000);
  void* const next = allocate_frame(990);
  CHECK((next == first) == keeps_frames);
  void* const other = allocate_frame(990);
  CHECK(other != next);
  free_frame(next, 990);
  void* const smaller = allocate_frame(100);
  CHECK(smaller != next);
  free_frame(smaller, 100);
  free_frame(other, 990);
}

TEST_CASE("frames of every size can be written whole") {
  for (std::size_t size = 1; size < 20000; size += 13) {
    void* const frame = allocate_frame(size);
    std::memset(frame, 255, size);
    void* const second = allocate_frame(size);
    CHECK(second != frame);
    free_frame(frame, size);
    free_frame(second, size);
  }
}

TEST_CASE("frames that are kept serve many coroutines") {
  Loop loop;
  CHECK(loop.run(count_to(10000)) == 10000);
}

}  // namespace async_frames_tests
