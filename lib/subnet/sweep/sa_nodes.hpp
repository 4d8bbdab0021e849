// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Checks that the SA knows the end ports of a model as they are: by its NodeRecords, and by its paths from this port.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "sa/records.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/model/port_paths.hpp"

namespace ib::subnet {

struct SaNodes {
  std::unordered_map<std::uint16_t, Guid> guid_by_lid{};  ///< PortGUIDs
  bool is_whole{};                                        ///< the SA does not know a node that is not in the table
  bool is_cut{};                                          ///< the table came without its end: of a node that is not in it nothing is known
  std::shared_ptr<const Error> not_read{};                ///< the reason why there is no table: no node can be checked

  void take(const sa::Records& records);
  /// Requests all NodeRecords. Throws SysError.
  async::Task<> read(mad::Transactor& transactor);
  /// What of the table is missing. `result`: what follows from a table that was not read, for people.
  Failures failures(std::string_view result) const;

  /// The record of an end port; and if it is right, the path to it, where `paths` has paths of the SA; null: it has none.
  Mismatches check(const Subnet& subnet, PortIndex end, const PortPaths* paths = nullptr) const;
};

/// Requests the NodeRecord of one end port, and if it is right a path from `here`. Throws MadError.
async::Task<Mismatches> check_sa_records(mad::Transactor& transactor, const Subnet& subnet, PortIndex end, Gid here);

}  // namespace ib::subnet
