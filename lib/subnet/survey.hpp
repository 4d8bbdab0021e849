// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Asks many ports of a model the same question in parallel. The result is a value or a failure for each port, in the order of
// the given ports. Every agent has a mad::Responder: a silent agent costs one chain of tries and is one failure, however many
// ports it answers for. At the end, each silent agent is asked once more by one try. If it answers, all its ports are asked
// again.
//
//   const SurveyQuestion<smp::PortInfo> ask = read_port_info;   // Task<mad::Result<smp::PortInfo>>(SurveyPort)
//   SurveyOptions options(start);
//   const auto found = co_await survey(transactor, subnet, ports, options, ask);
//   for (const auto& row : found.rows) if (row.value) …; else … found.failures[row.failure] …
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "async/group.hpp"
#include "mad/responder.hpp"
#include "mad/transactor.hpp"
#include "subnet/model.hpp"
#include "subnet/port_paths.hpp"

namespace ib::subnet {

/// How the ports of a survey are reached.
enum class SurveyWay : std::uint8_t {
  gmp,  ///< the GMP agents at the LID of the port's end port
  smp,  ///< the SMA of the port's node, by directed route
};

/// How a survey asks.
struct SurveyOptions {
  explicit SurveyOptions(path::Path from, SurveyWay by = SurveyWay::gmp) : start(std::move(from)), way(by) {}
  path::Path start;  ///< the path from which the model was swept; see subnet/port_paths.hpp
  SurveyWay way;
  const PortPaths* paths{};   ///< for GMPs, with the service levels from the SA; null: SL 0
  std::size_t window = 1024;  ///< greatest number of open questions, including those that wait for a silent agent; at least 1
  /// Called when a question ends.
  std::function<void(std::size_t done, std::size_t of)> progress;
};

/// A port as the argument of a question. Valid while the question runs.
struct SurveyPort {
  mad::Transactor& transactor;  ///< the survey's Transactor, which assigns requests to the agents of the port
  PortIndex index;
  std::uint8_t number;  ///< for PortSelect, or the attribute modifier
  const path::Path& path;
};

/// Asks one port. A returned MadError is a failure of that port; an exception ends the survey.
template <class T>
using SurveyQuestion = std::function<async::Task<mad::Result<T>>(SurveyPort port)>;

template <class T>
struct Surveyed {
  struct Row {
    PortIndex port = none;
    std::optional<T> value;
    std::uint32_t failure = none;  ///< index in `failures` if there is no value; ports of one silent agent have the same failure
  };
  std::vector<Row> rows;
  std::vector<Failure> failures;  ///< in the order of the first row of each
  bool complete() const { return failures.empty(); }
};

/// The part of a survey that does not depend on the type of values. Only for survey().
class SurveyRun {
 public:
  SurveyRun(mad::Transactor& transactor, const Subnet& subnet, const SurveyOptions& options, std::size_t ports)
      : transactor_(transactor), subnet_(subnet), options_(options), count_(ports) {}

  /// The path to a port, if there is one, and a Transactor that assigns requests to the agents of that port.
  class Agents final : public mad::Transactor {
   public:
    Agents(SurveyRun& run, PortIndex port);
    async::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;
    const mad::Stats* stats() const override { return run_.transactor_.stats(); }
    const std::optional<path::Path>& path() const { return path_; }
    std::uint8_t port_number() const { return run_.subnet_.port(port_).number; }

   private:
    SurveyRun& run_;
    PortIndex port_;
    std::optional<path::Path> path_;
  };

  /// Records the failure of a port and returns its index for settle(), which is called at the end.
  std::uint32_t fail(PortIndex port, const std::shared_ptr<const mad::MadError>& error);
  std::uint32_t fail_unreachable(PortIndex port);
  void ended();
  /// Whether the failure is a silent agent that was not asked again yet. If so, the agent may now be asked again, by one try
  /// for each request until it answers.
  bool ask_again(std::uint32_t failure);
  /// Whether the silent agent of `failure` has answered again.
  bool came_back(std::uint32_t failure) const;
  /// Appends a failure to `failures` on its first call, and returns its index there.
  std::uint32_t settle(std::uint32_t failure, std::vector<Failure>& failures);

 private:
  /// An agent: the port at which it answers, and its management class. Directed routes and LIDs count as different agents
  /// (responder.hpp).
  using AgentKey = std::pair<PortIndex, std::uint8_t>;
  using Question = std::tuple<PortIndex, std::uint16_t, std::uint32_t>;  ///< the port, attribute and modifier
  struct Agent {
    mad::Responder responder;
    std::uint32_t failure = none;  ///< the failure that the agent is silent or cannot be reached
    bool asked_again{}, came_back{};
    std::set<Question> in_vain;  ///< what was sent and not answered
  };
  struct Found {
    Failure failure;
    std::uint32_t place = none;
    Agent* silent{};  ///< the silent agent, or null
  };
  Agent& agent(PortIndex port, std::uint8_t mgmt_class);
  int port_number_of(PortIndex port, std::uint8_t mgmt_class) const;
  std::uint32_t add(Failure failure);

  mad::Transactor& transactor_;
  const Subnet& subnet_;
  const SurveyOptions& options_;
  std::size_t count_, done_{};
  std::map<AgentKey, Agent> agents_;
  std::map<const mad::MadError*, std::uint32_t> by_error_;  // one error may apply to several ports
  std::vector<Found> found_;
};

namespace detail {

template <class T>
async::Task<> ask_port(SurveyRun& run, typename Surveyed<T>::Row& row, const SurveyQuestion<T>& ask) {
  SurveyRun::Agents agents(run, row.port);
  if (agents.path()) {
    const SurveyPort port{agents, row.port, agents.port_number(), *agents.path()};
    mad::Result<T> result = co_await ask(port);
    if (result) {
      row.value.emplace(std::move(*result));
      row.failure = none;
    } else {
      row.failure = run.fail(row.port, result.shared_error());
    }
  } else {
    row.failure = run.fail_unreachable(row.port);
  }
  run.ended();
}

/// Asks each silent agent once more for one of its ports. If the agent answers, asks for its other ports too.
template <class T>
async::Task<> ask_silent_agents_again(SurveyRun& run, std::vector<typename Surveyed<T>::Row>& rows, const SurveyQuestion<T>& ask,
                                      std::size_t window) {
  using Row = typename Surveyed<T>::Row;
  std::vector<std::pair<Row*, std::uint32_t>> first, others;  // with their earlier failures
  for (Row& row : rows) {
    if (row.failure != none) (run.ask_again(row.failure) ? first : others).emplace_back(&row, row.failure);
  }
  if (first.empty()) co_return;
  const auto ask_one = [&run, &ask](const std::pair<Row*, std::uint32_t>& row) { return ask_port<T>(run, *row.first, ask); };
  co_await async::for_each(first, window, ask_one);
  std::erase_if(others, [&run](const auto& row) { return !run.came_back(row.second); });
  co_await async::for_each(others, window, ask_one);
}

}  // namespace detail

/// Asks `ask` for each of `ports`. `subnet` must outlive the task and must not grow meanwhile.
template <class T>
async::Task<Surveyed<T>> survey(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports, SurveyOptions options,
                                SurveyQuestion<T> ask) {
  Surveyed<T> result;
  result.rows.resize(ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) result.rows[i].port = ports[i];
  SurveyRun run(transactor, subnet, options, ports.size());
  const auto ask_one = [&run, &ask](typename Surveyed<T>::Row& row) { return detail::ask_port<T>(run, row, ask); };
  co_await async::for_each(result.rows, options.window, ask_one);
  co_await detail::ask_silent_agents_again<T>(run, result.rows, ask, options.window);
  for (auto& row : result.rows) {
    if (row.failure != none) row.failure = run.settle(row.failure, result.failures);
  }
  co_return result;
}

}  // namespace ib::subnet
