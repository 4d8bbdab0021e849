// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names of hosts, and lists of them.
#include "health/hosts.hpp"

#include "base/error.hpp"
#include "base/split.hpp"
#include "health/diagnosis.hpp"
#include "support/catch.hpp"
#include "support/fake_fabric.hpp"
#include "unit/subnet/swept.hpp"

namespace health_hosts_tests {

using namespace ib;
using namespace ib::health;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

using Names = std::set<std::string>;

/// A switch, and hosts that describe themselves so.
FakeFabric fabric_of(const std::vector<std::string>& descriptions) {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 16, "leaf");
  for (unsigned at = 0; at < descriptions.size(); ++at) fabric.link(leaf, at + 1, fabric.add_ca(0x1000 + 16 * at, 1, descriptions[at]), 1);
  fabric.assign_lids();
  fabric.attach(1);
  return fabric;
}

std::size_t hosts_in(const std::vector<std::string>& descriptions, const HostNames& names = {}) {
  FakeFabric fabric = fabric_of(descriptions);
  const Swept swept(fabric);
  return host_count(swept.subnet, names);
}

}  // namespace

TEST_CASE("channel adapters whose descriptions begin with the same word are of one host") {
  CHECK(hosts_in({"n1 mlx5_0", "n1 mlx5_1", "n2 mlx5_0", "n3"}) == 3);
  CHECK(hosts_in({"MT4129 ConnectX7 Mellanox Technologies", "MT4129 ConnectX7 Mellanox Technologies"}) == 2);
  CHECK(hosts_in({"n1 HCA-1", "Mellanox Technologies Aggregation Node"}) == 1);
  CHECK(hosts_in({"mlx5_0/n1", "mlx5_1/n1", "mlx5_0/n2"}) == 3);
  CHECK(hosts_in({"mlx5_0/n1", "mlx5_1/n1", "mlx5_0/n2"}, HostNames("/(n[0-9]+)$")) == 2);
  CHECK(hosts_in({"n1-ib0", "n1-ib1"}, HostNames("^[a-z]+[0-9]+")) == 1);
  CHECK_THROWS_WITH(HostNames("(n"), contains("is not a regular expression"));
}

TEST_CASE("a name that several machines have distinguishes none of them: their SystemImageGUIDs do") {
  CHECK(hosts_in({"(none) mlx4_0", "(none) mlx4_0", "(none) mlx4_0", "n1 mlx4_0"}) == 4);
  FakeFabric fabric = fabric_of({"node mlx5_0", "node mlx5_1", "node mlx5_0", "node mlx5_1", "n1 mlx5_0", "n1 mlx5_1"});
  for (FakeFabric::NodeId host = 1; host < fabric.size(); ++host) fabric.node(host).info.system_image_guid = Guid{0x9000 + (host + 1) / 2};
  const Swept swept(fabric);
  CHECK(host_count(swept.subnet, HostNames()) == 3);
  const Machines machines(swept.subnet, HostNames());
  const auto of = [&](std::uint64_t guid) { return machines.of(swept.subnet.find_node(Guid{guid})); };
  CHECK(of(0x1000) == of(0x1010));
  CHECK(of(0x1000) != of(0x1020));
  CHECK(of(0x1000).name == "node");
  CHECK(of(0x1040) == Machine{"n1", Guid{}});
  CHECK(of(0x100).name.empty());
}

TEST_CASE("lists of hosts have ranges") {
  CHECK(expand_hosts("n1,n2\n n3 \n") == Names{"n1", "n2", "n3"});
  CHECK(expand_hosts("n[001-003,10],x") == Names{"n001", "n002", "n003", "n10", "x"});
  CHECK(expand_hosts("r[1-2]n[8-9]-ib") == Names{"r1n8-ib", "r1n9-ib", "r2n8-ib", "r2n9-ib"});
  CHECK(expand_hosts("n[7]") == Names{"n7"});
  CHECK(expand_hosts(" , ").empty());
  for (const char* wrong : {"n[1-", "n1]", "n[]", "n[2-1]", "n[a-b]", "n[1-2-3]", "n[1,,2-x]", "n[0-4000000000]", "n[0-99999][0-99999]"})
    CHECK_THROWS_AS(expand_hosts(wrong), UsageError);
}

}  // namespace health_hosts_tests
