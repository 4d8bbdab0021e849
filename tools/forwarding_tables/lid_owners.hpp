// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the ports that own the LIDs of a forwarding table, by requests to these LIDs. A port with several LIDs (LMC) gets requests only
// once: the base LID of a port is a multiple of the number of its LIDs, so each LID waits a moment for those before it that may be its
// base: LID 7 for 6, and 6 for 4.
//
// A table may name 49,151 LIDs that no port has, each of which costs seconds of silence. Requests therefore begin within `longest` only.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.hpp"
#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "tools/forwarding_tables/tables.hpp"

namespace ib::tools::tables {

class LidOwners {
 public:
  /// `like` is a path of SMPs by LID. The paths of requests are copies of it with other LIDs.
  LidOwners(mad::Transactor& transactor, path::IbPath like) : transactor_(transactor), like_(std::move(like)) {}

  /// Stores a port whose attributes are known already. It gets no requests.
  void know(const smp::NodeInfo& node, std::string description, const smp::PortInfo& port);
  /// The time after which no further LID gets a request. The largest tables of live fabrics take seconds.
  static constexpr std::chrono::seconds longest{60};

  /// Sets the LIDs that get requests in read(), in ascending order. Known LIDs are left out.
  void plan(const std::vector<Lid>& lids);
  /// Requests the planned LIDs, many side by side.
  async::Task<> read();
  /// Waits until read() has done with `lid`, if that is planned.
  async::Task<> settled(Lid lid);

  std::optional<LidOwner> find(Lid lid) const;
  /// The LIDs that did not answer, with the errors.
  const std::map<Lid, std::shared_ptr<const mad::MadError>>& silent() const { return silent_; }
  /// The LIDs that got no request, because the time was up.
  const std::vector<Lid>& unrequested() const { return unrequested_; }

 private:
  struct OwnerAttributes {
    smp::NodeInfo node;
    std::string description;
    Lid base;
    unsigned lmc{};
  };
  struct Planned {
    async::Event settled;
    async::Event passed;  ///< set when settled, or when it takes long: LIDs that wait for this one go on
  };
  struct Overdue;
  async::Task<> find_owner(Lid lid, Planned& planned);
  async::Task<> request_owner(Lid lid);
  Planned* parent(Lid lid);
  void keep(std::shared_ptr<const OwnerAttributes> found);

  mad::Transactor& transactor_;
  path::IbPath like_;
  std::map<Lid, std::shared_ptr<const OwnerAttributes>> found_;
  std::map<Lid, std::shared_ptr<const mad::MadError>> silent_;
  std::map<Lid, Planned> planned_;
  std::optional<async::Time> end_;
  std::vector<Lid> unrequested_;
};

}  // namespace ib::tools::tables
