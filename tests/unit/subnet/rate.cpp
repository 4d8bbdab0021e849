// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Rates are exact. The numbers are those of the IBA's table of link speeds, in Gb/s a lane: 2.5, 5, 10, 10.3125, 14.0625, 25.78125,
// 53.125, 106.25, 212.5.
#include "subnet/model/rate.hpp"

#include "support/catch.hpp"

namespace subnet_rate_tests {

using namespace ib::subnet;

TEST_CASE("the rate of a link is exact") {
  CHECK(LinkRate{4, Speed::edr}.mbps() == 103125);
  CHECK(LinkRate{1, Speed::edr}.mbps() == 25781.25);
  CHECK(LinkRate{4, Speed::fdr}.mbps() == 56250);
  CHECK(LinkRate{2, Speed::fdr10}.mbps() == 20625);
  CHECK(LinkRate{12, Speed::xdr}.mbps() == 2550000);
  CHECK(LinkRate{1, Speed::sdr}.mbps() == 2500);
  CHECK(LinkRate{}.mbps() == 0);
  CHECK_FALSE(LinkRate{4, Speed::unknown}.known());
}

TEST_CASE("the data of a link is what coding leaves of it") {
  CHECK(LinkRate{4, Speed::qdr}.data_mbps() == 32000);
  CHECK(LinkRate{4, Speed::fdr10}.data_mbps() == 40000);
  CHECK(LinkRate{4, Speed::fdr}.data_mbps() == Approx(54545.45));
  CHECK(LinkRate{4, Speed::edr}.data_mbps() == 100000);
  CHECK(LinkRate{4, Speed::xdr}.data_mbps() == 800000);
  CHECK(LinkRate{}.data_mbps() == 0);
}

}  // namespace subnet_rate_tests
