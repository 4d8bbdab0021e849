// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtracert: the way of a packet from one port to another, unicast or multicast, for one pair of ports or for those of a file.
#include <fmt/format.h>

#include "base/file.hpp"
#include "path/parse.hpp"
#include "subnet/forwarding_tables.hpp"
#include "subnet/swept_transactor.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/ibtracert/ports_file.hpp"
#include "tools/ibtracert/trace_text.hpp"
#include "tools/ibtracert/tracer.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace tracert {
namespace {

constexpr std::size_t longest_file = 16U << 20;

class Ibtracert final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes("One operand is the target, and the local port the source; two are source and target.");
    set.target("SOURCE|TARGET", first_);
    set.optional_operands();
    set.target("TARGET", second_);
    set.instead_of_operands("--ports-file");
    set.flag("-r --reverse", reverse_, "Trace from the target to the source.");
    set.flag("-f --force", force_, "Look for the LID where the target does not answer.");
    set.flag("-n --no_info --no-info", simple_, "Show GUIDs and ports alone.");
    set.value("-m --mlid", "MLID", "The way to the target through the tree of a multicast group.",
              [this](std::string_view text) { mlid_ = static_cast<std::uint32_t>(parse_integer(text, "-m", 0, permissive_lid.value)); });
    set.text("--ports-file --ports_file", file_, "FILE", "Trace the pairs in a file, a source and a target on each line.");
    add_discovery(set, discovery_);
    add_common(set, common, group_target);
  }

  void diags_options(DiagsOptions& set) override {
    set.without("DK");
    set.word("SOURCE", source_word_);
    set.word("TARGET", target_word_);
    set.instead_of_operands(has_file_);
    set.flag("force", 'f', force_, "Look for the LID where the target does not answer.");
    set.flag("no_info", 'n', simple_, "Show GUIDs and ports alone.");
    set.value("mlid", 'm', "MLID", "The way to the target through the tree of a multicast group.",
              [this](const std::string& text) { mlid_ = static_cast<std::uint32_t>(c_number(text)); });
    set.node_name_map();
    set.value("ports-file", 0, "FILE", "Trace the pairs in a file, a source and a target on each line.", [this](const std::string& text) {
      file_ = text;
      has_file_ = true;
    });
    as_diags_ = true;
  }

  std::string_view table_rows() const override { return "traces.hops"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (!as_diags_ && mlid_ && (*mlid_ < subnet::first_multicast_lid.value || *mlid_ > subnet::last_multicast_lid.value))
      throw UsageError(fmt::format("Multicast LID {} is invalid: multicast LIDs are {:#x} to {:#x}", *mlid_,
                                   subnet::first_multicast_lid.value, subnet::last_multicast_lid.value));
    if (discovery_.mode == "SA") session.read_from_sa();
    if (!as_diags_) co_await prepare_cache(session, discovery_);
    mad::Transactor& opened = session.transactor();  // what keeps it from opening comes first
    // In the dialect of infiniband-diags the tracer itself prints its requests.
    subnet::SweptTransactor transactor(as_diags_ ? session.lowest_transactor() : opened, session.swept());
    Tracer tracer(transactor, tracer_options(session));
    const auto debug = [&session](TextOut& out, std::string_view function, std::string_view text) {
      session.diags_debug(out, function, text);
    };
    text_.emplace(TraceText{session.node_name_map(), simple_, session.options().verbosity, debug});
    if (emit.json()) emit.sink().begin_array("traces");
    async::Task<> traced = file_ ? trace_file(session, emit, tracer) : trace_one(session, emit, tracer);
    co_await std::move(traced);
    if (emit.json()) emit.sink().end_array();
  }

 private:
  TracerOptions tracer_options(Session& session) const {
    path::IbPath by_lid;
    by_lid.end_port = &session.end_port();
    by_lid.slid = session.end_port().lid;
    by_lid.dqpn = by_lid.sqpn = Qpn{0};
    by_lid.qkey = 0;
    TracerOptions options{
        .force = force_, .diags = as_diags_, .from_sa = session.options().use_sa, .here = session.here(), .by_lid = by_lid};
    if (as_diags_ && session.options().debug > 0) {
      options.requested = [&session](std::uint16_t attribute, std::uint32_t modifier, const std::string& of) {
        session.diags_debug("smp_query_status_via", fmt::format("attr 0x{:x} mod 0x{:x} route {}", attribute, modifier, of));
      };
    }
    if (as_diags_) {
      options.failed = [&session](const mad::MadError& error) { session.tell_failure(error); };
      options.warned = [&session](std::string_view function, std::string_view text) { session.diags_warning(function, text); };
    }
    path::Path wrapped = by_lid;
    session.apply_options(wrapped);
    options.by_lid = wrapped.ib();
    return options;
  }

  async::Task<> trace_one(Session& session, Emit& emit, Tracer& tracer) {
    if (as_diags_) {
      async::Task<bool> traced = diags_pair(session, emit, tracer, source_word_, target_word_);
      const bool found = co_await std::move(traced);
      if (!found) throw DiagsFailure({"main", "Failed to get route information"});
      co_return;
    }
    Target source = second_.given() ? first_ : Target(), target = second_.given() ? second_ : first_;
    if (reverse_) std::swap(source, target);
    async::Task<> traced = pair(session, emit, tracer, source, target);
    co_await std::move(traced);
  }

  async::Task<> trace_file(Session& session, Emit& emit, Tracer& tracer) {
    const PortPairs pairs = read_pairs(session);
    for (const PortPair& line : pairs.pairs) {
      if (as_diags_) {
        async::Task<bool> traced = diags_pair(session, emit, tracer, line.source, line.destination);
        const bool found = co_await std::move(traced);
        if (!found) throw DiagsFailure({"main", fmt::format("Failed to get route information at line {}", line.line)});
      } else {
        Target source = co_await read_target(session, line.source);
        Target target = co_await read_target(session, line.destination);
        if (reverse_) std::swap(source, target);
        async::Task<> traced = pair(session, emit, tracer, source, target);
        co_await std::move(traced);
      }
    }
    if (pairs.bad_line) {
      session.refuse(UsageError(fmt::format("{}:{}: there is no source and target", *file_, *pairs.bad_line)),
                     {"main", fmt::format("ports-file, {}, at line {} contains bad data", *file_, *pairs.bad_line)});
    }
    if (as_diags_) emit.text().print("{} lid/guid pairs processed from {}\n", pairs.pairs.size(), *file_);
  }

  PortPairs read_pairs(const Session& session) const {
    try {
      return read_port_pairs(read_regular_file(*file_, longest_file));
    } catch (const Error& error) {
      if (!as_diags_) throw;
    }
    session.refuse(Error(""), {"main", fmt::format("cannot open ports-file {}", *file_)});
  }

  static async::Task<Target> read_target(Session& session, std::string word) {
    Target target;
    target.word = word;
    target.path = co_await session.targets().path(std::move(word));
    co_return target;
  }

  // ibtool

  /// The directed route to where `node` leads: of a LID the way of packets to it. `trace` is that where it does not end there.
  async::Task<std::optional<Route>> route_to(Tracer& tracer, path::Path node, Trace& trace) const {
    const path::IbDrPath* const directed = node.directed();
    const Lid lid = node.ib().dlid;
    Route route;
    if (directed == nullptr || lid != permissive_lid) {
      async::Task<Trace> traced = tracer.unicast(route, lid);
      trace = co_await std::move(traced);
      if (trace.end != End::arrived) co_return std::nullopt;
    }
    if (directed != nullptr && route.size() + directed->hops > path::max_hops) {
      trace.end = End::too_long;
      trace.reason = "The way is longer than a directed route can be";
      co_return std::nullopt;
    }
    if (directed != nullptr) route.insert(route.end(), directed->route.begin() + 1, directed->route.begin() + 1 + directed->hops);
    co_return route;
  }

  /// The LID of the target.
  static async::Task<Lid> lid_of(Session& session, path::Path node) {
    if (node.directed() == nullptr) co_return node.ib().dlid;
    const smp::PortInfo port = co_await session.transactor().subn_get<smp::PortInfo>(node);
    if (!port.lid.is_unicast()) throw Error(fmt::format("Target port {} does not have a valid LID", session.name_of(node)));
    co_return port.lid;
  }

  async::Task<> pair(Session& session, Emit& emit, Tracer& tracer, Target source, Target target) {
    const Destination to = co_await session.smp_node(target);
    const Lid lid = co_await lid_of(session, to.path);
    Route from;
    if (source.given()) {
      const Destination node = co_await session.smp_node(source);
      Trace before;
      async::Task<std::optional<Route>> found = route_to(tracer, node.path, before);
      const std::optional<Route> route = co_await std::move(found);
      if (!route) {
        if (before.end == End::unreachable && tracer.error()) tracer.error()->raise();
        refuse_unread(before);
        tell_error(session, tracer, before);
        throw Error(before.end == End::not_read ? fmt::format("The way to the source {} is not known: {}", node.name, before.reason)
                                                : fmt::format("There is no way to the source {}: {}", node.name, before.reason));
      }
      from = *route;
    }
    async::Task<Trace> traced = mlid_ ? tracer.multicast(from, lid, *mlid_) : tracer.unicast(from, lid);
    const Trace trace = co_await std::move(traced);
    if (trace.end == End::unreachable && tracer.error()) tracer.error()->raise();
    refuse_unread(trace);
    if (emit.json()) {
      text_->visit(emit.sink(), trace, lid, mlid_);
    } else {
      text_->text(emit.text(), trace, lid);
    }
    if (trace.end == End::arrived) co_return;
    emit.flush();
    session.report(Error(trace.reason));
    tell_error(session, tracer, trace);
    emit.raise(trace.end == End::no_answer || trace.end == End::not_read ? Exit::incomplete : Exit::findings);
  }

  /// A snapshot without tables has no ways: throws what it is to be taken with.
  static void refuse_unread(const Trace& trace) {
    const auto* error = dynamic_cast<const mad::NotRead*>(trace.error.get());
    if (trace.end == End::not_read && error != nullptr) throw Error(error->cause());
  }

  /// With -v the request that was not answered.
  static void tell_error(const Session& session, const Tracer& tracer, const Trace& trace) {
    const std::shared_ptr<const mad::MadError> error = trace.end == End::no_answer ? tracer.error() : trace.error;
    if (error && trace.end != End::arrived) session.tell_failure(*error);
  }

  // infiniband-diags

  /// Prints on stderr why a way does not lead to its end.
  static void tell_end(const Session& session, const Trace& trace) {
    if (trace.end != End::arrived && !trace.where.empty()) session.diags_warning(trace.of, trace.where);
  }

  /// The LID that `word` names.
  static async::Task<std::optional<Lid>> resolve(Session& session, std::string word, std::string_view what) {
    std::optional<Lid> lid;
    try {
      Target target;
      target.word = word;
      const Destination node = co_await session.smp_node(target);
      lid = node.path.ib().dlid;
    } catch (const DiagsFailure&) {
      // The caller has its own words for it.
    }
    if (!lid) session.diags_warning("get_route", fmt::format("can't resolve {} port {}", what, word));
    co_return lid;
  }

  /// False if there is no way; stderr then has the reason.
  async::Task<bool> diags_pair(Session& session, Emit& emit, Tracer& tracer, std::string source, std::string target) {
    async::Task<std::optional<Lid>> resolving = resolve(session, source, "source");
    const std::optional<Lid> from = co_await std::move(resolving);
    if (!from) co_return false;
    resolving = resolve(session, target, "destination");
    const std::optional<Lid> to = co_await std::move(resolving);
    if (!to) co_return false;
    Route route;
    async::Task<Trace> walking = tracer.unicast(route, *from);
    const Trace before = co_await std::move(walking);
    text_->diags_way_to_source(emit.text(), before, session.options().verbosity > 0);
    tell_end(session, before);
    if (before.end != End::arrived) {
      session.diags_warning("get_route", "can't find a route to the src port");
      co_return false;
    }
    if (mlid_ && *mlid_ < subnet::first_multicast_lid.value) session.diags_warning("get_route", "invalid MLID; must be 0xc000 or larger");
    walking = mlid_ ? tracer.multicast(route, *to, *mlid_) : tracer.unicast(route, *to);
    const Trace trace = co_await std::move(walking);
    mlid_ ? text_->diags_multicast(emit.text(), trace) : text_->diags_unicast(emit.text(), trace);
    tell_end(session, trace);
    if (trace.end != End::arrived && !mlid_) session.diags_warning("get_route", "can't find a route from src to dest");
    co_return trace.end == End::arrived;
  }

  Target first_, second_;
  std::string source_word_, target_word_;
  std::optional<std::string> file_;
  std::optional<std::uint32_t> mlid_;
  DiscoveryOptions discovery_;
  bool reverse_{}, force_{}, simple_{}, has_file_{}, as_diags_{};
  std::optional<TraceText> text_;
};

}  // namespace
}  // namespace tracert

constinit const CommandInfo rooms::ibtracert{
    .name = "ibtracert",
    .group = HelpGroup::forwarding,
    .summary = "Show the way of packets from one port to another, unicast or multicast.",
    .make = make_command<tracert::Ibtracert>,
    .make_diags = make_command<tracert::Ibtracert>,
};

}  // namespace ib::tools
