// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the ports that own the LIDs of a forwarding table, by requests to these LIDs. A port with several LIDs (LMC) is asked only once:
// the base LID of a port is a multiple of the number of its LIDs, so LIDs that are multiples of greater powers of two are asked first.
#pragma once

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
  /// `like` is a path of SMPs by LID. The paths of requests are copies of it with other LIDs.
  Destinations(mad::Transactor& transactor, path::IbPath like) : transactor_(transactor), like_(std::move(like)) {}

  /// For infiniband-diags with -d, which tells of one request after another: the LIDs are asked in their order, each alone.
  bool in_order = false;
  /// Keeps a port that is known already, as it has told of itself.
  void know(const smp::NodeInfo& node, std::string description, const smp::PortInfo& port);
  /// Asks all of `lids` that are not known, in parallel.
  async::Task<> read(std::vector<Lid> lids);

  std::optional<Destination> find(Lid lid) const;
  /// The LIDs that did not answer, with the errors.
  const std::map<Lid, std::shared_ptr<const mad::MadError>>& silent() const { return silent_; }

 private:
  struct Found {
    smp::NodeInfo node;
    std::string description;
    Lid base;
    unsigned lmc{};
  };
  async::Task<> ask(Lid lid);
  void keep(std::shared_ptr<const Found> found);

  mad::Transactor& transactor_;
  path::IbPath like_;
  std::map<Lid, std::shared_ptr<const Found>> found_;
  std::map<Lid, std::shared_ptr<const mad::MadError>> silent_;
};

}  // namespace ib::tools::tables
