// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibtracert/trace_text.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "report/member_names.hpp"
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
std::string lids(const PacketPlace& at) { return fmt::format("{}-{}", at.lid.value, at.lid.value + (1U << at.lmc) - 1); }

unsigned end_port(const PacketPlace& at) { return at.is_switch() ? 0 : at.port; }

}  // namespace

std::string TraceText::name_of(const PacketPlace& at) const {
  const auto mapped = names.find(at.node.node_guid);
  return in_quotes(mapped ? *mapped : at.description);
}

std::string DiagsTraceText::name(const PacketPlace& at) const { return diags_node_name(names, at.node.node_guid, at.description); }

void TraceText::end_text(TextOut& out, std::string_view word, const PacketPlace& at, Lid lid) const {
  if (simple) return out.print("{} {}[{}]\n", word, to_text(at.port_guid), end_port(at));
  out.print("{} {} {} portnum {} LID {}/{} {}\n", word, type_text(at.node.node_type), to_text(at.port_guid), end_port(at), lid.value,
            lid_bits - at.lmc, name_of(at));
}

void TraceText::text(TextOut& out, const TracedWay& trace, Lid dlid) const {
  if (trace.from) end_text(out, "From", *trace.from, trace.from->lid);
  for (const Hop& next : trace.hops) {
    const PacketPlace& at = next.at;
    if (simple) {
      out.print("[{}] -> {}[{}]\n", next.out, to_text(at.port_guid), at.port);
    } else {
      out.print("[{}] -> {} port {}[{}] lid {}/{} {}\n", next.out, type_text(at.node.node_type), to_text(at.port_guid), at.port,
                at.lid.value, lid_bits - at.lmc, name_of(at));
    }
  }
  if (trace.end == WayEnd::arrived && trace.to) end_text(out, "To", *trace.to, dlid);
}

void DiagsTraceText::end(TextOut& out, std::string_view word, const PacketPlace& at, bool full) const {
  if (!full) return out.print("{} {{{:#018x}}}[{}]\n", word, at.node.node_guid.value, end_port(at));
  out.print("{} {} {{{:#018x}}} portnum {} lid {} \"{}\"\n", word, diags_type(at.node.node_type), at.node.node_guid.value, end_port(at),
            lids(at), name(at));
}

void DiagsTraceText::hop(TextOut& out, const Hop& of, bool full) const {
  const PacketPlace& at = of.at;
  if (!full) return out.print("[{}] -> {{{:#018x}}}[{}]\n", of.out, at.port_guid.value, at.port);
  out.print("[{}] -> {} port {{{:#018x}}}[{}] lid {} \"{}\"\n", of.out, diags_type(at.node.node_type), at.port_guid.value, at.port,
            lids(at), name(at));
}

void DiagsTraceText::step(TextOut& out, const TracedStep& of) const {
  switch (of.kind) {
    case TracedStep::Kind::verbose:
      if (verbosity > 0) out.write(verbose_line(of.of, of.text));
      return;
    case TracedStep::Kind::node:
      if (verbosity > 0) end(out, of.text, *of.at, verbosity > 1);
      return;
    case TracedStep::Kind::circle:
      return end(out, "ERR: circle discovered at", *of.at, true);
  }
}

void DiagsTraceText::way_to_source(TextOut& out, const TracedWay& trace) const {
  if (verbosity == 0) return;
  for (const Hop& next : trace.hops) hop(out, next, true);
}

void DiagsTraceText::unicast(TextOut& out, const TracedWay& trace) const {
  // It says where a way begins only when both ends answered, or with -f.
  if (trace.end != WayEnd::unreachable) end(out, "From", trace.from.value_or(PacketPlace()), !simple);
  for (const Hop& next : trace.hops) hop(out, next, !simple);
  if (trace.end == WayEnd::arrived && trace.to) end(out, "To", *trace.to, !simple);
}

void DiagsTraceText::multicast(TextOut& out, const TracedWay& trace) const {
  for (const TracedStep& met : trace.steps) step(out, met);
  if (trace.end != WayEnd::arrived || !trace.from) return;
  const auto end_line = [&](std::string_view word, const PacketPlace& at) {
    out.print("{} {} {:#x} port {} lid {} \"{}\"\n", word, diags_type(at.node.node_type), at.node.node_guid.value, at.port, lids(at),
              name(at));
  };
  end_line("From", *trace.from);
  for (const Hop& next : trace.hops) {
    const PacketPlace& at = next.at;
    if (simple) {
      out.print("[{}] -> {} {{{:#018x}}}[{}]\n", next.out, diags_type(at.node.node_type), at.node.node_guid.value, at.port);
    } else {
      out.print("[{}] -> {} {:#x}[{}] lid {} \"{}\"\n", next.out, diags_type(at.node.node_type), at.node.node_guid.value, at.port,
                at.lid.value, name(at));
    }
  }
  if (trace.to) end_line("To", *trace.to);
}

void TraceText::visit_members(report::Sink& sink, const PacketPlace& at) const {
  sink.value("node_guid", at.node.node_guid);
  sink.symbol("node_type", at.node.node_type, to_text(at.node.node_type));
  sink.value("node_description", at.description);
  sink.text_or_null("node_name", names.find(at.node.node_guid).value_or(""));
  sink.value("port_guid", at.port_guid);
  sink.value("lid", at.lid);
  sink.value("lmc", at.lmc);
}

void TraceText::visit_place(report::Sink& sink, std::string_view key, const std::optional<PacketPlace>& at) const {
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

void TraceText::visit(report::Sink& sink, const TracedWay& trace, Lid dlid, std::optional<std::uint32_t> mlid) const {
  report::announce(sink, [&](report::Sink& to) { visit(to, trace, {Hop{}}, dlid, mlid); });
  visit(sink, trace, trace.hops, dlid, mlid);
}

void TraceText::visit(report::Sink& sink, const TracedWay& trace, const std::vector<Hop>& hops, Lid dlid,
                      std::optional<std::uint32_t> mlid) const {
  sink.begin_object();
  visit_place(sink, "source", trace.from);
  visit_place(sink, "destination", trace.to);
  sink.value("dlid", dlid);
  sink.value("mlid", mlid);
  sink.objects("hops", hops, [&](const Hop& next) {
    sink.value("out_port", next.out);
    visit_members(sink, next.at);
    sink.value("in_port", next.at.port);
  });
  sink.value("end", name(trace.end));
  sink.text_or_null("error", trace.end == WayEnd::arrived ? "" : trace.reason);
  sink.end_object();
}

}  // namespace ib::tools::tracert
