// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The names of smpquery's operations: both references' names, abbreviations as python-rdma took them.
#include "base/error.hpp"
#include "support/catch.hpp"
#include "tools/smpquery/operation.hpp"

namespace tools_operations_tests {

using namespace ib::tools::smpquery;

TEST_CASE("operations by name, short name, attribute name and abbreviation") {
  for (const auto& [word, name] : {std::pair{"NodeInfo", "NodeInfo"},
                                   {"NI", "NodeInfo"},
                                   {"ni", "NodeInfo"},
                                   {"nodei", "NodeInfo"},
                                   {"SMPNodeInfo", "NodeInfo"},
                                   {"ND", "NodeDesc"},
                                   {"SMPNodeD", "NodeDesc"},
                                   {"pk", "PKeyTable"},
                                   {"vl", "VLArbitration"},
                                   {"sl2", "SL2VLTable"},
                                   {"gui", "GUIDInfo"},
                                   {"lft", "LinearForwardingTable"},
                                   {"PIE", "PortInfoExtended"},
                                   {"MEPI", "MlnxExtPortInfo"},
                                   {"mlnx", "MlnxExtPortInfo"},
                                   {"MFT", "MulticastForwardingTable"}}) {
    INFO(word);
    CHECK(find_operation(word).query->name == name);
  }
}

TEST_CASE("newer operations do not make older abbreviations ambiguous") {
  CHECK(find_operation("PI").query->name == "PortInfo");
  CHECK(find_operation("port").query->name == "PortInfo");
  CHECK(find_operation("PortInfoE").query->name == "PortInfoExtended");
}

TEST_CASE("words that match no operation, or several") {
  CHECK_THROWS_WITH(find_operation("N"), "Ambiguous operation 'n'");
  CHECK_THROWS_WITH(find_operation("m"), "Ambiguous operation 'm'");
  CHECK_THROWS_WITH(find_operation(""), "Ambiguous operation ''");
  CHECK_THROWS_WITH(find_operation("zz"), "Unknown operation 'zz' (ibtool help smpquery lists all)");
  CHECK_THROWS_WITH(find_operation("NodeInof"), "Unknown operation 'nodeinof': did you mean NodeInfo? (ibtool help smpquery lists all)");
  CHECK_THROWS_WITH(find_operation("arbit"), "Unknown operation 'arbit': did you mean VLArbitration? (ibtool help smpquery lists all)");
  CHECK_THROWS_WITH(find_operation("\x1b[2J"), ibtest::contains("\\x1b"));
}

}  // namespace tools_operations_tests
