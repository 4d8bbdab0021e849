// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/survey.hpp"

#include <fmt/format.h>

#include "iba/registry.hpp"
#include "subnet/port_paths.hpp"

namespace ib::subnet {
namespace {

constexpr mad::Reason asked_again = "silent nodes asked again";
constexpr std::uint8_t any_class = 0;  // for a failure that means all agents: no path leads to them

std::optional<path::Path> path_to(const Subnet& subnet, PortIndex port, const SurveyOptions& options) {
  if (options.way == SurveyWay::smp) return smp_path(subnet, subnet.port(port).node, options.start);
  return options.paths != nullptr ? options.paths->gmp(port) : gmp_path(subnet, port, options.start);
}

std::string title_of(const mad::HeaderView& header) {
  const StructInfo* info = find_attribute(header.mgmt_class(), header.class_version(), header.attribute_id());
  return info != nullptr ? std::string(info->title) : fmt::format("attribute {:#06x}", header.attribute_id());
}

}  // namespace

SurveyRun::Agents::Agents(SurveyRun& run, PortIndex port)
    : Transactor(run.transactor_.end_port()), run_(run), port_(port), path_(path_to(run.subnet_, port, run.options_)) {
  sa_path() = run.transactor_.sa_path();
}

async::Task<mad::Result<mad::Reply>> SurveyRun::Agents::try_call(const mad::Request& request) {
  if (request.mgmt_class == mad::mgmt_class::sa) {  // the SA is not an agent of the port
    mad::Result<mad::Reply> reply = co_await run_.transactor_.try_call(request);
    co_return reply;
  }
  Agent& agent = run_.agent(port_, request.mgmt_class);
  path::Path path = request.path;
  if (agent.asked_again && !agent.came_back) path.ib().retries = 0;
  mad::Request of_agent = mad::on_path(request, path);
  of_agent.responder = &agent.responder;
  const Question question{port_, request.attribute_id, request.attribute_modifier};
  if (agent.in_vain.contains(question)) of_agent.reason = asked_again;
  mad::Result<mad::Reply> reply = co_await run_.transactor_.try_call(of_agent);
  if (reply || !mad::tries_in_vain(reply.error())) {
    agent.came_back = agent.asked_again;
  } else if (mad::tries_in_vain(reply.error()) != 0U) {
    agent.in_vain.insert(question);
  }
  co_return reply;
}

SurveyRun::Agent& SurveyRun::agent(PortIndex port, std::uint8_t mgmt_class) {
  // An SMA answers for its whole node. GMP agents answer for the end port with their LID.
  const bool smp = mad::is_smp(mgmt_class);
  return agents_[{smp ? subnet_.node(subnet_.port(port).node).first_port : subnet_.end_port_of(port), mgmt_class}];
}

/// The port number in a failure that applies to all ports of an agent. −1 means the whole node.
int SurveyRun::port_number_of(PortIndex port, std::uint8_t mgmt_class) const {
  const Port& at = subnet_.port(port);
  return mad::is_smp(mgmt_class) || subnet_.node(at.node).kind() == NodeKind::sw ? -1 : at.number;
}

std::uint32_t SurveyRun::add(Failure failure) {
  found_.push_back({std::move(failure), none, nullptr});
  return static_cast<std::uint32_t>(found_.size() - 1);
}

std::uint32_t SurveyRun::fail(PortIndex port, const std::shared_ptr<const mad::MadError>& error) {
  const std::optional<unsigned> tries = mad::tries_in_vain(*error);
  const bool has_request = error->request().size() >= mad::header_size;
  const mad::HeaderView header(has_request ? error->request() : Bytes{});
  const Port& at = subnet_.port(port);
  Failure failure{tries ? Failure::Kind::no_answer : Failure::Kind::refused, at.node, at.number, false, {}, 0, error->message(), error};
  if (has_request) {
    failure.attribute = title_of(header);
    failure.modifier = header.attribute_modifier();
  }
  if (const auto known = by_error_.find(error.get()); known != by_error_.end()) {
    found_[known->second].failure.port = has_request ? port_number_of(port, header.mgmt_class()) : -1;
    return known->second;
  }
  Agent* const silent = tries && has_request ? &agent(port, header.mgmt_class()) : nullptr;
  if (silent == nullptr || !silent->responder.is_silent()) return by_error_[error.get()] = add(std::move(failure));
  failure.port = port_number_of(port, header.mgmt_class());
  if (silent->failure == none) {
    silent->failure = add(std::move(failure));
    found_[silent->failure].silent = silent;
  } else if (tries > 0U && mad::tries_in_vain(*found_[silent->failure].failure.error) == 0U) {
    found_[silent->failure].failure = std::move(failure);  // the error of a request that was sent tells more
  }
  return silent->failure;
}

std::uint32_t SurveyRun::fail_unreachable(PortIndex port) {
  Agent& unknown = agent(port, any_class);
  if (unknown.failure == none) {
    unknown.failure =
        add({Failure::Kind::no_answer,
             subnet_.port(port).node,
             port_number_of(port, any_class),
             false,
             {},
             0,
             options_.paths != nullptr ? options_.paths->why_no_gmp(port) : PortPaths(subnet_, options_.start).why_no_gmp(port),
             {}});
  }
  return unknown.failure;
}

bool SurveyRun::ask_again(std::uint32_t failure) {
  Agent* const agent = found_[failure].silent;
  if (agent == nullptr || std::exchange(agent->asked_again, true)) return false;
  agent->responder.give_another_chance();
  return true;
}

bool SurveyRun::came_back(std::uint32_t failure) const {
  const Agent* const agent = found_[failure].silent;
  return agent != nullptr && agent->came_back;
}

void SurveyRun::ended() {
  if (done_ == count_) return;  // a port whose agent was asked again
  ++done_;
  if (options_.progress) options_.progress(done_, count_);
}

std::uint32_t SurveyRun::settle(std::uint32_t failure, std::vector<Failure>& failures) {
  Found& found = found_[failure];
  if (found.place == none) {
    found.place = static_cast<std::uint32_t>(failures.size());
    failures.push_back(std::move(found.failure));
  }
  return found.place;
}

}  // namespace ib::subnet
