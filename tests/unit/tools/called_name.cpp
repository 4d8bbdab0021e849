// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The name that chooses a command: the program's own, of a link to it, of a link to that link, with an ending, or unknown.

#include <map>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "tools/frame/run.hpp"

namespace tools_called_name_tests {

using namespace ib;
using ibtest::contains;
using ibtest::starts_with;

namespace {

using Links = std::map<std::string, std::string>;

std::string name(std::string_view called, const std::string& executable, const Links& links = {}) {
  tools::World world;
  world.executable = executable;
  world.read_link = [&links](const std::string& path) {
    const auto link = links.find(path);
    return link == links.end() ? std::nullopt : std::optional(link->second);
  };
  return tools::called_name(called, world);
}

}  // namespace

TEST_CASE("a name that is known says what to do, whatever the executable is called") {
  CHECK(name("ibnetdiscover", "/usr/bin/ibtool") == "ibnetdiscover");
  CHECK(name("/usr/sbin/ibstat", "/usr/bin/ibtool") == "ibstat");
  CHECK(name("snapshot", "/usr/sbin/ibstat") == "snapshot");
  CHECK(name("/opt/bin/ibtool-2", "/usr/sbin/ibstat") == "ibtool-2");
  CHECK(name("dump_lfts.sh", "/usr/bin/ibtool") == "dump_lfts.sh");
}

TEST_CASE("an unknown name: the names of the executable and of the links to it are tried") {
  CHECK(name("x", "/usr/sbin/ibnetdiscover") == "ibnetdiscover");
  CHECK(name("topo", "/home/me/topo", {{"/home/me/topo", "/usr/sbin/ibnetdiscover"}, {"/usr/sbin/ibnetdiscover", "../bin/ibtool"}}) ==
        "ibnetdiscover");
  const Links chain{{"./topo", "a/b"}, {"./a/b", "../c"}, {"./a/../c", "ibstat"}, {"./a/../ibstat", "ibtool"}};
  CHECK(name("topo", "./topo", chain) == "ibstat");
  CHECK(name("ib", "/usr/bin/ib", {{"/usr/bin/ib", "ibtool"}}) == "ibtool");
  CHECK(name("", "/usr/sbin/ibstat", {{"/usr/sbin/ibstat", "../bin/ibtool"}}) == "ibstat");
  CHECK(name("", "/usr/bin/ibtool") == "ibtool");
  CHECK(name("x", "/proc/self/fd/3", {{"/proc/self/fd/3", "/usr/bin/ibtool"}}) == "ibtool");
}

TEST_CASE("an ending after a dot is no part of the name, where the name is not known with it") {
  const Links diverted{{"/usr/sbin/ibnetdiscover.distrib", "../bin/ibtool"}};
  CHECK(name("/usr/sbin/ibnetdiscover.distrib", "/usr/sbin/ibnetdiscover.distrib", diverted) == "ibnetdiscover");
  const Links far{{"/bin/topo", "/usr/sbin/ibstat.real"}, {"/usr/sbin/ibstat.real", "/usr/bin/ibtool"}};
  CHECK(name("topo", "/bin/topo", far) == "ibstat");
}

TEST_CASE("no name that is known, and links in a circle") {
  CHECK(name("x", "/tmp/y").empty());
  CHECK(name("", "").empty());
  CHECK(name("x", "/tmp/x", {{"/tmp/x", "x"}}).empty());
  CHECK(name("x", "/tmp/x", {{"/tmp/x", ""}}).empty());
}

TEST_CASE("the program runs by the name that was found, and names itself as it was called") {
  const Links links{{"/home/me/topo", "/usr/sbin/ibstat"}, {"/usr/sbin/ibstat", "../bin/ibtool"}};
  const auto link = ibtest::diags({"topo", "--nonsense"}, {.executable = "/home/me/topo", .links = links});
  CHECK(link.status == 2);
  CHECK_THAT(link.err, starts_with("topo: ") && contains("Usage: topo "));
  const auto none = ibtest::diags({}, {.executable = "/home/me/topo", .links = links});
  CHECK_THAT(none.err, !contains("does not know what to do"));
  CHECK_THAT(ibtest::diags({}, {.executable = "/usr/bin/ibtool"}).out, contains("ibnetdiscover"));
  const auto unknown = ibtest::diags({"x"}, {.executable = "/tmp/y"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, contains("does not know what to do by the name of 'x'"));
}

}  // namespace tools_called_name_tests
