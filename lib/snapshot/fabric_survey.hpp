// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads a fabric part by part, so that a Transactor that records what passes has the answer to every request that a command sends
// later. What is asked is in questions.hpp.
//
//   FabricSurvey survey(recording, fabric, options);          // after the sweep, which went through the same recording
//   co_await survey.read(parts);
//
// All agents of a part are asked side by side, and so are the parts by SMP and those by GMP: other agents answer them, through other
// buffers. Among those by GMP the tables of the SA come first, for other GMPs could disturb an SA. What agents need not have and may
// stumble over comes last, after all else.
// An agent that answers that it lacks an attribute is asked for it once. An agent that is silent costs one chain of tries, is one
// failure, and is not asked in the parts that follow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "snapshot/questions.hpp"
#include "subnet/survey.hpp"

namespace ib::snapshot {

/// What came of a part.
struct SurveyedPart {
  std::uint64_t planned{};                ///< requests, as far as the model told before
  std::uint64_t answered{};               ///< requests that brought an answer; of Part::sa tables
  std::uint64_t refused{};                ///< requests that were refused, or not answered by agents that may lack the attribute
  std::vector<subnet::Failure> failures;  ///< agents that did not answer; those of earlier parts are not repeated
};

struct FabricSurveyOptions {
  explicit FabricSurveyOptions(path::Path from) : start(std::move(from)) {}
  path::Path start;                  ///< the path from which the model was swept
  const subnet::PortPaths* paths{};  ///< for GMPs, with the service levels from the SA; null: SL 0
  std::uint64_t cc_key{};            ///< of requests for congestion control
  std::size_t window = 1024;         ///< greatest number of agents that are asked at a time, by SMP and by GMP
  /// Fills `paths` before the first GMP. Null: there is nothing to fill.
  std::function<async::Task<>()> find_paths;
  /// Reads Part::sa. Null: there is no SA to ask.
  std::function<async::Task<SurveyedPart>(mad::Transactor& transactor)> read_sa;
  /// Called when a part begins, with the plan, and when it has ended. All may be null.
  std::function<void(Part part, std::uint64_t planned)> began;
  std::function<void(Part part, SurveyedPart result)> ended;
  /// Called when a request has ended or is not needed. `of` is the plan.
  std::function<void(Part part, std::uint64_t done, std::uint64_t of)> progress;
  /// Gets the MlnxExtPortInfo of each port that tells it. With it a model knows FDR10 links without asking anew.
  std::function<void(subnet::PortIndex port, const smp::MlnxExtPortInfo& info)> take_mlnx;
};

/// Asks the switches by their LIDs for their NodeInfo: it tells by which port LID-routed SMPs come, which sweeps do not learn. `start` as
/// in FabricSurveyOptions. Switches that do not answer are passed over.
async::Task<> read_arrivals(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start);

/// Sends the requests of parts of one fabric.
class FabricSurvey {
 public:
  /// `transactor` records. Both it and `subnet`, which is swept and must not grow, must outlive this object.
  FabricSurvey(mad::Transactor& transactor, const subnet::SweptSubnet& fabric, FabricSurveyOptions options);

  /// Reads `parts`, in any order; Part::topology is passed over. Throws what Transactor::try_call() throws.
  async::Task<> read(std::vector<Part> parts);

 private:
  class Run;
  /// An agent by its port. SMAs answer for whole nodes, by their first port.
  using AgentKey = std::pair<subnet::PortIndex, std::uint8_t>;
  AgentKey key_of(Part part, subnet::PortIndex port) const;
  std::vector<subnet::PortIndex> agents(Part part) const;
  /// The number of requests of a part, as far as the model tells: of agents that lack attributes there will be fewer.
  std::uint64_t plan(Part part) const;
  async::Task<> read_in_turn(std::vector<Part> parts);
  async::Task<SurveyedPart> read_part(Part part);

  mad::Transactor& transactor_;
  const subnet::Subnet& subnet_;
  FabricSurveyOptions options_;
  Questionnaire questionnaire_;
  bool has_paths_{};  // of GMPs, found
  std::set<AgentKey> silent_;
  std::map<subnet::PortIndex, Learnt> pmas_;  // for details, which come after counters
};

}  // namespace ib::snapshot
