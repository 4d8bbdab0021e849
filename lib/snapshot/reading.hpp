// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads a fabric part by part, so that a Transactor that records what passes has the answer to every request that a command sends
// later. What is asked is in questions.hpp.
//
//   Reading reading(recording, subnet, options);          // after the sweep, which went through the same recording
//   for (const Part part : parts) { const PartReading done = co_await reading.read(part); … done.failures … }
//
// All agents of a part are asked side by side. An agent that answers that it lacks an attribute is asked for it once. An agent that is
// silent costs one chain of tries, is one failure, and is not asked in the parts that follow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "snapshot/questions.hpp"
#include "subnet/survey.hpp"

namespace ib::snapshot {

struct ReadingOptions {
  explicit ReadingOptions(path::Path from) : start(std::move(from)) {}
  path::Path start;                  ///< the path from which the model was swept
  const subnet::PortPaths* paths{};  ///< for GMPs, with the service levels from the SA; null: SL 0
  std::uint64_t cc_key{};            ///< of requests for congestion control
  std::size_t window = 1024;         ///< greatest number of agents that are asked at a time
  /// Called when a request has ended or is not needed. `of` is the plan.
  std::function<void(Part part, std::uint64_t done, std::uint64_t of)> progress;
  /// Gets the MlnxExtPortInfo of each port that tells it. With it a model knows FDR10 links without asking anew.
  std::function<void(subnet::PortIndex port, const smp::MlnxExtPortInfo& info)> take_mlnx;
  /// Reads Part::sa. Null: there is no SA to ask.
  std::function<async::Task<std::vector<subnet::Failure>>(mad::Transactor& transactor)> read_sa;
};

/// What came of a part.
struct PartReading {
  std::uint64_t planned{};                ///< requests, as far as the model told before
  std::uint64_t answered{};               ///< requests that brought an answer
  std::uint64_t refused{};                ///< requests that were refused, or not answered by agents that may lack the attribute
  std::vector<subnet::Failure> failures;  ///< agents that did not answer; those of earlier parts are not repeated
};

/// Asks the switches by their LIDs for their NodeInfo: it tells by which port LID-routed SMPs come, which sweeps do not learn. `start` as
/// in ReadingOptions. Switches that do not answer are passed over.
async::Task<> read_arrivals(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start);

/// The reading of one fabric.
class Reading {
 public:
  /// `transactor` records. Both it and `subnet`, which is swept and must not grow, must outlive this object.
  Reading(mad::Transactor& transactor, const subnet::Subnet& subnet, ReadingOptions options);

  /// The number of requests of a part, as far as the model tells: of agents that lack attributes there will be fewer.
  std::uint64_t plan(Part part) const;
  /// Reads a part. Throws what Transactor::try_call() throws.
  async::Task<PartReading> read(Part part);

 private:
  class Run;
  /// An agent by its port. SMAs answer for whole nodes, by their first port.
  using AgentKey = std::pair<subnet::PortIndex, std::uint8_t>;
  AgentKey key_of(Part part, subnet::PortIndex port) const;
  std::vector<subnet::PortIndex> agents(Part part) const;

  mad::Transactor& transactor_;
  const subnet::Subnet& subnet_;
  ReadingOptions options_;
  Questionnaire questionnaire_;
  std::set<AgentKey> silent_;
  std::map<subnet::PortIndex, Learnt> pmas_;  // for details, which come after counters
};

}  // namespace ib::snapshot
