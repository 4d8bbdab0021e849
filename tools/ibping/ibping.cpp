// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibping: asks a host again and again whether it is there, and the server that answers.
#include <fmt/format.h>

#include "async/interrupt.hpp"
#include "base/escape.hpp"
#include "mad/rpc.hpp"
#include "mad/sysstat.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/ping.hpp"
#include "tools/shared/serving.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

using namespace std::chrono_literals;

constexpr auto pause = 1s;                    // between pings
constexpr std::size_t listed_pings = 100000;  // of the one document of --json: pings without end must not fill the memory

double milliseconds(async::Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// One ping.
struct PingReport final : Report {
  std::string path;
  std::uint64_t seq{};
  std::optional<async::Duration> time;  ///< none where it was lost
  std::string host;                     ///< as the server of ibping introduces itself
  std::string error;                    ///< why it was lost

  void visit(out::Sink& sink) const override {
    sink.value("path", path);
    visit_ping(sink);
  }
  void visit_ping(out::Sink& sink) const {
    sink.value("seq", seq);
    time ? sink.value("time_ms", milliseconds(*time)) : sink.null("time_ms");
    if (!host.empty()) sink.value("host", host);
    if (!error.empty()) sink.value("error", error);
  }
  void text(TextOut& out) const override {
    if (time) out.print("Ping reply, '{}': seq={} time {:.03f} ms\n", path, seq, milliseconds(*time));
  }
};

struct SummaryReport final : Report {
  std::string path;
  PingCounts counts;
  async::Duration time{};
  std::optional<std::vector<PingReport>> pings;  ///< the first of them, where the document lists them

  void visit(out::Sink& sink) const override {
    sink.value("path", path);
    sink.value("transmitted", counts.transmitted);
    sink.value("received", counts.received);
    sink.value("lost", counts.lost());
    sink.value("time_ms", milliseconds(time));
    visit_times(sink);
    if (!pings) return;
    sink.begin_array("pings");
    for (const PingReport& ping : *pings) {
      sink.begin_object();
      ping.visit_ping(sink);
      sink.end_object();
    }
    sink.end_array();
  }
  void visit_times(out::Sink& sink) const {
    if (counts.received == 0) return sink.null("rtt_ms");
    sink.begin_object("rtt_ms");
    sink.value("min", milliseconds(counts.least));
    sink.value("avg", milliseconds(counts.mean()));
    sink.value("max", milliseconds(counts.most));
    sink.end_object();
  }
  void text(TextOut& out) const override {
    out.print("--- {} statistics ---\n{} packets transmitted, {} received, {}% packet loss, time {:.03f}ms\n", path, counts.transmitted,
              counts.received, counts.percent_lost(), milliseconds(time));
    if (counts.received == 0) return;
    out.print("rtt min/avg/max = {:.03f}/{:.03f}/{:.03f} ms\n", milliseconds(counts.least), milliseconds(counts.mean()),
              milliseconds(counts.most));
  }
  Exit status() const override { return counts.lost() == 0 ? Exit::ok : Exit::findings; }
};

class Ibping final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("TARGET", 0, any_number);
    set.notes("ibsysstat must be running in server mode on the target end port.");
    set.number("-c --count", count_, "COUNT", "Stop after count pings.");
    set.flag("-f --flood", flood_, "Flood ping, no delay between packets.");
    set.flag("-S --Server", server_, "Run as a server: answer pings of both protocols");
    set.choice(
        "--protocol", protocol_, {"ibsysstat", "ibping"},
        "Which server is asked: that of ibsysstat, as by default, or that of infiniband-diags' ibping. With -S: answer this one only");
    set.value("-o --oui", "OUI", "The OUI of the service, 0x001405 by default", [this](std::string_view text) { oui_ = parse_oui(text); });
    add_common(set, common, group_target);
    json_ = &common.json;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target}, server_ ? 0 : 1);
    if (server_ && !session.operands().empty()) throw UsageError("Too many arguments.");
    if (server_) return serve(session);
    return ping(session, emit);
  }

 private:
  async::Task<> serve(Session& session) {
    mad::Server server(session.rpc());
    report_refusals(server, session);
    if (protocol_ != "ibsysstat") mad::serve_ping(server, sys::host_name(), oui_);
    if (protocol_ != "ibping") mad::serve_sysstat_ping(server, oui_);
    co_await server.run();
  }

  async::Task<> ping(Session& session, Emit& emit) {
    const path::Path path = co_await session.gmp_path(session.target(0));
    SummaryReport summary;
    summary.path = to_text(path);
    if (*json_ == Json::document) summary.pings.emplace();
    const async::Time start = session.loop().now();
    async::Task<> pings = ping_on(session, emit, path, summary);
    co_await async::until_interrupted(session.loop(), std::move(pings));
    summary.time = session.loop().now() - start;
    emit(summary);
  }

  async::Task<> ping_on(Session& session, Emit& emit, const path::Path& path, SummaryReport& summary) const {
    PingCounts& counts = summary.counts;
    async::Loop& loop = session.loop();
    const mad::Request request = ping_request(path, protocol_ == "ibping" ? PingProtocol::ibping : PingProtocol::ibsysstat, oui_);
    while (count_ != counts.transmitted) {
      PingReport report;
      report.path = to_text(path);
      report.seq = counts.transmitted + 1;
      const async::Time start = loop.now();
      const mad::Result<mad::Reply> reply = co_await session.transactor().try_call(request);
      ++counts.transmitted;
      if (reply) {
        report.time = loop.now() - start;
        counts.answered(*report.time);
        if (protocol_ == "ibping") report.host = fixed_text(reply->payload());
      } else {
        report.error = reply.error().message();
        if (session.options().verbosity > 0) session.report(reply.error());
      }
      show(emit, std::move(report), summary);
      if (!flood_ && count_ != counts.transmitted) co_await loop.sleep_for(pause);
    }
  }

  /// Each ping at once, but in the one document of --json, which lists them at its end.
  void show(Emit& emit, PingReport report, SummaryReport& summary) const {
    if (summary.pings && summary.pings->size() < listed_pings) summary.pings->push_back(std::move(report));
    if (summary.pings || (flood_ && *json_ == Json::off)) return;
    emit(report);
    emit.flush();
  }

  std::optional<std::uint64_t> count_;
  bool flood_{}, server_{};
  std::optional<std::string> protocol_;
  std::uint32_t oui_ = mad::openib_oui;
  const Json* json_{};
};

}  // namespace

constinit const CommandInfo rooms::ibping{.name = "ibping", .group = HelpGroup::query, .summary = "Ping a host by MADs, or answer such pings.", .make = make_command<Ibping>, .diags = true, .legacy = diags::ibping};

}  // namespace ib::tools
