// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// sminfo --all: the subnet managers that the SA knows, each of which is read itself.
#pragma once

#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/stack.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools::sminfo {

/// The path of SMPs to the subnet manager at a LID.
path::Path path_of_manager(Stack& stack, Lid lid);
/// The NodeDescription at the end of a path; empty if it cannot be read.
async::Task<std::string> description_at(mad::Transactor& transactor, path::Path path);

struct ManagersReport final : Report {
  struct Manager {
    Lid lid;
    std::string description;  ///< of the node; empty if it was not read
    smp::SMInfo info;         ///< as the manager answered, or else as the SA's record has it
    bool is_silent{};
  };
  std::vector<Manager> managers;  ///< the master first, then by priority, then by GUID
  Keys keys;

  explicit ManagersReport(const Host& host) : keys(host.options().keys) {}
  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;
  /// Emits the report, or its rows as a table where `options` want one.
  void emit(Emit& emit, const TableOptions& options, std::FILE* file) const;
};
std::span<const report::Column<ManagersReport::Manager>> manager_columns();

/// Reads all subnet managers; `sm_key` goes with each request (IBA 14.2.5.13). Throws Error if the SA does not list them.
async::Task<> read_all_managers(Stack& stack, std::uint64_t sm_key, ManagersReport& report);

}  // namespace ib::tools::sminfo
