// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The scheduling of a sweep: queues, levels, and the number of open requests. The Transactor limits the MADs in flight. Here,
// the number of waiting requests must stay small, and silent nodes must not delay others.
#include "subnet/sweep/sweep.hpp"

#include "iba/wire.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::subnet {

namespace {

// Limit of requests that were passed to the Transactor and have not ended, including those between two tries. Large, so that
// hundreds of dead ports are retried in parallel. Limited, because each request takes 3 KiB of memory.
constexpr std::size_t max_open_requests = 4096;
// Limit of open requests that were started a short time ago. It exceeds the number that the Transactor sends at a time. If nodes answer,
// more requests would only wait in memory.
constexpr std::size_t max_young_requests = 128;
// Limit of examined contradictions. A fabric with more is broken beyond repair, or hostile.
constexpr unsigned max_doubts = 1024;
// The longest time without answers before the sweep stops waiting for silent nodes and sends requests to nodes farther away.
constexpr std::chrono::milliseconds patience{50};
// The greatest number of repeated requests beyond ports that did not answer while nodes moved.
constexpr unsigned max_looks_again = 3;

smp::PortInfo port_info(const sys::EndPort& port) {
  smp::PortInfo info;
  info.lid = port.lid;
  info.lmc = static_cast<std::uint8_t>(port.lmc);
  info.master_sm_lid = port.sm_lid;
  info.master_sm_sl = static_cast<std::uint8_t>(port.sm_sl);
  info.capability_mask = port.capability_mask;
  info.local_port_num = static_cast<std::uint8_t>(port.number);
  info.port_state = static_cast<smp::PortState>(port.state);
  info.port_physical_state = static_cast<smp::PortPhysicalState>(port.phys_state);
  return info;
}

/// Whether a sweep with these needs would have this failure.
bool is_wanted(const Subnet& subnet, const DiscoverNeeds& needs, const Failure& failure) {
  if (failure.node == none || failure.beyond) return true;
  const NodeKind kind = subnet.node(failure.node).kind();
  if (failure.attribute == "SwitchInfo") return needs.switch_infos;
  if (failure.attribute == "NodeDescription") return needs.descriptions.has(kind);
  if (failure.attribute != "PortInfo" || failure.port < 0) return true;
  const PortIndex port = subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
  return port == none || port != subnet.end_port_of(port) || port == subnet.start || needs.end_ports.has(kind);
}

}  // namespace

void DiscoverStats::add(std::string_view reason, std::uint64_t count) {
  const auto known = std::ranges::find(beyond, reason, &std::pair<std::string_view, std::uint64_t>::first);
  if (known != beyond.end()) {
    known->second += count;
  } else if (count != 0) {
    beyond.emplace_back(reason, count);
  }
}

Sweep::Sweep(async::Loop& loop, mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options)
    : loop_(loop),
      transactor_(transactor),
      subnet_(subnet),
      start_(std::move(start)),
      options_(std::move(options)),
      patience_(*this),
      doubts_left_(max_doubts),
      looks_again_left_(max_looks_again),
      group_(loop) {}

async::Task<Discovered> Sweep::run() {
  co_await request_start();
  pump();
  co_await group_.join();
  if (!unsure_.empty()) co_await end_trials();
  co_await retry_silent_nodes();
  co_await name_failed_nodes();
  sort(failures_, subnet_);
  co_return Discovered{stats(), std::move(failures_)};
}

async::Task<> Sweep::request_start() {
  smp::NodeInfo info;
  if (options_.known && options_.known->beyond == 0) {
    info = options_.known->info;
    known_was_used_ = true;
  } else {
    const Answer answer = co_await call(start_, smp::NodeInfo::attribute_id, 0, mad::requested);
    if (!answer) answer.error().raise();
    info = smp::NodeInfo::unpack(answer->payload());
  }
  const NodeIndex node = new_node(info, none);
  const PortIndex entry = subnet_.port_of(node, info.local_port_num);
  subnet_.start = subnet_.end_port_of(entry);
  read_node(node, info.local_port_num);
}

void Sweep::queue(Work work) {
  if (unfinished_.size() <= work.level) {
    unfinished_.resize(work.level + 1U);
    waiting_.resize(work.level + 1U);
  }
  ++unfinished_[work.level];
  if (work.what == RequestKind::beyond) {
    waiting_[work.level].push_back(work.at);
  } else {
    queue_read(work);
  }
}

bool Sweep::next(Work& work) {
  if (!ready_.empty()) {
    work = ready_.front();
    ready_.pop_front();
    return true;
  }
  const auto has_ended = [](std::uint32_t requests) { return requests == 0; };
  while (open_level_ + 1 < unfinished_.size() && std::ranges::all_of(std::span(unfinished_).first(open_level_ + 1), has_ended))
    ++open_level_;
  for (std::size_t level = 0; level < waiting_.size() && level <= open_level_; ++level) {
    if (waiting_[level].empty()) continue;
    work = {RequestKind::beyond, 0, false, static_cast<std::uint16_t>(level), waiting_[level].front()};
    waiting_[level].pop_front();
    return true;
  }
  return false;
}

void Sweep::pump() {
  const async::Time now = loop_.now();
  std::size_t young = flow_.young(now);
  Work work;
  while (group_.running() < max_open_requests && young < max_young_requests) {
    if (!next(work)) break;
    if (work.what == RequestKind::beyond && subnet_.port(work.at).peer != none) {
      --unfinished_[work.level];  // the request was already made from the other end
      continue;
    }
    group_.spawn(perform(work, flow_.began(now)));
    ++young;
  }
  const bool held_up = std::any_of(waiting_.begin(), waiting_.end(), [](const auto& ports) { return !ports.empty(); });
  paused_ = young >= max_young_requests && (held_up || !ready_.empty());
  if (paused_) {
    loop_.arm(patience_, now + Flow::young_span);
  } else if (held_up) {
    loop_.arm(patience_, now + patience);
  } else {
    patience_.disarm();
  }
}

void Sweep::patience_over() {
  for (std::size_t level = open_level_ + 1; !paused_ && level < waiting_.size(); ++level) {
    if (waiting_[level].empty()) continue;
    open_level_ = level;
    break;
  }
  pump();
}

async::Task<> Sweep::perform(Work work, Flow::Span begun) {
  if (work.what == RequestKind::beyond) {
    co_await look_beyond(work.at);
  } else {
    co_await read(work);
    read_ended(work.at);
  }
  --unfinished_[work.level];
  flow_.ended(begun);
  pump();
}

DiscoverStats Sweep::stats() const {
  DiscoverStats stats = stats_;
  stats.plan = (known_was_used_ ? 0 : 1) - not_sent_;
  for (const Port& port : subnet_.ports()) stats.plan += port.peer != none && &port <= &subnet_.port(port.peer) ? 1U : 0U;
  for (NodeIndex at = 0; at < subnet_.nodes().size(); ++at) stats.plan += planned_reads(at);
  if (changed_) add_changes(stats);
  return stats;
}

/// Corrects the plan, which was computed from the final model, if the fabric changed during the sweep. Requests for nodes that have gone
/// are beyond the plan. Nodes that were found by the requests about contradictions took no planned requests.
void Sweep::add_changes(DiscoverStats& stats) {
  std::uint64_t known = stats.plan;
  for (const auto& [reason, count] : stats.beyond) known += count;
  if (stats.requested >= known) return stats.add("the fabric changed meanwhile", stats.requested - known);
  stats.plan -= std::min(stats.plan, known - stats.requested);
}

/// How many attributes of a node are to be read, besides its NodeInfo.
std::uint64_t Sweep::planned_reads(NodeIndex at) const {
  const Node& node = subnet_.node(at);
  std::uint64_t reads = options_.needs.descriptions.has(node.kind()) ? 1 : 0;
  const bool is_switch = node.kind() == NodeKind::sw, whole = is_switch && !is_at_rim(at);
  if (whole) reads += (options_.needs.switch_infos ? 1U : 0U) + last_port_of(node);
  for (const Port& port : subnet_.ports_of(node)) {
    const bool is_linked = port.peer != none || (port.number == node.entry_port && node.via == none);
    const bool is_wanted =
        is_switch && port.number != 0 ? !whole && is_linked : (is_switch || is_linked) && reads_end_port(node.first_port + port.number);
    if (is_wanted) ++reads;
  }
  return reads;
}

void Sweep::fail_beyond(Failure::Kind kind, PortIndex from, std::string why) {
  fail({kind, subnet_.port(from).node, subnet_.port(from).number, true, "NodeInfo", 0, std::move(why), {}});
}

void Sweep::fail(NodeIndex node, int port, bool beyond, std::string_view attribute, std::uint32_t modifier, const Answer& answer) {
  fail(failure_of(answer.shared_error(), node, port, beyond, std::string(attribute), modifier));
}

async::Task<Discovered> discover(mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options) {
  async::Loop& loop = co_await async::current_loop;
  subnet.clear();
  Sweep sweep(loop, transactor, subnet, std::move(start), std::move(options));
  co_return co_await sweep.run();
}

// Converts the answers of a sweep to nodes, ports and links of the model, and to further requests. Answers may be false: every
// number is checked against the size of the model before use.

Sweep::Question Sweep::question_of(RequestKind what) {
  static constexpr Question questions[]{{},
                                        {"NodeDescription", smp::NodeDescription::attribute_id, false, mad::requested},
                                        {"SwitchInfo", smp::SwitchInfo::attribute_id, false, mad::requested},
                                        {"PortInfo", smp::PortInfo::attribute_id, true, mad::requested},
                                        {"MlnxExtPortInfo", smp::MlnxExtPortInfo::attribute_id, true, "extended attributes"}};
  return questions[static_cast<std::size_t>(what)];
}

async::Task<> Sweep::look_beyond(PortIndex from) {
  const NodeIndex node = subnet_.port(from).node;
  const int number = subnet_.port(from).number;
  if (options_.known && options_.known->beyond == number && node == subnet_.port(subnet_.start).node) {
    known_was_used_ = true;
    arrived(from, options_.known->info);
    co_return;
  }
  if (!directed_beyond(from)) {
    fail_beyond(Failure::Kind::hop_limit, from, "The node is more than " + std::to_string(path::max_hops) + " hops away.");
    co_return;
  }
  const bool is_trial = begins_at_lid() && combined_ != Trust::works;
  Answer answer = co_await request_beyond(from, mad::requested, is_trial);
  if (answer) {
    arrived(from, smp::NodeInfo::unpack(answer->payload()));
    co_return;
  }
  stats_.add("no answer from beyond a port");
  if (subnet_.port(from).peer != none) co_return;
  if (is_trial && unanswered_tries(answer)) {
    unsure_.push_back({from, std::move(answer)});
  } else {
    fail(node, number, true, "NodeInfo", 0, answer);
  }
}

void Sweep::arrived(PortIndex from, const smp::NodeInfo& info) {
  const NodeIndex known = subnet_.find_node(info.node_guid);
  if (known == none) {
    const NodeIndex node = new_node(info, from);
    if (node == none) return;
    join(from, subnet_.port_of(node, info.local_port_num));
    read_node(node, info.local_port_num);
    return;
  }
  const NodeIndex node = plain_match(from, info);
  if (node == none) {
    doubt(from);
    return;
  }
  const PortIndex to = subnet_.port_of(node, info.local_port_num);
  if (subnet_.port(to).peer == from) {
    stats_.add("both ends of a link read");
    return;
  }
  join(from, to);
  const bool is_switch = subnet_.node(node).kind() == NodeKind::sw;
  if (!is_switch) subnet_.set_port_guid(to, info.port_guid);
  if (is_switch ? is_at_rim(node) : reads_end_port(to)) queue(RequestKind::port_info, node, info.local_port_num);
}

NodeIndex Sweep::new_node(const smp::NodeInfo& info, PortIndex from) {
  if (!subnet_.has_room_for(info)) {  // a node that invents endless neighbours must not fill the memory
    if (!std::exchange(node_limit_reported_, true)) fail_beyond(Failure::Kind::false_answer, from, std::string(no_room_text));
    return none;
  }
  const NodeIndex index = subnet_.add_node(info);
  Node& node = subnet_.node(index);
  node.via = from;
  node.hops = static_cast<std::uint8_t>(from == none ? 0 : subnet_.node_of(from).hops + 1);
  node.entry_port = info.local_port_num;
  subnet_.set_port_guid(subnet_.end_port_of(subnet_.port_of(index, info.local_port_num)), info.port_guid);
  if (std::string lie = false_claim(info); !lie.empty())
    fail({Failure::Kind::false_answer, index, -1, false, "NodeInfo", 0, std::move(lie), {}});
  if (options_.progress) options_.progress(subnet_.nodes().size());
  return index;
}

void Sweep::read_node(NodeIndex node, unsigned entry_port) {
  const NodeKind kind = subnet_.node(node).kind();
  if (options_.needs.descriptions.has(kind)) queue(RequestKind::description, node);
  if (kind != NodeKind::sw) {
    if (reads_end_port(subnet_.port_of(node, entry_port))) queue(RequestKind::port_info, node, entry_port);
    return;
  }
  if (reads_end_port(subnet_.node(node).first_port)) queue(RequestKind::port_info, node);
  if (is_at_rim(node)) {
    if (entry_port != 0) queue(RequestKind::port_info, node, entry_port);
    return;
  }
  if (options_.needs.switch_infos) queue(RequestKind::switch_info, node);
  // With LID routing, the ports are read after port 0 has given the LID.
  if (options_.routing == Routing::directed) read_ports(node, 1);
}

/// Whether the PortInfo of an end port is read: it is wanted, or it belongs to the start and says whether there is a link, or LID
/// routing needs its LID.
bool Sweep::reads_end_port(PortIndex port) const {
  const NodeKind kind = port == none ? NodeKind::other : subnet_.node_of(port).kind();
  return port == subnet_.start || options_.needs.end_ports.has(kind) || (kind == NodeKind::sw && options_.routing == Routing::lid);
}

void Sweep::read_ports(NodeIndex node, unsigned first) {
  const unsigned last = last_port_of(subnet_.node(node));
  for (unsigned port = first; port <= last; ++port) queue(RequestKind::port_info, node, port);
}

/// Reads the attributes of a switch that were left out while its distance seemed to be the greatest one (radius). `joined` is its port to
/// the previous node on the shorter route.
void Sweep::read_beyond_rim(NodeIndex at, PortIndex joined) {
  if (options_.needs.switch_infos) queue(RequestKind::switch_info, at);
  for (unsigned number = 1; number <= last_port_of(subnet_.node(at)); ++number) {
    const PortIndex port = subnet_.port_of(at, number);
    const bool was_read = number == subnet_.node(at).entry_port || (subnet_.port(port).peer != none && port != joined);
    if (!was_read) queue(RequestKind::port_info, at, number);
  }
}

void Sweep::join(PortIndex from, PortIndex to) {
  for (const PortIndex end : {from, to}) {  // a link that is replaced by this one is examined again
    const PortIndex other = subnet_.port(end).peer;
    if (other != none && other != from && other != to) doubt(other);
  }
  subnet_.link(from, to);
  const unsigned hops = subnet_.node_of(from).hops + 1U;
  const NodeIndex at = subnet_.port(to).node;
  Node& node = subnet_.node(at);
  if (node.via != none && node.via != from) {
    readings_[at].seen_beyond = from;
    if (subnet_.port(node.via).peer == none) move(at, from);  // this link has taken the place of the one by which it was found
  }
  if (hops < node.hops) changes_way(at, from, to);  // patience ran out before the shorter path answered
}

async::Task<> Sweep::read(Work work) {
  const Question question = question_of(work.what);
  const mad::Reason reason = work.again ? retried : question.reason;
  Answer answer = co_await request_node(work.at, question.attribute, work.port, reason);
  const bool lid_wait = work.what == RequestKind::port_info && work.port == 0 && options_.routing == Routing::lid;
  if (answer) {
    take(work, answer->payload());
  } else if (!fell_silent(work, answer)) {
    fail(work.at, question.of_port ? work.port : -1, false, question.name, work.port, answer);
  }
  const Node& node = subnet_.node(work.at);
  if (lid_wait && !work.again && node.kind() == NodeKind::sw && !is_at_rim(work.at)) read_ports(work.at, 1);
}

void Sweep::take(const Work& work, Bytes payload) {
  Node& node = subnet_.node(work.at);
  if (work.what == RequestKind::description) node.set_description(payload);
  if (work.what == RequestKind::switch_info) node.set_switch_info(payload);
  if (work.what == RequestKind::port_info) got_port_info(work.at, work.port, payload);
  if (work.what == RequestKind::mlnx_port_info)
    store_fdr10(subnet_.port(subnet_.port_of(work.at, work.port)), smp::MlnxExtPortInfo::unpack(payload));
}

void Sweep::got_port_info(NodeIndex at, unsigned number, Bytes payload) {
  const PortIndex index = subnet_.port_of(at, number);
  const bool was_known = subnet_.port(index).has_info;
  const PortIndex owner = subnet_.set_port_info(index, payload);
  if (owner != none && !was_known) {
    subnet_.node(at).lid_refused = subnet_.node_of(owner).lid_refused = true;
    std::string why = "LID " + std::to_string(subnet_.lid(index).value) + " belongs to another port already.";
    fail({Failure::Kind::duplicate_lid, at, static_cast<int>(number), false, "PortInfo", number, std::move(why), {}});
  }
  const Port& port = subnet_.port(index);
  const Node& node = subnet_.node(at);
  if (options_.mlnx_extended_port_info && may_be_fdr10(node.info, port.info())) {
    queue(RequestKind::mlnx_port_info, at, number);
  }
  if (port.peer == none) {
    follow(index);
  } else if (node.kind() == NodeKind::sw && number != 0 && node.via != port.peer && !port.is_link_up()) {
    doubt(port.peer);  // an answer came through a port that is down
  }
}

void Sweep::follow(PortIndex index) {
  const Port& port = subnet_.port(index);
  const Node& node = subnet_.node(port.node);
  // Directed routes do not pass through end nodes. They only leave the local end node.
  const bool is_local = index == subnet_.start && start_.directed() != nullptr && start_.directed()->hops == 0;
  const bool leads_on = node.kind() == NodeKind::sw ? port.number != 0 : is_local;
  const bool up = port.is_link_up() || port.state() >= smp::PortState::init;
  if (leads_on && up && !options_.alone && !is_at_rim(port.node)) queue_beyond(index, false);
}

void forget_unwanted(SweptSubnet& swept, const DiscoverNeeds& needs, bool fdr10) {
  std::erase_if(swept.failures, [&](const Failure& failure) { return !is_wanted(swept.subnet, needs, failure); });
  if (fdr10) return;
  for (PortIndex at = 0; at < swept.subnet.ports().size(); ++at) swept.subnet.port(at).fdr10 = swept.subnet.port(at).fdr10_supported = 0;
}

bool is_cut_off(const SweptSubnet& swept) {
  const Subnet& subnet = swept.subnet;
  if (subnet.start == none) return false;
  const auto linked = [](const Port& port) { return port.peer != none; };
  return std::ranges::none_of(subnet.ports_of(subnet.node_of(subnet.start)), linked) &&
         std::ranges::any_of(swept.failures, &Failure::beyond);
}

void add_own_node(Subnet& subnet, const sys::EndPort& port) {
  smp::NodeInfo info;
  info.node_type = port.device->is_switch() ? smp::NodeType::switch_ : smp::NodeType::channel_adapter;
  unsigned last_port = 1;
  for (const auto& one : port.device->ports) last_port = std::max(last_port, one->number);
  info.num_ports = static_cast<std::uint8_t>(std::min(last_port, last_switch_port));
  info.system_image_guid = port.device->system_image_guid;
  info.node_guid = port.device->node_guid;
  info.port_guid = port.port_guid();
  info.local_port_num = static_cast<std::uint8_t>(std::min(port.number, unsigned{info.num_ports}));
  const NodeIndex at = subnet.add_node(info);
  subnet.node(at).set_description(as_bytes(port.device->node_description));
  subnet.node(at).entry_port = info.local_port_num;
  subnet.start = subnet.port_of(at, info.local_port_num);
  const auto bytes = wire::packed(port_info(port));
  subnet.set_port_info(subnet.start, bytes);
  subnet.set_port_guid(subnet.start, info.port_guid);
}

bool is_start_down(const Subnet& subnet) {
  if (subnet.start == none) return false;
  const Port& port = subnet.port(subnet.start);
  if (port.number == 0 || !port.has_info || port.peer != none) return false;
  return port.state() == smp::PortState::down || port.is_polling_or_disabled() || port.physical_state() == smp::PortPhysicalState::sleep;
}

}  // namespace ib::subnet
