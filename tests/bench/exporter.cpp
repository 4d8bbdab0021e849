// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the exporter does in a round, without HTTP and step by step, for exporter.py: a sweep, the states of ports, two readings of which
// both are held, the checks of health between them, a page of metrics and the page for people. Prints a line of JSON for each step: wall
// time, CPU, what the heap has grown by, and MADs sent.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "metrics/families.hpp"
#include "tools/exporter/engine.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/world.hpp"

using namespace ib;

namespace {

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  constexpr double micro = 1e-6;
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * micro; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Bytes of the heap in use; large blocks are counted apart.
long long heap() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<long long>(info.uordblks) + static_cast<long long>(info.hblkhd);
}

/// Measures from its beginning to end().
class Step {
 public:
  Step(std::string name, const tools::Stack& stack) : name_(std::move(name)), stack_(stack) {}
  void end(std::size_t count) {
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    fmt::print("{{\"step\": \"{}\", \"count\": {}, \"wall\": {:.6f}, \"cpu\": {:.6f}, \"heap\": {}, \"mads\": {}}}\n", name_, count, wall,
               cpu_seconds() - cpu_, heap() - heap_, sent() - sent_);
  }

 private:
  std::uint64_t sent() const { return stack_.stats() == nullptr ? 0 : stack_.stats()->sent(); }

  std::string name_;
  const tools::Stack& stack_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  double cpu_ = cpu_seconds();
  long long heap_ = heap();
  std::uint64_t sent_ = sent();
};

void make_pages(const tools::Stack& stack, const metrics::View& view) {
  const metrics::PageRules rules({.hcas = true}, {});
  Step text("page", stack);
  metrics::Page page(rules, view, {});
  std::size_t bytes = 0;
  for (std::string piece; page.next(piece, 65536);) bytes += piece.size();
  text.end(bytes);
  Step people("front page", stack);
  people.end(tools::exporter::front_page(view, view.reading->time).size());
}

async::Task<> measure(tools::Stack& stack) {
  const tools::exporter::ReaderOptions options{true, false, {}, 0};
  stack.open();
  Step swept("sweep", stack);
  std::shared_ptr<tools::exporter::FabricReader> reader = co_await tools::exporter::FabricReader::sweep(stack, nullptr, options, nullptr);
  swept.end(reader->fabric()->subnet.ports().size());
  metrics::View view;
  Step polled("states", stack);
  view.states = co_await reader->poll();
  polled.end(reader->fabric()->switch_count);
  const std::shared_ptr<const subnet::SurveyedManagers> managers = co_await reader->read_managers();
  std::shared_ptr<const metrics::Reading> before;
  for (const char* name : {"first reading", "second reading"}) {
    Step read(name, stack);
    std::shared_ptr<const metrics::Reading> now = co_await reader->read(view.states, {});
    read.end(now->rows.size());
    before = std::exchange(view.reading, std::move(now));
  }
  Step examined("findings", stack);
  view.findings = tools::exporter::find(before.get(), *view.reading, managers.get());
  examined.end(view.findings->list.size());
  make_pages(stack, view);
}

}  // namespace

int main() {
  try {
    Log log(stderr);
    tools::World world = tools::this_host();
    world.log = &log;
    async::Loop loop;
    tools::Host host(world, {});
    tools::Stack stack(host, loop);
    loop.run(measure(stack));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "E: {}\n", error.what());
    return 3;
  }
}
