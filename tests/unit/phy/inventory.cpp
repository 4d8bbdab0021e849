// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Modules by their serial numbers, and which firmware is odd.
#include "phy/inventory.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace phy_inventory_tests {

using namespace ib;
using namespace ib::phy;

namespace {

PortRow row(PortIndex port, std::string_view serial, std::uint32_t firmware) {
  PortRow made;
  made.port = port;
  made.set(Part::module);
  made.module.type = reg::ModuleType::optical_module;
  std::ranges::copy(std::string_view("MAKER"), made.module.vendor.begin());
  std::ranges::copy(serial, made.module.serial_number.begin());
  made.module.firmware = firmware;
  return made;
}

}  // namespace

TEST_CASE("both ends of a cable are one module, and modules without a serial number are not one") {
  std::vector<PortRow> rows;
  rows.push_back(row(1, "A", 1U << 24));
  rows.push_back(row(2, "", 1U << 24));
  rows.push_back(row(3, "A", 1U << 24));
  rows.push_back(row(4, "", 2U << 24));
  rows.emplace_back();  // an empty cage
  std::vector<InventoryModule> modules = modules_in(rows);
  REQUIRE(modules.size() == 3);
  CHECK(modules[0].ends == std::vector<const PortRow*>{&rows[0], &rows[2]});
  CHECK(modules[1].ends.size() == 1);
  const std::vector<FirmwareCount> parts = count_parts(modules);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].firmware == "1.0.0");
  CHECK(parts[0].count == 2);
  CHECK_FALSE(parts[0].is_odd);
  CHECK(parts[1].is_odd);
  CHECK(modules[2].is_odd);
  CHECK_FALSE(modules[0].is_odd);
}

}  // namespace phy_inventory_tests
