// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Sends one question (one or more requests) to many ports of a model in parallel. The result is a value or a failure for each port, in the
// order of the given ports. Every agent has a mad::Responder: a silent agent costs one chain of tries and is one failure, however many
// ports it answers for. At the end, each silent agent gets one more request, by one try: for an attribute that every agent has, because one
// attribute that is not answered does not make an agent silent. If it answers, the questions to all its ports are sent again, and an
// attribute that is not answered even now gets no further requests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "async/group.hpp"
#include "iba-gen/smp.hpp"
#include "mad/rpc/responder.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/flow.hpp"

namespace ib {
struct QueryInfo;
}

namespace ib::subnet {

inline constexpr std::uint8_t all_ports = 255;  ///< PortSelect value for all ports of a PMA with AllPortSelect (IBA 16.1.3.1)

enum class SurveyWay : std::uint8_t {
  gmp,  ///< the GMP agents at the LID of the port's end port
  smp,  ///< the SMA of the port's node, by directed route
};

struct SurveyOptions {
  explicit SurveyOptions(path::Path from, SurveyWay by = SurveyWay::gmp) : start(std::move(from)), way(by) {}
  path::Path start;  ///< the path from which the model was swept; see subnet/model/port_paths.hpp
  SurveyWay way;
  const PortPaths* paths{};   ///< for GMPs, with the service levels from the SA; null: SL 0
  std::size_t window = 1024;  ///< greatest number of open questions, including those that wait for a silent agent; at least 1
  std::size_t young = 160;    ///< greatest number of young open questions (flow.hpp); more than the requests in flight (mad::RpcLimits)
  std::function<void(std::size_t done, std::size_t of)> progress;
};

/// A port as the argument of a question. Valid while the question runs.
struct SurveyPort {
  mad::Transactor& transactor;  ///< the survey's Transactor, which assigns requests to the agents of the port
  PortIndex index;
  std::uint8_t number;  ///< for PortSelect, or the attribute modifier
  const path::Path& path;
};

/// Sends the requests of a question to one port. A returned MadError is a failure of that port; an exception ends the survey.
template <class T>
using SurveyQuestion = std::function<async::Task<mad::Result<T>>(SurveyPort port)>;

/// SubnGet(T) to the agents of `port` by `path` (sma_path()).
template <class T>
async::Task<mad::Result<T>> try_get_by(SurveyPort port, path::Path path) {
  co_return co_await port.transactor.try_subn_get<T>(path);
}

template <class T>
struct Surveyed {
  struct PortAnswer {
    PortIndex port = none;
    std::optional<T> value;
    std::uint32_t failure = none;  ///< index in `failures` if there is no value; ports of one silent agent have the same failure
    bool silent{};                 ///< the failure is that the agent does not answer at all
  };
  std::vector<PortAnswer> rows;
  std::vector<Failure> failures;  ///< in the order of the first row of each
  bool complete() const { return failures.empty(); }
};

/// Questions to ports. survey() is the simple form, with one question for each port. Use a Survey where an answer leads to further
/// questions.
class Survey {
 public:
  /// Sends the question of that number to a port. The function stores the answer itself. It returns the error, or null.
  using SendQuestion = std::function<async::Task<std::shared_ptr<const mad::MadError>>(std::size_t question, SurveyPort port)>;
  /// Called once for each question at its end: it was answered, or its failure is final. May call add() and add_next().
  using Ended = std::function<void(std::size_t question)>;

  /// `subnet` and `options` must outlive the survey. `subnet` must not grow while it runs.
  Survey(mad::Transactor& transactor, const Subnet& subnet, const SurveyOptions& options, SendQuestion send, Ended ended = {})
      : transactor_(transactor), subnet_(subnet), options_(options), send_question_(std::move(send)), ended_(std::move(ended)) {}
  Survey(const Survey&) = delete;
  Survey& operator=(const Survey&) = delete;

  /// Adds a question to `port` behind all others. Returns the number of the question; the first is 0.
  std::size_t add(PortIndex port);
  /// Adds a question to `port` in front of all questions that were not sent yet. Returns the number of the question.
  std::size_t add_next(PortIndex port);
  async::Task<> run();

  bool has_failed(std::size_t question) const { return questions_[question].failure != none; }
  /// Whether a question that has ended failed because its agent does not answer at all.
  bool is_silent(std::size_t question) const { return has_failed(question) && found_[questions_[question].failure].silent != nullptr; }
  /// Of a question that has ended: the index of its failure in `failures`, where it is appended if it is not there yet; `none` if it was
  /// answered. Questions of one silent agent have the same failure.
  std::uint32_t settle(std::size_t question, std::vector<Failure>& failures);
  /// The failure of a question that has failed and ended, as long as it was not settled.
  const Failure& failure(std::size_t question) const { return found_[questions_[question].failure].failure; }

 private:
  class Agents;
  struct Running;
  /// Starts further questions when the open ones are no longer young (flow.hpp).
  struct Patience final : async::Timer {
    explicit Patience(Survey& owner) : survey(owner) {}
    void expired() override { survey.pump(); }
    Survey& survey;
  };
  /// An agent: the port at which it answers, and its management class. Directed routes and LIDs count as different agents
  /// (responder.hpp).
  using AgentKey = std::pair<PortIndex, std::uint8_t>;
  using RequestId = std::tuple<PortIndex, std::uint16_t, std::uint32_t>;  ///< the port, attribute and modifier
  struct Agent {
    mad::Responder responder;
    std::uint32_t failure = none;  ///< the failure that the agent is silent or cannot be reached
    unsigned questions{};          ///< that are open
    bool retried{}, recovered{};
    std::set<RequestId> timed_out;     ///< requests that were sent and not answered
    std::set<std::uint16_t> answered;  ///< attributes of which a request was answered
    /// Attributes that are not answered by an agent that came back, each with the error of the request that showed it.
    std::map<std::uint16_t, std::shared_ptr<const mad::MadError>> mute;

    bool may_be_mute(std::uint16_t attribute) const;

    /// Whether nothing about the agent need be remembered: no open question, no failure, no unanswered request.
    bool is_plain() const { return questions == 0 && failure == none && !retried && timed_out.empty() && !responder.is_silent(); }
  };
  struct FoundFailure {
    Failure failure;
    std::uint32_t place = none;  ///< see settle()
    Agent* silent{};             ///< the silent agent, or null
  };
  struct Question {
    PortIndex port = none;
    std::uint32_t failure = none;  ///< in found_
  };

  async::Task<> run_question(std::size_t question, Flow::Span begun);
  async::Task<> run_waiting();
  void pump(std::size_t ending = 0);
  void end(std::size_t question);
  /// Whether the failure is a silent agent whose second chance has not begun.
  bool awaits_second_chance(std::uint32_t failure) const {
    return failure != none && found_[failure].silent != nullptr && !found_[failure].silent->retried;
  }
  std::shared_ptr<const mad::MadError> error_to_wake(std::size_t question) const;
  std::vector<std::size_t> silent_to_retry();
  std::uint32_t fail(PortIndex port, const std::shared_ptr<const mad::MadError>& error);
  std::uint32_t fail_unreachable(PortIndex port);
  std::uint32_t add_failure(Failure failure) {
    found_.push_back({std::move(failure), none, nullptr});
    return static_cast<std::uint32_t>(found_.size() - 1);
  }
  AgentKey key_of(PortIndex port, std::uint8_t mgmt_class) const;
  Agent& agent(PortIndex port, std::uint8_t mgmt_class) { return agents_[key_of(port, mgmt_class)]; }
  /// The port number in a failure that applies to all ports of an agent. −1 means the whole node.
  int port_number_of(PortIndex port, std::uint8_t mgmt_class) const {
    const Port& at = subnet_.port(port);
    return mad::is_smp(mgmt_class) || subnet_.node(at.node).kind() == NodeKind::sw ? -1 : at.number;
  }

  mad::Transactor& transactor_;
  const Subnet& subnet_;
  const SurveyOptions& options_;
  SendQuestion send_question_;
  Ended ended_;
  std::vector<Question> questions_;
  std::deque<std::size_t> waiting_;      // questions that were not sent yet
  std::vector<std::size_t> unanswered_;  // questions to silent agents that were not sent again yet
  std::size_t done_{};
  std::map<AgentKey, Agent> agents_;
  std::map<const mad::MadError*, std::uint32_t> by_error_;  // one error may apply to several ports
  std::vector<FoundFailure> found_;
  async::Loop* loop_{};        // while run_waiting() runs
  async::TaskGroup* group_{};  // while run_waiting() runs
  Flow flow_;
  Patience patience_{*this};
};

namespace detail {

template <class T>
async::Task<std::shared_ptr<const mad::MadError>> fill_row(typename Surveyed<T>::PortAnswer& row, const SurveyQuestion<T>& read,
                                                           SurveyPort port) {
  mad::Result<T> answer = co_await read(port);
  if (!answer) co_return answer.shared_error();
  row.value.emplace(std::move(*answer));
  co_return nullptr;
}

}  // namespace detail

/// Runs the question `read` for each of `ports`. `subnet` must outlive the task and must not grow meanwhile.
template <class T>
async::Task<Surveyed<T>> survey(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports, SurveyOptions options,
                                SurveyQuestion<T> read) {
  Surveyed<T> result;
  result.rows.resize(ports.size());
  const auto fill_row = [&result, &read](std::size_t row, SurveyPort port) { return detail::fill_row<T>(result.rows[row], read, port); };
  Survey questions(transactor, subnet, options, fill_row);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    result.rows[i].port = ports[i];
    questions.add(ports[i]);
  }
  co_await questions.run();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    result.rows[i].silent = questions.is_silent(i);
    result.rows[i].failure = questions.settle(i, result.failures);
  }
  co_return result;
}

/// The attribute that `query` names, of the ports or nodes that may have it: one value a port, or one a node by port 0 of a switch or a
/// port that leads to it. The value is empty where the device answers that it does not have the attribute. `query` is by SMP and not in
/// blocks, and is kept by reference. `options.way` is smp. `subnet` must outlive the task and not grow meanwhile.
async::Task<Surveyed<std::vector<std::uint8_t>>> read_attribute(mad::Transactor& transactor, const Subnet& subnet, const QueryInfo& query,
                                                                SurveyOptions options);

// The FEC modes of the links of a fabric, from PortInfoExtended (IBA 1.4, 14.2.5).

/// The active FEC modes of the ports of one model that report them.
using FecModes = std::map<PortIndex, smp::FecMode>;

struct FecReading {
  FecModes modes;
  std::set<PortIndex> unread;  ///< ports that did not answer
  Failures failures;
};

std::vector<PortIndex> ports_with_fec(const Subnet& subnet);

/// Reads the FEC modes of `ports`. `options.way` is smp. `subnet` must outlive the task and not grow meanwhile.
async::Task<FecReading> read_fec_modes(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                       SurveyOptions options);

// SMInfo of the ports that may have a subnet manager (subnet/model/port_checks.hpp).

using SurveyedManagers = Surveyed<smp::SMInfo>;

std::vector<PortIndex> ports_with_manager(const Subnet& subnet);

/// Reads SMInfo of `ports`. `start` as in SurveyOptions. `subnet` must outlive the task and not grow meanwhile.
async::Task<SurveyedManagers> survey_managers(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                              path::Path start);

}  // namespace ib::subnet
