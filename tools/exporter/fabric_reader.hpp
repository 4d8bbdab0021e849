// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One sweep of the fabric, and the readings that stand on it: counters of the ports that have a link, and states of the ports of switches.
// A new sweep is a new FabricReader, so that what is still read on the one before can end in peace.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "async/task.hpp"
#include "metrics/fabric.hpp"
#include "metrics/families.hpp"
#include "subnet/node_name_map.hpp"
#include "subnet/port_paths.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::exporter {

/// What is read of a fabric.
struct ReaderOptions {
  bool hcas{}, details{};
  subnet::NodeNameMap names{};
};

class FabricReader {
 public:
  /// Sweeps the fabric. `before` is what was swept before, or null. `stack` must outlive the result and stay open as long as it is used.
  /// Throws as subnet::discover() does.
  static async::Task<std::shared_ptr<FabricReader>> sweep(Stack& stack, const ReaderOptions& options,
                                                          std::shared_ptr<const metrics::SweptFabric> before);

  /// `fabric` was swept from `start`.
  FabricReader(Stack& stack, std::shared_ptr<metrics::SweptFabric> fabric, path::Path start, const ReaderOptions& options);
  FabricReader(const FabricReader&) = delete;
  FabricReader& operator=(const FabricReader&) = delete;

  const std::shared_ptr<const metrics::SweptFabric>& fabric() const { return fabric_; }

  /// Reads the counters of all ports that have a link and are not down according to `states`.
  async::Task<std::shared_ptr<const metrics::Reading>> read(std::shared_ptr<const metrics::PortStates> states);
  /// Reads the states of all external ports of switches.
  async::Task<std::shared_ptr<const metrics::PortStates>> read_states();
  /// Reads the SMInfo of each end port that had a subnet manager at the sweep.
  async::Task<std::shared_ptr<const metrics::Managers>> read_managers();

 private:
  path::Path polling_start() const;

  Stack& stack_;
  std::shared_ptr<const metrics::SweptFabric> fabric_;
  path::Path start_;
  bool hcas_, details_;
  subnet::PortPaths paths_;
  std::unordered_map<subnet::NodeIndex, counters::PmaSupport> supports_;  ///< of PMAs that answered
};

}  // namespace ib::tools::exporter
