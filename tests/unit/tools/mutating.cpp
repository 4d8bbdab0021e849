// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every command in both dialects on a fabric that lies: answers are changed by a seeded generator, nodes without end are invented, agents
// are busy for ever. Whatever comes, a run ends, with a status that the manual knows, without an exception that nobody expects and
// without a control byte on a terminal.
//
// IBTEST_MUTATIONS is the number of runs (400 by default), IBTEST_MUTATION_SEED the first seed: a failure names its own. With
// IBTEST_MUTATION_TABLE set, the table of ibtool-hostile(7) is printed: how the runs ended in which each lie was told.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "base/bytes.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "tools/frame/commands.hpp"
#include "unit/tools/sample_lines.hpp"

namespace tools_mutating_tests {

using namespace ib;
using ibtest::FakeFabric;
using Answer = FakeFabric::Answer;
using ibtest::diags_lines;
using ibtest::our_lines;

namespace {

/// The time of a run is up.
struct Overtime : std::runtime_error {
  Overtime() : std::runtime_error("the run does not end") {}
};

class LimitedClock final : public ibtest::FakeClock {
 public:
  bool jump_to(async::Time deadline) override {
    constexpr auto most = std::chrono::hours(24 * 30);
    if (deadline.time_since_epoch() > most) {
      over = true;
      throw Overtime();
    }
    return FakeClock::jump_to(deadline);
  }
  bool over = false;
};

enum class Lie {
  transaction,  ///< another transaction ID
  class_,       ///< another base version, class or class version
  method,
  attribute,
  modifier,
  length,   ///< shorter, or longer than a MAD may be
  status,   ///< any status
  busy,     ///< status Busy
  bytes,    ///< some bytes of the payload
  garbage,  ///< all bytes of the payload
  zeros,
  ones,
  text,     ///< control bytes all over the payload
  rmpp,     ///< the RMPP header, and the size of records
  double_,  ///< it comes twice
  silence,
  earlier,  ///< an earlier answer comes again, with this transaction ID
  endless,  ///< a NodeInfo of a switch that was never seen before; where there is no node, too
  count
};

constexpr const char* lie_names[] = {"transaction", "class", "method", "attribute", "modifier", "length", "status",  "busy",    "bytes",
                                     "garbage",     "zeros", "ones",   "text",      "rmpp",     "double", "silence", "earlier", "endless"};
static_assert(std::size(lie_names) == static_cast<std::size_t>(Lie::count));

/// What tampers with the answers of one run.
class Liar {
 public:
  explicit Liar(unsigned seed) : random_(seed) {
    const unsigned lies = 1 + below(3);
    for (unsigned i = 0; i < lies; ++i) lies_.push_back(static_cast<Lie>(below(static_cast<unsigned>(Lie::count))));
    constexpr double chances[] = {1, 0.5, 0.1, 0.02};
    chance_ = chances[below(std::size(chances))];
    constexpr unsigned begins[] = {0, 0, 1, 3, 10, 30};
    begin_ = begins[below(std::size(begins))];
  }

  std::string description() const {
    std::vector<std::string_view> names;
    for (const Lie lie : lies_) names.emplace_back(lie_names[static_cast<std::size_t>(lie)]);
    return fmt::format("{} from answer {} on, each with chance {}", fmt::join(names, ", "), begin_, chance_);
  }

  std::size_t told() const { return told_; }
  /// Which lies were told at least once.
  const std::set<Lie>& kinds() const { return kinds_; }

  std::vector<Answer> tamper(Bytes request, std::optional<Answer> answer) {
    constexpr unsigned most_answers = 2000;
    if (++answers_ > most_answers) return {};
    std::vector<Answer> all;
    if (answer) all.push_back(std::move(*answer));
    if (answers_ <= begin_) return all;
    for (const Lie lie : lies_) {
      if (std::uniform_real_distribution<>(0, 1)(random_) < chance_) tell(lie, request, all);
    }
    if (!all.empty() && all[0].size() >= mad::header_size) earlier_.push_back(all[0]);
    return all;
  }

 private:
  unsigned below(unsigned limit) { return std::uniform_int_distribution<unsigned>(0, limit - 1)(random_); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(below(256)); }
  void change(Answer& answer, std::size_t first, std::size_t size) {
    for (std::size_t at = first; at < std::min(first + size, answer.size()); ++at) answer[at] = byte();
  }

  void tell(Lie lie, Bytes request, std::vector<Answer>& all) {
    ++told_;
    kinds_.insert(lie);
    if (lie == Lie::endless) return invent(request, all);
    if (all.empty()) return;
    if (lie == Lie::silence) return all.clear();
    if (lie == Lie::double_) return all.push_back(Answer(all[0]));
    if (lie == Lie::earlier) {
      if (earlier_.empty()) return;
      Answer again = earlier_[below(static_cast<unsigned>(earlier_.size()))];
      std::copy_n(request.begin() + 8, 8, again.begin() + 8);
      all = {std::move(again)};
      return;
    }
    change(lie, all[0]);
  }

  void change(Lie lie, Answer& answer) {
    constexpr std::size_t payload = 24;
    if (answer.size() < payload) return;
    switch (lie) {
      case Lie::transaction:
        return change(answer, 8 + below(8), 1);
      case Lie::class_:
        return change(answer, below(3), 1);
      case Lie::method:
        return change(answer, 3, 1);
      case Lie::attribute:
        return change(answer, 16 + below(2), 1);
      case Lie::modifier:
        return change(answer, 20 + below(4), 1);
      case Lie::length:
        answer.resize(below(4) == 0 ? 256 + below(2000) : below(static_cast<unsigned>(answer.size())));
        return;
      case Lie::status:
        return change(answer, 4 + below(2), 1);
      case Lie::busy:
        answer[5] |= 1;
        return;
      case Lie::bytes:
        for (unsigned n = 1 + below(8); n > 0; --n) change(answer, payload + below(static_cast<unsigned>(answer.size() - payload + 1)), 1);
        return;
      case Lie::garbage:
        return change(answer, payload + 40, answer.size());  // what stands behind the headers of an SMP
      case Lie::zeros:
        std::fill(answer.begin() + payload, answer.end(), std::uint8_t{0});
        return;
      case Lie::ones:
        std::fill(answer.begin() + payload, answer.end(), std::uint8_t{0xff});
        return;
      case Lie::text:
        for (std::size_t at = payload + 8; at < answer.size(); ++at)
          answer[at] = static_cast<std::uint8_t>(below(2) == 0 ? 0x1b : below(32));
        return;
      case Lie::rmpp:
        change(answer, payload + below(12), 1);
        return change(answer, 44 + below(2), 1);
      default:
        return;
    }
  }

  /// A switch with links everywhere, in the place of whatever was asked for.
  void invent(Bytes request, std::vector<Answer>& all) {
    if (!mad::is_smp(request[1])) return;
    const auto attribute = load_be<std::uint16_t>(&request[16]);
    Answer answer = ibtest::answer_to(request);
    const MutableBytes data = MutableBytes(answer).subspan(64);
    if (attribute == smp::NodeInfo::attribute_id) {
      smp::NodeInfo info;
      info.base_version = info.class_version = 1;
      info.node_type = below(5) == 0 ? smp::NodeType::channel_adapter : smp::NodeType::switch_;
      info.num_ports = static_cast<std::uint8_t>(1 + below(12));
      info.node_guid = info.port_guid = info.system_image_guid = Guid{0x10000U + ++invented_};
      info.local_port_num = static_cast<std::uint8_t>(1 + below(info.num_ports));
      info.pack(data.first(smp::NodeInfo::wire_size));
    } else if (attribute == smp::PortInfo::attribute_id) {
      smp::PortInfo info;
      info.port_state = smp::PortState::active;
      info.port_physical_state = smp::PortPhysicalState::link_up;
      info.lid = Lid{static_cast<std::uint16_t>(below(0x10000))};
      info.lmc = static_cast<std::uint8_t>(below(8));
      info.pack(data.first(smp::PortInfo::wire_size));
    } else {
      return;
    }
    all = {std::move(answer)};
  }

  std::mt19937 random_;
  std::vector<Lie> lies_;
  double chance_ = 1;
  unsigned begin_ = 0, answers_ = 0, invented_ = 0;
  std::size_t told_ = 0;
  std::set<Lie> kinds_;
  std::vector<Answer> earlier_;
};

/// Two switches (LIDs 1 and 2) that are linked, the host of the test (3) and another (4) with two ports. There is an SA, every node has a
/// PMA, and the other host answers pings.
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId near = fabric.add_switch(0x100, 6, "near"), far = fabric.add_switch(0x200, 4, "far");
  ibtest::FakeSa sa{fabric};
  std::vector<std::unique_ptr<ibtest::FakePma>> agents;

  Site() {
    const auto here = fabric.add_ca(0x300, 1, "here"), other = fabric.add_ca(0x400, 2, "other");
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 2);
    fabric.link(near, 3, far, 3);
    fabric.link(far, 4, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.node(other).sm_info.emplace();
    fabric.node(near).mft[0xc001] = {1, 2};
    fabric.node(near).ports.at(0).info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
    for (const auto& [node, first, ports] : {std::tuple{near, 0U, 7U}, {far, 0U, 5U}, {other, 1U, 2U}})
      agents.push_back(std::make_unique<ibtest::FakePma>(fabric, node, first, ports));
    for (const std::uint8_t mgmt_class : {mad::mgmt_class::ofa_ping, mad::mgmt_class::ofa_sysstat, std::uint8_t{0x0a}}) {
      for (const auto node : {near, other}) {
        fabric.node(node).services[mgmt_class].answer = [](unsigned, Bytes request) -> std::optional<Answer> {
          return ibtest::answer_to(request);
        };
      }
    }
  }
};

bool plain(const std::string& text) {
  return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
}

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 0)) : otherwise;
}

/// What came of all runs.
struct Tally {
  std::size_t lies = 0;  ///< that were told
  std::set<int> statuses[2];
  std::map<Lie, std::map<std::string_view, unsigned>> endings;
};

/// How a run ended, as the table has it.
std::string_view ending(bool ours, int status) {
  if (status == 0) return "whole";
  if (ours && status == static_cast<int>(Exit::findings)) return "findings";
  return ours && status == static_cast<int>(Exit::incomplete) ? "incomplete" : "failed";
}

void print_table(const Tally& tally) {
  for (const auto& [lie, endings] : tally.endings) {
    std::cout << fmt::format("{:<12}", lie_names[static_cast<std::size_t>(lie)]);
    for (const std::string_view how : {"whole", "findings", "incomplete", "failed"}) {
      const auto count = endings.find(how);
      std::cout << fmt::format(" {:>6} {}", count == endings.end() ? 0 : count->second, how);
    }
    std::cout << '\n';
  }
}

/// One run; `ours` chooses the dialect.
void attack(unsigned seed, bool ours, Tally& tally) {
  const auto& lines = ours ? our_lines() : diags_lines();
  const ibtest::SampleLine& line = lines[seed % lines.size()];
  ibtest::Line words = line.words;
  if (ours && seed / lines.size() % 3 == 1) words.push_back(seed % 2 == 0 ? "--json" : "--json=lines");
  Site site;
  Liar liar(seed);
  site.fabric.network.tamper = [&liar](Bytes request, std::optional<Answer> answer) { return liar.tamper(request, std::move(answer)); };
  LimitedClock clock;
  const ibtest::Outside outside{.clock = &clock};
  const auto done = ours ? ibtest::ibtool(site.fabric, words, outside) : ibtest::diags(site.fabric, words, outside);
  INFO("IBTEST_MUTATION_SEED=" << seed << ": " << (ours ? "ibtool " : "") << fmt::format("{}", fmt::join(words, " ")) << ", "
                               << liar.description() << '\n'
                               << done.out.substr(0, 2000) << done.err.substr(0, 2000));
  CHECK_FALSE(clock.over);
  CHECK(plain(done.out));
  CHECK(plain(done.err));
  std::set<int> known = ours ? std::set<int>{0, 1, 2, 3, 4} : std::set<int>{0, 2, 255};
  for (const std::string& more : line.arguments) known.insert(std::stoi(more));
  if (!ours && words[0] == "saquery") known.insert({EIO, EINVAL, ENONET, ETIMEDOUT});  // an errno says why
  CHECK(known.contains(done.status));
  tally.lies += liar.told();
  tally.statuses[ours ? 0 : 1].insert(done.status);
  for (const Lie lie : liar.kinds()) ++tally.endings[lie][ending(ours, done.status)];
  // Both are what the standard library says of mistakes of the program.
  for (const char* word : {"std::", "vector::_M_", "basic_string::", "map::at", "bad_alloc", "waits for something"})
    CHECK(done.err.find(word) == std::string::npos);
}

}  // namespace

TEST_CASE("every command that reads a fabric is attacked") {
  for (const tools::CommandInfo* info : tools::commands()) {
    INFO(info->name);
    const bool asks = !ibtest::has_sample("asks-nothing", info->name);
    CHECK(ibtest::has_sample("attacked", info->name) == asks);
    CHECK(ibtest::has_sample("attacked-legacy", info->name) == (asks && info->make_diags != nullptr));
  }
}

TEST_CASE("a fabric that lies does no harm") {
  Tally tally;
  const unsigned runs = number_from("IBTEST_MUTATIONS", 400), first = number_from("IBTEST_MUTATION_SEED", 1);
  for (unsigned seed = first; seed < first + runs / 2 + runs % 2; ++seed) {
    attack(seed, true, tally);
    attack(seed, false, tally);
  }
  if (std::getenv("IBTEST_MUTATION_TABLE") != nullptr) print_table(tally);
  if (runs < 100) return;  // of one seed, to look at it
  CHECK(tally.lies > runs);
  for (const auto& statuses : tally.statuses) CHECK(statuses.size() > 1);  // some harm was done, and not always
}

}  // namespace tools_mutating_tests
