// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/fabric_survey.hpp"

#include <algorithm>

#include "async/group.hpp"
#include "counters/owner.hpp"
#include "iba-gen/mad.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::snapshot {
namespace {

async::Task<> request_arrival(mad::Transactor& transactor, const path::Path& path) {
  const mad::Result<smp::NodeInfo> answer = co_await transactor.try_subn_get<smp::NodeInfo>(path);
  static_cast<void>(answer);
}

using subnet::NodeIndex;
using subnet::none;
using subnet::PortIndex;

constexpr std::size_t requests_at_once = 16;  // to one agent; more than the engine sends to one node (mad::Limits)
constexpr std::uint8_t any_class = 0;         // for GMPs that have no path

std::uint8_t class_of(Part part) {
  if (Questionnaire::by_smp(part)) return mad::mgmt_class::smp;
  if (part == Part::congestion) return mad::mgmt_class::congestion;
  return part == Part::vendor ? subnet::mlnx_vendor_class : mad::mgmt_class::performance;
}

/// Whether a status says that the agent lacks the attribute or the class, for all ports (IBA 13.4.7).
bool is_lacking(std::uint16_t status) {
  return status == mad::status::bad_version || status == mad::status::unsupported_method ||
         status == mad::status::unsupported_method_attribute;
}

/// The failure for a node that claims more entries than a node can have.
subnet::Failure unbelieved(NodeIndex node, std::string why) {
  subnet::Failure failure;
  failure.kind = subnet::Failure::Kind::false_answer;
  failure.node = node;
  failure.attribute = smp::PKeyTable::info().title;
  failure.why = std::move(why);
  return failure;
}

}  // namespace

/// The survey of one part.
class FabricSurvey::Run {
 public:
  Run(FabricSurvey& survey, Part part, SurveyedPart& result) : survey_(survey), part_(part), result_(result) {}

  /// Sends all remaining requests to an agent. The survey calls this again for an agent that was silent at first.
  async::Task<mad::Result<bool>> send_questions(subnet::SurveyPort port) {
    Row& row = rows_[port.index];
    if (!row.begun && (part_ == Part::counters || part_ == Part::details)) row.learnt = survey_.pmas_[port.index];
    row.begun = true;
    const path::Path path = path_of(port);
    Round round{row, port, path};
    std::vector<Questions> unanswered;
    while (round.is_heard && (row.step < Questionnaire::steps || !row.left.empty())) {
      if (row.left.empty()) row.left = survey_.questionnaire_.questions(part_, port.index, row.step++, row.learnt);
      co_await request_step(round);
      std::erase_if(row.left, [](const Questions& sent) { return sent.values.empty(); });
      std::ranges::move(row.left, std::back_inserter(unanswered));
      row.left.clear();
    }
    row.left = std::move(unanswered);
    if (part_ == Part::counters) survey_.pmas_[port.index] = row.learnt;
    const std::shared_ptr<const mad::MadError> why_not_its = co_await check_owner(row, port);
    if (why_not_its) co_return why_not_its;
    if (round.error) co_return round.error;
    co_return true;
  }

 private:
  struct Row {
    std::vector<Questions> left;
    unsigned step{};  ///< the next one
    bool begun{};
    Learnt learnt;
    std::vector<AnswerKey> answered{};  ///< by GMP, since the node has last said that the LID is its own
  };
  /// One send_questions() to an agent.
  struct Round {
    Row& row;
    subnet::SurveyPort port;
    const path::Path& path;
    std::shared_ptr<const mad::MadError> error{};  ///< of a request that was not answered
    bool is_heard = true;                          ///< false: requests are not sent any more, because the agent is silent
    std::vector<std::pair<Questions*, std::uint32_t>> unanswered{};
  };
  struct QuestionValue {
    Questions* questions;
    std::uint32_t value;
    bool first;  ///< the answer shows whether the agent has the attribute
  };

  path::Path path_of(const subnet::SurveyPort& port) const {
    if (Questionnaire::by_smp(part_)) return subnet::sma_path(survey_.subnet_, port.index, survey_.options_.start);
    path::Path path = port.path;
    if (part_ == Part::congestion) path.ib().cc_key = survey_.options_.cc_key;
    return path;
  }

  bool has_owners() const { return !Questionnaire::by_smp(part_) && survey_.options_.owners != nullptr; }

  void note_answered(Row& row, const mad::Request& request) const {
    const subnet::PathEnd place = subnet::end_of_path(survey_.subnet_, request.path);
    if (place.node != none) row.answered.push_back(snapshot::key_of(survey_.subnet_, place, request));
  }

  /// Disowns what was answered by GMP, unless the node says that the LID is its own. Returns null, or the error that says why.
  async::Task<std::shared_ptr<const mad::MadError>> check_owner(Row& row, subnet::SurveyPort port) {
    if (row.answered.empty()) co_return nullptr;
    const counters::Owner owner = counters::owner_of(survey_.subnet_, port.index);
    const std::shared_ptr<const mad::MadError> error = co_await counters::check_owner(*survey_.options_.owners, port.path, owner);
    const std::vector<AnswerKey> answered = std::exchange(row.answered, {});
    if (!error) co_return nullptr;
    row.learnt = {};
    survey_.pmas_.erase(port.index);
    const std::string why = counters::why_not_read(*error) + ": its answers are not kept";
    const auto disowned = std::make_shared<const subnet::FalseAnswer>(why, error->request(), error->reply(), error->path());
    for (const AnswerKey& key : answered) survey_.options_.disown(key, *disowned);
    result_.answered -= std::min<std::uint64_t>(result_.answered, answered.size());
    co_return disowned;
  }

  /// Sends the remaining requests of a row: first one request for each attribute, then the others. Unanswered requests stay in the row.
  async::Task<> request_step(Round& round) {
    std::vector<QuestionValue> now;
    for (Questions& sent : round.row.left) {
      if (sent.values.empty()) continue;
      now.push_back({&sent, sent.values.front(), true});
      sent.values.erase(sent.values.begin());
    }
    co_await request_all(round, std::move(now));
    now.clear();
    for (Questions& sent : round.row.left) {
      if (!round.is_heard) break;
      if (sent.lacking) ended(sent.values.size());
      for (const std::uint32_t value : sent.values) {
        if (!sent.lacking) now.push_back({&sent, value, false});
      }
      sent.values.clear();
    }
    co_await request_all(round, std::move(now));
    for (const auto& [sent, value] : std::exchange(round.unanswered, {})) sent->values.push_back(value);
  }

  async::Task<> request_all(Round& round, std::vector<QuestionValue> now) {
    const auto one = [this, &round](const QuestionValue& sent) { return request_one(round, sent); };
    co_await async::for_each(now, requests_at_once, one);
  }

  async::Task<> request_one(Round& round, QuestionValue sent) {
    Questions& questions = *sent.questions;
    const std::vector<std::uint8_t> payload = questions.payload(sent.value);
    mad::Request request = mad::attribute_request(round.path, *questions.attribute, mad::method::get, questions.modifier(sent.value),
                                                  payload, questions.mgmt_class);
    request.optional = questions.unsure;
    const mad::Result<mad::Reply> reply = co_await round.port.transactor.try_call(request);
    if (has_owners() && (reply || !mad::is_timeout(reply.error()))) note_answered(round.row, request);
    if (reply) {
      take(round, questions, sent.value, *reply);
    } else {
      failed(round, sent, reply.shared_error());
    }
  }

  void take(Round& round, Questions& sent, std::uint32_t value, const mad::Reply& reply) {
    ++result_.answered;
    sent.unsure = false;
    round.row.learnt.take(sent, value, reply.payload());
    if (sent.attribute == &smp::PortInfo::info()) survey_.questionnaire_.take_port_info(round.port.index, value, reply.payload());
    if (sent.attribute == &smp::MlnxExtPortInfo::info()) take_mlnx(round.port.index, value, reply.payload());
    ended(1);
  }

  void take_mlnx(PortIndex agent, std::uint32_t number, Bytes payload) const {
    const PortIndex port = survey_.subnet_.port_of(survey_.subnet_.port(agent).node, number);
    if (survey_.options_.take_mlnx && port != none) survey_.options_.take_mlnx(port, smp::MlnxExtPortInfo::unpack(payload));
  }

  void failed(Round& round, const QuestionValue& sent, const std::shared_ptr<const mad::MadError>& error) {
    const std::optional<unsigned> tries = mad::unanswered_tries(*error);
    if (tries && (!sent.questions->unsure || tries == 0U)) {
      if (!round.error || tries > 0U) round.error = error;  // the error of a request that was sent has more details
      if (tries == 0U) round.is_heard = false;
      if (tries > 0U && sent.questions->attribute == &mad::ClassPortInfo::info()) round.row.learnt.requested = true;  // not in each part
      round.unanswered.emplace_back(sent.questions, sent.value);
      return;
    }
    if (sent.first && (tries || is_lacking(error->status()))) sent.questions->lacking = true;
    if (sent.questions->attribute == &mad::ClassPortInfo::info()) round.row.learnt.requested = true;
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
  std::map<PortIndex, Row> rows_;
  std::uint64_t done_{};
};

FabricSurvey::FabricSurvey(mad::Transactor& transactor, const subnet::SweptSubnet& fabric, FabricSurveyOptions options)
    : transactor_(transactor), subnet_(fabric.subnet), options_(std::move(options)), questionnaire_(fabric.subnet, fabric.failures) {
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
  std::vector<PortIndex> all = questionnaire_.agents(part);
  const bool by_smp = Questionnaire::by_smp(part);
  std::erase_if(all, [&](PortIndex port) {
    return silent_.contains(key_of(part, port)) || (!by_smp && silent_.contains({port, any_class}));
  });
  return all;
}

std::uint64_t FabricSurvey::plan(Part part) const {
  std::uint64_t count = 0;
  for (const PortIndex port : agents(part)) count += questionnaire_.plan(part, port, part == Part::details && pmas_.contains(port));
  return count;
}

async::Task<> FabricSurvey::read(std::vector<Part> parts) {
  async::Loop& loop = co_await async::current_loop;
  std::ranges::sort(parts);
  std::vector<Part> by_smp, by_gmp, last;
  for (const Part part : parts) {
    if (part != Part::topology) (Questionnaire::by_smp(part) ? by_smp : part <= Part::counters ? by_gmp : last).push_back(part);
  }
  async::TaskGroup both(loop);
  both.spawn(read_in_turn(std::move(by_smp)));
  both.spawn(read_in_turn(std::move(by_gmp)));
  co_await both.join();
  co_await read_in_turn(std::move(last));
}

async::Task<> FabricSurvey::read_in_turn(std::vector<Part> parts) {
  for (const Part part : parts) {
    const bool needs_paths = part != Part::sa && !Questionnaire::by_smp(part);
    if (needs_paths && options_.find_paths && !std::exchange(has_paths_, true)) co_await options_.find_paths();
    if (options_.began) options_.began(part, part == Part::phy ? 0 : plan(part));
    SurveyedPart done = co_await read_part(part);
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
  subnet::SurveyOptions how(options_.start, Questionnaire::by_smp(part) ? subnet::SurveyWay::smp : subnet::SurveyWay::gmp);
  how.paths = options_.paths;
  how.window = options_.window;
  const subnet::SurveyQuestion<bool> send = [&run](subnet::SurveyPort port) { return run.send_questions(port); };
  subnet::Surveyed<bool> found = co_await subnet::survey(transactor_, subnet_, agents(part), std::move(how), send);
  for (const auto& row : found.rows) {
    const bool has_path = row.failure != none && found.failures[row.failure].error != nullptr;
    if (row.failure == none || (has_path && !row.silent)) continue;
    silent_.insert(has_path ? key_of(part, row.port) : AgentKey{row.port, any_class});
  }
  result.failures = std::move(found.failures);
  for (const auto& row : found.rows) {
    const std::optional<std::string> left_out = row.failure == none ? questionnaire_.left_out(part, row.port) : std::nullopt;
    if (left_out) result.failures.push_back(unbelieved(subnet_.port(row.port).node, *left_out));
  }
  co_return result;
}

async::Task<> read_arrivals(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start) {
  std::vector<path::Path> paths;
  for (const subnet::Node& node : subnet.nodes()) {
    if (node.kind() != subnet::NodeKind::sw) continue;
    if (auto path = subnet::lid_path(subnet, node.first_port, start, Qpn{0})) paths.push_back(*path);
  }
  constexpr std::size_t window = 1024;
  const auto request = [&transactor](const path::Path& path) { return request_arrival(transactor, path); };
  co_await async::for_each(paths, window, request);
}

}  // namespace ib::snapshot
