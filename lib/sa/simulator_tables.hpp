// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whole tables on stock ibsim. On ibsim nobody segments the answers of an SA: opensm leaves that to the kernel, and the
// simulated umad passes on only the first MAD of a table (mad/simulator.hpp). Narrower queries, by LID, port or block, return
// the same records in answers that fit one MAD. This Transactor sends these queries, so that no other part of the program
// receives a table without its end. It is put on the stack where a simulated umad is opened.
#pragma once

#include <functional>
#include <string_view>

#include "mad/transactor.hpp"

namespace ib::sa {

class SimulatorTables final : public mad::Transactor {
 public:
  /// `below` must outlive this object. `tell` may be empty. It gets a message for people for each table that came without its
  /// end.
  explicit SimulatorTables(mad::Transactor& below, std::function<void(std::string_view)> tell = {});

  /// Passes a request to the Transactor below. If the answer to a SubnAdmGetTable came without its end, reads the table in
  /// parts and returns a reply with the whole table. The order of records is that of opensm (for paths, if LMC is 0). Values
  /// that an SA computes for each query (the preference of a path) are those of the part. The table is torn (see table_rows())
  /// and has only the records that arrived if a part failed, if no key is left to divide it, if it needs too many queries, and
  /// for GetMulti and GetTraceTable.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  mad::Transactor& below_;
  std::function<void(std::string_view)> tell_;
};

}  // namespace ib::sa
