// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The text of samples: both formats, numbers, and names that would break a page.
#include "metrics/families.hpp"

#include <limits>

#include "support/catch.hpp"

namespace metrics_exposition_tests {

using namespace ib;
using metrics::Exposition;
using metrics::Format;

namespace {

const metrics::FamilyHead counter{"infiniband_errors_total", report::counter(), "Errors."};
const metrics::FamilyHead gauge{"infiniband_switch_info", report::gauge(), "The switches."};

std::string escaped(std::string_view text) {
  std::string out;
  metrics::append_label_value(out, text);
  return out;
}

std::string value_text(auto value) {
  Exposition page(Format::text, {});
  page.begin(gauge);
  page.sample().value(value);
  return page.buffer().substr(page.buffer().rfind(' ') + 1);
}

}  // namespace

TEST_CASE("Exposition: a page of text 0.0.4") {
  Exposition page(Format::text, {});
  page.begin(counter);
  page.sample().label("guid", Guid{0x100}).label("port", 7U).value(std::uint64_t{12});
  page.sample().label("guid", Guid{0xb8599f0300a00030}).label("port", 8U).value(std::uint64_t{0});
  page.begin(gauge);
  page.sample().label("switch", "leaf 1").value(1.5);
  page.end();
  CHECK(page.buffer() ==
        "# HELP infiniband_errors_total Errors.\n"
        "# TYPE infiniband_errors_total counter\n"
        "infiniband_errors_total{guid=\"0x0000000000000100\",port=\"7\"} 12\n"
        "infiniband_errors_total{guid=\"0xb8599f0300a00030\",port=\"8\"} 0\n"
        "# HELP infiniband_switch_info The switches.\n"
        "# TYPE infiniband_switch_info gauge\n"
        "infiniband_switch_info{switch=\"leaf 1\"} 1.5\n");
}

TEST_CASE("Exposition: OpenMetrics names counters without their ending, and ends with EOF") {
  Exposition page(Format::openmetrics, {});
  page.begin(counter);
  page.sample().value(std::uint64_t{1});
  page.end();
  CHECK(page.buffer() ==
        "# HELP infiniband_errors Errors.\n"
        "# TYPE infiniband_errors counter\n"
        "infiniband_errors_total 1\n"
        "# EOF\n");
}

TEST_CASE("Exposition: only OpenMetrics has a unit, where the name ends with it") {
  const metrics::FamilyHead warm{"infiniband_temperature_celsius", report::gauge("celsius"), "Warm."};
  const metrics::FamilyHead sent{"infiniband_sent_bytes_total", report::counter("bytes"), "Sent."};
  const metrics::FamilyHead other{"infiniband_kilobytes", report::gauge("bytes"), "Other."};
  const auto page_of = [&](Format format) {
    Exposition page(format, {});
    for (const metrics::FamilyHead* head : {&warm, &sent, &other}) {
      page.begin(*head);
      page.sample().value(std::uint64_t{1});
    }
    return page.buffer();
  };
  const std::string text = page_of(Format::openmetrics);
  CHECK(text.find("# UNIT infiniband_temperature_celsius celsius\n") != std::string::npos);
  CHECK(text.find("# UNIT infiniband_sent_bytes bytes\n") != std::string::npos);
  CHECK(text.find("# UNIT infiniband_kilobytes") == std::string::npos);
  CHECK(page_of(Format::text).find("# UNIT") == std::string::npos);
}

TEST_CASE("Exposition: a family without samples leaves no trace") {
  Exposition page(Format::text, {});
  page.begin(counter);
  page.begin(gauge);
  page.end();
  CHECK(page.buffer().empty());
}

TEST_CASE("Exposition: constant labels stand in each sample") {
  Exposition page(Format::text, metrics::constant_labels({{"fabric", "hpc\"1"}, {"site", "a"}}));
  page.begin(gauge);
  page.sample().value(std::uint64_t{1});
  page.sample().label("switch", "x").value(std::uint64_t{2});
  CHECK_THAT(page.buffer(), ibtest::contains("infiniband_switch_info{fabric=\"hpc\\\"1\",site=\"a\"} 1\n"
                                             "infiniband_switch_info{fabric=\"hpc\\\"1\",site=\"a\",switch=\"x\"} 2\n"));
}

TEST_CASE("Exposition: the values of labels are UTF-8, and end no line") {
  CHECK(escaped("plain") == "plain");
  CHECK(escaped("a\\b\"c\nd") == "a\\\\b\\\"c\\nd");
  CHECK(escaped("Gr\xc3\xbc\xc3\x9f"
                "e") ==
        "Gr\xc3\xbc\xc3\x9f"
        "e");
  CHECK(escaped("a\xff\xfe"
                "b") ==
        "a\xef\xbf\xbd\xef\xbf\xbd"
        "b");
  CHECK(escaped("\xe2\x82") == "\xef\xbf\xbd");                      // cut in the middle
  CHECK(escaped("\xed\xa0\x80").find('\xed') == std::string::npos);  // a surrogate
  CHECK(escaped("a\rb") ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(escaped(std::string_view("a\0b", 3)) ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(escaped("a\tb\x1b") == "a\tb\xef\xbf\xbd");
}

TEST_CASE("Exposition: numbers lose nothing") {
  CHECK(value_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615\n");
  CHECK(std::stod(value_text(1.25e10)) == 1.25e10);
  CHECK(std::stod(value_text(1764000000.123)) == 1764000000.123);
  CHECK(std::stod(value_text(7.378697629483821e19)) == 7.378697629483821e19);
}

TEST_CASE("Exposition: names of labels") {
  for (const char* good : {"fabric", "_a", "Site2"}) CHECK(metrics::is_label_name(good));
  for (const char* bad : {"", "2a", "a-b", "__name__", "a b", "\xc3\xbc", "a:b"}) CHECK_FALSE(metrics::is_label_name(bad));
}

}  // namespace metrics_exposition_tests
