// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// rdma_bw: how fast RDMA writes over a reliable connection are.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sa/resolve.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/progress.hpp"
#include "verbs/bandwidth.hpp"

namespace ib::tools {
namespace {

using verbs::BandwidthResult;

double megabytes_per_second(const verbs::BandwidthPlan& what, async::Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  return seconds > 0 ? static_cast<double>(what.size) * what.iterations / 1e6 / seconds : 0;
}

struct RdmaBwReport final : Report {
  RdmaBwReport(bool is_client, const BandwidthResult& of) : client(is_client), result(of) {}

  void visit(report::Sink& sink) const override {
    sink.value("role", client ? "client" : "server");
    path::visit(sink, "path", result.path);
    sink.value("peer_address", result.peer);
    sink.value("message_bytes", result.plan.size);
    sink.value("iterations", result.plan.iterations);
    sink.value("bytes", result.plan.size * result.plan.iterations);
    sink.value("bidirectional", result.plan.bidirectional);
    visit_direction(sink, "outgoing", result.sent);
    visit_direction(sink, "incoming", result.received);
  }
  void text(TextOut& out) const override {
    if (result.sent) out.print("{:.1f} MB/sec\n", megabytes_per_second(result.plan, *result.sent));
  }

 private:
  void visit_direction(report::Sink& sink, std::string_view key, const std::optional<async::Duration>& time) const {
    if (!time) return sink.null(key);
    sink.begin_object(key);
    sink.value("time_ms", std::chrono::duration<double, std::milli>(*time).count());
    sink.value("megabytes_per_second", megabytes_per_second(result.plan, *time));
    sink.end_object();
  }

  bool client;
  const BandwidthResult& result;
};

class RdmaBw final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.operand("SERVER", [this](std::string_view word) {
      if (!std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isgraph(c) != 0; })) throw UsageError("not a host name");
      server_ = word;
    });
    set.notes(
        "With SERVER, a host name or IP address, it connects to the server there and\n"
        "writes to it. Without, it is that server, for one test.");
    set.number("-p --port", port_, "PORT", "Listen on, or connect to, this TCP port (4444).", {.low = 1});
    set.flag("-6 --ipv6", ipv6_, "Use IPv6 only.");
    set.flag("-b --bidirectional", plan_.bidirectional, "Measure both directions at once; it is enough that one end requests it.");
    set.text("-d --ib-dev", common.device, "DEV", "As -C.");
    set.value("-i --ib-port", "PORT", "Use this port of the device.",
              [&common](std::string_view text) { common.port = std::to_string(parse_integer(text, "--ib-port", 1, 254)); });
    set.number("-s --size", plan_.size, "BYTES", "Bytes of a write (1048576). The client decides.",
               {1, verbs::BandwidthMessage::most_bytes});
    set.number("-e --num-sge", plan_.pieces, "NUM", "Gather each write from this many pieces of memory (1).", {1, 1024});
    set.number("-t --tx-depth", plan_.depth, "NUM", "Keep this many writes on their way at once (100).", {1, 16384});
    set.number("-n --iters", plan_.iterations, "NUM", "How many writes to make (1000). The client decides.", {.low = 1});
    add_common(set, common, group_device | group_timing | group_gmp | group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    require_connections(session.stack());
    const bool client = server_.has_value();
    Stack& stack = session.stack();
    verbs::BandwidthTest::FindPath resolve;
    if (!client) resolve = [&stack](const path::Path& to) { return path_to(stack, to); };
    path::Path from = path::IbPath();
    from.ib().end_port = &stack.host().end_port();
    stack.apply_options(from);
    verbs::BandwidthTest test(from.ib(), plan_, std::move(resolve));
    async::TcpStream stream = co_await peer(session.host());
    const std::function<void()> announced = [&] { announce(emit, test.result()); };
    const std::function<void(std::uint32_t)> progress = [&](std::uint32_t count) {
      stack.progress().count(count, test.result().plan.iterations, "iterations");
    };
    co_await test.run(std::move(stream), announced, progress);
    emit(RdmaBwReport(client, test.result()));
  }

 private:
  async::Task<async::TcpStream> peer(Host& host) const {
    const auto version = ipv6_ ? async::IpVersion::v6 : async::IpVersion::any;
    if (server_) co_return co_await async::connect_tcp(*server_, port_, version, verbs::bandwidth_patience);
    async::TcpListener listener(port_, version);
    host.debug(fmt::format("Listening on port {}", listener.port()));
    async::TcpStream stream = co_await listener.accept();
    host.debug(fmt::format("Connected from {}", stream.peer()));
    co_return stream;
  }

  /// Throws where the end port has no reliable connections, before anybody waits for a peer.
  static void require_connections(Stack& stack) {
    const sys::EndPort& port = stack.host().end_port();
    if (port.link_layer == sys::LinkLayer::unknown)
      throw Error(fmt::format("{} is {}: it has no reliable connections as InfiniBand and RoCE have", port.name(), sys::other_kind(port)));
    stack.require_lids();
  }

  static async::Task<path::Path> path_to(Stack& stack, path::Path to) {
    if (stack.host().end_port().link_layer == sys::LinkLayer::ethernet) {
      sa::complete_roce(to.ib());  // a user may have verbs only
      co_return to;
    }
    sa::PathResolver resolver(stack.transactor(), 0);
    co_return co_await resolver.resolve(std::move(to));
  }

  static void announce(Emit& emit, const BandwidthResult& result) {
    const verbs::BandwidthPlan& plan = result.plan;
    emit.heading(fmt::format("path to peer {}", to_spec(path::Path(result.path))));
    emit.heading(fmt::format("MR peer raddr={:x} peer rkey={:x}", result.remote.address, result.remote.remote_key));
    emit.heading(fmt::format("{} iterations of {} is {} bytes", plan.iterations, plan.size, plan.size * plan.iterations));
    emit.flush();  // the rest takes its time
  }

  std::optional<std::string> server_;
  std::uint16_t port_ = 4444;
  bool ipv6_{};
  verbs::BandwidthPlan plan_;
};

}  // namespace

constinit const CommandInfo rooms::rdma_bw{
    .name = "rdma_bw",
    .group = HelpGroup::other,
    .summary = "Print how many megabytes a second RDMA writes from one host to another bring.",
    .make = make_command<RdmaBw>,
    .needs_fabric = true,
};

}  // namespace ib::tools
