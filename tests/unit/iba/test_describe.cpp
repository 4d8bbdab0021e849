// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/describe.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "support/catch.hpp"

namespace iba_test_describe_tests {

using namespace ib;

TEST_CASE("statuses have words") {
  CHECK(mad::mad_status_text(0) == "Ok");
  CHECK(mad::mad_status_text(1) == "BUSY Ok");
  CHECK(mad::mad_status_text(7) == "BUSY REDIRECT Bad version");
  CHECK(mad::mad_status_text(0x0c) == "Unsupported method+attr");
  CHECK(mad::mad_status_text(0x1c) == "Invalid attr or modifier");
  CHECK(mad::mad_status_text(0x10) == "??");
}

TEST_CASE("methods have names") {
  const auto of = [](std::uint8_t method, std::uint8_t mgmt_class, std::uint8_t attribute) {
    std::array<std::uint8_t, 24> mad{1, mgmt_class, 1, method};
    mad[17] = attribute;
    return mad::full_description(mad);
  };
  CHECK(of(mad::method::get, 4, 0x12) == "MAD_METHOD_GET(1) PMFormat(4.1) PMPortCounters(18)");
  CHECK(of(0x81, 126, 0) == "MAD_METHOD_GET_RESP(129) ?\?(126.1) ?\?(0)");
  CHECK_THAT(of(99, 1, 0), ibtest::starts_with("MAD_METHOD_?\?(99) "));
}

TEST_CASE("enums have texts") {
  CHECK(to_text(smp::SMState::master) == "Master");
  CHECK(to_text(mad::NoticeType{99}).empty());
  CHECK(enum_info(smp::SMState{}).values.size() == 4);
}

TEST_CASE("value texts equal python-rdma's, but for what it does not know") {
  using Describe = std::function<std::string(std::uint8_t)>;
  const auto known = [](std::string_view text, std::uint8_t v) { return text.empty() ? fmt::format("?? {}", v) : std::string(text); };
  const std::map<std::string, Describe> functions = {
      {"node_type", [&](std::uint8_t v) { return known(to_text(smp::NodeType{v}), v); }},
      {"link_state", [&](std::uint8_t v) { return known(v == 0 ? "" : to_text(smp::PortState{v}), v); }},
      {"phys_link_state", [&](std::uint8_t v) { return known(v == 0 ? "" : to_text(smp::PortPhysicalState{v}), v); }},
      {"link_speed", [](std::uint8_t v) { return symbol(smp::link_speed::info(), v); }},
      {"link_speed_ext", [](std::uint8_t v) { return symbol(smp::link_speed_ext::info(), v & 3U); }},  // HDR and NDR are newer
      {"mad_status", [](std::uint8_t v) { return mad::mad_status_text(v); }},
      {"method",
       [](std::uint8_t v) {
         const std::array<std::uint8_t, 4> mad{0, 0, 0, v};
         const std::string text = mad::full_description(mad);
         return text.substr(0, text.find(' '));
       }},
  };
  const std::map<std::string, std::string> ours = {
      {"link_state 5", "ActDefer"},  // IBA 14.2.5.6
      {"method 6", "MAD_METHOD_REPORT(6)"},
      {"method 134", "MAD_METHOD_REPORT_RESP(134)"},
      {"method 146", "MAD_METHOD_GET_TABLE_RESP(146)"},
  };
  std::ifstream in(std::string(IBA_TEST_DATA) + "/value-texts.txt");
  int checked = 0;
  for (std::string line; std::getline(in, line); ++checked) {
    std::istringstream words(line);
    std::string function, text;
    unsigned value = 0;
    words >> function >> value;
    std::getline(words.ignore(1), text);
    const std::string key = function + ' ' + std::to_string(value);
    if (const auto at = text.find("REDIECT"); at != std::string::npos) text.replace(at, 7, "REDIRECT");
    if (ours.contains(key)) text = ours.at(key);
    INFO(key);
    CHECK(functions.at(function)(static_cast<std::uint8_t>(value)) == text);
  }
  CHECK(checked == 118);
}

}  // namespace iba_test_describe_tests
