// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/fabric_survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "async/group.hpp"
#include "counters/readings.hpp"
#include "iba-gen/mad.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::snapshot {
namespace {

using subnet::NodeIndex;
using subnet::none;
using subnet::PortIndex;

constexpr std::size_t switches_at_once = 1024;
constexpr std::size_t requests_at_once = 16;  // to one agent; more than the engine sends to one node (mad::RpcLimits)
constexpr std::uint8_t any_class = 0;         // for GMPs that have no path

std::uint8_t class_of(Part part) {
  if (PartRequests::by_smp(part)) return mad::mgmt_class::smp;
  if (part == Part::congestion) return mad::mgmt_class::congestion;
  return part == Part::vendor ? subnet::mlnx_vendor_class : mad::mgmt_class::performance;
}

/// Whether a status says that the agent lacks the attribute or the class, for all ports (IBA 13.4.7).
bool is_lacking(std::uint16_t status) {
  return status == mad::status::bad_version || status == mad::status::unsupported_method ||
         status == mad::status::unsupported_method_attribute;
}

bool has_timed_out(const sa::TableFailure& failed) { return failed.error && mad::is_timeout(*failed.error); }

async::Task<> request_arrival(mad::Transactor& transactor, const path::Path& path) {
  const mad::Result<smp::NodeInfo> answer = co_await transactor.try_subn_get<smp::NodeInfo>(path);
  static_cast<void>(answer);
}

}  // namespace

/// The survey of one part.
class FabricSurvey::Run {
 public:
  Run(FabricSurvey& survey, Part part, SurveyedPart& result) : survey_(survey), part_(part), result_(result) {}

  /// Sends all remaining requests to an agent. The survey calls this again for an agent that was silent at first.
  async::Task<mad::Result<bool>> send_requests(subnet::SurveyPort port) {
    Agent& agent = agents_[port.index];
    if (!agent.begun && (part_ == Part::counters || part_ == Part::details)) agent.state = survey_.pmas_[port.index];
    agent.begun = true;
    const path::Path path = path_of(port);
    Round round{agent, port, path};
    std::vector<AttributeRequests> unanswered;
    while (round.is_heard && (agent.step < PartRequests::steps || !agent.left.empty())) {
      if (agent.left.empty()) agent.left = survey_.requests_.of_step(part_, port.index, agent.step++, agent.state);
      co_await send_step(round);
      std::erase_if(agent.left, [](const AttributeRequests& requests) { return requests.values.empty(); });
      std::ranges::move(agent.left, std::back_inserter(unanswered));
      agent.left.clear();
    }
    agent.left = std::move(unanswered);
    if (part_ == Part::counters) survey_.pmas_[port.index] = agent.state;
    const std::shared_ptr<const mad::MadError> why_not_its = co_await check_owner(agent, port);
    if (why_not_its) co_return why_not_its;
    if (round.error) co_return round.error;
    co_return true;
  }

 private:
  struct Agent {
    std::vector<AttributeRequests> left;
    unsigned step{};  ///< the next one
    bool begun{};
    AgentState state;
    std::vector<AnswerKey> answered{};  ///< by GMP, since the node has last said that the LID is its own
  };
  /// One send_requests() to an agent.
  struct Round {
    Agent& agent;
    subnet::SurveyPort port;
    const path::Path& path;
    std::shared_ptr<const mad::MadError> error{};  ///< of a request that was not answered
    bool is_heard = true;                          ///< false: requests are not sent any more, because the agent is silent
    std::vector<std::pair<AttributeRequests*, std::uint32_t>> unanswered{};
  };
  struct OneRequest {
    AttributeRequests* of;
    std::uint32_t value;
    bool first;  ///< the answer shows whether the agent has the attribute
  };

  path::Path path_of(const subnet::SurveyPort& port) const {
    if (PartRequests::by_smp(part_)) return subnet::sma_path(survey_.subnet_, port.index, survey_.options_.start);
    path::Path path = port.path;
    if (part_ == Part::congestion) path.ib().cc_key = survey_.options_.cc_key;
    return path;
  }

  /// Disowns what was answered by GMP, unless the node says that the LID is its own. Returns null, or the error that says why.
  async::Task<std::shared_ptr<const mad::MadError>> check_owner(Agent& agent, subnet::SurveyPort port) {
    if (agent.answered.empty()) co_return nullptr;
    const counters::Owner owner = counters::owner_of(survey_.subnet_, port.index);
    const std::shared_ptr<const mad::MadError> error = co_await counters::check_owner(*survey_.options_.owners, port.path, owner);
    const std::vector<AnswerKey> keys = std::exchange(agent.answered, {});
    if (!error) co_return nullptr;
    agent.state = {};
    survey_.pmas_.erase(port.index);
    const bool is_other = dynamic_cast<const subnet::WrongNode*>(error.get()) != nullptr;
    const std::string cause = is_other ? counters::why_not_read(*error) : std::string("the node at its LID does not identify itself");
    const std::string why = cause + ": its answers are not kept";
    const auto disowned = std::make_shared<const subnet::FalseAnswer>(why, error->request(), error->reply(), error->path());
    for (const AnswerKey& key : keys) survey_.options_.disown(key, *disowned);
    result_.answered -= std::min<std::uint64_t>(result_.answered, keys.size());
    co_return disowned;
  }

  /// Sends the remaining requests of a step: first one request for each attribute, then the others. Unanswered requests stay.
  async::Task<> send_step(Round& round) {
    const auto send = [this, &round](const OneRequest& request) { return send_one(round, request); };
    std::vector<OneRequest> now;
    for (AttributeRequests& requests : round.agent.left) {
      if (requests.values.empty()) continue;
      now.push_back({&requests, requests.values.front(), true});
      requests.values.erase(requests.values.begin());
    }
    co_await async::for_each(now, requests_at_once, send);
    now.clear();
    for (AttributeRequests& requests : round.agent.left) {
      if (!round.is_heard) break;
      if (requests.lacking) ended(requests.values.size());
      for (const std::uint32_t value : requests.values) {
        if (!requests.lacking) now.push_back({&requests, value, false});
      }
      requests.values.clear();
    }
    co_await async::for_each(now, requests_at_once, send);
    for (const auto& [requests, value] : std::exchange(round.unanswered, {})) requests->values.push_back(value);
  }

  async::Task<> send_one(Round& round, OneRequest one) {
    AttributeRequests& of = *one.of;
    const std::vector<std::uint8_t> payload = of.payload(one.value);
    mad::Request request =
        mad::attribute_request(round.path, *of.attribute, mad::method::get, of.modifier(one.value), payload, of.mgmt_class);
    request.optional = of.unsure;
    const mad::Result<mad::Reply> reply = co_await round.port.transactor.try_call(request);
    const bool needs_owner = !PartRequests::by_smp(part_) && survey_.options_.owners != nullptr;
    if (needs_owner && (reply || !mad::is_timeout(reply.error()))) {
      const subnet::PathEnd place = subnet::end_of_path(survey_.subnet_, request.path);
      if (place.node != none) round.agent.answered.push_back(snapshot::key_of(survey_.subnet_, place, request));
    }
    if (reply) {
      take(round, of, one.value, *reply);
    } else {
      failed(round, one, reply.shared_error());
    }
  }

  void take(Round& round, AttributeRequests& of, std::uint32_t value, const mad::Reply& reply) {
    ++result_.answered;
    of.unsure = false;
    round.agent.state.take(of, value, reply.payload());
    if (of.attribute == &smp::PortInfo::info()) survey_.requests_.take_port_info(round.port.index, value, reply.payload());
    if (of.attribute == &smp::MlnxExtPortInfo::info()) {
      const subnet::NodeIndex node = survey_.subnet_.port(round.port.index).node;
      const PortIndex at = survey_.subnet_.port_of(node, value);
      if (at != none && subnet::may_be_fdr10(survey_.subnet_.node(node).info, survey_.subnet_.port(at).info()))
        subnet::store_fdr10(survey_.subnet_.port(at), smp::MlnxExtPortInfo::unpack(reply.payload()));
    }
    ended(1);
  }

  void failed(Round& round, const OneRequest& one, const std::shared_ptr<const mad::MadError>& error) {
    AttributeRequests& of = *one.of;
    const std::optional<unsigned> tries = mad::unanswered_tries(*error);
    const bool is_class_info = of.attribute == &mad::ClassPortInfo::info();
    if (tries && (!of.unsure || tries == 0U)) {
      if (!round.error || tries > 0U) round.error = error;  // the error of a request that was sent has more details
      if (tries == 0U) round.is_heard = false;
      if (tries > 0U && is_class_info) round.agent.state.requested = true;  // not in each part
      round.unanswered.emplace_back(one.of, one.value);
      return;
    }
    if (one.first && (tries || is_lacking(error->status()))) of.lacking = true;
    if (is_class_info) round.agent.state.requested = true;
    ++result_.refused;
    ended(1);
  }

  void ended(std::uint64_t count) {
    done_ += count;
    if (survey_.options_.progress) survey_.options_.progress(part_, std::min(done_, result_.planned), result_.planned);
  }

  FabricSurvey& survey_;
  Part part_;
  SurveyedPart& result_;
  std::map<PortIndex, Agent> agents_;
  std::uint64_t done_{};
};

FabricSurvey::FabricSurvey(mad::Transactor& transactor, subnet::SweptSubnet& fabric, FabricSurveyOptions options)
    : transactor_(transactor), subnet_(fabric.subnet), options_(std::move(options)), requests_(fabric.subnet, fabric.failures) {
  for (const subnet::Failure& failure : fabric.failures) {
    const bool fell_silent = failure.kind == subnet::Failure::Kind::no_answer && !failure.beyond && failure.attribute == "NodeInfo";
    if (fell_silent && failure.node != none) silent_.emplace(subnet_.node(failure.node).first_port, mad::mgmt_class::smp);
  }
}

FabricSurvey::AgentKey FabricSurvey::key_of(Part part, PortIndex port) const {
  const std::uint8_t mgmt_class = class_of(part);
  return {mad::is_smp(mgmt_class) ? subnet_.node(subnet_.port(port).node).first_port : port, mgmt_class};
}

/// The agents that get requests: without those that are known to be silent.
std::vector<PortIndex> FabricSurvey::agents(Part part) const {
  std::vector<PortIndex> all = requests_.agents(part);
  const bool by_smp = PartRequests::by_smp(part);
  std::erase_if(all, [&](PortIndex port) {
    return silent_.contains(key_of(part, port)) || (!by_smp && silent_.contains({port, any_class}));
  });
  return all;
}

std::uint64_t FabricSurvey::plan(Part part) const {
  std::uint64_t count = 0;
  for (const PortIndex port : agents(part)) count += requests_.plan(part, port, part == Part::details && pmas_.contains(port));
  return count;
}

async::Task<> FabricSurvey::read(std::vector<Part> parts) {
  async::Loop& loop = co_await async::current_loop;
  std::ranges::sort(parts);
  std::vector<Part> by_smp, by_gmp, last;
  for (const Part part : parts) {
    if (part != Part::topology) (PartRequests::by_smp(part) ? by_smp : part <= Part::counters ? by_gmp : last).push_back(part);
  }
  async::TaskGroup both(loop);
  both.spawn(read_in_turn(std::move(by_smp)));
  both.spawn(read_in_turn(std::move(by_gmp)));
  co_await both.join();
  co_await read_in_turn(std::move(last));
}

async::Task<> FabricSurvey::read_in_turn(std::vector<Part> parts) {
  async::Loop& loop = co_await async::current_loop;
  for (const Part part : parts) {
    const bool needs_paths = part != Part::sa && !PartRequests::by_smp(part);
    if (needs_paths && options_.find_paths && !std::exchange(has_paths_, true)) co_await options_.find_paths();
    if (options_.began) options_.began(part, part == Part::phy ? 0 : plan(part));
    const async::Time begun = loop.now();
    SurveyedPart done = co_await read_part(part);
    done.took = loop.now() - begun;
    if (options_.ended) options_.ended(part, std::move(done));
  }
}

async::Task<SurveyedPart> FabricSurvey::read_part(Part part) {
  SurveyedPart result;
  if (part == Part::sa || part == Part::phy) {
    const auto& read = part == Part::sa ? options_.read_sa : options_.read_phy;
    if (read) result = co_await read(transactor_);
    co_return result;
  }
  result.planned = plan(part);
  Run run(*this, part, result);
  subnet::SurveyOptions how(options_.start, PartRequests::by_smp(part) ? subnet::SurveyWay::smp : subnet::SurveyWay::gmp);
  how.paths = options_.paths;
  const subnet::SurveyQuestion<bool> send = [&run](subnet::SurveyPort port) { return run.send_requests(port); };
  subnet::Surveyed<bool> found = co_await subnet::survey(transactor_, subnet_, agents(part), std::move(how), send);
  for (const auto& row : found.rows) {
    const bool has_path = row.failure != none && found.failures[row.failure].error != nullptr;
    if (row.failure == none || (has_path && !row.silent)) continue;
    silent_.insert(has_path ? key_of(part, row.port) : AgentKey{row.port, any_class});
  }
  result.failures = std::move(found.failures);
  for (const auto& row : found.rows) {
    const std::optional<std::string> left_out = row.failure == none ? requests_.left_out(part, row.port) : std::nullopt;
    if (left_out)
      result.failures.push_back({.kind = subnet::Failure::Kind::false_answer,
                                 .node = subnet_.port(row.port).node,
                                 .attribute = std::string(smp::PKeyTable::info().title),
                                 .why = *left_out,
                                 .error = nullptr});
  }
  co_return result;
}

async::Task<> read_arrivals(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start) {
  std::vector<path::Path> paths;
  for (const subnet::Node& node : subnet.nodes()) {
    if (node.kind() != subnet::NodeKind::sw) continue;
    if (auto path = subnet::lid_path(subnet, node.first_port, start, Qpn{0})) paths.push_back(*path);
  }
  const auto request = [&transactor](const path::Path& path) { return request_arrival(transactor, path); };
  co_await async::for_each(paths, switches_at_once, request);
}

async::Task<SurveyedPart> read_sa_part(mad::Transactor& transactor, Writer& writer, sa::TableReading reading, bool& is_silent) {
  SurveyedPart result;
  const auto fail = [&result](subnet::Failure::Kind kind, std::string why, std::shared_ptr<const Error> error) {
    result.failures.push_back({.kind = kind, .attribute = {}, .why = std::move(why), .error = std::move(error)});
  };
  if (!transactor.knows_sa()) {
    fail(subnet::Failure::Kind::no_answer, "No subnet administrator is known.", {});
    co_return result;
  }
  std::vector<const QueryInfo*> tables;
  for (const QueryInfo& table : sa::stored_table_infos()) tables.push_back(&table);
  result.planned = tables.size();
  reading.keep = [&](const QueryInfo& table, const mad::Reply& reply) {
    ++result.answered;
    writer.put_table(table, reply);
  };
  const std::vector<sa::TableFailure> failed = co_await sa::read_tables(transactor, std::move(tables), std::move(reading));
  for (const sa::TableFailure& one : failed) {
    if (one.error) writer.put_failure(table_key(*one.table), *one.error);
  }
  is_silent = result.answered == 0 && std::ranges::all_of(failed, has_timed_out);
  if (is_silent) {
    fail(subnet::Failure::Kind::no_answer, "The subnet administrator does not answer.", failed.front().error);
    co_return result;
  }
  std::set<const mad::MadError*> said;  // the tables that are left after the SA fell silent have one error
  for (const sa::TableFailure& one : failed) {
    if (one.error && !said.insert(one.error.get()).second) continue;
    if (one.error && !has_timed_out(one)) {
      ++result.refused;
    } else {
      fail(one.error ? subnet::Failure::Kind::no_answer : subnet::Failure::Kind::false_answer,
           fmt::format("The subnet administrator does not give its {}: {}", sa::table_name(*one.table), one.why), one.error);
    }
  }
  co_return result;
}

async::Task<SurveyedPart> read_phy_part(Recording& recording, const subnet::Subnet& subnet, path::Path start, phy::ReadingOptions options) {
  SurveyedPart result;
  const Recording::Counts before = recording.counts();
  std::vector<subnet::NodeIndex> nodes(subnet.nodes().size());
  std::iota(nodes.begin(), nodes.end(), subnet::NodeIndex{0});
  phy::Planes planes = co_await phy::read_planes(recording, subnet, std::move(start), nodes);
  std::vector<subnet::PortIndex> ports;
  for (subnet::PortIndex port = 0; port < subnet.ports().size(); ++port) {
    if (subnet.port(port).number != 0 && subnet.port(port).has_info) ports.push_back(port);
  }
  std::set<subnet::NodeIndex> silent;
  options.histogram = true;
  options.planes = &planes;
  options.silent = &silent;
  for (const auto scope : {phy::ReadingScope::ports, phy::ReadingScope::environment}) {
    options.wanted = scope;
    phy::Reading found = co_await phy::read_phy(recording, subnet, ports, options);
    for (subnet::Failure& failure : found.failures) {
      const bool is_known = scope == phy::ReadingScope::environment &&
                            std::ranges::find(result.failures, failure.node, &subnet::Failure::node) != result.failures.end();
      if (!is_known) result.failures.push_back(std::move(failure));
    }
  }
  std::ranges::move(planes.failures, std::back_inserter(result.failures));
  result.planned = recording.counts().requests - before.requests;
  result.answered = recording.counts().answered - before.answered;
  result.refused = recording.counts().refused - before.refused;
  co_return result;
}

}  // namespace ib::snapshot
