// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whole tables on stock ibsim. There nobody segments the answers of an SA: opensm leaves that to the kernel, and the simulated
// umad passes on the first MAD of a table, without its end (mad/simulator.hpp). The same records can be had by narrower
// queries, each of which fits: by LID, by port, by block. This Transactor asks them, so that no other part of the program meets
// a table without its end. It is put on the stack where a simulated umad is opened.
#pragma once

#include <functional>
#include <string_view>

#include "mad/transactor.hpp"

namespace ib::sa {

class SimulatorTables final : public mad::Transactor {
 public:
  /// `below` must outlive this. `tell` gets a line for people for each table that came without its end; it may be empty.
  explicit SimulatorTables(mad::Transactor& below, std::function<void(std::string_view)> tell = {});

  /// A SubnAdmGetTable whose answer lost its end is asked again, in parts, and answered by a reply as if it had come whole. The
  /// records are as opensm lists them (paths where LMC is 0); what an SA computes for each query (the preference of a path) is
  /// that of the part. The table is torn (see table_rows()), with the records that arrived, where a part failed, where nothing is
  /// left to divide it by, where it would take too many queries, and for GetMulti and GetTraceTable. All else passes to the
  /// Transactor below.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;
  const mad::Stats* stats() const override { return below_.stats(); }

 private:
  mad::Transactor& below_;
  std::function<void(std::string_view)> tell_;
};

}  // namespace ib::sa
