// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibping sends pings to a host again and again; ibsysstat requests information on a host. Both use a vendor class with an OUI, and both are
// also the server that answers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "async/signals.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/ofa.hpp"
#include "iba/dump.hpp"
#include "mad/sysstat.hpp"
#include "report/structure.hpp"
#include "sys/host.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools {
namespace {

using namespace std::chrono_literals;

constexpr auto pause = 1s;  // between pings
constexpr std::uint32_t last_oui = 0xffffff;

/// The text of a remote host in the format of infiniband-diags: line breaks are kept, other control bytes become blanks.
std::string printable_lines(std::string_view text) {
  std::string shown = printable(text);
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; ++at) shown[at] = '\n';
  return shown;
}

/// A TARGET and the OUI of its service, or with -S the server of this host.
class ServiceCommand : public Command {
 protected:
  /// The option -o: the 24 bits that distinguish the service from others of its class.
  void add_oui(OptionSet& set) {
    set.value("-o --oui", "OUI", "The OUI of the service (0x001405).", [this, diags = set.is_diags()](const std::string& text) {
      oui_ = diags ? static_cast<std::uint32_t>(c_number(text)) & last_oui : parse_within<std::uint32_t>(text, "--oui", {0, last_oui});
    });
  }
  /// A Get to `path`. No typed call: the OUI is the user's, the ping of class 0x32 has no attribute, and a text of several packets is
  /// longer than its structure.
  mad::Request get(const path::Path& path, std::uint8_t mgmt_class, unsigned attribute_id) const {
    return {.path = path, .mgmt_class = mgmt_class, .attribute_id = static_cast<std::uint16_t>(attribute_id), .payload = {}, .oui = oui_};
  }

  /// Answers until ended; `offer` registers the answers. `refusal` is what infiniband-diags prints if another program of this host offers
  /// the service. With -v, -d or -e prints refused requests.
  static async::Task<> serve(Stack& stack, std::function<void(mad::Server&)> offer, std::string refusal) {
    stack.require_lids();
    stack.progress().stop();
    mad::Server server(stack.rpc());
    // Otherwise senders of requests could fill the log of a server that runs for years.
    if (stack.host().options().error_level() > 0 || stack.host().options().show_errors)
      server.set_reporter([&stack](const Error& error) { stack.host().report(error); });
    try {
      offer(server);
    } catch (const SysError& error) {
      stack.manners().refuse(error, refusal);
    }
    co_await server.run();
  }

  Target target_;
  bool server_{};
  std::uint32_t oui_ = mad::openib_oui;
};

double milliseconds(async::Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// Milliseconds with three digits behind the point, cut rather than rounded, as infiniband-diags has them.
std::string cut_milliseconds(async::Duration time) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  return fmt::format("{}.{:03}", us / 1000, us % 1000);
}

struct PingReport final : Report {
  std::string name;  ///< of the host, as texts of the dialect call it
  std::uint64_t seq{};
  bool answered{}, quiet{};  ///< quiet: only JSON shows it
  async::Duration time{};    ///< until the answer came, or until it was given up
  std::string host;          ///< as the server of ibping reports it
  std::string error;         ///< why it was lost
  std::string tried;         ///< in the text line: the number of tries, or `error` if it is unknown

  /// An element of the list that is open.
  void visit(report::Sink& sink) const override {
    sink.begin_object();
    sink.value("seq", seq);
    sink.value_or_null("rtt_ms", answered, milliseconds(time));
    sink.text_or_null("host", host);
    sink.text_or_null("error", error);
    sink.end_object();
  }
  void text(TextOut& out) const override {
    if (quiet) return;
    if (answered) {
      out.print("Ping reply, '{}': seq={} time {:.03f} ms\n", name, seq, milliseconds(time));
    } else {
      out.print("No ping reply, '{}': seq={} waited {:.03f} ms, {}\n", name, seq, milliseconds(time), tried);
    }
  }
  void diags_text(TextOut& out) const override {
    if (answered && !quiet) out.print("Pong from {} ({}): time {} ms\n", printable_lines(host), name, cut_milliseconds(time));
  }
};

struct SummaryReport final : Report {
  using Duration = async::Duration;
  std::string name;                                 ///< of the host, as texts of the dialect call it
  std::string host;                                 ///< the first that answered
  std::uint64_t transmitted{}, received{}, lost{};  ///< one that is under way is neither received nor lost
  Duration least{}, most{}, total{};                ///< of the round trips of those received; zero where there are none
  Duration time{};

  void answered(Duration rtt) {
    least = received == 0 ? rtt : std::min(least, rtt);
    most = std::max(most, rtt);
    total += rtt;
    ++received;
  }
  std::uint64_t percent_lost() const { return transmitted == 0 ? 0 : lost * 100 / transmitted; }
  Duration mean() const { return received == 0 ? Duration{} : total / static_cast<std::int64_t>(received); }

  void visit(report::Sink& sink) const override {
    sink.value("transmitted", transmitted);
    sink.value("received", received);
    sink.value("lost", lost);
    sink.value("time_ms", milliseconds(time));
    for (const auto& [key, rtt] : {std::pair{"min_rtt_ms", least}, {"avg_rtt_ms", mean()}, {"max_rtt_ms", most}})
      sink.value_or_null(key, received > 0, milliseconds(rtt));
  }
  void text(TextOut& out) const override {
    out.print("--- {} statistics ---\n{} packets transmitted, {} received, {}% packet loss, time {:.03f}ms\n", name, transmitted, received,
              percent_lost(), milliseconds(time));
    if (received == 0) return;
    out.print("rtt min/avg/max = {:.03f}/{:.03f}/{:.03f} ms\n", milliseconds(least), milliseconds(mean()), milliseconds(most));
  }
  void diags_text(TextOut& out) const override {
    out.print("\n--- {} ({}) ibping statistics ---\n", printable_lines(host), name);
    out.print("{} packets transmitted, {} received, {}% packet loss, time {} ms\n", transmitted, received, percent_lost(),
              std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
    out.print("rtt min/avg/max = {}/{}/{} ms\n", cut_milliseconds(least), cut_milliseconds(mean()), cut_milliseconds(most));
  }
  Exit status() const override { return lost == 0 ? Exit::ok : Exit::findings; }
};

class Ibping final : public ServiceCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    set.instead_of_operands("-S");
    set.notes("On the host of TARGET a server must answer: ibsysstat -S, or ibping -S.");
    set.number("-c --count", count_, "COUNT", "Send this many pings. Without it they go on until Ctrl-C.", {.low = 1});
    set.flag("-f --flood", flood_, "Send the next ping as soon as one is answered or lost, and print only the summary.");
    set.flag("-S --Server", server_, "Answer pings, of both protocols, until ended.");
    set.one_of({"-S", "-c -f"});
    set.choice("--protocol", protocol_, {"ibsysstat", "ibping"},
               "The server to ping: ibsysstat's, the default, or infiniband-diags' ibping. With -S: answer this one only.");
    add_oui(set);
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.target("TARGET", target_);
    set.instead_of_operands("-S");
    set.without("DKy");
    set.number("-c --count", count_, "COUNT", "Send this many pings.");
    set.flag("-f --flood", flood_, "Do not wait between pings; print only the summary.");
    add_oui(set);
    set.flag("-S --Server", server_, "Answer pings until ended.");
    protocol_ = "ibping";
    pauses_at_end_ = true;
  }

  std::string_view table_rows() const override { return server_ ? "" : "pings"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (server_) {
      return serve(
          session.stack(),
          [this](mad::Server& server) {
            if (protocol_ != "ibsysstat") mad::serve_ping(server, sys::host_name(), oui_);
            if (protocol_ != "ibping") mad::serve_sysstat_ping(server, oui_);
          },
          "can't serve class 50 on this port");
    }
    if (session.targets().has_pattern() && !count_)
      throw UsageError("TARGET is a pattern of names: -c COUNT says how many pings each node gets");
    session.stack().progress().stop();
    return ping(session, emit);
  }

 private:
  async::Task<> ping(Session& session, Emit& emit) {
    const Destination node = co_await session.manners().gmp_node(target_);
    SummaryReport summary;
    summary.name = node.name;
    if (emit.json()) {
      path::visit(emit.sink(), "path", node.path);
      emit.sink().begin_array("pings");
    }
    const async::Time start = session.stack().loop().now();
    async::Task<> pings = ping_on(session.stack(), emit, node, summary);
    if (session.targets().has_pattern()) {  // Ctrl-C ends the program, not one node of several
      co_await std::move(pings);
    } else {
      async::Interrupt interrupt(session.stack().loop());
      co_await async::until_interrupted(session.stack().loop(), interrupt, std::move(pings));
    }
    summary.time = session.stack().loop().now() - start;
    if (emit.json()) emit.sink().end_array();
    emit(summary);
    if (!pauses_at_end_ && summary.received == 0 && summary.transmitted > 0)
      session.host().note(
          fmt::format("No reply at all: does a server answer there (ibtool {} -S)?", protocol_ == "ibping" ? "ibping" : "ibsysstat"));
  }

  async::Task<> ping_on(Stack& stack, Emit& emit, const Destination& node, SummaryReport& summary) const {
    while (count_ != summary.transmitted) {
      PingReport report;
      report.name = node.name;
      report.seq = ++summary.transmitted;
      report.quiet = flood_;
      co_await ping_once(stack, node, report);
      if (report.answered) {
        summary.answered(report.time);
        if (summary.host.empty()) summary.host = report.host;
      } else {
        ++summary.lost;
      }
      emit(report);
      emit.flush();  // at once
      if (!flood_ && (pauses_at_end_ || count_ != summary.transmitted)) co_await stack.loop().sleep_for(pause);
    }
  }

  async::Task<> ping_once(Stack& stack, const Destination& node, PingReport& report) const {
    const bool introduces_itself = protocol_ == "ibping";
    const mad::Request request = introduces_itself ? get(node.path, mad::mgmt_class::ofa_ping, 0)
                                                   : get(node.path, mad::mgmt_class::ofa_sysstat, ofa::SysStatPing::attribute_id);
    const async::Time start = stack.loop().now();
    const mad::Result<mad::Reply> reply = co_await stack.transactor().try_call(request);
    report.answered = static_cast<bool>(reply);
    report.time = stack.loop().now() - start;
    if (reply) {
      if (introduces_itself) report.host = fixed_text(reply->payload());
      co_return;
    }
    report.error = reply.error().message();
    const std::optional<unsigned> tries = mad::unanswered_tries(reply.error());
    report.tried = tries ? fmt::format("{} {}", *tries, *tries == 1 ? "try" : "tries") : report.error;
    stack.manners().report_failure(reply.error());
  }

  std::optional<std::uint32_t> count_;
  bool flood_{};
  bool pauses_at_end_{};  ///< after the last ping too
  std::optional<std::string> protocol_;
};

struct SysstatOperation {
  std::string_view name;
  const StructInfo& (*info)();
  bool diags = true;  ///< infiniband-diags has it
};

constexpr std::array<SysstatOperation, 4> operations{{
    {"ping", ofa::SysStatPing::info},
    {"host", ofa::SysStatHostInfo::info},
    {"cpu", ofa::SysStatCpuInfo::info},
    {"cpi", mad::ClassPortInfo::info, false},
}};

const SysstatOperation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(operations, name, &SysstatOperation::name);
  return found != operations.end() ? found : nullptr;
}

struct SysstatReport final : Report {
  SysstatReport(const SysstatOperation& which, path::Path of) : operation(&which), path(std::move(of)) {}

  const SysstatOperation* operation;
  path::Path path;
  std::vector<std::uint8_t> bytes;  ///< of the attribute; a text of several packets is longer than its structure
  bool words{};

  bool is_cpus() const { return operation->name == "cpu"; }
  bool is_text() const { return is_cpus() || operation->name == "host"; }
  std::vector<std::string_view> lines() const { return split_list(fixed_text(bytes), "\n"); }

  void visit(report::Sink& sink) const override {
    sink.value("operation", operation->name);
    path::visit(sink, "path", path);
    if (is_cpus()) {
      sink.values("cpus", lines());
    } else if (is_text()) {
      sink.value("host", fixed_text(bytes));
    } else {
      report::visit_attribute(sink, bytes, operation->info());
    }
  }
  void text(TextOut& out) const override {
    const Bytes attribute = Bytes(bytes).first(std::min<std::size_t>(bytes.size(), operation->info().bytes));
    if (words) {
      out.print("{}\n{}", operation->info().iba_name, dump_words(attribute, operation->info()));
    } else if (is_cpus()) {
      for (const std::string_view line : lines()) out.print("{}\n", escaped(line));
    } else {
      out.write(dotted(attribute, operation->info()));
    }
  }
  void diags_text(TextOut& out) const override {
    if (is_text()) {
      out.print("{}\n", printable_lines(fixed_text(bytes)));
    } else {
      out.write("sysstat ping succeeded\n");
    }
  }
};

class Ibsysstat final : public ServiceCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    set.operand("ping|host|cpu|cpi", [this](std::string_view word) {
      operation_ = find_operation(word);
      constexpr std::string_view names[]{"ping", "host", "cpu", "cpi"};
      if (operation_ == nullptr) throw UsageError("Not one of ping, host, cpi or cpu" + did_you_mean(word, names));
    });
    set.offer(operations, &SysstatOperation::name);
    set.instead_of_operands("-S");
    set.notes(
        "Requests the cookie of a ping, the name of the host, its processors, or the\n"
        "ClassPortInfo of the service.");
    set.flag("-S --Server", server_, "Answer such requests until ended. TARGET needs that.");
    add_oui(set);
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.target("TARGET", target_);
    set.optional_operands();
    set.operand("ping|host|cpu", [this](const std::string& word) {
      operation_ = find_operation(word);
      if (operation_ == nullptr || !operation_->diags) throw DiagsUsage();
    });
    set.instead_of_operands("-S");
    set.without("DKy");
    add_oui(set);
    set.flag("-S --Server", server_, "Answer such requests until ended.");
    any_answer_ = true;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    Stack& stack = session.stack();
    if (server_) {
      const std::function<void(mad::Server&)> offer = [this](mad::Server& server) {
        mad::serve_sysstat(server, sys::host_name(), sys::cpu_text(), oui_);
      };
      co_return co_await serve(stack, offer, "can't serve class 51");
    }
    Destination node = co_await stack.manners().gmp_node(target_);
    if (any_answer_) node.path.ib().retries = 0;
    const mad::Request request = get(node.path, mad::mgmt_class::ofa_sysstat, operation_->info().attribute_id);
    const mad::Result<mad::Reply> reply = co_await stack.transactor().try_call(request);
    if (!reply && !any_answer_) reply.error().raise();
    const auto* unanswered = reply ? nullptr : dynamic_cast<const mad::MadTimeout*>(&reply.error());
    if (unanswered != nullptr && !unanswered->reported()) throw DiagsPanic("umad_recv failed.", ETIMEDOUT);
    if (!reply && reply.error().reply().empty()) throw DiagsFailure(fmt::format("ibsystat to {}: {}", node.name, std::strerror(ETIMEDOUT)));
    SysstatReport report(*operation_, node.path);
    const Bytes payload = reply ? reply->payload() : Bytes();
    report.bytes.assign(payload.begin(), payload.end());
    report.words = stack.host().options().error_level() >= 2;
    emit(report);
  }

 private:
  const SysstatOperation* operation_ = operations.data();
  bool any_answer_{};  ///< send one request, and treat a refusal as an answer without text
};

}  // namespace

constinit const CommandInfo rooms::ibping{
    .name = "ibping",
    .group = HelpGroup::query,
    .summary = "Check whether a host answers over the fabric, and how fast; or answer such pings.",
    .make = make_command<Ibping>,
    .make_diags = make_command<Ibping>,
    .needs_fabric = true,
};

constinit const CommandInfo rooms::ibsysstat{
    .name = "ibsysstat",
    .group = HelpGroup::query,
    .summary = "Print the name or the processors of a host, read over the fabric; or answer such requests.",
    .make = make_command<Ibsysstat>,
    .make_diags = make_command<Ibsysstat>,
    .needs_fabric = true,
};

}  // namespace ib::tools
