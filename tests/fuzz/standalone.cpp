// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Drives a fuzz target without libFuzzer: every seed, then as many mutations of seeds as the argument says, the same
// ones each time. On a failure the input stands on stderr in hex.
#include <csignal>
#include <random>

#include "fuzz.hpp"

namespace {

std::string current;

void show_input(int) {
  std::fputs("input:", stderr);
  for (const char c : current) std::fprintf(stderr, " %02x", static_cast<unsigned char>(c));
  std::fputc('\n', stderr);
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

void run(const std::string& input) {
  current = input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
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
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
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
  std::signal(SIGABRT, show_input);
  const auto seeds = ibtest::seeds();
  for (const auto& seed : seeds) run(seed);
  Mutator mutator(seeds);
  for (long i = argc > 1 ? std::atol(argv[1]) : 1000; i > 0; --i) run(mutator.next());
}
