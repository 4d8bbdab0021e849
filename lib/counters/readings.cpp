// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One survey of up to three steps for each node. First one of its ports gets the requests for the capabilities of the PMA and for the sum
// of all ports. Then the ports are read that need more detail. Then one Set clears all of these ports. The next step of a node is sent
// before the first step of the following nodes, so that the nodes are finished roughly in their order.
#include "counters/readings.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::counters {
namespace {

using MadFailure = std::shared_ptr<const mad::MadError>;  // null: none

/// The error for an answer that is about another port than `select`.
std::shared_ptr<const mad::MadError> wrong_port(const path::Path& pma, const StructInfo& attribute, std::uint8_t select, Bytes answer) {
  const std::array<std::uint8_t, 2> port_select{0, select};
  const std::vector<std::uint8_t> sent = mad::to_mad(mad::attribute_request(pma, attribute, mad::method::get, 0, port_select));
  return std::make_shared<subnet::FalseAnswer>(fmt::format("its PMA was queried for port {} and answered for port {}", select, answer[1]),
                                               sent, Bytes{}, pma);
}

PmaReading start(PortIndex port, std::uint8_t select, const PmaSupport& support) {
  return {.port = port, .select = select, .support = support, .row = {.port = port}};
}

/// Reads an attribute into `reading`. If that fails, the request is the last of the problems.
async::Task<> take(PmaReading& reading, mad::Transactor& transactor, const path::Path& pma, const StructInfo& attribute,
                   bool takes_any_select) {
  const mad::Result<mad::Reply> answer = co_await request_counters(transactor, pma, attribute, reading.select, takes_any_select);
  const async::Loop& loop = co_await async::current_loop;
  if (answer) {
    reading.row.take(reading.support, attribute, answer->payload(), loop.now());
  } else {
    reading.problems.push_back({static_cast<std::uint16_t>(attribute.attribute_id), false, answer.shared_error()});
  }
}

/// Reads what is planned of the PortSelect of `reading` into it. A failed request is the last of its problems. If that request was
/// for counters, no counters are known.
async::Task<> fill(PmaReading& reading, mad::Transactor& transactor, const path::Path& pma, const ReadingPlan& plan) {
  const bool additional = reading.support.additional();
  const bool extended = additional || (reading.support.extended() && plan.counts != ReadingPlan::Counts::errors);
  const bool basic = !extended || (!additional && plan.counts != ReadingPlan::Counts::traffic);
  const bool any = plan.takes_any_select;
  if (basic) co_await take(reading, transactor, pma, pm::PortCounters::info(), any);
  if (extended && reading.problems.empty()) co_await take(reading, transactor, pma, pm::PortCountersExt::info(), any);
  if (!reading.problems.empty()) {
    reading.row = {.port = reading.port};
    co_return;
  }
  const Further further = plan.further ? plan.further(reading) : Further();
  if (further.discard_details) co_await take(reading, transactor, pma, pm::PortXmitDiscardDetails::info(), any);
  if (further.error_details) co_await take(reading, transactor, pma, pm::PortRcvErrorDetails::info(), any);
  if (further.speeds != nullptr) co_await take(reading, transactor, pma, *further.speeds, any);
}

/// The number of the ports of a node, without port 0, that were to be read one by one.
std::size_t external_ports(const PmaNode& node) {
  return static_cast<std::size_t>(std::ranges::count_if(node.ports, [](const PmaReading& reading) { return reading.select != 0; }));
}

/// Turns the failure of a check_owner() into one of counters that were not read. The node may be well.
void say_not_read(subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  failure.kind = subnet::Failure::Kind::not_read;
  if (error != nullptr) failure.why = why_not_read(*error) + ": its counters are not read";
}

class PortReader {
 public:
  PortReader(mad::Transactor& transactor, const subnet::Subnet& subnet, const ReadingPlan& plan, const subnet::SurveyOptions& options)
      : subnet_(subnet),
        plan_(plan),
        survey_(
            transactor, subnet, options,
            [this](std::size_t question, subnet::SurveyPort port) { return request_step(steps_[question], port); },
            [this](std::size_t question) { ended(question); }) {}
  PortReader(const PortReader&) = delete;
  PortReader& operator=(const PortReader&) = delete;

  async::Task<PmaReadings> read(std::vector<NodeIndex> nodes) {
    for (const NodeIndex node : nodes) add(node);
    steps_.reserve(visits_.size());
    for (std::uint32_t at = 0; at < visits_.size(); ++at) {
      survey_.add(visits_[at].first);
      steps_.push_back({at, Step::head});
    }
    co_await survey_.run();
    take_failures();
    co_return std::move(readings_);
  }

 private:
  struct Step {
    enum Kind : std::uint8_t { head, port, owner, clear_all, clear_port };
    std::uint32_t node;  ///< in visits_
    Kind kind;
    std::uint16_t reading = 0;  ///< in the node's `ports`; of an owner: the number of the end port
    auto operator<=>(const Step&) const = default;
  };
  struct Visit {
    NodeIndex node;
    PortIndex first;
    std::unique_ptr<PmaNode> readings{};  ///< null before the first question, and when handed over
    std::uint16_t open = 1;               ///< questions that have not ended
  };

  void add(NodeIndex at) {
    const subnet::Node& of = subnet_.node(at);
    const std::vector<PortIndex> ports = ports_of(at);
    const bool is_switch = of.kind() == subnet::NodeKind::sw;
    if (ports.empty() && (!is_switch || plan_.ports_of)) return;
    visits_.push_back({at, is_switch ? of.first_port : ports.front()});
  }

  std::vector<PortIndex> ports_of(NodeIndex node) const { return plan_.ports_of ? plan_.ports_of(node) : countable_ports(subnet_, node); }

  PmaNode& node_at(std::size_t at) {
    Visit& visit = visits_[at];
    if (!visit.readings) visit.readings = std::make_unique<PmaNode>(PmaNode{.node = visit.node, .first = visit.first});
    return *visit.readings;
  }

  void finish_next() {
    PmaNode node = std::move(node_at(finished_));
    visits_[finished_++].readings.reset();
    for (const PmaReading& reading : node.ports) note_failed_sets(node.node, subnet_.port(reading.port).number, reading.problems);
    note_failed_sets(node.node, -1, node.clear_problems);
    if (plan_.on_node) return plan_.on_node(std::move(node));
    readings_.nodes.push_back(std::move(node));
  }

  /// Notes the failures of Sets that were sent, or not. A failure of one that was refused is none.
  void note_failed_sets(NodeIndex node, int port, const std::vector<PmaProblem>& problems) {
    for (const PmaProblem& problem : problems) {
      if (!problem.set || !problem.error || mad::unanswered_tries(*problem.error) == 0U) continue;
      const StructInfo& info = problem.whose ? smp::NodeInfo::info() : *find_attribute(mad::mgmt_class::performance, 1, problem.attribute);
      failed_sets_.push_back({.kind = problem.whose ? subnet::Failure::Kind::not_read : subnet::kind_of(*problem.error),
                              .node = node,
                              .port = port,
                              .attribute = std::string(info.title),
                              .why = problem.error->message(),
                              .error = problem.error});
    }
  }

  async::Task<MadFailure> request_step(Step step, subnet::SurveyPort port) {
    PmaNode& node = node_at(step.node);
    switch (step.kind) {
      case Step::head:
        return read_head(node, port);
      case Step::port:
        return read_port(node, step.reading, port);
      case Step::owner:
        return check_owner(*plan_.owners, port.path, owner_of(subnet_, port.index));
      case Step::clear_port:
        return clear_one_port(node, step.reading, port);
      default:
        return clear(port, subnet::all_ports, node.support, node.ports, node.clear_problems);
    }
  }

  void ended(std::size_t question) {
    const Step step = steps_[question];
    PmaNode& node = node_at(step.node);
    const bool failed = survey_.has_failed(question);
    switch (step.kind) {
      case Step::head:
        if (failed && !node.all) node.problem = problem_of(question, mad::ClassPortInfo::attribute_id);
        if (ports_are_wanted(node)) add_ports(step.node);
        break;
      case Step::port:
        if (failed) {
          PmaReading& reading = node.ports[step.reading];
          reading.problems.push_back(problem_of(question, counters_attribute(node.support)));
        }
        break;
      case Step::owner:
        if (failed) disown(node, step.reading, problem_of(question, smp::NodeInfo::attribute_id));
        break;
      case Step::clear_all:
        if (failed) node.clear_problems = {{pm::PortCounters::attribute_id, true, problem_of(question, 0).error}};
        if (!failed && reads_nothing()) clear_one_by_one(step.node);
        break;
      case Step::clear_port:
        if (failed) node.ports[step.reading].problems.push_back({pm::PortCounters::attribute_id, true, problem_of(question, 0).error});
        break;
    }
    if (plan_.clear && step.kind != Step::owner) disown_uncleared(node, step);
    if (--visits_[step.node].open != 0) return;
    const bool is_read = step.kind == Step::head || step.kind == Step::port;
    if (is_read && plan_.owners != nullptr && add_owners(step.node)) return;
    if (is_read && plan_.clear && (reads_nothing() || node.support.all_port_select()) && add_clears(step.node)) return;
    while (finished_ < visits_.size() && visits_[finished_].open == 0) finish_next();
  }

  /// Adds a question for each end port at whose LID counters were read. False if there are none.
  bool add_owners(std::uint32_t at) {
    std::set<PortIndex> ends;
    for_each_reading(node_at(at), [&](const PmaReading& reading) {
      if (reading.known()) ends.insert(subnet_.end_port_of(reading.port));
    });
    for (const PortIndex end : ends) add_next({at, Step::owner, std::uint16_t{subnet_.port(end).number}}, end);
    return !ends.empty();
  }

  template <class Use>
  static void for_each_reading(PmaNode& node, Use use) {
    if (node.all) use(*node.all);
    std::ranges::for_each(node.ports, use);
  }

  /// Drops what was read, because it is not known whose it is: `problem` says why.
  static void drop(PmaReading& reading, const PmaProblem& problem) {
    if (!reading.known()) return;
    reading.row = {.port = reading.port};
    if (std::ranges::find(reading.problems, problem.error, &PmaProblem::error) == reading.problems.end())
      reading.problems.push_back(problem);
  }

  /// Drops what was read at the LID of an end port, because that is not known to be the LID of the node.
  void disown(PmaNode& node, unsigned end, PmaProblem problem) {
    problem.whose = true;
    note_moved(node, problem);
    for_each_reading(node, [&](PmaReading& reading) {
      if (subnet_.port(subnet_.end_port_of(reading.port)).number == end) drop(reading, problem);
    });
  }

  /// Drops what was read before a Set that was not sent, because the node at the LID is another one, or does not identify itself.
  void disown_uncleared(PmaNode& node, const Step& step) {
    const bool is_of_port = step.kind == Step::port || step.kind == Step::clear_port;
    std::vector<PmaProblem>& problems = is_of_port ? node.ports[step.reading].problems : node.clear_problems;
    const auto found = std::ranges::find_if(problems, [](const PmaProblem& p) { return p.set && is_of_identity(p.error.get()); });
    if (found == problems.end()) return;
    found->whose = true;
    const PmaProblem problem = *found;
    note_moved(node, problem);
    if (is_of_port) return drop(node.ports[step.reading], problem);
    for_each_reading(node, [&](PmaReading& reading) { drop(reading, problem); });
  }

  void note_moved(const PmaNode& node, const PmaProblem& problem) {
    if (dynamic_cast<const subnet::WrongNode*>(problem.error.get()) == nullptr) return;
    if (readings_.moved.empty() || readings_.moved.back() != node.node) readings_.moved.push_back(node.node);
  }

  bool reads_nothing() const { return plan_.counts == ReadingPlan::Counts::none; }

  /// Whether one Set clears the ports of a node that were read one by one, or were not to be read.
  bool are_cleared_at_once(const PmaNode& node) const {
    if (!reads_nothing()) return all_ports_read(subnet_, node);
    const subnet::Node& of = subnet_.node(node.node);
    const std::size_t external = external_ports(node);
    return of.kind() == subnet::NodeKind::sw && node.support.all_port_select() && external > 1 && external >= of.info.num_ports;
  }

  /// Adds the questions that clear ports: all of them, or only those that answered. False if there are none. Port 0 of a switch that was
  /// not read is cleared by a Set of its own.
  bool add_clears(std::uint32_t at) {
    const PmaNode& node = node_at(at);
    if (node.ports.empty()) return false;
    const bool at_once = are_cleared_at_once(node);
    const bool any = add_port_clears(at, [&](const PmaReading& reading) {
      if (reads_nothing()) return reading.problems.empty() && (!at_once || reading.select == 0);
      return !at_once && reading.known();
    });
    if (at_once) add_next({at, Step::clear_all}, node.first);
    return at_once || any;
  }

  template <class IsWanted>
  bool add_port_clears(std::uint32_t at, IsWanted is_wanted) {
    const PmaNode& node = node_at(at);
    bool any = false;
    for (std::size_t i = node.ports.size(); i-- != 0;) {  // each in front of the one before
      if (!is_wanted(node.ports[i])) continue;
      add_next({at, Step::clear_port, static_cast<std::uint16_t>(i)}, node.ports[i].port);
      any = true;
    }
    return any;
  }

  /// The PMA may refuse only PortSelect 255: single ports are tried next, unless another node has its LID.
  void clear_one_by_one(std::uint32_t at) {
    PmaNode& node = node_at(at);
    if (node.clear_problems.empty() || is_of_identity(node.clear_problems.back().error.get())) return;
    node.clear_problems.clear();
    add_port_clears(at, [](const PmaReading& reading) { return reading.select != 0; });
  }

  void add_next(Step step, PortIndex port) {
    ++visits_[step.node].open;
    steps_.push_back(step);
    survey_.add_next(port);
  }

  void add_ports(std::uint32_t at) {
    PmaNode& node = node_at(at);
    const bool silent = node.problem && (reads_nothing() || !node.problem->error || mad::is_timeout(*node.problem->error));
    for (const PortIndex port : ports_of(node.node)) {
      node.ports.push_back(start(port, subnet_.port(port).number, node.support));
      // A PMA that did not answer the request for ClassPortInfo gets no requests for its ports.
      if (silent && subnet_.end_port_of(port) == subnet_.end_port_of(node.first))
        node.ports.back().problems.push_back({counters_attribute(node.support), false, node.problem->error});
    }
    if (reads_nothing()) return;
    for (std::size_t i = node.ports.size(); i-- != 0;) {  // each in front of the one before
      if (node.ports[i].problems.empty()) add_next({at, Step::port, static_cast<std::uint16_t>(i)}, node.ports[i].port);
    }
  }

  PmaProblem problem_of(std::size_t question, std::uint16_t attribute) const {
    const auto error = std::dynamic_pointer_cast<const mad::MadError>(survey_.failure(question).error);
    if (error && error->request().size() >= mad::header_size) attribute = mad::HeaderView(error->request()).attribute_id();
    return {attribute, false, error};
  }

  /// Collects the failures in the order of the nodes and their ports, whatever the order of the requests was; then the failed Sets.
  void take_failures() {
    std::vector<std::size_t> questions;
    for (std::size_t question = 0; question < steps_.size(); ++question)
      if (survey_.has_failed(question)) questions.push_back(question);
    std::ranges::sort(questions, {}, [this](std::size_t question) { return steps_[question]; });
    for (const std::size_t question : questions) {
      const std::uint32_t failure = survey_.settle(question, readings_.failures);
      if (failure != subnet::none && steps_[question].kind == Step::owner) say_not_read(readings_.failures[failure]);
    }
    // What another node refused, or did not answer, at the LID of a node is not a failure of that node.
    std::erase_if(readings_.failures, [this](const subnet::Failure& failure) {
      return failure.kind != subnet::Failure::Kind::not_read && std::ranges::find(readings_.moved, failure.node) != readings_.moved.end();
    });
    std::set<const ib::Error*> known;  // a Set that was not sent because its agent is silent is a failure already
    for (const subnet::Failure& failure : readings_.failures) known.insert(failure.error.get());
    std::ranges::copy_if(failed_sets_, std::back_inserter(readings_.failures),
                         [&known](const subnet::Failure& failure) { return known.insert(failure.error.get()).second; });
  }

  /// Reads ClassPortInfo, and with AllPortSelect the sum of all ports. If its ports are not read then, also clears the counters of all
  /// ports.
  async::Task<MadFailure> read_head(PmaNode& node, subnet::SurveyPort port) {
    node.all.reset();  // left by an earlier attempt
    const async::Loop& loop = co_await async::current_loop;
    if (!node.begun) node.begun = loop.now();
    std::optional<PmaSupport> support;
    if (plan_.pmas != nullptr) support = plan_.pmas->find(subnet_, node.node);
    if (!support) {
      const mad::Result<PmaSupport> answer = co_await read_pma_support(port.transactor, port.path);
      if (!answer) co_return answer.shared_error();
      support = *answer;
      if (plan_.pmas != nullptr) plan_.pmas->add(subnet_, node.node, *support);
    }
    node.support = *support;
    const bool is_host = subnet_.node(node.node).kind() != subnet::NodeKind::sw;
    const bool by_port = plan_.ports == ReadingPlan::Ports::each || (plan_.ports == ReadingPlan::Ports::of_hosts && is_host);
    if (reads_nothing() || !node.support.all_port_select() || by_port) co_return nullptr;
    PmaReading reading = start(port.index, subnet::all_ports, *support);
    co_await fill(reading, port.transactor, port.path, plan_);
    const MadFailure error = reading.known() ? nullptr : reading.problems.back().error;
    node.all = std::move(reading);
    if (plan_.clear && node.all->known() && !ports_are_wanted(node))
      node.clear_problems = co_await clear_counters(port, subnet::all_ports, *support, plan_, std::span(&*node.all, 1));
    co_return error;
  }

  bool ports_are_wanted(const PmaNode& node) const {
    if (!node.all) return true;
    return node.all->known() && plan_.further && plan_.further(*node.all).ports;
  }

  /// The attribute of counters that is requested first.
  std::uint16_t counters_attribute(const PmaSupport& support) const {
    return support.extended() && plan_.counts == ReadingPlan::Counts::traffic ? pm::PortCountersExt::attribute_id
                                                                              : pm::PortCounters::attribute_id;
  }

  async::Task<MadFailure> read_port(PmaNode& node, std::size_t at, subnet::SurveyPort port) {
    PmaReading reading = start(port.index, port.number, node.support);
    co_await fill(reading, port.transactor, port.path, plan_);
    if (!reading.known()) co_return reading.problems.back().error;
    if (plan_.clear && !node.support.all_port_select()) {
      std::vector<PmaProblem> problems = co_await clear_counters(port, port.number, reading.support, plan_, std::span(&reading, 1));
      std::ranges::move(problems, std::back_inserter(reading.problems));
    }
    node.ports[at] = std::move(reading);
    co_return nullptr;
  }

  /// Clears all ports of a node by one Set, or one of its ports, of which `read` was read. Adds what fails to `problems`.
  async::Task<MadFailure> clear(subnet::SurveyPort port, std::uint8_t select, PmaSupport support, std::span<const PmaReading> read,
                                std::vector<PmaProblem>& problems) {
    std::vector<PmaProblem> met = co_await clear_counters(port, select, support, plan_, read);
    if (!met.empty() && mad::is_timeout(*met.back().error)) co_return met.back().error;
    std::ranges::move(met, std::back_inserter(problems));
    co_return nullptr;
  }

  async::Task<MadFailure> clear_one_port(PmaNode& node, std::size_t at, subnet::SurveyPort port) {
    PmaSupport support = node.support;
    const bool has_own_pma = subnet_.end_port_of(port.index) != subnet_.end_port_of(node.first);
    if (reads_nothing() && has_own_pma) {
      const mad::Result<PmaSupport> own = co_await read_pma_support(port.transactor, port.path);
      if (!own) co_return own.shared_error();
      support = *own;
    }
    co_return co_await clear(port, port.number, support, std::span(&node.ports[at], 1), node.ports[at].problems);
  }

  const subnet::Subnet& subnet_;
  const ReadingPlan& plan_;
  PmaReadings readings_;
  std::vector<Visit> visits_;  // in the order of the nodes
  std::vector<Step> steps_;    // by question
  std::size_t finished_{};     // nodes that were handed over
  std::vector<subnet::Failure> failed_sets_;
  subnet::Survey survey_;
};

}  // namespace

const StructInfo* blocks_layout(const PmaSupport& support, smp::FecMode mode) {
  const bool has_blocks = (support.capability_mask & pm::capability_mask::rs_fec_counters_supported) != 0;
  return has_blocks ? &extended_speeds_layout(mode) : nullptr;
}

std::vector<PortIndex> countable_ports(const subnet::Subnet& subnet, NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  const bool has_port0 = node.kind() == subnet::NodeKind::sw && node.has_switch_info && node.switch_info().enhanced_port0 != 0;
  std::vector<PortIndex> ports;
  ports.reserve(node.slots);
  for (unsigned number = has_port0 ? 0 : 1; number < node.slots; ++number) {
    if (subnet.port(node.first_port + number).is_known()) ports.push_back(node.first_port + number);
  }
  return ports;
}

bool all_ports_read(const subnet::Subnet& subnet, const PmaNode& node) {
  if (node.ports.empty()) return node.all && node.all->known();
  const subnet::Node& of = subnet.node(node.node);
  if (of.kind() == subnet::NodeKind::sw && !of.has_switch_info) return false;  // whether port 0 counts is not known
  return external_ports(node) >= of.info.num_ports && std::ranges::all_of(node.ports, &PmaReading::known);
}

std::size_t unread_ports(const subnet::Subnet& subnet, const PmaNode& node) {
  if (node.ports.empty()) return node.any_read() ? 0 : countable_ports(subnet, node.node).size();
  const subnet::Node& of = subnet.node(node.node);
  const std::size_t external = external_ports(node);
  const auto read = static_cast<std::size_t>(std::ranges::count_if(node.ports, &PmaReading::known));
  return node.ports.size() - read + (of.kind() == subnet::NodeKind::sw && of.info.num_ports > external ? of.info.num_ports - external : 0);
}

async::Task<mad::Result<mad::Reply>> request_counters(mad::Transactor& transactor, const path::Path& pma, const StructInfo& attribute,
                                                      std::uint8_t select, bool takes_any_select) {
  const std::array<std::uint8_t, 2> port_select{0, select};  // byte 1 of all attributes of a port
  const mad::Request request = mad::attribute_request(pma, attribute, mad::method::get, 0, port_select);
  mad::Result<mad::Reply> answer = co_await transactor.try_call(request);
  if (answer && !takes_any_select && answer->payload()[1] != select) co_return wrong_port(pma, attribute, select, answer->payload());
  co_return answer;
}

std::shared_ptr<const Error> why_not(const PmaProblem& problem) {
  if (!problem.error) return std::make_shared<Error>("No path for GMPs is known.");
  return problem.whose ? std::make_shared<Error>(why_not_read(*problem.error)) : std::shared_ptr<const Error>(problem.error);
}

async::Task<PmaReading> read_pma(mad::Transactor& transactor, path::Path pma, std::uint8_t select, PmaSupport support,
                                 const ReadingPlan& plan) {
  PmaReading reading = start(subnet::none, select, support);
  co_await fill(reading, transactor, pma, plan);
  co_return reading;
}

async::Task<PmaReadings> read_pmas(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<NodeIndex> nodes,
                                   ReadingPlan plan, subnet::SurveyOptions options) {
  PortReader reader(transactor, subnet, plan, options);
  co_return co_await reader.read(std::move(nodes));
}

}  // namespace ib::counters
