// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The text of health: one remedy for several findings, what --nodes asked for first, and the forms for a terminal and for a file.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "health/diagnosis.hpp"
#include "support/pseudo_terminal.hpp"
#include "tools/shared/remedy_text.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_health_text_tests {

using namespace ib;
using ibtest::contains;
using ibtest::Outcome;
using ibtest::PseudoTerminal;
using ibtest::starts_with;
using ibtest::health::Fabric;
using nlohmann::json;

namespace {

std::vector<std::string> lines_of(std::string text) {
  std::erase(text, '\r');
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Two cables on which symbols break between the readings.
struct TwoBadCables : Fabric {
  void break_symbols() {
    clock.happens = [this] {
      pma.count(1, "symbol_error_counter") += 30;
      pma.count(2, "symbol_error_counter") += 40;
    };
  }
  /// What health prints on a terminal.
  std::string on(const PseudoTerminal& terminal) {
    break_symbols();
    CHECK(ibtest::ibtool(fabric, {"health"}, {.clock = &clock, .out = terminal.file}).status == 1);
    return terminal.text();
  }
};

}  // namespace

TEST_CASE("health: the actions that remedies name in braces are command lines") {
  std::set<std::string> rendered;
  for (const health::Check& check : health::all_checks()) {
    const std::string text = tools::remedy_text(check.remedy);
    CHECK_THAT(text, !contains("{") && !contains("}"));
    CHECK_THAT(std::string(check.remedy), !contains("ibtool"));
    if (text != check.remedy) rendered.insert(std::string(check.id));
  }
  CHECK(rendered == std::set<std::string>{"buffer-overrun", "constraint-errors", "counter-stuck", "discards-congestion", "discards-mtu",
                                          "lid-duplicate", "link-misconfigured", "node-partial", "own-port", "port-armed", "port-init",
                                          "routes"});
  CHECK(tools::remedy_text(health::find_check("own-port")->remedy) ==
        "Look at the cable at both ends, and at the switch port; if the port was disabled, enable it "
        "(ibtool ibportstate -D 0 PORT enable).");
  CHECK(tools::remedy_text(health::find_check("counter-stuck")->remedy) == "Clear them: ibtool ibclearerrors.");
}

TEST_CASE_METHOD(TwoBadCables, "health: findings with one remedy share it") {
  break_symbols();
  const std::string text = run({}, 1).out;
  CHECK(times(text, "error: symbol-errors (sure): ") == 2);
  CHECK(times(text, "SymbolErrorCounter +") == 2);
  CHECK(times(text, "Clean and reseat the connectors") == 1);
  CHECK_THAT(text, contains("\n  All 2: "));
  // Another check has another remedy.
  clock.happens = [this] {
    pma.count(1, "symbol_error_counter") += 30;
    pma.count(2, "port_rcv_constraint_errors") += 1;
  };
  CHECK_THAT(run({}, 1).out, contains("Clean and reseat the connectors") && contains("Compare the P_Keys") && !contains("All 2"));
}

TEST_CASE_METHOD(TwoBadCables, "health: --nodes answers first whether its hosts wait for each other") {
  const auto wait = [this] {
    pma.count(1, "symbol_error_counter") += 30;
    pma.count(2, "port_xmit_wait") += 1'000'000'000;
  };
  clock.happens = wait;
  const std::vector<std::string> lines = lines_of(run({"--nodes", "here,other"}, 1).out);
  CHECK(lines.at(1) == "Congestion between these hosts: 1 finding.");
  CHECK_THAT(lines.at(3), starts_with("info: congestion (likely): "));
  CHECK_THAT(lines.at(7), starts_with("error: symbol-errors (sure): "));  // after what was seen, why it matters and what to do
  clock.happens = wait;
  const std::string all = run({}, 1).out;
  CHECK(all.find("error: symbol-errors") < all.find("info: congestion"));
  CHECK_THAT(all, !contains("between these hosts"));
  CHECK_THAT(run({"--nodes", "here,other"}).out, contains("\nCongestion between these hosts: none.\n"));
}

TEST_CASE_METHOD(TwoBadCables, "health: lines are broken at the width of a terminal, and not at all elsewhere") {
  break_symbols();
  const std::vector<std::string> whole = lines_of(run({}, 1).out);
  CHECK_THAT(whole.back(), starts_with("Not checked: ") && ibtest::ends_with("(no --baseline is given)."));
  ::setenv("NO_COLOR", "1", 1);
  const std::string plain = on(PseudoTerminal(60, 100));
  ::unsetenv("NO_COLOR");
  const std::vector<std::string> lines = lines_of(plain);
  CHECK(lines.size() > whole.size() + 5);
  for (const std::string& line : lines) CHECK(line.size() <= 60);
  CHECK_THAT(plain, !contains("\x1b"));
}

TEST_CASE_METHOD(TwoBadCables, "health: levels have colours on a terminal") {
  ::setenv("TERM", "xterm", 1);
  const std::string text = on(PseudoTerminal(200, 100));
  CHECK(times(text, "\x1b[31merror\x1b[0m: symbol-errors") == 2);
  CHECK_THAT(text, !contains("\x1b[32m"));
  const PseudoTerminal terminal(200, 100);
  CHECK(ibtest::ibtool(fabric, {"health"}, {.clock = &clock, .out = terminal.file}).status == 0);
  CHECK_THAT(terminal.text(), starts_with("\x1b[32mHealthy\x1b[0m: nothing found"));
}

TEST_CASE_METHOD(TwoBadCables, "health: a report that is longer than a screen ends with its verdict") {
  ::setenv("NO_COLOR", "1", 1);
  const std::vector<std::string> high = lines_of(on(PseudoTerminal(200, 40))), low = lines_of(on(PseudoTerminal(200, 8)));
  ::unsetenv("NO_COLOR");
  CHECK(high.front() == "2 errors on 2 hosts, 1 switch, 2 cables; watched 10 s.");
  CHECK_THAT(high.back(), !contains("2 errors"));
  CHECK(low.back() == high.front());
  CHECK(low.size() == high.size() + 1);
}

}  // namespace tools_health_text_tests
