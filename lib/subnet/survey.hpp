// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One question to many ports of a model, side by side. Each port gives a value or a failure, in the order in which the ports were
// named. Every agent that is asked has a mad::Responder: one that is silent costs one chain of tries, and is one failure, whatever
// number of ports it was to answer for. At the end a silent agent is asked once more, by one try; if it answers, all of its ports are.
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
  gmp,  ///< the agents of GMPs, at the LID that answers for the port
  smp,  ///< the SMA of the port's node, by directed route
};

struct SurveyOptions {
  explicit SurveyOptions(path::Path from, SurveyWay by = SurveyWay::gmp) : start(std::move(from)), way(by) {}
  path::Path start;  ///< that the model was swept from; see subnet/port_paths.hpp
  SurveyWay way;
  const PortPaths* paths{};   ///< of GMPs, with the service levels that the SA told; null: SL 0
  std::size_t window = 1024;  ///< of questions that are open at a time, those that wait for a silent agent included; at least 1
  /// Called as questions end.
  std::function<void(std::size_t done, std::size_t of)> progress;
};

/// A port as its question sees it; valid while the question runs.
struct SurveyPort {
  mad::Transactor& transactor;  ///< the survey's; what is sent by it is known to be for the port's agents
  PortIndex index;
  std::uint8_t number;  ///< for PortSelect, or the attribute modifier
  const path::Path& path;
};

/// Asks one port. A MadError that it returns is a failure of that port; what it throws ends the survey.
template <class T>
using SurveyQuestion = std::function<async::Task<mad::Result<T>>(SurveyPort port)>;

template <class T>
struct Surveyed {
  struct Row {
    PortIndex port = none;
    std::optional<T> value;
    std::uint32_t failure = none;  ///< of `failures`, where there is no value; ports of one silent agent share theirs
  };
  std::vector<Row> rows;
  std::vector<Failure> failures;  ///< in the order of the first row that each stands for
  bool complete() const { return failures.empty(); }
};

/// What surveys of all kinds of values share; for survey() only.
class SurveyRun {
 public:
  SurveyRun(mad::Transactor& transactor, const Subnet& subnet, const SurveyOptions& options, std::size_t ports)
      : transactor_(transactor), subnet_(subnet), options_(options), count_(ports) {}

  /// The way to a port, if there is one, and a transactor that knows whose agents it asks.
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

  /// The failure of a port, to be given to settle() when all have ended.
  std::uint32_t fail(PortIndex port, const std::shared_ptr<const mad::MadError>& error);
  std::uint32_t fail_unreachable(PortIndex port);
  void ended();
  /// Whether the failure is that an agent is silent that was not asked again yet. If so it may be asked now: by one try, until it answers.
  bool ask_again(std::uint32_t failure);
  /// Whether the agent that `failure` is of answers again.
  bool came_back(std::uint32_t failure) const;
  /// Moves a failure behind those in `failures`, once, and says where it stands.
  std::uint32_t settle(std::uint32_t failure, std::vector<Failure>& failures);

 private:
  /// An agent, by the port at which it answers and its management class: directed routes and LIDs are different ways (responder.hpp).
  using AgentKey = std::pair<PortIndex, std::uint8_t>;
  struct Agent {
    mad::Responder responder;
    std::uint32_t failure = none;  ///< that it is silent, or out of reach
    bool asked_again{}, came_back{};
  };
  struct Found {
    Failure failure;
    std::uint32_t place = none;
    Agent* silent{};  ///< whose silence it is
  };
  Agent& agent(PortIndex port, std::uint8_t mgmt_class);
  int port_number_of(PortIndex port, std::uint8_t mgmt_class) const;
  std::uint32_t add(Failure failure);

  mad::Transactor& transactor_;
  const Subnet& subnet_;
  const SurveyOptions& options_;
  std::size_t count_, done_{};
  std::map<AgentKey, Agent> agents_;
  std::map<const mad::MadError*, std::uint32_t> by_error_;  // one answer may decide for several ports
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

/// Asks silent agents once more, each for one of its ports; those that answer also for the others.
template <class T>
async::Task<> ask_silent_agents_again(SurveyRun& run, std::vector<typename Surveyed<T>::Row>& rows, const SurveyQuestion<T>& ask,
                                      std::size_t window) {
  using Row = typename Surveyed<T>::Row;
  std::vector<std::pair<Row*, std::uint32_t>> first, others;  // and the failure that they had
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

/// Asks all of `ports`, each once, as `options` say. `subnet` must outlive the task and not grow meanwhile.
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
