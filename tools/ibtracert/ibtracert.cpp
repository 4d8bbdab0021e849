// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtracert: the way of a packet from one port to another, unicast or multicast, for one pair of ports or for the pairs of a file.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "report/sink.hpp"
#include "routing/packet_trace.hpp"
#include "subnet/model/names.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "subnet/sweep/swept_transactor.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/ibtracert/ports_file.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"
namespace ib::tools {
namespace tracert {
namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

/// Removes the next word from `text` and returns it; empty if there is none, or if its quote does not end.
std::string take_word(std::string_view& text, bool diags) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::size_t quote = !diags && text.starts_with('"') ? 1 : 0;
  const std::size_t end = quote != 0 ? text.find('"', quote) : std::min(text.find_first_of(blanks), diags ? 20 : std::string_view::npos);
  if (quote != 0 && end == std::string_view::npos) return {};
  const std::string_view word = text.substr(quote, end - quote);
  text.remove_prefix(word.size() + 2 * quote);
  return std::string(word);
}

using routing::DirectedRoute;
using routing::PacketPlace;
using routing::PacketTrace;
using routing::PacketTracer;
using routing::TracedHop;
using routing::TraceEnd;

constexpr std::string_view file_help = "Trace the pairs in a file, a source and a target on each line.";

struct TraceRequest {
  bool force{};
  bool simple{};
  std::optional<std::uint32_t> mlid;
};

void add_trace_options(OptionSet& set, TraceRequest& request, std::uint32_t (*read_mlid)(const std::string& text)) {
  set.flag("-f --force", request.force, "Look for the LID where the target does not answer.");
  set.flag("-n --no_info --no-info", request.simple, "Show only GUIDs and ports.");
  set.value("-m --mlid", "MLID", "Trace through the tree of this multicast group.",
            [&request, read_mlid](const std::string& text) { request.mlid = read_mlid(text); });
}

routing::TraceOptions tracer_options(Stack& stack, const TraceRequest& request) {
  return {.force = request.force, .from_sa = stack.host().options().use_sa, .here = stack.here()};
}

constexpr std::size_t longest_file = 16U << 20;

constexpr unsigned lid_bits = 16;

std::string type_text(smp::NodeType type) {
  const std::string_view text = to_text(type);
  return text.empty() ? fmt::format("??{}", static_cast<unsigned>(type)) : std::string(text);
}

std::string_view diags_type(smp::NodeType type) {
  constexpr std::array<std::string_view, 4> words{"???", "ca", "switch", "router"};
  const auto number = static_cast<std::size_t>(type);
  return words.at(number < words.size() ? number : 0);
}

/// "4-7": the LIDs of a port.
std::string lids(const PacketPlace& at) { return fmt::format("{}-{}", at.lid.value, at.lid.value + (1U << at.lmc) - 1); }

unsigned end_port(const PacketPlace& at) { return at.is_switch() ? 0 : at.port; }

/// Prints ways in the words of ibtool.
struct TraceText {
  const subnet::NodeNameMap& names;
  bool simple = false;  ///< -n: only GUIDs and ports

  void text(TextOut& out, const PacketTrace& trace, Lid dlid) const {
    if (trace.from) end_text(out, "From", *trace.from, trace.from->lid);
    for (const auto& [by, at] : trace.hops) {
      const std::string to = fmt::format("{}[{}]", to_text(at.node.port_guid), at.port);
      simple ? out.print("[{}] -> {}\n", by, to)
             : out.print("[{}] -> {} port {} lid {}/{} {}\n", by, type_text(at.node.node_type), to, at.lid.value, lid_bits - at.lmc,
                         name_of(at));
    }
    if (trace.end == TraceEnd::arrived && trace.to) end_text(out, "To", *trace.to, dlid);
  }
  void visit(report::Sink& sink, const PacketTrace& trace, Lid dlid, std::optional<std::uint32_t> mlid) const {
    report::announce(sink, [&](report::Sink& to) { visit(to, trace, {TracedHop{}}, dlid, mlid); });
    visit(sink, trace, trace.hops, dlid, mlid);
  }

 private:
  std::string name_of(const PacketPlace& at) const {
    const std::string description = at.description.value_or("");
    return in_quotes(names.find(at.node.node_guid).value_or(description));
  }
  void end_text(TextOut& out, std::string_view word, const PacketPlace& at, Lid lid) const {
    if (simple) return out.print("{} {}[{}]\n", word, to_text(at.node.port_guid), end_port(at));
    out.print("{} {} {} portnum {} LID {}/{} {}\n", word, type_text(at.node.node_type), to_text(at.node.port_guid), end_port(at), lid.value,
              lid_bits - at.lmc, name_of(at));
  }
  void visit(report::Sink& sink, const PacketTrace& trace, const std::vector<TracedHop>& hops, Lid dlid,
             std::optional<std::uint32_t> mlid) const {
    sink.begin_object();
    visit_place(sink, "source", trace.from);
    visit_place(sink, "destination", trace.to);
    sink.value("dlid", dlid);
    sink.value("mlid", mlid);
    sink.objects("hops", hops, [&](const TracedHop& next) {
      sink.value("out_port", next.out);
      subnet::visit(sink, &next.at, names);
      sink.value("in_port", next.at.port);
    });
    sink.value("end", routing::name(trace.end));
    sink.text_or_null("error", trace.end == TraceEnd::arrived ? "" : trace.reason);
    sink.end_object();
  }
  void visit_place(report::Sink& sink, std::string_view key, const std::optional<PacketPlace>& at) const {
    const auto members = [&](report::Sink& of) {
      subnet::visit(of, at ? &*at : nullptr, names);
      of.value_or_null("port_num", at.has_value(), at ? end_port(*at) : 0);
    };
    if (!at) return sink.null_object(key, members);
    sink.begin_object(key);
    members(sink);
    sink.end_object();
  }
};

/// Prints ways as infiniband-diags does, with the lines of its search.
struct DiagsTraceText {
  const subnet::NodeNameMap& names;
  bool simple = false;  ///< -n: only GUIDs and ports
  int verbosity = 0;    ///< how often -v was given

  void unicast(TextOut& out, const PacketTrace& trace) const {
    // It says where a way begins only when both ends answered, or with -f.
    if (trace.end != TraceEnd::unreachable) end(out, "From", trace.from.value_or(PacketPlace()), !simple);
    for (const TracedHop& next : trace.hops) hop(out, next, !simple);
    if (trace.end == TraceEnd::arrived && trace.to) end(out, "To", *trace.to, !simple);
  }
  void multicast(TextOut& out, const PacketTrace& trace) const {
    if (trace.end != TraceEnd::arrived || !trace.from) return;
    const auto end_line = [&](std::string_view word, const PacketPlace& at) {
      out.print("{} {} {:#x} port {} lid {} \"{}\"\n", word, diags_type(at.node.node_type), at.node.node_guid.value, at.port, lids(at),
                name(at));
    };
    end_line("From", *trace.from);
    for (const auto& [by, at] : trace.hops) {
      const std::string begin = fmt::format("[{}] -> {}", by, diags_type(at.node.node_type));
      simple ? out.print("{} {{{:#018x}}}[{}]\n", begin, at.node.node_guid.value, at.port)
             : out.print("{} {:#x}[{}] lid {} \"{}\"\n", begin, at.node.node_guid.value, at.port, at.lid.value, name(at));
    }
    if (trace.to) end_line("To", *trace.to);
  }
  /// With -v the hops to the start of a trace, in full.
  void way_to_source(TextOut& out, const PacketTrace& trace) const {
    for (const TracedHop& next : trace.hops)
      if (verbosity > 0) hop(out, next, true);
  }

  /// With -v a step of the search on stdout; on stderr what hinders it.
  void step(TextOut& out, const World& world, std::uint32_t mlid, const routing::TraceStep& of) const {
    using Event = routing::TraceStep::Event;
    const auto line = [&](std::string_view function, const std::string& text) {
      if (verbosity > 0) out.write(verbose_line(function, text));
    };
    const auto node = [&](std::string_view word) {
      if (verbosity > 0) end(out, word, *of.at, verbosity > 1);
    };
    const auto note = [&](const std::string& text) { warn(world, "find_mcpath", text); };
    const std::string branch = fmt::format("0x{:012x}", of.branch + 1);  // infiniband-diags prints a memory address here
    const std::string route = of.route != nullptr ? libibnetdisc_route(*of.route) : "";
    switch (of.event) {
      case Event::forced:
        return warn(world, "find_route", fmt::format("Force: look for lid {}", of.at->lid.value));
      case Event::inserted:
        line("new_node", fmt::format("insert dist {} node {} port {} lid {}", of.level, branch, of.at->port, of.at->lid.value));
        if (of.level > 0) node("new remote");
        return;
      case Event::taken:
        line("find_mcpath", fmt::format("dist {} node {}", of.level, branch));
        return node("processing");
      case Event::forwards:
        return line("switch_mclookup",
                    fmt::format("Switch guid {:#x}: mlid {:#x} is forwarded to port {}", of.at->node.node_guid.value, mlid, of.port));
      case Event::skipped:
        return note(fmt::format("skipping bad Switch {:#x}", of.at->node.node_guid.value));
      case Event::port_read:
        return line("get_port",
                    fmt::format("portid {} portnum {}: lid {} state {} physstate {}", route, of.port, of.info->lid.value,
                                static_cast<unsigned>(of.info->port_state), static_cast<unsigned>(of.info->port_physical_state)));
      case Event::port_silent:
        return note(fmt::format("can't reach node {} port {}", route, of.port));
      case Event::node_silent:
        return note(fmt::format("NodeInfo on {} port {} failed, skipping port", route, of.port));
      case Event::met_again:
        return end(out, "ERR: circle discovered at", *of.at, true);
      case Event::target:
        return node("found target");
    }
  }

 private:
  std::string name(const PacketPlace& at) const { return diags_node_name(names, at.node.node_guid, at.description.value_or("")); }
  void end(TextOut& out, std::string_view word, const PacketPlace& at, bool full) const {
    if (!full) return out.print("{} {{{:#018x}}}[{}]\n", word, at.node.node_guid.value, end_port(at));
    out.print("{} {} {{{:#018x}}} portnum {} lid {} \"{}\"\n", word, diags_type(at.node.node_type), at.node.node_guid.value, end_port(at),
              lids(at), name(at));
  }
  void hop(TextOut& out, const TracedHop& of, bool full) const {
    const PacketPlace& at = of.at;
    if (!full) return out.print("[{}] -> {{{:#018x}}}[{}]\n", of.out, at.node.port_guid.value, at.port);
    out.print("[{}] -> {} port {{{:#018x}}}[{}] lid {} \"{}\"\n", of.out, diags_type(at.node.node_type), at.node.port_guid.value, at.port,
              lids(at), name(at));
  }
};

class Ibtracert final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes("One operand is the target, and the local port the source; two are source and target.");
    set.target_each("SOURCE|TARGET", first_);
    set.optional_operands();
    set.target_each("TARGET", second_);
    set.instead_of_operands("--ports-file");
    set.flag("-r --reverse", reverse_, "Trace from the target to the source.");
    add_trace_options(set, request_, [](const std::string& text) {
      return static_cast<std::uint32_t>(parse_integer(text, "-m", 0, permissive_lid.value));
    });
    set.text("--ports-file --ports_file", file_, "FILE", file_help);
    add_discovery(set, discovery_);
    add_table_options(set, common, table_);
    add_common(set, common, group_target);
  }

  std::string_view table_rows() const override { return "traces.hops"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (request_.mlid && (*request_.mlid < subnet::first_multicast_lid.value || *request_.mlid > subnet::last_multicast_lid.value))
      throw UsageError(fmt::format("Multicast LID {} is invalid: multicast LIDs are {:#x} to {:#x}", *request_.mlid,
                                   subnet::first_multicast_lid.value, subnet::last_multicast_lid.value));
    show_list(emit, table_, session.host(), "out_port,node_description,lid,in_port");
    if (discovery_.mode == "SA") session.stack().read_from_sa();
    co_await prepare_cache(session, discovery_);
    session.stack().require_infiniband();
    mad::Transactor& opened = session.stack().transactor();  // what keeps it from opening comes first
    subnet::SweptTransactor transactor(opened, session.targets().swept());
    PacketTracer tracer(transactor, tracer_options(session.stack(), request_));
    session.manners().node_name_map();  // what is wrong with its file is printed first
    if (emit.json()) emit.sink().begin_array("traces");
    async::Task<> traced =
        file_ ? trace_file(session, emit, tracer)
              : pair(session.stack(), emit, tracer, second_.given() ? first_ : Target(), second_.given() ? second_ : first_);
    co_await std::move(traced);
    if (emit.json()) emit.sink().end_array();
  }

 private:
  async::Task<> trace_file(Session& session, Emit& emit, PacketTracer& tracer) {
    const PortsFile file = read_port_pairs(read_regular_file(*file_, longest_file));
    for (const PortsLine& line : file.pairs) {
      Target source = co_await read_target(session.targets(), line.source);
      Target target = co_await read_target(session.targets(), line.destination);
      co_await pair(session.stack(), emit, tracer, std::move(source), std::move(target));
    }
    if (file.bad_line) throw UsageError(fmt::format("{}:{}: there is no source and target", *file_, *file.bad_line));
  }

  static async::Task<Target> read_target(Targets& targets, std::string word) {
    Target target;
    target.word = word;
    target.path = co_await targets.path(std::move(word));
    co_return target;
  }

  static async::Task<Lid> lid_of(Stack& stack, path::Path node) {
    if (node.directed() == nullptr) co_return node.ib().dlid;
    const smp::PortInfo port = co_await stack.transactor().subn_get<smp::PortInfo>(node);
    if (!port.lid.is_unicast()) throw Error(fmt::format("{} has no valid LID", mad::target_text(node)));
    co_return port.lid;
  }

  async::Task<> pair(Stack& stack, Emit& emit, PacketTracer& tracer, Target source, Target target) {
    if (reverse_) std::swap(source, target);
    const Destination to = co_await stack.manners().smp_node(target);
    const Lid lid = co_await lid_of(stack, to.path);
    DirectedRoute from;
    if (source.given()) from = co_await route_to_source(stack.manners(), tracer, source);
    async::Task<PacketTrace> traced = request_.mlid ? tracer.multicast(from, lid, *request_.mlid) : tracer.unicast(from, lid);
    PacketTrace trace = co_await std::move(traced);
    refuse_unknown(trace);
    if (trace.stuck) trace.hops.push_back(*trace.stuck);
    const TraceText text{stack.manners().node_name_map(), request_.simple};
    emit.json() ? text.visit(emit.sink(), trace, lid, request_.mlid) : text.text(emit.text(), trace, lid);
    if (trace.end == TraceEnd::arrived) co_return;
    emit.flush();
    stack.host().report(Error(trace.reason));
    if (trace.error) stack.manners().report_failure(*trace.error);
    emit.raise(trace.end == TraceEnd::no_answer || trace.end == TraceEnd::not_read ? Exit::incomplete : Exit::findings);
  }

  /// The directed route to the source: of a LID the way of packets to it.
  static async::Task<DirectedRoute> route_to_source(Manners& manners, PacketTracer& tracer, const Target& source) {
    const Destination node = co_await manners.smp_node(source);
    const path::IbDrPath* const directed = node.path.directed();
    DirectedRoute route;
    PacketTrace before;
    if (const Lid lid = node.path.ib().dlid; directed == nullptr || lid != permissive_lid) before = co_await tracer.unicast(route, lid);
    if (before.end == TraceEnd::arrived && directed != nullptr) {
      if (route.size() + directed->hops > path::max_hops)
        before.fail(TraceEnd::too_long, "The way is longer than a directed route can be");
      else
        route.insert(route.end(), directed->route.begin() + 1, directed->route.begin() + 1 + directed->hops);
    }
    if (before.end == TraceEnd::arrived) co_return route;
    refuse_unknown(before);
    if (before.error) manners.report_failure(*before.error);
    throw Error(fmt::format("{} {}{}: {}", before.end == TraceEnd::not_read ? "The way to the source" : "There is no way to the source",
                            mad::target_text(node.path), before.end == TraceEnd::not_read ? " is not known" : "", before.reason));
  }

  /// Throws why an end of the way does not answer. A snapshot without tables has no ways: throws what it is to be taken with.
  static void refuse_unknown(const PacketTrace& trace) {
    if (trace.end == TraceEnd::unreachable && trace.error) trace.error->raise();
    const auto* error = dynamic_cast<const mad::NotRead*>(trace.error.get());
    if (trace.end == TraceEnd::not_read && error != nullptr) throw Error(error->cause());
  }

  Target first_, second_;
  TraceRequest request_;
  std::optional<std::string> file_;
  DiscoveryOptions discovery_;
  bool reverse_{};
  TableOptions table_;
};

class IbtracertDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.without("DK");
    set.word("SOURCE", source_);
    set.word("TARGET", target_);
    set.instead_of_operands("--ports-file");
    add_trace_options(set, request_, [](const std::string& text) { return static_cast<std::uint32_t>(c_number(text)); });
    set.text("--ports-file", file_, "FILE", file_help);
    add_node_name_map(set, common);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    subnet::SweptTransactor transactor(session.stack().transactor(), session.targets().swept());
    routing::TraceOptions options = tracer_options(session.stack(), request_);
    options.legacy = true;
    options.observe = [&](const routing::TraceStep& step) {
      text_->step(emit.text(), session.host().world(), request_.mlid.value_or(0), step);
    };
    PacketTracer tracer(transactor, std::move(options));
    text_.emplace(DiagsTraceText{session.manners().node_name_map(), request_.simple, session.host().options().verbosity});
    const PortsFile file = read_pairs();
    for (const PortsLine& line : file.pairs) {
      const bool found = co_await pair(session.stack(), emit.text(), tracer, line.source, line.destination);
      if (!found) throw DiagsFailure("Failed to get route information" + (file_ ? fmt::format(" at line {}", line.line) : ""));
    }
    if (!file_) co_return;
    if (file.bad_line) throw DiagsFailure(fmt::format("ports-file, {}, at line {} contains bad data", *file_, *file.bad_line));
    emit.text().print("{} lid/guid pairs processed from {}\n", file.pairs.size(), *file_);
  }

 private:
  PortsFile read_pairs() const {
    if (!file_) return {{{source_, target_, 0}}, {}};
    try {
      return read_port_pairs(read_regular_file(*file_, longest_file), true);
    } catch (const Error&) {
      throw DiagsFailure(fmt::format("cannot open ports-file {}", *file_));
    }
  }

  /// Whether a way leads to its end. If not, stderr gets `what` and the reason.
  static bool has_arrived(const Host& host, const PacketTrace& trace, std::string_view what) {
    if (trace.end != TraceEnd::arrived) warn(host.world(), "get_route", fmt::format("{}: {}", what, trace.reason));
    return trace.end == TraceEnd::arrived;
  }

  static async::Task<std::optional<Lid>> resolve(Stack& stack, std::string word, std::string_view what) {
    Target target;
    target.word = word;
    try {
      const Destination node = co_await stack.manners().smp_node(target);
      co_return node.path.ib().dlid;
    } catch (const DiagsFailure&) {
      warn(stack.host().world(), "get_route", fmt::format("can't resolve {} port {}", what, word));
    }
    co_return std::nullopt;
  }

  /// False if there is no way; stderr then has the reason.
  async::Task<bool> pair(Stack& stack, TextOut& out, PacketTracer& tracer, std::string source, std::string target) {
    const std::optional<Lid> from = co_await resolve(stack, source, "source");
    if (!from) co_return false;
    const std::optional<Lid> to = co_await resolve(stack, target, "destination");
    if (!to) co_return false;
    DirectedRoute route;
    const PacketTrace before = co_await tracer.unicast(route, *from);
    text_->way_to_source(out, before);
    if (!has_arrived(stack.host(), before, "can't find a route to the src port")) co_return false;
    if (request_.mlid.value_or(permissive_lid.value) < subnet::first_multicast_lid.value)
      warn(stack.host().world(), "get_route", "invalid MLID; must be 0xc000 or larger");
    async::Task<PacketTrace> traced = request_.mlid ? tracer.multicast(route, *to, *request_.mlid) : tracer.unicast(route, *to);
    PacketTrace trace = co_await std::move(traced);
    if (!request_.mlid) {
      text_->unicast(out, trace);
      co_return has_arrived(stack.host(), trace, "can't find a route from src to dest");
    }
    if (trace.end == TraceEnd::arrived && trace.hops.empty() && !trace.from->is_switch())
      trace.fail(TraceEnd::no_way, "ibtracert from CA to CA is unsupported");
    // Of the destination the port that answered is printed, not the port through which the packet comes.
    if (!trace.hops.empty()) trace.hops.back().at.port = trace.to->port;
    text_->multicast(out, trace);
    co_return has_arrived(stack.host(), trace, "can't find a multicast route from src to dest");
  }

  std::string source_, target_;
  std::optional<std::string> file_;
  TraceRequest request_;
  std::optional<DiagsTraceText> text_;
};

}  // namespace

PortsFile read_port_pairs(std::string_view text, bool diags) {
  PortsFile found;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t size = std::min(std::min(text.find('\n'), text.size() - 1) + 1, diags ? 79 : std::string_view::npos);
    std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    line = line.substr(0, line.find('\0'));
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    std::string source = take_word(line, diags), destination = take_word(line, diags);
    if (source.empty() || destination.empty()) {
      found.bad_line = number;
      return found;
    }
    found.pairs.push_back({std::move(source), std::move(destination), number});
  }
  return found;
}

}  // namespace tracert

constinit const CommandInfo rooms::ibtracert{
    .name = "ibtracert",
    .group = HelpGroup::forwarding,
    .summary = "Show the way of packets from one port to another, unicast or multicast.",
    .make = make_command<tracert::Ibtracert>,
    .make_diags = make_command<tracert::IbtracertDiags>,
};

}  // namespace ib::tools
