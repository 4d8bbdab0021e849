// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// stdout and stderr are redirected to files, since the program writes to the real ones.
#include "support/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "async/clock.hpp"
#include "iba/text.hpp"
#include "tools/frame/run.hpp"

namespace ibtest {
namespace {

/// What is written to a descriptor while it lives.
class Capture {
 public:
  explicit Capture(std::FILE* stream) : stream_(stream), file_(std::tmpfile()) {
    std::fflush(stream_);
    saved_ = dup(fileno(stream_));
    dup2(fileno(file_), fileno(stream_));
  }
  ~Capture() {
    restore();
    std::fclose(file_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::string text() {
    restore();
    std::rewind(file_);
    std::string all;
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file_)) > 0;) all.append(buffer, got);
    return all;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stream_);
    dup2(saved_, fileno(stream_));
    close(saved_);
    saved_ = -1;
  }

  std::FILE* stream_;
  std::FILE* file_;
  int saved_ = -1;
};

Outcome run(std::vector<std::string> words, ib::tools::World world) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Capture out(stdout), err(stderr);
  Outcome outcome;
  outcome.status = ib::tools::run(argv, world);
  outcome.out = out.text();
  outcome.err = err.text();
  return outcome;
}

std::vector<std::string> ours(std::vector<std::string> words) {
  words.insert(words.begin(), "ibtool");
  return words;
}

}  // namespace

Outcome ibtool(FakeFabric& fabric, std::vector<std::string> words) {
  FakeSysfs sysfs;
  const ib::sys::EndPort& here = fabric.end_port();
  sysfs.device("fake0", ib::to_text(here.device->node_guid));
  FakeSysfs::Port port;
  port.number = here.number;
  port.gid = ib::to_text(here.default_gid());
  port.umad = "umad0";
  sysfs.port("fake0", port);
  const std::string dir = fmt::format("class/infiniband/fake0/ports/{}/", here.number);
  sysfs.write(dir + "lid", fmt::format("0x{:x}\n", here.lid.value));
  sysfs.write(dir + "lid_mask_count", "0\n");

  ib::async::FakeClock clock;
  ib::tools::World around = ib::tools::this_host();
  around.open_channel = [&fabric](const ib::sys::EndPort&, ib::mad::GmpCarrier) { return fabric.open(); };
  around.clock = &clock;
  return run(ours(std::move(words)), around);
}

Outcome ibtool(std::vector<std::string> words) { return run(ours(std::move(words)), ib::tools::this_host()); }

Outcome legacy(std::vector<std::string> words) { return run(std::move(words), ib::tools::this_host()); }

}  // namespace ibtest
