// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibdiag.conf, with the liberties that infiniband-diags' reader took.
#include "tools/frame/ibdiag_conf.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace tools_ibdiag_conf_tests {

using ib::tools::ConfReader;
using ib::tools::IbdiagConf;
using namespace std::chrono_literals;

TEST_CASE("ibdiag.conf sets what it names") {
  const ConfReader reader = GENERATE(ConfReader::diags, ConfReader::ibtool);
  const auto conf = IbdiagConf::parse(
      "# defaults of the site\n"
      "CA=mlx5_0\n"
      "Port=0x2\n"
      "timeout=50\n"
      "MLX_EPI=false\n"
      "m_key=0x10\n"
      "sa_key=017\n"
      "nd_format=%h %d\n",
      reader);
  CHECK(conf.device == "mlx5_0");
  CHECK(conf.port == 2U);
  CHECK(conf.timeout == 50ms);
  CHECK(conf.mlnx_extended_port_info == false);
  CHECK(conf.m_key == 0x10U);
  CHECK(conf.sa_key == 15U);
  CHECK(conf.node_description_format == "%h %d");
  CHECK(conf.mistakes.empty());
}

TEST_CASE("ibdiag.conf: comments, broken lines and unknown names say nothing") {
  const auto conf = IbdiagConf::parse("#CA=a\n\nCA\nPort=\n timeout=5\nother=1\n=x", ConfReader::diags);
  CHECK_FALSE(conf.device.has_value());
  CHECK_FALSE(conf.port.has_value());
  CHECK_FALSE(conf.timeout.has_value());
}

TEST_CASE("ibdiag.conf: the last line wins, a value may hold '=' and the file may lack its last newline") {
  const auto conf = IbdiagConf::parse("CA=a\nCA=b=c\nMLX_EPI=TRUE", ConfReader::diags);
  CHECK(conf.device == "b=c");
  CHECK(conf.mlnx_extended_port_info == true);
}

TEST_CASE("ibdiag.conf: a mistake has its line, says nothing else and shows no key") {
  const auto conf = IbdiagConf::parse(
      "# site\r\n"
      "tiemout=5\n"
      "timeout=soon\n"
      "timeout=0\n"
      "Port=255\n"
      "\n"
      "m_key=0xsecret\n"
      "sa_key=1 2\n"
      "MLX_EPI=maybe\n"
      "CA= \n"
      "m_key 5\n"
      "timeout=50 \r\n",
      ConfReader::ibtool);
  std::string all;
  for (const auto& mistake : conf.mistakes) all += std::to_string(mistake.line) + ": " + mistake.text + "\n";
  CHECK(all ==
        "2: no option is called 'tiemout'\n"
        "3: timeout: 'soon' is not within 1…2147483647\n"
        "4: timeout: '0' is not within 1…2147483647\n"
        "5: Port: '255' is not within 0…254\n"
        "7: m_key: not an unsigned integer of 64 bits\n"
        "8: sa_key: not an unsigned integer of 64 bits\n"
        "9: MLX_EPI: 'maybe' is not TRUE or FALSE\n"
        "10: 'CA' has no value\n"
        "11: not a line NAME=VALUE\n");
  CHECK(conf.timeout == 50ms);
  CHECK_FALSE(conf.port.has_value());
  CHECK_FALSE(conf.m_key.has_value());
  CHECK_FALSE(conf.device.has_value());
}

TEST_CASE("ibdiag.conf: by a legacy name numbers end where their digits end") {
  const auto conf = IbdiagConf::parse("timeout=50x\nPort=two\n", ConfReader::diags);
  CHECK(conf.timeout == 50ms);
  CHECK(conf.port == 0U);
}

TEST_CASE("ibdiag.conf: the file may be missing, unless it was named") {
  CHECK_FALSE(IbdiagConf::read_if_any("/nonexistent", ConfReader::ibtool).device.has_value());
  CHECK_THROWS_AS(IbdiagConf::read("/nonexistent", ConfReader::ibtool), ib::SysError);
}

TEST_CASE("ibdiag.conf: what is not a regular file is refused, not read for ever") {
  CHECK_THROWS_AS(IbdiagConf::read_if_any("/dev/zero", ConfReader::diags), ib::UsageError);
  CHECK_THROWS_AS(IbdiagConf::read("/", ConfReader::ibtool), ib::UsageError);
}

}  // namespace tools_ibdiag_conf_tests
