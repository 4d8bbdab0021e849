// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/survey.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/pm.hpp"
#include "iba/queries.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::subnet {

namespace {

constexpr mad::Reason retried = "silent nodes tried again";
constexpr std::uint8_t any_class = 0;  // for a failure that means all agents: no path leads to them

std::optional<path::Path> path_to(const Subnet& subnet, PortIndex port, const SurveyOptions& options) {
  if (options.way == SurveyWay::smp) return smp_path(subnet, subnet.port(port).node, options.start);
  return options.paths != nullptr ? options.paths->gmp(port) : gmp_path(subnet, port, options.start);
}

/// Whether the port may have the attribute. The CapabilityMask of all ports of a switch is in its port 0.
bool may_have(const Subnet& subnet, PortIndex at, const QueryInfo& query) {
  if (query.needs == 0) return true;
  const PortIndex end = subnet.end_port_of(at);
  return end != none && subnet.port(end).has_info && (subnet.port(end).info().capability_mask & query.needs) == query.needs;
}

/// The ports to which the request goes. What only some ports have is read of each of them.
std::vector<PortIndex> ports_with(const Subnet& subnet, const QueryInfo& query) {
  std::vector<PortIndex> ports;
  for (const NodeIndex at : by_guid(subnet)) {
    const Node& node = subnet.node(at);
    const bool is_switch = node.kind() == NodeKind::sw;
    if ((query.switches && !is_switch) || (query.vendor && !is_mellanox(node.info))) continue;
    if (query.access == Access::node && (is_switch || query.needs == 0)) {
      ports.push_back(subnet.port_of(at, is_switch ? 0 : node.entry_port));
      continue;
    }
    for (unsigned number = 1; number < node.slots; ++number) ports.push_back(subnet.port_of(at, number));
  }
  std::erase_if(ports, [&](PortIndex port) { return port == none || !may_have(subnet, port, query); });
  return ports;
}

async::Task<mad::Result<std::vector<std::uint8_t>>> read_one(SurveyPort port, const QueryInfo& query, path::Path path) {
  const std::uint32_t modifier = query.access == Access::port ? port.number : query.modifier;
  mad::Result<std::vector<std::uint8_t>> bytes = co_await port.transactor.try_get(path, *query.info, modifier);
  if (!bytes && bytes.error().status() != 0) co_return std::vector<std::uint8_t>();
  co_return bytes;
}

bool has_port_info_extended(const Subnet& subnet, PortIndex at) {
  const smp::PortInfo info = subnet.port(subnet.end_port_of(at)).info();
  return (info.capability_mask & smp::capability_mask::is_capability_mask2_supported) != 0 &&
         (info.capability_mask2 & smp::capability_mask2::is_port_info_extended_supported) != 0;
}

}  // namespace

/// The path to a port, if there is one, and a Transactor that assigns requests to the agents of that port.
class Survey::Agents final : public mad::Transactor {
 public:
  Agents(Survey& survey, PortIndex port)
      : Transactor(survey.transactor_.end_port()), survey_(survey), port_(port), path_(path_to(survey.subnet_, port, survey.options_)) {
    sa_path() = survey.transactor_.sa_path();
  }
  Agents(const Agents&) = delete;
  Agents& operator=(const Agents&) = delete;
  ~Agents() override {
    for (const auto at : used_) {
      --at->second.questions;
      if (at->second.is_plain()) survey_.agents_.erase(at);
    }
  }
  async::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;
  /// Sends one request to a silent agent, for an attribute that every agent of its class has. `error` is the error of its last request.
  async::Task<> wake(const mad::MadError& error);
  const std::optional<path::Path>& path() const { return path_; }

 private:
  Agent& use(std::uint8_t mgmt_class);

  Survey& survey_;
  PortIndex port_;
  std::optional<path::Path> path_;
  std::vector<std::map<AgentKey, Agent>::iterator> used_;
};

Survey::Agent& Survey::Agents::use(std::uint8_t mgmt_class) {
  const AgentKey key = survey_.key_of(port_, mgmt_class);
  for (const auto at : used_)
    if (at->first == key) return at->second;
  used_.push_back(survey_.agents_.try_emplace(key).first);
  ++used_.back()->second.questions;
  return used_.back()->second;
}

/// pump() starts questions as long as an object of this class exists.
struct Survey::Running {
  Survey& survey;
  ~Running() {
    survey.patience_.disarm();
    survey.group_ = nullptr;
  }
};

async::Task<mad::Result<mad::Reply>> Survey::Agents::try_call(const mad::Request& request) {
  if (request.mgmt_class == mad::mgmt_class::sa) {  // the SA is not an agent of the port
    co_return co_await survey_.transactor_.try_call(request);
  }
  Agent& agent = use(request.mgmt_class);
  path::Path path = request.path;
  if (agent.retried && !agent.recovered) path.ib().retries = 0;
  const bool may_be_mute = agent.recovered && agent.may_be_mute(request.attribute_id);
  if (may_be_mute) path.ib().retries = std::min(path.ib().retries, 1U);  // it was given all of its tries before
  mad::Request of_agent = mad::on_path(request, path);
  of_agent.responder = &agent.responder;
  const std::uint16_t attribute = request.attribute_id;
  if (const auto mute = agent.mute.find(attribute); mute != agent.mute.end()) co_return mute->second;
  if (may_be_mute) of_agent.optional = true;  // a missing answer is expected
  const RequestId id{port_, attribute, request.attribute_modifier};
  if (agent.timed_out.contains(id)) of_agent.reason = retried;
  mad::Result<mad::Reply> reply = co_await survey_.transactor_.try_call(of_agent);
  if (reply || !mad::is_timeout(reply.error())) {
    agent.recovered = agent.retried;
    agent.answered.insert(attribute);
  } else if (mad::unanswered_tries(reply.error()) != 0U) {
    agent.timed_out.insert(id);
    if (may_be_mute) agent.mute.emplace(attribute, reply.shared_error());
  }
  co_return reply;
}

async::Task<> Survey::Agents::wake(const mad::MadError& error) {
  const mad::HeaderView header(error.request());
  const std::uint8_t mgmt_class = header.mgmt_class();
  if (has_oui(mgmt_class)) co_return;  // these classes have no attribute in common
  const path::Path path = error.path();
  const StructInfo* attribute = mad::is_smp(mgmt_class) ? &smp::NodeInfo::info() : &mad::ClassPortInfo::info();
  pm::PortCounters counters;
  counters.port_select = std::max<std::uint8_t>(survey_.subnet_.port(port_).number, 1);
  const auto payload = wire::packed(counters);
  if (mgmt_class == mad::mgmt_class::performance && use(mgmt_class).may_be_mute(mad::ClassPortInfo::attribute_id))
    attribute = &pm::PortCounters::info();
  mad::Request request = mad::attribute_request(path, *attribute, mad::method::get, 0, {}, mgmt_class);
  if (attribute == &pm::PortCounters::info()) request.payload = payload;
  request.reason = retried;
  const mad::Result<mad::Reply> reply = co_await try_call(request);
  static_cast<void>(reply);
}

bool Survey::Agent::may_be_mute(std::uint16_t attribute) const {
  const auto is_of_attribute = [attribute](const RequestId& id) { return std::get<1>(id) == attribute; };
  return !answered.contains(attribute) && std::ranges::any_of(timed_out, is_of_attribute);
}

/// The error of the agent of `question` if it is silent and gets its second chance now.
std::shared_ptr<const mad::MadError> Survey::error_to_wake(std::size_t question) const {
  if (!is_silent(question)) return nullptr;
  const FoundFailure& found = found_[questions_[question].failure];
  return found.silent->recovered ? nullptr : std::dynamic_pointer_cast<const mad::MadError>(found.failure.error);
}

std::size_t Survey::add(PortIndex port) {
  waiting_.push_back(questions_.size());
  questions_.push_back({port});
  return waiting_.back();
}

std::size_t Survey::add_next(PortIndex port) {
  waiting_.push_front(questions_.size());
  questions_.push_back({port});
  return waiting_.front();
}

async::Task<> Survey::run() {
  while (!waiting_.empty() || !unanswered_.empty()) {
    co_await run_waiting();
    // One question to each silent agent shows whether the agent answers again. Only then are its other questions sent.
    const std::vector<std::size_t> first = silent_to_retry();
    waiting_.assign(first.begin(), first.end());
    co_await run_waiting();
    for (const std::size_t question : std::exchange(unanswered_, {})) {
      const std::uint32_t failure = questions_[question].failure;
      if (awaits_second_chance(failure)) {
        unanswered_.push_back(question);  // this agent fell silent only now
      } else if (found_[failure].silent->recovered) {
        waiting_.push_back(question);
      } else {
        end(question);
      }
    }
  }
}

/// Sends the waiting questions, and those that are added meanwhile, until no question waits.
async::Task<> Survey::run_waiting() {
  loop_ = &co_await async::current_loop;
  async::TaskGroup group(*loop_);
  group_ = &group;
  const Running running{*this};
  while (!waiting_.empty()) {
    pump();
    co_await group.join();
  }
}

/// Starts waiting questions up to the limits of the options. `ending`: the number of open questions that are about to end.
void Survey::pump(std::size_t ending) {
  const async::Time now = loop_->now();
  std::size_t young = flow_.young(now);
  for (; !waiting_.empty() && group_->running() - ending < options_.window && young < options_.young; ++young) {
    const std::size_t question = waiting_.front();
    waiting_.pop_front();
    group_->spawn(run_question(question, flow_.began(now)));
  }
  if (waiting_.empty()) {
    patience_.disarm();
  } else {
    loop_->arm(patience_, now + Flow::young_span);
  }
}

async::Task<> Survey::run_question(std::size_t question, Flow::Span begun) {
  const PortIndex port = questions_[question].port;
  Agents agents(*this, port);
  std::uint32_t failure = none;
  if (agents.path()) {
    if (const auto error_of_silence = error_to_wake(question)) co_await agents.wake(*error_of_silence);
    const SurveyPort of{agents, port, subnet_.port(port).number, *agents.path()};
    const std::shared_ptr<const mad::MadError> error = co_await send_question_(question, of);
    if (error) failure = fail(port, error);
  } else {
    failure = fail_unreachable(port);
  }
  questions_[question].failure = failure;
  if (awaits_second_chance(failure)) {
    unanswered_.push_back(question);
  } else {
    end(question);
  }
  flow_.ended(begun);
  pump(1);
}

void Survey::end(std::size_t question) {
  ++done_;
  if (options_.progress) options_.progress(done_, questions_.size());
  if (ended_) ended_(question);
}

/// Removes the first question to each agent from unanswered_ and returns these questions. Each of their requests gets one try until the
/// agent answers.
std::vector<std::size_t> Survey::silent_to_retry() {
  std::ranges::sort(unanswered_);  // not in the order in which they failed
  std::vector<std::size_t> first, others;
  for (const std::size_t question : unanswered_) {
    Agent& agent = *found_[questions_[question].failure].silent;
    (agent.retried ? others : first).push_back(question);
    if (!std::exchange(agent.retried, true)) agent.responder.give_another_chance();
  }
  unanswered_ = std::move(others);
  return first;
}

Survey::AgentKey Survey::key_of(PortIndex port, std::uint8_t mgmt_class) const {
  // An SMA answers for its whole node. GMP agents answer for the end port with their LID.
  const bool smp = mad::is_smp(mgmt_class);
  return {smp ? subnet_.node_of(port).first_port : subnet_.end_port_of(port), mgmt_class};
}

std::uint32_t Survey::fail(PortIndex port, const std::shared_ptr<const mad::MadError>& error) {
  const std::optional<unsigned> tries = mad::unanswered_tries(*error);
  const mad::HeaderView header(error->request());
  const StructInfo* const info = find_attribute_in(error->request());
  std::string attribute = info != nullptr ? std::string(info->title) : fmt::format("attribute {:#06x}", header.attribute_id());
  Failure failure = failure_of(error, subnet_.port(port).node, port_in_request(subnet_, port, *error), false, std::move(attribute),
                               header.attribute_modifier());
  if (const auto known = by_error_.find(error.get()); known != by_error_.end()) {
    found_[known->second].failure.port = port_number_of(port, header.mgmt_class());
    return known->second;
  }
  Agent* const silent = tries ? &agent(port, header.mgmt_class()) : nullptr;
  if (silent == nullptr || !silent->responder.is_silent()) return by_error_[error.get()] = add_failure(std::move(failure));
  failure.port = port_number_of(port, header.mgmt_class());
  if (silent->failure == none) {
    silent->failure = add_failure(std::move(failure));
    found_[silent->failure].silent = silent;
  } else if (tries > 0U && mad::unanswered_tries(*found_[silent->failure].failure.error) == 0U) {
    found_[silent->failure].failure = std::move(failure);  // the error of a request that was sent has more details
  }
  return silent->failure;
}

std::uint32_t Survey::fail_unreachable(PortIndex port) {
  Agent& unknown = agent(port, any_class);
  if (unknown.failure == none) {
    std::string why = options_.paths != nullptr ? options_.paths->why_no_gmp(port) : PortPaths(subnet_, options_.start).why_no_gmp(port);
    unknown.failure = add_failure({.kind = Failure::Kind::no_answer,
                                   .node = subnet_.port(port).node,
                                   .port = port_number_of(port, any_class),
                                   .why = std::move(why)});
  }
  return unknown.failure;
}

std::uint32_t Survey::settle(std::size_t question, std::vector<Failure>& failures) {
  if (!has_failed(question)) return none;
  FoundFailure& found = found_[questions_[question].failure];
  if (found.place == none) {
    found.place = static_cast<std::uint32_t>(failures.size());
    failures.push_back(std::move(found.failure));
  }
  return found.place;
}

async::Task<Surveyed<std::vector<std::uint8_t>>> read_attribute(mad::Transactor& transactor, const Subnet& subnet, const QueryInfo& query,
                                                                SurveyOptions options) {
  const bool by_own_link = query.access == Access::node && query.needs != 0;
  const path::Path start = options.start;
  const SurveyQuestion<std::vector<std::uint8_t>> read = [&](SurveyPort port) {
    return read_one(port, query, by_own_link ? sma_path(subnet, port.index, start) : port.path);
  };
  co_return co_await survey(transactor, subnet, ports_with(subnet, query), std::move(options), read);
}

std::vector<PortIndex> ports_with_fec(const Subnet& subnet) {
  return subnet.ports_where([&subnet](PortIndex at) {
    const PortIndex peer = subnet.port(at).peer;
    return peer != none && subnet.port(at).is_link_up() && has_port_info_extended(subnet, at) && has_port_info_extended(subnet, peer);
  });
}

async::Task<FecReading> read_fec_modes(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                       SurveyOptions options) {
  const SurveyQuestion<smp::PortInfoExtended> question = [](SurveyPort port) {
    return port.transactor.try_subn_get<smp::PortInfoExtended>(port.path, port.number);
  };
  Surveyed<smp::PortInfoExtended> surveyed = co_await survey(transactor, subnet, std::move(ports), std::move(options), question);
  FecReading found;
  for (const auto& row : surveyed.rows) {
    if (!row.value) found.unread.insert(row.port);
    if (row.value && (row.value->capability_mask & smp::port_info_extended_capability::is_fec_mode_supported) != 0)
      found.modes[row.port] = row.value->fec_mode_active;
  }
  found.failures = std::move(surveyed.failures);
  co_return found;
}

std::vector<PortIndex> ports_with_manager(const Subnet& subnet) {
  return subnet.ports_where([&subnet](PortIndex at) { return may_have_manager(subnet, at); });
}

async::Task<SurveyedManagers> survey_managers(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                              path::Path start) {
  const SurveyOptions options(std::move(start), SurveyWay::smp);
  const SurveyQuestion<smp::SMInfo> question = [&](SurveyPort port) {
    return try_get_by<smp::SMInfo>(port, sma_path(subnet, port.index, options.start));
  };
  co_return co_await survey(transactor, subnet, std::move(ports), options, question);
}

}  // namespace ib::subnet
