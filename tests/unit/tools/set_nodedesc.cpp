// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_nodedesc on hosts with two adapters: which get the name, and that none does where one can not.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"

namespace tools_set_nodedesc_tests {

using ibtest::contains;
using ibtest::ibtool;
using nlohmann::json;

namespace {

struct TwoAdapters {
  TwoAdapters() {
    sysfs.device("mlx5_0", "0002:c903:0000:1490");
    sysfs.port("mlx5_0", {});
    sysfs.device("mlx5_1", "0002:c903:0000:14a0");
    sysfs.port("mlx5_1", {.gid = "fe80:0000:0000:0000:0002:c903:0000:14a1"});
    for (const char* name : {"mlx5_0", "mlx5_1"}) sysfs.write(file(name), "old");
  }
  static std::string file(const std::string& device) { return "class/infiniband/" + device + "/node_desc"; }
  std::string description(const std::string& device) const {
    std::ifstream in(sysfs.root() / file(device));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void check(const std::string& first, const std::string& second) const {
    CHECK(description("mlx5_0") == first);
    CHECK(description("mlx5_1") == second);
  }
  ibtest::FakeSysfs sysfs;
};

}  // namespace

TEST_CASE_METHOD(TwoAdapters, "all adapters get the name") {
  const auto outcome = ibtool({"set_nodedesc", "node 07"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "mlx5_0: node 07 (was 'old')\nmlx5_1: node 07 (was 'old')\n");
  CHECK(outcome.err.empty());
  check("node 07", "node 07");
  CHECK(ibtool({"set_nodedesc"}).out == "mlx5_0: node 07\nmlx5_1: node 07\n");
  CHECK(ibtool({"set_nodedesc", std::string(64, 'x')}).status == 0);
  check(std::string(64, 'x'), std::string(64, 'x'));
}

TEST_CASE_METHOD(TwoAdapters, "-C and -P choose one of them") {
  const json document = json::parse(ibtool({"set_nodedesc", "--json", "-C", "mlx5_1", "named"}).out);
  REQUIRE(document.at("devices").size() == 1);
  CHECK(document.at("devices")[0]["device"] == "mlx5_1");
  CHECK(document.at("devices")[0]["node_description"] == "named");
  check("old", "named");
  CHECK(ibtool({"set_nodedesc", "-P", "mlx5_0/1", "other"}).status == 0);
  check("other", "named");
}

TEST_CASE_METHOD(TwoAdapters, "-v shows and sets nothing") {
  sysfs.write(file("mlx5_1"), "\x1b[31m");
  CHECK(ibtool({"set_nodedesc", "-v", "new"}).out == "mlx5_0: old\nmlx5_1: \\x1b[31m\n");
  CHECK(description("mlx5_0") == "old");
}

TEST_CASE_METHOD(TwoAdapters, "where one can not take the name none gets it") {
  const std::filesystem::path second = sysfs.root() / file("mlx5_1");
  std::filesystem::remove(second);
  const auto check_failure = [&](const std::string& why) {
    const auto outcome = ibtool({"set_nodedesc", "new"});
    CHECK(outcome.status == 3);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == "E: Can't set the node description of mlx5_1\nE: +open " + second.string() + ": " + why + "\n");
    CHECK(description("mlx5_0") == "old");
  };
  check_failure("No such file or directory");
  std::filesystem::create_directory(second);
  check_failure("Is a directory");
}

TEST_CASE_METHOD(TwoAdapters, "a node description has 1 to 64 bytes") {
  CHECK(ibtool({"set_nodedesc", std::string(65, 'x')}).status == 2);
  CHECK(ibtool({"set_nodedesc", ""}).status == 2);
  CHECK(ibtool({"set_nodedesc", "-C", "nosuch", "name"}).err == "E: RDMA device 'nosuch' not found (here: mlx5_0/1, mlx5_1/1)\n");
  check("old", "old");
}

}  // namespace tools_set_nodedesc_tests
