// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet administrator for a FakeFabric: it answers SubnAdmGet, GetTable and GetMulti from what the fabric is at that moment.
// Any component mask works, since records are compared field by field as their descriptors say.
//
//   FakeSa sa(fabric); … REQUIRE(sa.asked.size() == 4); sa.cut = true;
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "iba-gen/sa.hpp"
#include "support/fake_fabric.hpp"

namespace ibtest {

class FakeSa {
 public:
  using Record = std::vector<std::uint8_t>;

  /// Becomes the fabric's way to answer GMPs; both must live as long as the fabric is used.
  explicit FakeSa(FakeFabric& fabric);
  FakeSa(const FakeSa&) = delete;
  FakeSa& operator=(const FakeSa&) = delete;

  /// One query as it came.
  struct Query {
    std::uint8_t method;
    std::uint16_t attribute;
    std::uint64_t component_mask;
    Record record;
    ib::path::Path path;
  };
  std::vector<Query> asked;

  bool cut = false;          ///< only the first segment of a table arrives
  bool silent = false;       ///< no answer at all
  std::uint16_t status = 0;  ///< of every answer
  unsigned lmc = 0;          ///< by which it rounds down the LIDs in queries for links, those of switches too, as opensm does
  /// May change the records of an attribute before they are searched.
  std::function<void(std::uint16_t attribute, std::vector<Record>& records)> lie;
  /// May change every path before it is answered.
  std::function<void(ib::sa::PathRecord&)> path_lie;

 private:
  std::optional<FakeFabric::Answer> answer(ib::Bytes mad, const ib::path::Path& path);
  bool is_rounded(ib::Bytes wanted, std::uint64_t mask);
  std::vector<Record> records(std::uint16_t attribute, ib::Bytes wanted);
  std::vector<Record> nodes();
  std::vector<Record> ports();
  std::vector<Record> links();
  std::vector<Record> switches();
  std::vector<Record> linear_forwarding_tables();
  std::vector<Record> paths(ib::Bytes wanted);
  std::vector<Record> multi_paths(ib::Bytes wanted);

  FakeFabric& fabric_;
};

}  // namespace ibtest
