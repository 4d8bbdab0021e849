// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The names, labels and values of others, held against tables that were written from their sources and from what they print:
// treydock's infiniband_exporter 0.10.0 and guilbaults' infiniband-exporter 0.0.6.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <set>

#include "iba-gen/pm.hpp"
#include "iba/wire.hpp"
#include "support/catch.hpp"
#include "unit/metrics/made_view.hpp"

namespace metrics_names_tests {

using namespace ib;
using ibtest::FakeFabric;
using ibtest::MadeView;
using ibtest::PageSample;

namespace {

using Words = std::vector<std::string>;
using Labels = std::set<std::string>;

/// What treydock's counters are called, and the field of libibmad that each holds.
const std::vector<std::pair<std::string, std::string>> treydock_counters{
    {"transmit_data_bytes", "PortXmitData"},
    {"receive_data_bytes", "PortRcvData"},
    {"transmit_packets", "PortXmitPkts"},
    {"receive_packets", "PortRcvPkts"},
    {"unicast_transmit_packets", "PortUnicastXmitPkts"},
    {"unicast_receive_packets", "PortUnicastRcvPkts"},
    {"multicast_transmit_packets", "PortMulticastXmitPkts"},
    {"multicast_receive_packets", "PortMulticastRcvPkts"},
    {"symbol_error", "SymbolErrorCounter"},
    {"link_error_recovery", "LinkErrorRecoveryCounter"},
    {"link_downed", "LinkDownedCounter"},
    {"receive_errors", "PortRcvErrors"},
    {"receive_remote_physical_errors", "PortRcvRemotePhysicalErrors"},
    {"receive_switch_relay_errors", "PortRcvSwitchRelayErrors"},
    {"transmit_discards", "PortXmitDiscards"},
    {"transmit_constraint_errors", "PortXmitConstraintErrors"},
    {"receive_constraint_errors", "PortRcvConstraintErrors"},
    {"local_link_integrity_errors", "LocalLinkIntegrityErrors"},
    {"excessive_buffer_overrun_errors", "ExcessiveBufferOverrunErrors"},
    {"vl15_dropped", "VL15Dropped"},
    {"transmit_wait", "PortXmitWait"},
    {"qp1_dropped", "QP1Dropped"},
};
const Words treydock_details{"local_physical_errors", "malformed_packet_errors", "buffer_overrun_errors",
                             "dli_mapping_errors",    "vl_mapping_errors",       "looping_errors"};

/// Ours beside them, for which there are no names of treydock's.
const Words own_discards{"inactive_discards", "neighbor_mtu_discards", "sw_lifetime_limit_discards", "sw_hoq_limit_discards"};

/// Ours beside either.
const Words own_fec{"fec_corrected_blocks", "fec_uncorrectable_blocks", "fec_corrected_symbols"};

const Words guilbaults_counters{
    "linkdownedcounter",
    "symbolerrorcounter",
    "portxmitconstrainterrors",
    "portxmitdiscards",
    "portxmitwait",
    "portxmitdata",
    "portrcvdata",
    "portxmitpkts",
    "portrcvpkts",
    "portrcverrors",
    "portunicastxmitpkts",
    "portunicastrcvpkts",
    "portmulticastxmitpkts",
    "portmulticastrcvpkts",
    "linkerrorrecoverycounter",
    "portrcvremotephysicalerrors",
    "locallinkintegrityerrors",
    "vl15dropped",
    "portrcvconstrainterrors",
    "excessivebufferoverrunerrors",
};
const Words guilbaults_details{"portmalformedpkterrors",  "portswlifetimelimitdiscards", "portswhoqlifetimelimitdiscards",
                               "portbufferoverrunerrors", "portlocalphysicalerrors",     "portinactivediscards",
                               "portdlidmappingerrors",   "portneighbormtudiscards"};

/// Ours, in the default and beside guilbaults'.
const std::map<std::string, Labels> own{
    {"infiniband_switch_port_state", {"guid", "port", "switch"}},
    {"infiniband_switch_port_state_id", {"guid", "port"}},
    {"infiniband_switch_port_physical_state_id", {"guid", "port"}},
    {"infiniband_switch_up", {"guid", "switch"}},
    {"infiniband_hca_up", {"guid", "hca"}},
    {"infiniband_switch_port_transmit_wait_ratio", {"guid", "port"}},
    {"infiniband_hca_port_transmit_wait_ratio", {"guid", "port"}},
    {"infiniband_exporter_reading_timestamp_seconds", {}},
    {"infiniband_exporter_reading_duration_seconds", {}},
    {"infiniband_exporter_sweep_timestamp_seconds", {}},
    {"infiniband_exporter_sweep_duration_seconds", {}},
    {"infiniband_exporter_sweep_failures", {}},
    {"infiniband_exporter_sweeps_total", {}},
    {"infiniband_exporter_failed_rounds_total", {}},
    {"infiniband_exporter_mads_sent_total", {}},
    {"infiniband_exporter_build_info", {"version"}},
};

/// Each name of a page with its labels. Samples of one name have the same ones.
std::map<std::string, Labels> names_of(const std::vector<PageSample>& samples) {
  std::map<std::string, Labels> names;
  for (const PageSample& sample : samples) {
    Labels labels;
    for (const auto& [name, value] : sample.labels) labels.insert(name);
    const auto [known, is_new] = names.try_emplace(sample.name, labels);
    INFO(sample.name);
    CHECK(known->second == labels);
  }
  return names;
}

std::map<std::string, Labels> treydock_names(bool details) {
  std::map<std::string, Labels> names = own;
  for (const std::string kind : {"switch", "hca"}) {
    const std::string prefix = "infiniband_" + kind + "_";
    for (const auto& [name, field] : treydock_counters) names[prefix + "port_" + name + "_total"] = {"guid", "port"};
    if (details) {
      for (const std::string& name : treydock_details) names[prefix + "port_" + name + "_total"] = {"guid", "port"};
      for (const Words& words : {own_discards, own_fec})
        for (const std::string& name : words) names[prefix + "port_" + name + "_total"] = {"guid", "port"};
    }
    const Labels rate = kind == "switch" ? Labels{"guid", "port"} : Labels{"guid"};
    const std::string of_port = kind == "switch" ? "port_" : "";
    names[prefix + of_port + "rate_bytes_per_second"] = names[prefix + of_port + "raw_rate_bytes_per_second"] = rate;
    names[prefix + "uplink_info"] = {"guid", "port", kind, "uplink", "uplink_guid", "uplink_type", "uplink_port", "uplink_lid"};
    names[prefix + "info"] = {"guid", kind, "lid"};
    for (const char* name : {"collect_duration_seconds", "collect_error", "collect_timeout"}) names[prefix + name] = {"guid", "collector"};
  }
  for (const char* name : {"collector_duration_seconds", "collect_errors", "collect_timeouts"})
    names[std::string("infiniband_exporter_") + name] = {"collector"};
  return names;
}

std::map<std::string, Labels> guilbaults_names(bool details) {
  const Labels port{"component", "local_name", "local_guid", "local_port", "remote_guid", "remote_port", "remote_name"};
  std::map<std::string, Labels> names = own;
  for (const std::string& name : guilbaults_counters) names["infiniband_" + name + "_total"] = port;
  if (details) {
    for (const std::string& name : guilbaults_details) names["infiniband_" + name + "_total"] = port;
    for (const std::string& name : own_fec)
      names["infiniband_switch_port_" + name + "_total"] = names["infiniband_hca_port_" + name + "_total"] = {"guid", "port"};
  }
  names["infiniband_speed"] = names["infiniband_width"] = port;
  for (const char* name : {"scrape_ok", "scrape_duration_seconds", "ibqueryerrors_duration_seconds"})
    names[std::string("infiniband_") + name] = {};
  return names;
}

/// The samples of a name, by port, of the device with that GUID.
std::map<std::string, std::string> values(const std::vector<PageSample>& samples, const std::string& name, const std::string& guid) {
  std::map<std::string, std::string> values;
  for (const PageSample& sample : samples) {
    if (sample.name != name || sample.labels.at("guid") != guid) continue;
    const auto port = sample.labels.find("port");
    values[port == sample.labels.end() ? "" : port->second] = sample.value;
  }
  return values;
}

/// Switch 0x100 with five ports: a host at port 1, a card with two ports at 2 and 3, a second switch at 4, nothing at 5.
struct Small {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 5, " leaf one "), host = fabric.add_ca(0x200, 1, "host"),
                     card = fabric.add_ca(0x300, 2, "card"), far = fabric.add_switch(0x400, 4, "far");
  Small() {
    fabric.link(leaf, 1, host, 1);
    fabric.link(leaf, 2, card, 1);
    fabric.link(leaf, 3, card, 2);
    fabric.link(leaf, 4, far, 2);
    fabric.assign_lids();
    fabric.attach(host);
  }
  void set_rate(unsigned port, const std::function<void(smp::PortInfo&)>& change) { change(fabric.node(leaf).ports.at(port).info); }
};

const std::string leaf_guid = "0x0000000000000100", host_guid = "0x0000000000000201";

}  // namespace

TEST_CASE_METHOD(Small, "Names: treydock's, each with its labels, and ours beside them, and nothing else") {
  const MadeView made(fabric);
  for (const bool details : {false, true}) CHECK(names_of(made.samples({.hcas = true, .details = details})) == treydock_names(details));
  for (const auto& [name, labels] : names_of(made.samples({}))) CHECK_THAT(name, !ibtest::starts_with("infiniband_hca"));
}

TEST_CASE_METHOD(Small, "Names: guilbaults', each with its labels, and ours beside them, and nothing else") {
  const MadeView made(fabric);
  for (const bool details : {false, true}) {
    const metrics::Exported exported{.names = metrics::Names::guilbaults, .hcas = true, .details = details};
    CHECK(names_of(made.samples(exported)) == guilbaults_names(details));
  }
}

TEST_CASE("Names: each counter holds the field that its name says") {
  for (const auto& [name, field] : treydock_counters) {
    const auto column = std::ranges::find(counters::columns, name, &counters::Column::treydock);
    INFO(name);
    REQUIRE(column != counters::columns.end());
    CHECK(counters::find_counter(field) == counters::find_counter(column->field));
  }
  // guilbaults' names are libibmad's in lower case.
  for (const counters::Column& column : counters::columns) {
    if (column.guilbaults.empty() || column.source != counters::Source::counters) continue;
    CHECK(counters::find_counter(column.guilbaults) == counters::find_counter(column.field));
  }
}

TEST_CASE_METHOD(Small, "Names: a port without a link has no series of treydock's, and a state of ours") {
  const MadeView made(fabric);
  const auto samples = made.samples({.hcas = true});
  for (const PageSample& sample : samples) {
    if (sample.labels.contains("port") && sample.labels.at("guid") == leaf_guid && sample.labels.at("port") == "5")
      CHECK_THAT(sample.name, ibtest::contains("state"));
  }
  const std::map<std::string, std::string> states{{"1", "1"}, {"2", "1"}, {"3", "1"}, {"4", "1"}, {"5", "0"}};
  CHECK(values(samples, "infiniband_switch_port_state", leaf_guid) == states);
  CHECK(values(samples, "infiniband_switch_port_physical_state_id", leaf_guid).at("5") == "2");
}

TEST_CASE_METHOD(Small, "Names: a link that a poll found down has no series of treydock's at either end") {
  const MadeView made(fabric);
  const subnet::PortIndex port = made.fabric->subnet.port_of(made.fabric->subnet.find_node(Guid{0x100}), 1);
  made.states->set(port, {1, 2});
  const auto samples = made.samples({.hcas = true});
  CHECK(values(samples, "infiniband_switch_uplink_info", leaf_guid).count("1") == 0);
  CHECK(values(samples, "infiniband_switch_port_link_downed_total", leaf_guid).count("1") == 0);
  CHECK(values(samples, "infiniband_hca_port_link_downed_total", host_guid).empty());
  CHECK(values(samples, "infiniband_switch_port_state", leaf_guid).at("1") == "0");
}

TEST_CASE_METHOD(Small, "Names: an HCA is a port, by the port's GUID, and uplinks are one to one with guid and port") {
  const MadeView made(fabric);
  const auto samples = made.samples({.hcas = true});
  std::set<std::pair<std::string, std::string>> uplinks;
  std::map<std::string, PageSample> by_port;
  for (const PageSample& sample : samples) {
    if (sample.name != "infiniband_switch_uplink_info" && sample.name != "infiniband_hca_uplink_info") continue;
    CHECK(uplinks.emplace(sample.labels.at("guid"), sample.labels.at("port")).second);
    by_port[sample.labels.at("guid") + "/" + sample.labels.at("port")] = sample;
  }
  CHECK(uplinks.size() == 8);
  const auto& card_port = by_port.at("0x0000000000000302/2").labels;
  CHECK(card_port.at("hca") == "card");
  CHECK(card_port.at("uplink") == "leaf one");  // without the blanks
  CHECK(card_port.at("uplink_guid") == leaf_guid);
  CHECK(card_port.at("uplink_type") == "SW");
  CHECK(card_port.at("uplink_port") == "3");
  const auto& leaf_port = by_port.at(leaf_guid + "/3").labels;
  CHECK(leaf_port.at("switch") == "leaf one");
  CHECK(leaf_port.at("uplink_guid") == "0x0000000000000302");
  CHECK(leaf_port.at("uplink_type") == "CA");
  CHECK(leaf_port.at("uplink_port") == "2");
  CHECK(leaf_port.at("uplink_lid") == std::to_string(made.fabric->subnet.lid(made.fabric->subnet.find_port(Guid{0x302})).value));
}

TEST_CASE_METHOD(Small, "Names: data are bytes for treydock and words for guilbaults, and do not overflow") {
  const MadeView made(fabric);
  made.reading->rows.front().counters[0] = std::uint64_t{1} << 63U;
  auto samples = made.samples({});
  const std::string name = "infiniband_switch_port_transmit_data_bytes_total";
  CHECK(std::stod(values(samples, name, leaf_guid).at("1")) == 4 * 9223372036854775808.0);
  CHECK(values(samples, name, leaf_guid).at("2") == "8000");
  CHECK(values(samples, "infiniband_switch_port_receive_data_bytes_total", leaf_guid).at("2") == "8004");
  CHECK(values(samples, "infiniband_switch_port_transmit_packets_total", leaf_guid).at("2") == "2002");
  for (const PageSample& sample : made.samples({.names = metrics::Names::guilbaults})) {
    if (sample.name != "infiniband_portxmitdata_total" || sample.labels.at("local_port") != "2") continue;
    CHECK(sample.value == "2000");
    CHECK(sample.labels.at("component") == "switch");
    const bool is_leaf = sample.labels.at("local_guid") == "0x100";
    CHECK(sample.labels.at("local_name") == (is_leaf ? " leaf one " : "far"));
    CHECK(sample.labels.at("remote_guid") == (is_leaf ? "0x0000000000000301" : leaf_guid));
  }
}

TEST_CASE_METHOD(Small, "Names: rates of all speeds, XDR at 200 Gb/s a lane") {
  struct Case {
    unsigned basic, extended, extended2, lanes_code;
    double effective, raw;  // Gb/s
  };
  const std::vector<Case> cases{{1, 0, 0, 2, 8, 10},        {2, 0, 0, 2, 16, 20},    {4, 0, 0, 1, 8, 10},    {4, 1, 0, 2, 54.56, 56.25},
                                {4, 2, 0, 2, 100, 103.125}, {4, 4, 0, 16, 100, 100}, {4, 8, 0, 2, 400, 400}, {4, 0, 1, 2, 800, 800}};
  for (const Case& rate : cases) {
    fabric.node(leaf).ports.at(0).info.capability_mask |= 1U << 14 | 1U << 15;
    fabric.node(leaf).ports.at(0).info.capability_mask2 |= 1U << 11;
    smp::PortInfo& info = fabric.node(leaf).ports.at(4).info;
    info.link_speed_active = static_cast<std::uint8_t>(rate.basic);
    info.link_speed_ext_active = static_cast<std::uint8_t>(rate.extended);
    info.link_speed_ext_active2 = static_cast<std::uint8_t>(rate.extended2);
    info.link_width_active = static_cast<std::uint8_t>(rate.lanes_code);
    const MadeView made(fabric);
    const auto samples = made.samples({});
    INFO(rate.effective);
    CHECK(std::stod(values(samples, "infiniband_switch_port_rate_bytes_per_second", leaf_guid).at("4")) == rate.effective * 1e9 / 8);
    CHECK(std::stod(values(samples, "infiniband_switch_port_raw_rate_bytes_per_second", leaf_guid).at("4")) == rate.raw * 1e9 / 8);
  }
}

TEST_CASE_METHOD(Small, "Names: a counter that was not read has no sample") {
  const MadeView made(fabric);
  made.reading->rows.front().known = 1U << 8U;  // symbol errors
  const auto samples = made.samples({});
  CHECK(values(samples, "infiniband_switch_port_symbol_error_total", leaf_guid).at("1") == "1008");
  CHECK(values(samples, "infiniband_switch_port_link_downed_total", leaf_guid).count("1") == 0);
  CHECK(values(samples, "infiniband_switch_port_link_downed_total", leaf_guid).count("2") == 1);
}

TEST_CASE_METHOD(Small, "Names: shares of waiting, of ports where they are known and whose link runs at the rate of the sweep") {
  const MadeView made(fabric);
  const std::string name = "infiniband_switch_port_transmit_wait_ratio";
  const metrics::PageRules rules({.hcas = true}, {});
  metrics::View view = made.view();
  const auto shares = [&] {
    metrics::Page page(rules, view, {});
    std::string all;
    for (std::string text; page.next(text, 4096);) all += text;
    return values(MadeView::parse(all), name, leaf_guid);
  };
  CHECK(shares() == std::map<std::string, std::string>{{"1", "0.25"}, {"2", "0.25"}, {"3", "0.25"}, {"4", "0.25"}});
  auto waits = std::make_shared<std::vector<float>>(*view.waits);
  waits->front() = std::numeric_limits<float>::quiet_NaN();
  view.waits = waits;
  made.states->set_changed(made.reading->rows[1].port);
  CHECK(shares() == std::map<std::string, std::string>{{"3", "0.25"}, {"4", "0.25"}});
  view.waits.reset();
  CHECK(shares().empty());
}

TEST_CASE_METHOD(Small, "Names: counters of FEC with details, of both layouts of their attribute") {
  const MadeView made(fabric);
  counters::CounterRow& row = made.reading->rows.front();
  row.known &= ~(std::uint64_t{1} << counters::column_of("port_fec_corrected_symbol_ctr"));  // a layout without symbols
  const auto samples = made.samples({.hcas = true, .details = true});
  CHECK(values(samples, "infiniband_switch_port_fec_corrected_blocks_total", leaf_guid).at("1") == "100000");
  CHECK(values(samples, "infiniband_switch_port_fec_uncorrectable_blocks_total", leaf_guid).at("1") == "100001");
  CHECK(values(samples, "infiniband_switch_port_fec_corrected_symbols_total", leaf_guid).count("1") == 0);
  CHECK(values(samples, "infiniband_switch_port_fec_corrected_symbols_total", leaf_guid).at("2") == "200002");
  for (const PageSample& sample : made.samples({.hcas = true})) CHECK_THAT(sample.name, !ibtest::contains("_fec_"));

  pm::PortExtendedSpeedsCounters lanes;
  lanes.fec_correctable_block_ctr_lane[0] = lanes.fec_correctable_block_ctr_lane[3] = 0xffffffff;
  lanes.fec_uncorrectable_block_ctr_lane[11] = 2;
  counters::CounterRow of_lanes;
  of_lanes.take({}, pm::PortExtendedSpeedsCounters::info(), wire::packed(lanes), {});
  CHECK(of_lanes.known == std::uint64_t{3} << counters::column_of("port_fec_correctable_block_ctr"));
  CHECK(of_lanes.value(counters::column_of("port_fec_correctable_block_ctr")) == 2 * std::uint64_t{0xffffffff});
  CHECK(of_lanes.value(counters::column_of("port_fec_uncorrectable_block_ctr")) == 2);

  pm::PortExtendedSpeedsCountersRsFec port;
  port.fec_correctable_symbol_ctr_lane[0] = 1;  // which the sum of the port holds too
  port.port_fec_correctable_block_ctr = 5;
  port.port_fec_uncorrectable_block_ctr = 6;
  port.port_fec_corrected_symbol_ctr = 7;
  counters::CounterRow of_port;
  of_port.take({}, pm::PortExtendedSpeedsCountersRsFec::info(), wire::packed(port), {});
  CHECK(of_port.fec == std::array<std::uint64_t, 3>{5, 6, 7});
}

TEST_CASE_METHOD(Small, "Names: requests that failed, in guilbaults' words, each once") {
  using Failure = subnet::Failure;
  const MadeView made(fabric);
  const subnet::Subnet& subnet = made.fabric->subnet;
  const subnet::NodeIndex leaf_at = subnet.find_node(Guid{0x100}), card_at = subnet.find_node(Guid{0x300});
  const auto fail = [&](Failure::Kind kind, subnet::NodeIndex node, int port, const char* attribute) {
    Failure& failure = made.reading->failures.emplace_back();
    failure.kind = kind, failure.node = node, failure.port = port, failure.attribute = attribute;
  };
  fail(Failure::Kind::no_answer, leaf_at, -1, "ClassPortInfo");
  fail(Failure::Kind::refused, card_at, 2, "PortCounters");
  fail(Failure::Kind::refused, card_at, 2, "PortCounters");
  fail(Failure::Kind::no_answer, subnet::none, -1, "ClassPortInfo");
  const auto lid = [&](std::uint64_t guid) { return fmt::format("Lid {}", subnet.lid(subnet.find_port(Guid{guid})).value); };
  std::vector<PageSample> found;
  for (PageSample& sample : made.samples({.names = metrics::Names::guilbaults})) {
    if (sample.name.ends_with("_error")) found.push_back(std::move(sample));
  }
  REQUIRE(found.size() == 3);
  using Values = std::map<std::string, std::string>;
  CHECK(found[0].name == "infiniband_mad_rpc_failed_error");
  CHECK(found[0].labels == Values{{"portid", lid(0x100)}});
  CHECK(found[1].name == "infiniband_query_cap_mask_error");
  CHECK(found[1].labels == Values{{"counter_name", "classportinfo"}, {"local_name", " leaf one "}, {"portid", lid(0x100)}, {"port", "0"}});
  CHECK(found[2].name == "infiniband_print_error");
  CHECK(found[2].labels == Values{{"counter_name", "IB_GSI_PORT_COUNTERS"}, {"local_name", "card"}, {"portid", lid(0x302)}, {"port", "2"}});
  for (const PageSample& sample : found) CHECK(sample.value == "1");
}

TEST_CASE_METHOD(Small, "Names: the outcome of a device is exported after any failure") {
  using Outcome = metrics::DeviceReading::Outcome;
  struct Case {
    Outcome outcome;
    std::string error, timeout, up;
  };
  for (const Case& told : {Case{Outcome::read, "0", "0", "1"},
                           {Outcome::partly, "1", "0", "1"},
                           {Outcome::silent, "1", "1", "0"},
                           {Outcome::refused, "1", "0", "0"}}) {
    MadeView made(fabric);
    made.reading->devices.front().outcome = told.outcome;
    const auto samples = made.samples({});
    CHECK(values(samples, "infiniband_switch_collect_error", leaf_guid).at("") == told.error);
    CHECK(values(samples, "infiniband_switch_collect_timeout", leaf_guid).at("") == told.timeout);
    CHECK(values(samples, "infiniband_switch_up", leaf_guid).at("") == told.up);
  }
}

TEST_CASE_METHOD(Small, "Names: of a run that ends, collectors are called so") {
  MadeView made(fabric);
  metrics::View view = made.view();
  view.exporter.last_execution = metrics::WallTime(std::chrono::seconds(1764000000));
  const metrics::PageRules rules({.hcas = true, .details = true, .run_once = true}, {});
  metrics::Page page(rules, view, {});
  std::string text, all;
  while (page.next(text, 4096)) all += text;
  std::set<std::string> collectors;
  for (const PageSample& sample : MadeView::parse(all)) {
    if (sample.labels.contains("collector")) collectors.insert(sample.labels.at("collector"));
    if (sample.name == "infiniband_exporter_last_execution") CHECK(std::stod(sample.value) == 1764000000);
  }
  CHECK(collectors ==
        std::set<std::string>{"ibnetdiscover-runonce", "switch-runonce", "switch-runonce-rcv-err", "hca-runonce", "hca-runonce-rcv-err"});
  CHECK_THAT(all, ibtest::contains("infiniband_exporter_last_execution{collector=\"hca-runonce\"}"));
}

}  // namespace metrics_names_tests
