// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// rdma_bw: how fast RDMA writes over a reliable connection are. Client and server meet over TCP, tell each other their queue
// pairs, and the server finds the path, which the client uses the other way round.
#include <fmt/format.h>

#include <cctype>

#include "async/group.hpp"
#include "async/tcp.hpp"
#include "iba/text.hpp"
#include "out/escape.hpp"
#include "out/progress.hpp"
#include "path/indexes.hpp"
#include "sa/resolve.hpp"
#include "tools/bandwidth.hpp"
#include "tools/commands.hpp"
#include "tools/session.hpp"

namespace ib::tools {
namespace {

using namespace std::chrono_literals;
using Kind = BandwidthMessage::Kind;
using async::Duration;

constexpr Duration patience = 10s;             // for a message that is due at once
constexpr std::uint8_t roce_life_time = 16;    // 0.27 s, what Linux's connection manager takes on RoCE
constexpr Duration forever = Duration::max();  // while the peer measures; TCP finds out when it has gone

double megabytes_per_second(const BandwidthMessage& what, Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  return seconds > 0 ? static_cast<double>(what.size) * what.iterations / 1e6 / seconds : 0;
}

struct RdmaBwReport final : Report {
  bool client{};
  std::string peer;
  path::IbPath path;
  BandwidthMessage plan, remote;
  std::optional<Duration> sent, received;  ///< how long it took this end and the peer to write everything

  void visit(out::Sink& sink) const override {
    sink.value("role", client ? "client" : "server");
    sink.value("end_port", path.end_port->name());
    sink.value("peer", peer);
    sink.value("path", to_spec(path::Path(path)));
    sink.value("size", plan.size);
    sink.value("iterations", plan.iterations);
    sink.value("bytes", plan.size * plan.iterations);
    sink.value("bidirectional", plan.bidirectional);
    visit_direction(sink, "sent", sent);
    visit_direction(sink, "received", received);
  }
  void text(TextOut& out) const override {
    if (sent) out.print("{:.1f} MB/sec\n", megabytes_per_second(plan, *sent));
  }

 private:
  void visit_direction(out::Sink& sink, std::string_view key, const std::optional<Duration>& time) const {
    if (!time) {
      sink.null(key);
      return;
    }
    sink.begin_object(key);
    sink.value("seconds", std::chrono::duration<double>(*time).count());
    sink.value("megabytes_per_second", megabytes_per_second(plan, *time));
    sink.end_object();
  }
};

/// The TCP side of a test.
class Conversation {
 public:
  explicit Conversation(async::TcpStream stream) : stream_(std::move(stream)) {}
  const std::string& peer() const { return stream_.peer(); }

  async::Task<> send(BandwidthMessage message) {
    const BandwidthMessage::Wire wire = message.pack();
    co_await stream_.write(wire, patience);
  }
  async::Task<> send(Kind kind) {
    BandwidthMessage message;
    message.kind = kind;
    co_await send(message);
  }
  /// Throws Error that names the peer where something else comes.
  async::Task<BandwidthMessage> receive(Kind expected, Duration timeout = patience) {
    BandwidthMessage::Wire wire{};
    co_await stream_.read(wire, timeout);
    co_return checked(wire, expected);
  }

 private:
  BandwidthMessage checked(const BandwidthMessage::Wire& wire, Kind expected) const {
    BandwidthMessage message;
    try {
      message = BandwidthMessage::unpack(wire);
    } catch (const Error& error) {
      throw Error(fmt::format("{} {}", peer(), error.message()));
    }
    if (message.kind == Kind::failed) throw Error(fmt::format("{} gave up: {}", peer(), out::escaped(message.text)));
    if (message.kind != expected) throw Error(fmt::format("{} sent an rdma_bw message out of turn", peer()));
    return message;
  }

  async::TcpStream stream_;
};

class RdmaBw final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[SERVER]", 0, 1);
    set.notes(
        "If SERVER is not specified then a server instance is started. A\n"
        "connection is made using TCP/IP sockets between the client and server\n"
        "process. This connection is used to exchange the connection\n"
        "information.");
    add_number(set, "-p --port", port_, "PORT", "Listen on, or connect to, this TCP port (4444).", 65535);
    set.flag("-6 --ipv6", ipv6_, "Use IPv6 only.");
    set.flag("-b --bidirectional", bidirectional_, "Measure both directions at once; it is enough that one end asks for it.");
    set.text("-d --ib-dev", common.device, "DEV", "The same as -C.");
    set.value("-i --ib-port", "PORT", "Use this port of the device.",
              [&common](std::string_view text) { common.port = std::to_string(parse_integer(text, "--ib-port", 1, 254)); });
    add_number(set, "-s --size", plan_.size, "BYTES", "Bytes of a write (1048576). The client decides.", BandwidthMessage::most_bytes);
    add_number(set, "-e --num-sge", plan_.pieces, "NUM", "Gather each write from so many pieces of memory (1).", 1024);
    add_number(set, "-t --tx-depth", plan_.depth, "NUM", "Keep so many writes on their way at once (100).", 16384);
    add_number(set, "-n --iters", plan_.iterations, "NUM", "How many writes to make (1000). The client decides.", UINT32_MAX);
    add_common(set, common, group_device | group_timing | group_gmp | group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const sys::EndPort& end_port = session.end_port();
    report_.client = !session.operands().empty();
    if (report_.client) {
      // The device first: who has none need not trouble the server.
      end_.emplace(end_port, plan_);
      const auto version = ipv6_ ? async::IpVersion::v6 : async::IpVersion::any;
      async::TcpStream stream = co_await async::connect_tcp(host_of(session), port_, version, patience);
      co_await converse(session, emit, std::move(stream));
    } else {
      const verbs::Context probe(*end_port.device);
      async::TcpListener listener(port_, ipv6_ ? async::IpVersion::v6 : async::IpVersion::any);
      session.debug(1, fmt::format("Listening on port {}", listener.port()));
      async::TcpStream stream = co_await listener.accept();
      session.debug(1, fmt::format("Connected from {}", stream.peer()));
      co_await converse(session, emit, std::move(stream));
    }
  }

 private:
  template <std::unsigned_integral T>
  static void add_number(OptionSet& set, std::string_view names, T& target, std::string_view metavar, std::string_view help,
                         std::int64_t most) {
    set.value(names, metavar, help, [&target, names = std::string(names), most](std::string_view text) {
      target = static_cast<T>(parse_integer(text, names, 1, most));
    });
  }

  static const std::string& host_of(const Session& session) {
    const std::string& host = session.operands()[0];
    for (const char c : host) {
      if (std::isgraph(static_cast<unsigned char>(c)) == 0) throw UsageError(fmt::format("{} is no host", out::quoted(host)));
    }
    return host;
  }

  /// The whole test with one peer, which is told why where it fails here.
  async::Task<> converse(Session& session, Emit& emit, async::TcpStream stream) {
    Conversation peer(std::move(stream));
    report_.peer = peer.peer();
    BandwidthMessage failure;
    failure.kind = Kind::failed;
    std::exception_ptr error;
    try {
      if (report_.client) {
        co_await meet_server(session, peer);
      } else {
        co_await meet_client(session, peer);
      }
      announce(emit);
      co_await measure(session.loop(), peer);
    } catch (const Error& e) {
      failure.text = e.what();
      error = std::current_exception();
    }
    if (!error) {
      emit(report_);
      co_return;
    }
    try {
      co_await peer.send(failure);
    } catch (const Error&) {  // it has gone, which is what went wrong or does no further harm
    }
    std::rethrow_exception(error);
  }

  async::Task<> meet_server(Session& session, Conversation& peer) {
    BandwidthMessage offer = end_->describe();
    offer.kind = Kind::offer;
    offer.bidirectional = bidirectional_;
    co_await peer.send(offer);
    // The server may have to ask the SA first.
    const BandwidthMessage answer = co_await peer.receive(Kind::answer, 2 * patience);
    path::IbPath path = path_of(answer, session.end_port());
    path.slid = answer.slid;
    path.dlid = answer.dlid;
    path.dgid = session.end_port().default_gid();
    path.sgid = answer.gid;
    path::Path reversed = path;
    path::reverse(reversed, false);
    session.apply_options(reversed);
    end_->connect(reversed.ib(), answer);
    co_await connected(peer, offer, answer);
  }

  async::Task<> meet_client(Session& session, Conversation& peer) {
    const BandwidthMessage offer = co_await peer.receive(Kind::offer);
    plan_.size = offer.size;
    plan_.iterations = offer.iterations;
    end_.emplace(session.end_port(), plan_);
    const path::IbPath path = co_await path_to(session, offer);
    BandwidthMessage answer = end_->describe();
    answer.kind = Kind::answer;
    answer.bidirectional = bidirectional_ || offer.bidirectional;
    answer.slid = path.slid;
    answer.dlid = path.dlid;
    answer.pkey = path.pkey;
    answer.sl = path.sl;
    answer.rate = path.rate;
    answer.mtu = std::min(answer.mtu, path.mtu);
    answer.packet_life_time = path::packet_life_time(path);
    answer.has_grh = path.has_grh;
    answer.hop_limit = path.hop_limit;
    answer.traffic_class = path.traffic_class;
    answer.flow_label = path.flow_label;
    end_->connect(path, offer);
    co_await peer.send(answer);
    co_await connected(peer, answer, offer);
  }

  /// The path that the server found, as it stands in its answer.
  static path::IbPath path_of(const BandwidthMessage& answer, const sys::EndPort& end_port) {
    path::IbPath path;
    path.end_port = &end_port;
    path.pkey = answer.pkey;
    path.sl = answer.sl;
    path.rate = answer.rate;
    path.mtu = answer.mtu;
    path.packet_life_time = answer.packet_life_time;
    path.has_grh = answer.has_grh;
    path.hop_limit = answer.hop_limit;
    path.traffic_class = answer.traffic_class;
    path.flow_label = answer.flow_label;
    return path;
  }

  static async::Task<path::IbPath> path_to(Session& session, const BandwidthMessage& offer) {
    path::IbPath ib;
    ib.end_port = &session.end_port();
    ib.sgid = session.end_port().default_gid();
    ib.dgid = offer.gid;
    path::Path path = ib;
    session.apply_options(path);
    if (session.end_port().link_layer == sys::LinkLayer::ethernet) {
      sa::complete_roce(path.ib());
      path.ib().mtu = offer.mtu;
      path.ib().packet_life_time = roce_life_time;
    } else {
      path = co_await sa::resolve_path(session.transactor(), path);
    }
    co_return path.ib();
  }

  /// Both ends wait for each other: what is written to a queue pair before it is connected is lost.
  async::Task<> connected(Conversation& peer, const BandwidthMessage& mine, const BandwidthMessage& theirs) {
    co_await peer.send(Kind::ready);
    co_await peer.receive(Kind::ready);
    report_.plan = mine;
    report_.plan.bidirectional = mine.bidirectional || theirs.bidirectional;
    report_.remote = theirs;
    report_.path = end_->path();
  }

  void announce(Emit& emit) const {
    const BandwidthMessage &plan = report_.plan, &remote = report_.remote;
    emit.heading(fmt::format("path to peer {}", to_spec(path::Path(report_.path))));
    emit.heading(fmt::format("MR peer raddr={:x} peer rkey={:x}", remote.address, remote.remote_key));
    emit.heading(fmt::format("{} iterations of {} is {} bytes", plan.iterations, plan.size, plan.size * plan.iterations));
    emit.flush();  // the rest takes its time
  }

  async::Task<> measure(async::Loop& loop, Conversation& peer) {
    async::TaskGroup group(loop);
    group.spawn(own_part(peer));
    group.spawn(peers_part(peer));
    co_await group.join();
  }

  async::Task<> own_part(Conversation& peer) {
    BandwidthMessage done;
    done.kind = Kind::done;
    if (report_.client || report_.plan.bidirectional) {
      out::Progress progress;
      const std::function<void(std::uint32_t)> show = [&](std::uint32_t count) {
        if (progress.due()) progress.update(fmt::format("rdma_bw: {} of {} iterations", count, report_.plan.iterations));
      };
      report_.sent = co_await end_->write(show);
      done.nanoseconds = static_cast<std::uint64_t>(report_.sent->count());
    }
    co_await peer.send(done);
  }

  /// The peer's memory and queue pair are needed until it has said that it is done, and ours until then too.
  async::Task<> peers_part(Conversation& peer) {
    const BandwidthMessage done = co_await peer.receive(Kind::done, forever);
    if (done.nanoseconds > 0) report_.received = Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(done.nanoseconds, INT64_MAX)));
  }

  std::uint16_t port_ = 4444;
  bool ipv6_{}, bidirectional_{};
  BandwidthPlan plan_;
  std::optional<BandwidthEnd> end_;
  RdmaBwReport report_;
};

}  // namespace

std::unique_ptr<Command> make_rdma_bw() { return std::make_unique<RdmaBw>(); }

}  // namespace ib::tools
