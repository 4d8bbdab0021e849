// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibtracert/trace_text.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/diags_name.hpp"

namespace ib::tools::tracert {
namespace {

constexpr unsigned lid_bits = 16;

std::string type_text(smp::NodeType type) {
  const std::string_view text = to_text(type);
  return text.empty() ? fmt::format("??{}", static_cast<unsigned>(type)) : std::string(text);
}

std::string_view diags_type(smp::NodeType type) {
  switch (type) {
    case smp::NodeType::channel_adapter:
      return "ca";
    case smp::NodeType::switch_:
      return "switch";
    case smp::NodeType::router:
      return "router";
  }
  return "???";
}

/// "4-7": the LIDs of a port.
std::string lids(const Place& at) { return fmt::format("{}-{}", at.lid.value, at.lid.value + (1U << at.lmc) - 1); }

unsigned end_port(const Place& at) { return at.is_switch() ? 0 : at.port; }

}  // namespace

std::string TraceText::name_of(const Place& at) const {
  const auto mapped = names.find(at.node.node_guid);
  return in_quotes(mapped ? *mapped : at.description);
}

std::string TraceText::diags_name(const Place& at) const { return diags_node_name(names, at.node.node_guid, at.description); }

void TraceText::end_text(TextOut& out, std::string_view word, const Place& at, Lid lid) const {
  if (simple) return out.print("{} {}[{}]\n", word, to_text(at.port_guid), end_port(at));
  out.print("{} {} {} portnum {} LID {}/{} {}\n", word, type_text(at.node.node_type), to_text(at.port_guid), end_port(at), lid.value,
            lid_bits - at.lmc, name_of(at));
}

void TraceText::text(TextOut& out, const Trace& trace, Lid dlid) const {
  if (trace.from) end_text(out, "From", *trace.from, trace.from->lid);
  for (const Hop& hop : trace.hops) {
    const Place& at = hop.at;
    if (simple) {
      out.print("[{}] -> {}[{}]\n", hop.out, to_text(at.port_guid), at.port);
    } else {
      out.print("[{}] -> {} port {}[{}] lid {}/{} {}\n", hop.out, type_text(at.node.node_type), to_text(at.port_guid), at.port,
                at.lid.value, lid_bits - at.lmc, name_of(at));
    }
  }
  if (trace.end == End::arrived && trace.to) end_text(out, "To", *trace.to, dlid);
}

void TraceText::diags_end(TextOut& out, std::string_view word, const Place& at, bool full) const {
  if (!full) return out.print("{} {{{:#018x}}}[{}]\n", word, at.node.node_guid.value, end_port(at));
  out.print("{} {} {{{:#018x}}} portnum {} lid {} \"{}\"\n", word, diags_type(at.node.node_type), at.node.node_guid.value, end_port(at),
            lids(at), diags_name(at));
}

void TraceText::diags_hop(TextOut& out, const Hop& hop, bool full) const {
  const Place& at = hop.at;
  if (!full) return out.print("[{}] -> {{{:#018x}}}[{}]\n", hop.out, at.port_guid.value, at.port);
  out.print("[{}] -> {} port {{{:#018x}}}[{}] lid {} \"{}\"\n", hop.out, diags_type(at.node.node_type), at.port_guid.value, at.port,
            lids(at), diags_name(at));
}

void TraceText::diags_step(TextOut& out, const TracedStep& step) const {
  switch (step.kind) {
    case TracedStep::Kind::debug:
      return debug(out, step.of, step.text);
    case TracedStep::Kind::verbose:
      if (verbosity > 0) out.write(verbose_line(step.of, step.text));
      return;
    case TracedStep::Kind::node:
      if (verbosity > 0) diags_end(out, step.text, *step.at, verbosity > 1);
      return;
    case TracedStep::Kind::circle:
      return diags_end(out, "ERR: circle discovered at", *step.at, true);
  }
}

/// Prints what infiniband-diags prints of its search after that many lines of the way.
void TraceText::diags_steps(TextOut& out, const Trace& trace, std::size_t lines) const {
  for (const TracedStep& step : trace.steps) {
    if (step.lines == lines) diags_step(out, step);
  }
}

void TraceText::diags_way_to_source(TextOut& out, const Trace& trace, bool hops) const {
  for (std::size_t lines = 0; lines <= trace.hops.size() + 1; ++lines) {
    if (hops && lines > 1) diags_hop(out, trace.hops[lines - 2], true);
    diags_steps(out, trace, lines);
  }
}

void TraceText::diags_unicast(TextOut& out, const Trace& trace) const {
  // It says where a way begins only when both ends answered, or with -f.
  const bool begun = trace.end != End::unreachable;
  diags_steps(out, trace, 0);
  if (begun) diags_end(out, "From", trace.from.value_or(Place()), !simple);
  diags_steps(out, trace, 1);
  for (std::size_t i = 0; i < trace.hops.size(); ++i) {
    diags_hop(out, trace.hops[i], !simple);
    diags_steps(out, trace, i + 2);
  }
  if (trace.end == End::arrived && trace.to) diags_end(out, "To", *trace.to, !simple);
}

void TraceText::diags_multicast(TextOut& out, const Trace& trace) const {
  diags_steps(out, trace, 0);
  if (trace.end != End::arrived || !trace.from) return;
  const auto end = [&](std::string_view word, const Place& at) {
    out.print("{} {} {:#x} port {} lid {} \"{}\"\n", word, diags_type(at.node.node_type), at.node.node_guid.value, at.port, lids(at),
              diags_name(at));
  };
  end("From", *trace.from);
  for (const Hop& hop : trace.hops) {
    const Place& at = hop.at;
    if (simple) {
      out.print("[{}] -> {} {{{:#018x}}}[{}]\n", hop.out, diags_type(at.node.node_type), at.node.node_guid.value, at.port);
    } else {
      out.print("[{}] -> {} {:#x}[{}] lid {} \"{}\"\n", hop.out, diags_type(at.node.node_type), at.node.node_guid.value, at.port,
                at.lid.value, diags_name(at));
    }
  }
  if (trace.to) end("To", *trace.to);
}

void TraceText::visit_members(report::Sink& sink, const Place& at) const {
  sink.value("node_guid", at.node.node_guid);
  sink.symbol("node_type", at.node.node_type, to_text(at.node.node_type));
  sink.value("node_description", at.description);
  sink.text_or_null("node_name", names.find(at.node.node_guid).value_or(""));
  sink.value("port_guid", at.port_guid);
  sink.value("lid", at.lid);
  sink.value("lmc", at.lmc);
}

void TraceText::visit_place(report::Sink& sink, std::string_view key, const std::optional<Place>& at) const {
  if (!at) {
    return sink.null_object(key, [](report::Sink& unknown) {
      unknown.null("node_guid");
      unknown.no_symbol("node_type");
      for (const char* member : {"node_description", "node_name", "port_guid", "lid", "lmc", "port_num"}) unknown.null(member);
    });
  }
  sink.begin_object(key);
  visit_members(sink, *at);
  sink.value("port_num", end_port(*at));
  sink.end_object();
}

void TraceText::visit(report::Sink& sink, const Trace& trace, Lid dlid, std::optional<std::uint32_t> mlid) const {
  sink.begin_object();
  visit_place(sink, "source", trace.from);
  visit_place(sink, "destination", trace.to);
  sink.value("dlid", dlid);
  mlid ? sink.value("mlid", *mlid) : sink.null("mlid");
  sink.begin_array("hops");
  for (const Hop& hop : trace.hops) {
    sink.begin_object();
    sink.value("out_port", hop.out);
    visit_members(sink, hop.at);
    sink.value("in_port", hop.at.port);
    sink.end_object();
  }
  sink.end_array();
  sink.value("end", name(trace.end));
  sink.text_or_null("error", trace.end == End::arrived ? "" : trace.reason);
  sink.end_object();
}

}  // namespace ib::tools::tracert
