// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whose the LIDs of one forwarding table are, asked of the LIDs themselves. A port with several LIDs (LMC) is asked at one of them: the
// base LID of a port is a multiple of the number of its LIDs, so those that are multiples of the greatest power of two are asked first.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "tools/forwarding_tables/tables.hpp"

namespace ib::tools::tables {

class Destinations {
 public:
  /// What is sent by LID goes on paths like `like`, a path of SMPs by LID.
  Destinations(mad::Transactor& transactor, path::IbPath like) : transactor_(transactor), like_(std::move(like)) {}

  /// Asks for all of `lids`, side by side.
  async::Task<> read(std::vector<Lid> lids);

  std::optional<Destination> find(Lid lid) const;
  /// What did not answer, by LID.
  const std::map<Lid, std::shared_ptr<const mad::MadError>>& silent() const { return silent_; }

 private:
  struct Found {
    smp::NodeInfo node;
    std::string description;
    Lid base;
    unsigned lmc{};
  };
  async::Task<> ask(Lid lid);

  mad::Transactor& transactor_;
  path::IbPath like_;
  std::map<Lid, std::shared_ptr<const Found>> found_;
  std::map<Lid, std::shared_ptr<const mad::MadError>> silent_;
};

}  // namespace ib::tools::tables
