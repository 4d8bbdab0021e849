// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The ports that own LIDs: by the model of a swept fabric, or by requests to the LIDs themselves where nothing was swept.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.hpp"
#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "report/sink.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"

namespace ib::subnet {

struct LidOwner {
  smp::NodeInfo node;
  std::optional<std::string> description;  ///< up to its terminator; hostile bytes
  Lid lid;                                 ///< the first of its LIDs
  unsigned lmc{};
  bool owns(Lid to) const { return to.value >= lid.value && to.value < lid.value + (1U << lmc); }
};
/// Writes the members of an owner into an open object; they are null where the owner is.
void visit(report::Sink& sink, const LidOwner* owner, const NodeNameMap& names);
/// The owner in the model, or nothing.
std::optional<LidOwner> find_owner(const Subnet& subnet, Lid lid);

/// Requests the owners of many LIDs side by side. A port with several LIDs (LMC) gets one request where its base LID is among them.
class LidOwners {
 public:
  /// The time after which no further LID gets a request. The largest tables of live fabrics take seconds.
  static constexpr std::chrono::seconds longest{60};

  /// `like` is a path of SMPs by LID. The paths of requests are copies of it with other LIDs. `transactor` must outlive this.
  LidOwners(mad::Transactor& transactor, path::IbPath like) : transactor_(transactor), like_(std::move(like)) {}

  /// The LIDs of this port need no request.
  void know(const LidOwner& owner);
  /// Sets the LIDs that get requests in read(). Known LIDs are left out.
  void plan(const std::vector<Lid>& lids) {
    for (const Lid lid : lids) {
      if (!found_.contains(lid)) planned_.try_emplace(lid);
    }
  }
  /// Sends the requests, in ascending order of LIDs.
  async::Task<> read();
  /// Waits until read() has done with `lid`, if that is planned.
  async::Task<> settled(Lid lid);

  std::optional<LidOwner> find(Lid lid) const {
    const auto found = found_.find(lid);
    return found == found_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::map<Lid, std::shared_ptr<const mad::MadError>>& silent() const { return silent_; }
  /// Planned LIDs that got no request within `longest`, in ascending order.
  const std::vector<Lid>& unrequested() const { return unrequested_; }

 private:
  struct Planned {
    async::Event settled;
    async::Event passed;  ///< set when settled, or when it takes long: LIDs that wait for this one go on
  };
  async::Task<> read_one(Lid lid, Planned& planned, async::Time end);
  async::Task<> request(Lid lid);
  Planned* parent(Lid lid);

  mad::Transactor& transactor_;
  path::IbPath like_;
  std::map<Lid, LidOwner> found_;
  std::map<Lid, std::shared_ptr<const mad::MadError>> silent_;
  std::map<Lid, Planned> planned_;
  std::vector<Lid> unrequested_;
};

}  // namespace ib::subnet
