// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Fields at a sink: which are texts of digits, and what numbers are the measure of.
#include "report/structure.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "report/json.hpp"
#include "support/catch.hpp"

namespace report_structure_tests {

using namespace ib;
using nlohmann::json;
using report::Measure;

namespace {

/// A sink that tells measures apart, as one of a format for time series would. What a report does not say it knows by the key.
class Measures final : public report::JsonSink {
 public:
  explicit Measures(std::string& text) : JsonSink(text) {}
  void literal(std::string_view key, std::string_view value, const Measure& measure) override {
    found[std::string(key)] = key == "rtt_ms" ? report::gauge("ms") : measure;
    JsonSink::literal(key, value, measure);
  }

  std::map<std::string, Measure> found;
};

template <class T>
json document(const T& value) {
  std::string text;
  report::JsonSink sink(text);
  sink.begin_object();
  report::visit_attribute(sink, value, Keys::shown);
  sink.end_object();
  return json::parse(text)["data"];
}

template <class T>
std::map<std::string, Measure> measures(const T& value) {
  std::string text;
  Measures sink(text);
  sink.begin_object();
  report::visit_attribute(sink, value, Keys::shown);
  sink.end_object();
  return sink.found;
}

}  // namespace

TEST_CASE("keys, masks and IDs of 64 bits are texts of 16 digits, counters are numbers") {
  smp::PortInfo port;
  port.m_key = 0x1234;
  CHECK(document(port)["m_key"] == "0x0000000000001234");
  CHECK(document(port)["capability_mask"] == 0);  // of 32 bits
  pm::PortCountersExt counters;
  counters.port_xmit_data = ~std::uint64_t{0};
  CHECK(document(counters)["port_xmit_data"] == ~std::uint64_t{0});
  pm::PortSamplesCtl samples;
  samples.option_mask = 5;
  CHECK(document(samples)["option_mask"] == "0x0000000000000005");
  CHECK(document(sa::ServiceRecord())["service_id"] == "0x0000000000000000");
  CHECK(document(pm::PortExtendedSpeedsCounters())["counter_select"] == "0x0000000000000000");
}

TEST_CASE("no number of an attribute is rounded by a reader with doubles, but for a counter") {
  constexpr unsigned bits_of_a_double = 53;
  for (const StructInfo& info : all_structs()) {
    const std::vector<std::uint8_t> ones(info.bytes, 0xff);
    std::string text;
    report::JsonSink sink(text);
    report::visit_fields(sink, {}, ones, info, Keys::shown);
    const json fields = json::parse(text);
    for (const FieldInfo& field : info.fields) {
      if (field.reserved || field.kind != FieldKind::uint || field.count != 1) continue;
      INFO(info.iba_name << "." << field.name.view());
      const json& value = fields.at(std::string(field.name));
      if (value.is_number()) CHECK((field.counter || field.bits < bits_of_a_double));
      if (field.counter) CHECK(value.is_number());
    }
  }
}

TEST_CASE("numbers know whether they are counters, gauges or states, and their unit") {
  const auto counters = measures(pm::PortCounters());
  CHECK(counters.at("port_xmit_data") == report::counter("4 bytes"));
  CHECK(counters.at("symbol_error_counter") == report::counter());
  CHECK(counters.at("port_xmit_wait") == report::counter("ticks"));
  CHECK(counters.at("port_select") == Measure());
  const auto port = measures(smp::PortInfo());
  CHECK(port.at("port_state") == report::state());
  CHECK(port.at("p_key_violations") == report::counter());
  CHECK(port.at("lid") == Measure());
  CHECK(port.at("m_key_lease_period") == Measure{Measure::Kind::none, "s"});
  std::string text;
  Measures sink(text);
  sink.begin_object();
  sink.value("rtt_ms", 0.5);
  sink.value("lid", 5U);
  sink.value("count", 7U, report::counter("4 bytes"));
  sink.end_object();
  CHECK(sink.found.at("rtt_ms") == report::gauge("ms"));
  CHECK(sink.found.at("lid") == Measure());
  CHECK(sink.found.at("count") == report::counter("4 bytes"));
}

}  // namespace report_structure_tests
