// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads a fabric part by part, through a Transactor that records the answers, so that it has the answer to every request that a command
// sends later. part_requests.hpp lists the requests.
//
//   FabricSurvey survey(recording, fabric, options);          // after the sweep, which went through the same recording
//   co_await survey.read(parts);
//
// All agents of a part get their requests in parallel. The parts by SMP and the parts by GMP are also read in parallel, because different
// agents answer them, through different buffers. Of the parts by GMP the tables of the SA are read first, because other GMPs could disturb
// the SA. Optional attributes, which some agents may handle badly, are read last. An agent that answers that it lacks an attribute gets one
// request for it. A silent agent costs one chain of tries, is one failure, and gets no requests of the following parts. An agent that does
// not answer one attribute, but others, gets them. What agents answer by GMP at a LID is of the node only if that node says at the end of
// each part that the LID is its own (counters/readings.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "phy/reading.hpp"
#include "sa/stored_tables.hpp"
#include "snapshot/answer_key.hpp"
#include "snapshot/part_requests.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::snapshot {

class Recording;
class Writer;

/// The result of reading a part.
struct SurveyedPart {
  std::uint64_t planned{};                ///< requests, as planned from the model
  std::uint64_t answered{};               ///< answered requests; for Part::sa tables
  std::uint64_t refused{};                ///< requests that were refused, or not answered by agents that may lack the attribute
  std::vector<subnet::Failure> failures;  ///< agents that did not answer; failures of earlier parts are not repeated
  async::Duration took{};
};

struct FabricSurveyOptions {
  explicit FabricSurveyOptions(path::Path from) : start(std::move(from)) {}
  path::Path start;                  ///< the path from which the model was swept
  const subnet::PortPaths* paths{};  ///< for GMPs, with the service levels from the SA; null: SL 0
  std::uint64_t cc_key{};            ///< of requests for congestion control
  /// Fills `paths` before the first GMP. Null: there is nothing to fill.
  std::function<async::Task<>()> find_paths;
  /// Reads Part::sa. Null: there is no SA.
  std::function<async::Task<SurveyedPart>(mad::Transactor& transactor)> read_sa;
  /// Reads Part::phy. Null: nothing is read of it.
  std::function<async::Task<SurveyedPart>(mad::Transactor& transactor)> read_phy;
  /// Requests who is at the LIDs at which GMPs were answered; must not record. Null: none. Used together with `disown`.
  mad::Transactor* owners{};
  /// Called with each request that was answered at the LID of a node, if that node is not known to have it; `why` is a sentence.
  std::function<void(const AnswerKey& key, const mad::MadError& why)> disown;
  /// Called when a part begins, with the plan, and when it has ended. All may be null.
  std::function<void(Part part, std::uint64_t planned)> began;
  std::function<void(Part part, SurveyedPart result)> ended;
  /// Called when a request has ended or is not needed. `of` is the plan.
  std::function<void(Part part, std::uint64_t done, std::uint64_t of)> progress;
};

/// Requests the NodeInfo of the switches by their LIDs. Its LocalPortNum is the port through which LID-routed SMPs come in, which a sweep
/// does not find out. `start` as in FabricSurveyOptions. Switches that do not answer are left out.
async::Task<> read_arrivals(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start);

/// Sends the requests of parts of one fabric.
class FabricSurvey {
 public:
  /// `transactor` records. Both it and `fabric`, which must not grow, must outlive this object. The model gets which links run at FDR10.
  FabricSurvey(mad::Transactor& transactor, subnet::SweptSubnet& fabric, FabricSurveyOptions options);

  /// Reads `parts`, in any order; Part::topology is passed over. Throws what Transactor::try_call() throws.
  async::Task<> read(std::vector<Part> parts);

 private:
  class Run;
  /// An agent by its port. SMAs answer for whole nodes, by their first port.
  using AgentKey = std::pair<subnet::PortIndex, std::uint8_t>;
  AgentKey key_of(Part part, subnet::PortIndex port) const;
  std::vector<subnet::PortIndex> agents(Part part) const;
  /// The number of requests of a part, computed from the model. Agents that lack attributes get fewer requests.
  std::uint64_t plan(Part part) const;
  async::Task<> read_in_turn(std::vector<Part> parts);
  async::Task<SurveyedPart> read_part(Part part);

  mad::Transactor& transactor_;
  subnet::Subnet& subnet_;
  FabricSurveyOptions options_;
  PartRequests requests_;
  bool has_paths_{};  // of GMPs, found
  std::set<AgentKey> silent_;
  std::map<subnet::PortIndex, AgentState> pmas_;  // for details, which come after counters
};

// Readers of the parts whose requests depend on answers: FabricSurveyOptions::read_sa and ::read_phy.

/// Reads the tables of the SA on the path of `transactor` into `writer`, as `reading` says. SurveyedPart counts tables. A table that the SA
/// does not have is refused; one that does not arrive is a failure, and an SA that answers nothing is one failure; then sets `is_silent`,
/// which must outlive the task.
async::Task<SurveyedPart> read_sa_part(mad::Transactor& transactor, Writer& writer, sa::TableReading reading, bool& is_silent);

/// Reads the registers of all ports and devices through `recording`. `start` is the path from which the model was swept.
async::Task<SurveyedPart> read_phy_part(Recording& recording, const subnet::Subnet& subnet, path::Path start, phy::ReadingOptions options);

}  // namespace ib::snapshot
