// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibdiag.conf, with the liberties that infiniband-diags' reader took.
#include "ibdiag_conf.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

using ib::tools::IbdiagConf;
using namespace std::chrono_literals;

TEST_CASE("ibdiag.conf sets what it names") {
  const auto conf = IbdiagConf::parse(
      "# defaults of the site\n"
      "CA=mlx5_0\n"
      "Port=0x2\n"
      "timeout=50\n"
      "MLX_EPI=false\n"
      "m_key=0x10\n"
      "sa_key=017\n"
      "nd_format=%h %d\n");
  CHECK(conf.device == "mlx5_0");
  CHECK(conf.port == 2U);
  CHECK(conf.timeout == 50ms);
  CHECK(conf.mlnx_extended_port_info == false);
  CHECK(conf.m_key == 0x10U);
  CHECK(conf.sa_key == 15U);
  CHECK(conf.node_description_format == "%h %d");
}

TEST_CASE("ibdiag.conf: comments, broken lines and unknown names say nothing") {
  const auto conf = IbdiagConf::parse("#CA=a\n\nCA\nPort=\n timeout=5\nother=1\n=x");
  CHECK_FALSE(conf.device.has_value());
  CHECK_FALSE(conf.port.has_value());
  CHECK_FALSE(conf.timeout.has_value());
}

TEST_CASE("ibdiag.conf: the last line wins, a value may hold '=' and the file may lack its last newline") {
  const auto conf = IbdiagConf::parse("CA=a\nCA=b=c\nMLX_EPI=TRUE");
  CHECK(conf.device == "b=c");
  CHECK(conf.mlnx_extended_port_info == true);
}

TEST_CASE("ibdiag.conf: a missing file is no error") { CHECK_FALSE(IbdiagConf::read("/nonexistent").device.has_value()); }

TEST_CASE("ibdiag.conf: what is no regular file is refused, not read for ever") {
  CHECK_THROWS_AS(IbdiagConf::read("/dev/zero"), ib::UsageError);
  CHECK_THROWS_AS(IbdiagConf::read("/"), ib::UsageError);
}
