// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters that moved: each check once firing and once just not, who is blamed, and what a window proves.
#include <cmath>

#include "base/error.hpp"
#include "health/checks/common.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_errors_tests {

using namespace ib;
using namespace ib::health;
using counters::ChangeKind;
using ibtest::Found;
using ibtest::Patient;

namespace {

constexpr double day = 86400;

/// What is found where port 3 of leaf0 has counted.
Found found_of(std::string_view counter, std::uint64_t delta, double seconds = 10, bool edr = false) {
  Patient patient;
  if (edr) patient.make_edr();
  patient.sweep(seconds);
  patient.count(Patient::leaf0, 3, counter, delta);
  return patient.found();
}

Level level_of(std::string_view counter, std::uint64_t delta, double seconds, bool edr) {
  Patient patient;
  if (edr) patient.make_edr();
  patient.sweep(seconds);
  patient.count(Patient::leaf0, 3, counter, delta);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(diagnosis.findings.size() == 1);
  return *diagnosis.findings.front().level;
}

}  // namespace

TEST_CASE("a window proves what the rule of three says") {
  const subnet::LinkRate ndr{4, subnet::Speed::ndr};
  CHECK(provable_ratio(bits_in(ndr, 10)) == Approx(7.5e-13));
  CHECK(provable_ratio(bits_in(ndr, day)) == Approx(8.68e-17).epsilon(0.01));
  CHECK(provable_ratio(bits_in({4, subnet::Speed::edr}, 10)) == Approx(3.0e-12));
  CHECK(provable_ratio(bits_in({4, subnet::Speed::qdr}, 10)) == Approx(9.4e-12).epsilon(0.01));
  CHECK(provable_ratio(bits_in({4, subnet::Speed::fdr}, 10)) == Approx(5.5e-12).epsilon(0.01));
  CHECK(chance_of(3, 0.1) == Approx(1.55e-4).epsilon(0.01));
  CHECK(chance_of(0, 5) == 1);
  CHECK(chance_of(1, 0.5) == Approx(1 - std::exp(-0.5)));
  CHECK(confidence_in(3, 0.1, 1) == Confidence::sure);
  CHECK(confidence_in(3, 0.1, 100'000) == Confidence::likely);
  CHECK(confidence_in(3, 1, 1) == Confidence::possible);
}

TEST_CASE("symbol-errors: at least three, and more than the ratio of the link") {
  for (const std::string_view counter : {"symbol_error_counter", "port_rcv_errors"}) {
    const Found check{counter == "port_rcv_errors" ? "receive-errors" : "symbol-errors"};
    CHECK(found_of(counter, 3) == check);
    CHECK(found_of(counter, 2).empty());
    // 4x QDR carries 2.76e15 bits a day: 2764.8 errors are 1e-12. 1e-14 is no limit there.
    CHECK(found_of(counter, 2764, day).empty());
    CHECK(found_of(counter, 2765, day) == check);
    // 4x EDR: 8640 are 1e-12, 86.4 are 1e-14.
    CHECK(found_of(counter, 86, day, true).empty());
    CHECK(level_of(counter, 87, day, true) == Level::warning);
    CHECK(level_of(counter, 8640, day, true) == Level::warning);
    CHECK(level_of(counter, 8641, day, true) == Level::error);
  }
}

TEST_CASE("errors on a link of unknown rate are no proof of a ratio") {
  Patient patient;
  for (const auto& [node, port] : {std::pair{Patient::leaf0, 3U}, {Patient::spine, 1U}}) patient.info(node, port).link_width_active = {};
  patient.sweep();
  patient.count(Patient::leaf0, 3, "symbol_error_counter", 3);
  patient.count(Patient::leaf0, 3, "port_rcv_errors", 2);
  const Diagnosis diagnosis = patient.examine();
  const auto finding = std::ranges::find(diagnosis.findings, find_check("symbol-errors"), &Finding::check);
  REQUIRE(finding != diagnosis.findings.end());
  CHECK(*finding->level == Level::warning);
  CHECK(finding->confidence == Confidence::possible);
  CHECK_THAT(finding->detail, ibtest::contains("rate of the link is not known"));
  CHECK(finding->also.empty());
}

TEST_CASE("link-recovery: a warning, and an error from three at five a minute on") {
  CHECK(level_of("link_error_recovery_counter", 1, 10, false) == Level::warning);  // six a minute
  CHECK(level_of("link_error_recovery_counter", 3, 60, false) == Level::warning);
  CHECK(level_of("link_error_recovery_counter", 3, 36, false) == Level::error);
  CHECK(found_of("link_error_recovery_counter", 0).empty());
}

TEST_CASE("errors that a good link never counts") {
  struct Row {
    std::string_view counter, check;
    Level level;
  };
  for (const Row& row : {Row{"local_link_integrity_errors", "link-integrity", Level::error},
                         {"excessive_buffer_overrun_errors", "buffer-overrun", Level::error},
                         {"port_xmit_constraint_errors", "constraint-errors", Level::warning},
                         {"port_rcv_constraint_errors", "constraint-errors", Level::warning},
                         {"vl15_dropped", "vl15-dropped", Level::info},
                         {"port_rcv_switch_relay_errors", "relay-errors", Level::info}}) {
    CHECK(found_of(row.counter, 1) == Found{std::string(row.check)});
    CHECK(found_of(row.counter, 0).empty());
    CHECK(level_of(row.counter, 1, 10, false) == row.level);
  }
}

TEST_CASE("link-flap is of both ends, link-restart of one") {
  Patient flap;
  flap.sweep();
  flap.count(Patient::leaf0, 1, "link_downed_counter", 2);
  flap.count(Patient::host0, 1, "link_downed_counter", 1);
  const Diagnosis diagnosis = flap.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-flap"});
  CHECK(diagnosis.findings.front().evidence.size() == 2);

  Patient restart;
  restart.sweep();
  restart.count(Patient::leaf0, 1, "link_downed_counter", 1);
  restart.counts.at(restart.port(Patient::host0, 1)).began_anew = true;
  const Diagnosis restarted = restart.examine();
  REQUIRE(Patient::checks_of(restarted) == Found{"link-restart"});
  CHECK(restarted.findings.front().confidence == Confidence::sure);

  Patient silent;
  silent.sweep();
  silent.count(Patient::leaf0, 1, "link_downed_counter", 1);
  silent.counts.erase(silent.port(Patient::host0, 1));
  const Diagnosis unread = silent.examine();
  REQUIRE(Patient::checks_of(unread) == Found{"link-flap"});
  CHECK(unread.findings.front().confidence == Confidence::possible);
  CHECK(unread.findings.front().level == Level::warning);
}

TEST_CASE("broken packets are blamed on the link that broke them") {
  Patient patient;  // host2 to host0: broken between leaf1 and the spine
  patient.sweep();
  patient.count(Patient::spine, 2, "port_rcv_errors", 4);
  patient.count(Patient::leaf0, 3, "port_rcv_remote_physical_errors", 4);
  patient.count(Patient::host0, 1, "port_rcv_remote_physical_errors", 4);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"receive-errors"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(finding.ends[0].port == patient.port(Patient::spine, 2));
  CHECK(finding.ends[1].port == patient.port(Patient::leaf1, 3));
  CHECK(finding.confidence == Confidence::sure);
  CHECK(finding.detail == "Its corrupted packets reached 2 ports behind it, which had no errors of their own.");

  Patient unseen;  // nobody that was read broke them
  unseen.sweep();
  unseen.count(Patient::host0, 1, "port_rcv_remote_physical_errors", 4);
  const Diagnosis unknown = unseen.examine();
  REQUIRE(Patient::checks_of(unknown) == Found{"receive-errors"});
  CHECK(*unknown.findings.front().level == Level::warning);
  CHECK(unknown.findings.front().confidence == Confidence::possible);
  CHECK(unknown.findings.front().ends.front() == Place{unseen.swept->subnet.port(unseen.port(Patient::leaf0, 1)).node, subnet::none});
}

TEST_CASE("details distinguish errors of a cable from errors of tables") {
  Patient patient;
  patient.sweep();
  patient.count(Patient::leaf0, 3, "port_rcv_errors", 5);
  patient.count(Patient::leaf0, 3, "port_dlid_mapping_errors", 5);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(diagnosis.findings.size() == 1);
  CHECK(diagnosis.findings.front().evidence.size() == 2);
  CHECK(diagnosis.findings.front().detail == "Packets had a DLID that leads nowhere: forwarding tables.");
}

TEST_CASE("discards by their reasons") {
  for (const auto& [reason, check] : {std::pair{"port_sw_hoq_limit_discards", "discards-congestion"},
                                      {"port_sw_lifetime_limit_discards", "discards-congestion"},
                                      {"port_neighbor_mtu_discards", "discards-mtu"},
                                      {"port_inactive_discards", "discards-inactive"}}) {
    Patient patient;
    patient.sweep();
    patient.count(Patient::leaf0, 3, "port_xmit_discards", 7);
    patient.count(Patient::leaf0, 3, reason, 7);
    CHECK(patient.found() == Found{check});
  }
  CHECK(found_of("port_xmit_discards", 7) == Found{"discards"});
  for (const std::string_view none : {"port_xmit_discards", "port_sw_hoq_limit_discards", "port_sw_lifetime_limit_discards",
                                      "port_neighbor_mtu_discards", "port_inactive_discards"})
    CHECK(found_of(none, 0).empty());
  Patient few;  // as many as the threshold, and one less
  few.thresholds.events = 7;
  few.sweep();
  few.count(Patient::leaf0, 3, "port_xmit_discards", 6);
  few.count(Patient::leaf0, 3, "port_neighbor_mtu_discards", 6);
  few.count(Patient::leaf0, 1, "port_sw_hoq_limit_discards", 6);
  few.count(Patient::leaf0, 2, "port_inactive_discards", 6);
  few.count(Patient::leaf1, 1, "port_sw_lifetime_limit_discards", 7);
  CHECK(few.found() == Found{"discards-congestion"});
  Patient partly;
  partly.sweep();
  partly.count(Patient::leaf0, 3, "port_xmit_discards", 7);
  partly.count(Patient::leaf0, 3, "port_inactive_discards", 6);
  const Diagnosis diagnosis = partly.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"discards"});  // one finding of the cable …
  CHECK(diagnosis.findings.front().evidence.size() == 2);       // … with both
}

TEST_CASE("discards: a reason whose counter is full may explain the others") {
  Patient patient;
  patient.sweep();
  patient.count(Patient::leaf0, 3, "port_xmit_discards", 5000);
  patient.fill(Patient::leaf0, 3, "port_sw_hoq_limit_discards", 65535).is_full = false;
  PortChanges& of = patient.counts.at(patient.port(Patient::leaf0, 3));
  of.has_discard_details = of.lacks_discard_details = true;
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"discards"});
  CHECK(diagnosis.findings.front().confidence == Confidence::possible);
  CHECK_THAT(diagnosis.findings.front().detail, ibtest::contains("is full"));
}

TEST_CASE("discards of a port without a link are discards-inactive, even if no PMA gives the reasons") {
  for (const auto& [has_details, is_down, found] :
       {std::tuple{false, true, "discards-inactive"}, {true, true, "discards"}, {false, false, "discards"}}) {
    Patient patient;
    if (is_down) patient.fabric.set_link(Patient::leaf0, 2, false);
    patient.sweep();
    patient.read(Patient::leaf0, 2);
    patient.counts.at(patient.port(Patient::leaf0, 2)).has_discard_details = has_details;
    patient.count(Patient::leaf0, 2, "port_xmit_discards", 1);
    const Diagnosis diagnosis = patient.examine();
    REQUIRE(Patient::checks_of(diagnosis) == Found{found});
    CHECK(*diagnosis.findings.front().level == (found == std::string_view("discards") ? Level::warning : Level::info));
  }
}

TEST_CASE("fec-uncorrectable: one block, by either layout of its counters") {
  for (const std::string_view counter : {"port_fec_uncorrectable_block_ctr", "fec_uncorrectable_block_ctr_lane"}) {
    CHECK(level_of(counter, 1, 10, true) == Level::error);
    CHECK(found_of(counter, 1) == Found{"fec-uncorrectable"});
    CHECK(found_of(counter, 0).empty());
  }
  Patient unread;  // nobody has these counters
  unread.sweep();
  unread.input->source(Source::blocks) = {CheckState::skipped, "no port counts blocks"};
  unread.count(Patient::leaf0, 3, "port_fec_uncorrectable_block_ctr", 1);
  CHECK(unread.found().empty());
}

TEST_CASE("of a counter that was cleared what it holds now was counted since") {
  Patient patient;
  patient.sweep();
  patient.clear(Patient::leaf0, 3, "symbol_error_counter", 65535, 60000);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"symbol-errors"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(*finding.level == Level::error);
  CHECK(finding.confidence == Confidence::likely);
  CHECK(finding.evidence.size() == 1);
  CHECK(finding.also == std::vector{find_check("counter-cleared")});

  Patient little;  // two are no finding, and none is none
  little.sweep();
  little.clear(Patient::leaf0, 3, "symbol_error_counter", 9, 2);
  little.clear(Patient::leaf0, 2, "local_link_integrity_errors", 9, 0);
  CHECK(little.found() == Found{"counter-cleared"});

  Patient restarted;  // what a node counts while its link comes up again
  restarted.sweep();
  restarted.count(Patient::leaf0, 1, "link_downed_counter", 1);
  restarted.clear(Patient::host0, 1, "symbol_error_counter", 100, 50);
  restarted.counts.at(restarted.port(Patient::host0, 1)).began_anew = true;
  CHECK(restarted.found() == Found{"link-restart"});
}

TEST_CASE("congestion: the head of the tree, and how many wait for it") {
  Patient patient;  // host2 and leaf1 wait for host0, which is slow
  patient.sweep();
  patient.count(Patient::host2, 1, "port_xmit_wait", 20'000'000);
  patient.count(Patient::leaf1, 3, "port_xmit_wait", 30'000'000);
  patient.count(Patient::spine, 1, "port_xmit_wait", 30'000'000);
  patient.count(Patient::leaf0, 1, "port_xmit_wait", 40'000'000);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"congestion"});
  CHECK(diagnosis.findings.front().ends.front().port == patient.port(Patient::leaf0, 1));
  CHECK(diagnosis.findings.front().detail == "No port behind it waits: its receiver is slow. 3 ports wait for it.");
  CHECK(found_of("port_xmit_wait", 10'000'000) == Found{"congestion"});
  CHECK(found_of("port_xmit_wait", 9'999'999).empty());
}

TEST_CASE("congestion: a link of unknown rate is not the greatest head") {
  Patient patient;
  for (const auto& [node, port] : {std::pair{Patient::leaf0, 1U}, {Patient::host0, 1U}}) patient.info(node, port).link_width_active = {};
  patient.sweep();
  patient.thresholds.congestion_heads = 1;
  patient.count(Patient::leaf0, 1, "port_xmit_wait", 20'000'000);
  patient.count(Patient::leaf1, 1, "port_xmit_wait", 20'000'000);
  const Diagnosis diagnosis = patient.examine();
  const auto finding = std::ranges::find(diagnosis.findings, find_check("congestion"), &Finding::check);
  REQUIRE(finding != diagnosis.findings.end());
  CHECK(finding->ends.front().port == patient.port(Patient::leaf1, 1));
}

TEST_CASE("counters that are stuck or were cleared are one finding each") {
  Patient patient;
  patient.sweep();
  for (const auto leaf : {Patient::leaf0, Patient::leaf1}) {
    patient.fill(leaf, 3, "symbol_error_counter", 65535);
    patient.clear(leaf, 2, "port_rcv_errors", 9, 0);
  }
  patient.count(Patient::spine, 1, "port_rcv_errors", 0).kind = ChangeKind::implausible;
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"counter-stuck", "counter-cleared"});
  for (const Finding& finding : diagnosis.findings) CHECK(finding.ends.size() == 2);
  CHECK(diagnosis.implausible == 1);
}

TEST_CASE("one finding a cable, the worst first, with the evidence of all") {
  Patient patient;
  patient.sweep();
  patient.count(Patient::leaf0, 3, "symbol_error_counter", 30);
  patient.count(Patient::spine, 1, "link_error_recovery_counter", 1);
  patient.count(Patient::leaf1, 1, "vl15_dropped", 1);
  patient.count(Patient::leaf1, 2, "port_rcv_constraint_errors", 1);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"symbol-errors", "constraint-errors", "vl15-dropped"});
  const Finding& worst = diagnosis.findings.front();
  CHECK(worst.ends == std::vector{Place{place_of(patient.swept->subnet, patient.port(Patient::leaf0, 3))},
                                  Place{place_of(patient.swept->subnet, patient.port(Patient::spine, 1))}});
  REQUIRE(worst.evidence.size() == 2);
  CHECK(worst.evidence[0].end == 0);
  CHECK(worst.evidence[1].end == 1);
  CHECK(diagnosis.count(Level::error) == 1);
  CHECK(diagnosis.count(Level::warning) == 1);
  CHECK(diagnosis.count(Level::info) == 1);
  const auto count_of = [&](std::string_view id) {
    return std::ranges::find_if(diagnosis.checks, [id](const CheckResult& result) { return result.check->id == id; })->finding_count;
  };
  CHECK(count_of("symbol-errors") == 1);
  CHECK(count_of("link-recovery") == 1);  // it has a part in it
  CHECK(count_of("link-flap") == 0);
}

TEST_CASE("checks that are not wanted, or have no source, are not run, and say why") {
  Patient patient;
  patient.sweep();
  patient.count(Patient::leaf0, 3, "symbol_error_counter", 30);
  for (auto& [at, of] : patient.counts) patient.input->counts.add(of);
  const Check* symbols = find_check("symbol-errors");
  REQUIRE(symbols != nullptr);
  CHECK(find_check("symbol") == nullptr);
  const auto result_of = [&](const Diagnosis& diagnosis) {
    return diagnosis.checks.at(static_cast<std::size_t>(symbols - all_checks().data()));
  };
  const Diagnosis skipped = examine(*patient.input, {.only = {}, .skip = {symbols}});
  CHECK(skipped.findings.empty());
  CHECK(result_of(skipped).state == CheckState::skipped);
  CHECK(examine(*patient.input, {.only = {symbols}, .skip = {}}).findings.size() == 1);
  patient.input->source(Source::window) = {CheckState::not_read, "nobody told"};
  const Diagnosis unread = examine(*patient.input, {});
  CHECK(unread.findings.empty());
  CHECK(unread.any_not_read());
  CHECK(result_of(unread).reason == "nobody told");
  CHECK(Selection{.only = {find_check("link-slow")}, .skip = {}}.needs().none());
}

TEST_CASE("every check has an id of its own, and words") {
  for (const Check& check : all_checks()) {
    CHECK(find_check(check.id) == &check);
    CHECK(check.text.ends_with('.'));
    CHECK(check.remedy.ends_with('.'));
  }
}

TEST_CASE("a file changes thresholds, and its errors are reported with the place") {
  Thresholds thresholds;
  read_thresholds("# ours\n\nerror_ratio = 1e-13\nevents=2\n", "file", thresholds);
  CHECK(thresholds.error_ratio == 1e-13);
  CHECK(thresholds.events == 2);
  CHECK(thresholds.warning_ratio == 1e-14);
  for (const auto& [text, complaint] :
       {std::pair{"\nerror_ratoi=1", "file:2: no threshold is called 'error_ratoi': did you mean error_ratio?"},
        {"events", "file:1: not a line NAME=NUMBER"},
        {"events=-1", "file:1: '-1' is not a number from 0 on"},
        {"events=nan", "file:1: 'nan' is not a number from 0 on"},
        {"events=1x", "file:1: '1x' is not a number from 0 on"}}) {
    try {
      read_thresholds(text, "file", thresholds);
      FAIL("taken: " << text);
    } catch (const UsageError& error) {
      CHECK(error.message() == complaint);
    }
  }
}

}  // namespace health_errors_tests
