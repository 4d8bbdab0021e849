// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibdiag.conf, with the liberties that infiniband-diags' reader took.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/catch.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"

namespace tools_ibdiag_conf_tests {

using ib::tools::CommonOptions;
using ib::tools::Dialect;
using namespace std::chrono_literals;

TEST_CASE("ibdiag.conf sets what it names") {
  const Dialect dialect = GENERATE(Dialect::diags, Dialect::ibtool);
  CommonOptions conf;
  conf.sends_sa_key = true;
  const auto mistakes = apply_config(conf,
                                     "# defaults of the site\n"
                                     "CA=mlx5_0\n"
                                     "Port=0x2\n"
                                     "timeout=50\n"
                                     "MLX_EPI=false\n"
                                     "m_key=0x10\n"
                                     "sa_key=017\n"
                                     "nd_format=%h %d\n",
                                     "FILE", dialect);
  CHECK(conf.device == "mlx5_0");
  CHECK(conf.port == "2");
  CHECK(conf.timeout == 50ms);
  CHECK(conf.mlnx_extended_port_info == false);
  CHECK(conf.m_key == 0x10U);
  CHECK(conf.sm_key == 15U);
  CHECK(mistakes.empty());
}

TEST_CASE("ibdiag.conf: comments, broken lines and unknown names say nothing") {
  CommonOptions conf;
  apply_config(conf, "#CA=a\n\nCA\nPort=\n timeout=5\nother=1\n=x", "FILE", Dialect::diags);
  CHECK_FALSE(conf.device.has_value());
  CHECK_FALSE(conf.port.has_value());
  CHECK_FALSE(conf.timeout.has_value());
}

TEST_CASE("ibdiag.conf: the last line wins, a value may hold '=' and the file may lack its last newline") {
  CommonOptions conf;
  conf.mlnx_extended_port_info = false;
  apply_config(conf, "CA=a\nCA=b=c\nMLX_EPI=TRUE", "FILE", Dialect::diags);
  CHECK(conf.device == "b=c");
  CHECK(conf.mlnx_extended_port_info == true);
}

TEST_CASE("ibdiag.conf: a mistake has its line, says nothing else and shows no key") {
  CommonOptions conf;
  const auto mistakes = apply_config(conf,
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
                                     "FILE", Dialect::ibtool);
  CHECK(fmt::format("{}", fmt::join(mistakes, "\n")) ==
        "FILE:2: no option is called 'tiemout'\n"
        "FILE:3: timeout: 'soon' is not within 1…2147483647\n"
        "FILE:4: timeout: '0' is not within 1…2147483647\n"
        "FILE:5: Port: '255' is not within 0…254\n"
        "FILE:7: m_key: not an unsigned integer of 64 bits\n"
        "FILE:8: sa_key: not an unsigned integer of 64 bits\n"
        "FILE:9: MLX_EPI: 'maybe' is not TRUE or FALSE\n"
        "FILE:10: 'CA' has no value\n"
        "FILE:11: not a line NAME=VALUE");
  CHECK(conf.timeout == 50ms);
  CHECK_FALSE(conf.port.has_value());
  CHECK(conf.m_key == 0);
  CHECK_FALSE(conf.device.has_value());
}

TEST_CASE("ibdiag.conf: by a legacy name numbers end where their digits end") {
  CommonOptions conf;
  conf.port = "3";
  apply_config(conf, "timeout=50x\nPort=two\n", "FILE", Dialect::diags);
  CHECK(conf.timeout == 50ms);
  CHECK_FALSE(conf.port.has_value());  // 0 is the first usable port
}

}  // namespace tools_ibdiag_conf_tests
