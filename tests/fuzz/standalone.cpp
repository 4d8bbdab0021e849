// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// `fuzz TARGET MUTATIONS` drives a fuzz target without libFuzzer: every seed, then so many mutations of seeds, the same ones each time. On
// a failure the input stands on stderr in hex.
#include <csignal>
#include <cstring>
#include <random>

#include "fuzz.hpp"

namespace ibtest {

namespace fuzz_bandwidth {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_bandwidth
namespace fuzz_fabric_file {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_fabric_file
namespace fuzz_forwarding_text {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_forwarding_text
namespace fuzz_netdisc_cache {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_netdisc_cache
namespace fuzz_packet {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_packet
namespace fuzz_routes {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_routes
namespace fuzz_rmpp {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_rmpp
namespace fuzz_server {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_server
namespace fuzz_snapshot {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_snapshot
namespace fuzz_target {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_target
namespace fuzz_words {
int try_input(const std::uint8_t* data, std::size_t size);
std::vector<std::string> seeds();
}  // namespace fuzz_words

}  // namespace ibtest

namespace {

constexpr ibtest::FuzzTarget targets[]{
    {"bandwidth", ibtest::fuzz_bandwidth::try_input, ibtest::fuzz_bandwidth::seeds},
    {"fabric_file", ibtest::fuzz_fabric_file::try_input, ibtest::fuzz_fabric_file::seeds},
    {"forwarding_text", ibtest::fuzz_forwarding_text::try_input, ibtest::fuzz_forwarding_text::seeds},
    {"netdisc_cache", ibtest::fuzz_netdisc_cache::try_input, ibtest::fuzz_netdisc_cache::seeds},
    {"packet", ibtest::fuzz_packet::try_input, ibtest::fuzz_packet::seeds},
    {"routes", ibtest::fuzz_routes::try_input, ibtest::fuzz_routes::seeds},
    {"rmpp", ibtest::fuzz_rmpp::try_input, ibtest::fuzz_rmpp::seeds},
    {"server", ibtest::fuzz_server::try_input, ibtest::fuzz_server::seeds},
    {"snapshot", ibtest::fuzz_snapshot::try_input, ibtest::fuzz_snapshot::seeds},
    {"target", ibtest::fuzz_target::try_input, ibtest::fuzz_target::seeds},
    {"words", ibtest::fuzz_words::try_input, ibtest::fuzz_words::seeds},
};

std::string current;

void show_input(int) {
  std::fputs("input:", stderr);
  for (const char c : current) std::fprintf(stderr, " %02x", static_cast<unsigned char>(c));
  std::fputc('\n', stderr);
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

void run(const ibtest::FuzzTarget& target, const std::string& input) {
  current = input;
  target.try_input(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string input = pick();
    for (auto steps = 1 + below(6); steps-- > 0;) change(input);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : static_cast<std::size_t>(random_() % limit); }
  const std::string& pick() { return seeds_[below(seeds_.size())]; }

  void change(std::string& input) {
    const auto at = below(input.size() + 1);
    const auto count = below(8) + 1;
    switch (below(6)) {
      case 0:
        input.insert(at, count, static_cast<char>(random_()));
        break;
      case 1:
        input.erase(at, count);
        break;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>(random_());
        break;
      case 3:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 4: {
        const std::string& other = pick();
        input.insert(at, other.substr(below(other.size()), below(40)));
        break;
      }
      default:
        input.resize(at);
        break;
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{20061};
};

}  // namespace

int main(int argc, char** argv) {
  for (const ibtest::FuzzTarget& target : targets) {
    if (argc != 3 || std::strcmp(target.name, argv[1]) != 0) continue;
    std::signal(SIGABRT, show_input);
    const auto seeds = target.seeds();
    for (const auto& seed : seeds) run(target, seed);
    Mutator mutator(seeds);
    for (long i = std::atol(argv[2]); i > 0; --i) run(target, mutator.next());
    return 0;
  }
  std::fputs("usage: fuzz TARGET MUTATIONS, where TARGET is one of:\n", stderr);
  for (const ibtest::FuzzTarget& target : targets) std::fprintf(stderr, "  %s\n", target.name);
  return 2;
}
