// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The implementation of discover(); other code must not use it. Requests wait in queues by level, which is the number of links
// from the start: the requests of level n find the nodes that are n links away. A level is requested only when all nearer
// levels have ended, or when silent nodes have used up the patience. The first route to a node is therefore the shortest. Both ends of most
// links are then known before a request crosses the link from the farther end, so each link is crossed by one request.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "async/group.hpp"
#include "mad/rpc/responder.hpp"
#include "subnet/sweep/discovery.hpp"
#include "subnet/sweep/flow.hpp"

namespace ib::subnet {

class Sweep {
 public:
  Sweep(async::Loop& loop, mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options);

  async::Task<Discovered> run();

 private:
  using Answer = mad::Result<mad::Reply>;
  enum class RequestKind : std::uint8_t { beyond, description, switch_info, port_info, mlnx_port_info };
  struct Work {
    RequestKind what{};
    std::uint8_t port{};  ///< the requested port
    bool again{};         ///< requested before without an answer
    std::uint16_t level{};
    std::uint32_t at{};  ///< a node; for `beyond`, the port to look beyond
  };
  /// A port whose other end contradicts the model.
  struct Doubt {
    PortIndex from{};
    smp::NodeInfo info;  ///< the answer from there
  };
  struct Question {
    std::string_view name;
    std::uint16_t attribute;
    bool of_port;
    mad::Reason reason;
  };
  enum class Trust : std::uint8_t { untried, trying, works, fails };
  struct Unsure {
    PortIndex from{};
    Answer answer;
  };

  struct Reading {
    mad::Responder by_route, by_lid;  ///< the node by directed route and by LID
    std::vector<Work> waiting;        ///< reads beyond the limit of open reads
    unsigned open{};                  ///< reads that are ready or in progress
    PortIndex seen_beyond = none;     ///< the port beyond which the node answered last, where that is not the way to it
    unsigned requests{};              ///< that refer to the responders
  };
  /// Holds the Reading of a node while requests refer to it.
  class ReadingInUse {
   public:
    ReadingInUse(Sweep& sweep, NodeIndex node) : sweep_(sweep), node_(node), reading_(sweep.readings_[node]) { ++reading_.requests; }
    ReadingInUse(const ReadingInUse&) = delete;
    ReadingInUse& operator=(const ReadingInUse&) = delete;
    ~ReadingInUse() {
      --reading_.requests;
      sweep_.forget_if_idle(node_);
    }
    Reading* operator->() const { return &reading_; }

   private:
    Sweep& sweep_;
    NodeIndex node_;
    Reading& reading_;
  };
  /// A node that fell silent, until its requests have been sent once more.
  struct Silence {
    std::vector<Work> unread;
    std::shared_ptr<const mad::MadError> error;  ///< of an unanswered request
    bool retried{}, recovered{};
  };

  struct Patience final : async::Timer {
    explicit Patience(Sweep& owner) : sweep(owner) {}
    void expired() override { sweep.patience_over(); }
    Sweep& sweep;
  };

  // sweep.cpp: order and limits of requests
  async::Task<> request_start();
  void queue(Work work);
  /// Queues a request to a node, for an attribute of the node or of its port.
  void queue(RequestKind what, NodeIndex node, unsigned port = 0) {
    queue({what, static_cast<std::uint8_t>(port), false, level_beyond(node), node});
  }
  void queue_beyond(PortIndex from, bool again) {
    queue({RequestKind::beyond, subnet_.port(from).number, again, level_beyond(subnet_.port(from).node), from});
  }
  void pump();
  bool next(Work& work);
  async::Task<> perform(Work work, Flow::Span begun);
  void patience_over();
  static void add_changes(DiscoverStats& stats);
  std::uint16_t level_beyond(NodeIndex node) const { return static_cast<std::uint16_t>(subnet_.node(node).hops + 1U); }

  // silence.cpp: nodes that fall silent
  void queue_read(const Work& work);
  void read_ended(NodeIndex node);
  void forget_if_idle(NodeIndex node);
  bool is_silent(NodeIndex node) const;
  bool fell_silent(const Work& work, const Answer& answer);
  async::Task<> retry_silent_nodes();
  async::Task<> retry_silent_node(NodeIndex node, Silence& silence);
  async::Task<bool> find_moved(NodeIndex node);
  void look_beyond_again(const std::vector<NodeIndex>& moved);
  void report_silence(NodeIndex node, const Silence& silence);
  async::Task<> name_failed_nodes();
  async::Task<> read_name(NodeIndex node);

  // sweep.cpp: the meaning of answers
  DiscoverStats stats() const;
  static Question question_of(RequestKind what);
  async::Task<> look_beyond(PortIndex from);
  async::Task<> read(Work work);
  void take(const Work& work, Bytes payload);
  NodeIndex new_node(const smp::NodeInfo& info, PortIndex from);
  void read_node(NodeIndex node, unsigned entry_port);
  void read_ports(NodeIndex node, unsigned first);
  void read_beyond_rim(NodeIndex node, PortIndex joined);
  bool reads_end_port(PortIndex port) const;
  bool is_at_rim(NodeIndex node) const { return !options_.alone && subnet_.node(node).hops >= options_.radius; }
  static unsigned last_port_of(const Node& node) { return std::min<unsigned>(node.info.num_ports, last_switch_port); }
  std::uint64_t planned_reads(NodeIndex node) const;
  void arrived(PortIndex from, const smp::NodeInfo& info);
  void join(PortIndex from, PortIndex to);
  void got_port_info(NodeIndex node, unsigned port, Bytes payload);
  void follow(PortIndex port);

  // routes.cpp: nodes that contradict each other
  bool same_make(NodeIndex node, const smp::NodeInfo& info) const;
  NodeIndex plain_match(PortIndex from, const smp::NodeInfo& info) const;
  void doubt(PortIndex from);
  async::Task<> look_into(PortIndex from);
  async::Task<> settle_doubts();
  async::Task<> settle(PortIndex from, smp::NodeInfo info);
  /// The place of a node that answered beyond a port.
  enum class Whereabouts : std::uint8_t { elsewhere, here, moved_here, unknown };
  async::Task<Whereabouts> place_of(NodeIndex candidate, PortIndex from, smp::NodeInfo info);
  async::Task<bool> has_left(NodeIndex node);
  async::Task<bool> is_without_link(PortIndex port);
  bool leads_through(NodeIndex node, PortIndex port) const;
  bool move(NodeIndex node, PortIndex from);

  // routes.cpp: routes to nodes
  static std::optional<unsigned> unanswered_tries(const Answer& answer);
  bool has_usable_lid(NodeIndex node) const;
  void changes_way(NodeIndex moved, PortIndex via, PortIndex joined);
  path::Path lid_path(NodeIndex node) const;
  std::optional<path::Path> directed_beyond(PortIndex from) const;
  path::Path combined_beyond(PortIndex from, bool trial) const;
  /// A request by LID and then by directed route has together as many tries as a request by one path, with at least one try each.
  unsigned tries_by_lid() const { return start_.ib().retries / 2 + 1; }
  unsigned tries_by_route() const { return std::max(1U, start_.ib().retries + 1 - tries_by_lid()); }
  async::Task<Answer> call(path::Path path, std::uint16_t attribute, std::uint32_t modifier, mad::Reason reason,
                           mad::Responder* responder = nullptr);
  async::Task<Answer> request_node(NodeIndex node, std::uint16_t attribute, std::uint32_t modifier, mad::Reason reason);
  bool begins_at_lid() const { return start_.directed() == nullptr; }
  async::Task<Answer> request_beyond(PortIndex from, mad::Reason reason, bool trial = false);
  async::Task<> end_trials();
  async::Task<Answer> request_beyond_by_lid(PortIndex from, bool trial, mad::Reason reason);

  void fail(Failure failure) { failures_.push_back(std::move(failure)); }
  void fail_beyond(Failure::Kind kind, PortIndex from, std::string why);
  void fail(NodeIndex node, int port, bool beyond, std::string_view attribute, std::uint32_t modifier, const Answer& answer);

  static constexpr mad::Reason retried = "silent nodes tried again", named = "names of nodes that failed";

  async::Loop& loop_;
  mad::Transactor& transactor_;
  Subnet& subnet_;
  path::Path start_;
  DiscoverOptions options_;
  DiscoverStats stats_;
  Failures failures_;
  std::uint64_t not_sent_{};  // planned requests that were not sent because the node was silent

  std::deque<Work> ready_;                           // reads that are ready
  std::unordered_map<NodeIndex, Reading> readings_;  // of the nodes that are read now, and of silent ones
  std::map<NodeIndex, Silence> silences_;
  std::vector<std::deque<PortIndex>> waiting_;  // ports to look beyond, by level
  std::vector<std::uint32_t> unfinished_;       // number of queued and open requests, by level
  Flow flow_;
  std::size_t open_level_{};  // the highest level that may be requested
  Patience patience_;
  bool paused_{};  // the timer waits because of too many young requests, not for patience

  std::deque<Doubt> doubts_;
  bool settling_{};
  unsigned doubts_left_;

  bool changed_{};                // something contradicted what was found before
  std::vector<NodeIndex> moved_;  // since the last look beyond ports that did not answer
  unsigned looks_again_left_;

  Trust combined_{};
  std::vector<Unsure> unsure_;
  unsigned combined_trials_{}, lid_refusals_{};
  bool lids_work_ = true;
  bool node_limit_reported_{};
  bool known_was_used_{};  // DiscoverOptions::known was used in place of a request

  async::TaskGroup group_;  // the last member, so that its tasks end before the objects that their requests refer to
};

}  // namespace ib::subnet
