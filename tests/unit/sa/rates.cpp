// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One order for the codes of rates and for links.
#include "sa/table_match.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "subnet/model/rate.hpp"
#include "support/catch.hpp"

namespace sa_rates_tests {

using namespace ib;
using subnet::LinkRate;
using subnet::Speed;

namespace {

/// The codes of IBA 15.2.5.16, and links that run at their rates.
constexpr std::array<std::pair<unsigned, LinkRate>, 24> links{{
    {2, {1, Speed::sdr}},  {3, {4, Speed::sdr}},   {4, {12, Speed::sdr}},  {5, {1, Speed::ddr}},   {6, {4, Speed::ddr}},
    {7, {4, Speed::qdr}},  {8, {12, Speed::ddr}},  {9, {8, Speed::qdr}},   {10, {12, Speed::qdr}}, {11, {1, Speed::fdr}},
    {12, {4, Speed::fdr}}, {13, {8, Speed::fdr}},  {14, {12, Speed::fdr}}, {15, {1, Speed::edr}},  {16, {4, Speed::edr}},
    {17, {8, Speed::edr}}, {18, {12, Speed::edr}}, {19, {2, Speed::fdr}},  {20, {2, Speed::edr}},  {20, {1, Speed::hdr}},
    {21, {4, Speed::ndr}}, {22, {12, Speed::hdr}}, {23, {4, Speed::xdr}},  {24, {12, Speed::ndr}},
}};

}  // namespace

TEST_CASE("a link and the code of its rate have one place") {
  for (const auto& [code, link] : links) {
    INFO(code << ": " << link.lanes << "x " << subnet::name(link.speed));
    CHECK(sa::order_of(static_cast<sa::Rate>(code)) == sa::order_of_data(link.data_mbps()));
  }
}

TEST_CASE("the places of links are in the order of their data") {
  for (const auto& [code, link] : links) {
    for (const auto& [other_code, other] : links) {
      const unsigned a = sa::order_of(static_cast<sa::Rate>(code)), b = sa::order_of(static_cast<sa::Rate>(other_code));
      CHECK((a < b) == (link.data_mbps() < other.data_mbps()));
    }
  }
  CHECK(sa::order_of(sa::Rate{1}) == 0);
  CHECK(sa::order_of(sa::Rate{25}) == 0);
}

}  // namespace sa_rates_tests
