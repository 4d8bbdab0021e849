// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The page for people: whether all is well, what is wrong with which cable, what does not answer, a picture, and when the fabric was swept
// and read. It needs no script and nothing from elsewhere, and forbids both. Names come from the fabric, and may hold anything: text is
// escaped by html() and nowhere else. Lists show so many rows, so that the size of the page is bounded.
#include "tools/exporter/engine.hpp"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <ranges>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "tools/frame/emit.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools::exporter {
namespace {

constexpr std::size_t most_rows = 100;      // of one list
constexpr std::size_t longest_text = 1000;  // bytes of one text: names of a node name map may have any length

/// `text` for HTML: nothing of it is markup, controls are visible, and what is longer than a name should be is cut.
std::string html(std::string_view text) {
  const bool is_cut = text.size() > longest_text;
  constexpr std::pair<char, std::string_view> entities[]{{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string escaped;
  for (const char c : harmless_line(text.substr(0, longest_text))) {
    const auto* const found = std::ranges::find(entities, c, &std::pair<char, std::string_view>::first);
    found != std::end(entities) ? escaped += found->second : escaped += c;
  }
  return is_cut ? escaped + "…" : escaped;
}

void add_row(std::string& page, std::string_view name, std::string_view value) {
  page += fmt::format("<tr><th>{}<td>{}\n", name, html(value));
}

/// A list of `count` rows, of which the first ones are shown. `row` returns the row of an index as HTML.
void add_list(std::string& page, std::string_view heading, std::size_t count, auto row) {
  if (count == 0) return;
  page += fmt::format("<h2>{}: {}</h2>\n<ul>\n", heading, count);
  for (std::size_t at = 0; at < std::min(count, most_rows); ++at) page += fmt::format("<li>{}\n", row(at));
  if (count > most_rows) page += fmt::format("<li>and {} more\n", count - most_rows);
  page += "</ul>\n";
}

std::string when(metrics::WallTime time, std::chrono::nanoseconds took, metrics::WallTime now) {
  const double ago = std::chrono::duration<double>(now - time).count();
  return fmt::format("{} ({:.0f} s ago, took {:.3f} s)", utc_text(time), ago, std::chrono::duration<double>(took).count());
}

/// The verdict, with the worst level as its class: what is not read is at least a warning.
void add_verdict(std::string& page, const metrics::View& view) {
  if (!view.reading && view.shown_findings() != nullptr) {
    page += fmt::format("<p class=\"verdict error\">{}, and nothing else can be read.</p>\n", html(view.findings->verdict));
    return;
  }
  if (!view.reading || !view.findings) {
    page += "<p class=\"error\">Not known: the fabric was not read yet, or not for too long a time.</p>\n";
    return;
  }
  const metrics::Findings& found = *view.findings;
  const std::uint8_t worst = std::max<std::uint8_t>(found.list.empty() ? 0 : found.list.front().level, found.is_unknown ? 1 : 0);
  page += fmt::format("<p class=\"verdict {}\">{}</p>\n", worst == 0 ? "good" : metrics::Findings::levels.at(worst), html(found.verdict));
}

/// Each finding with its level, check and confidence, what was seen, and what to do.
void add_findings(std::string& page, const metrics::View& view) {
  if (view.shown_findings() == nullptr) return;
  const metrics::Findings& found = *view.findings;
  add_list(page, "Findings", found.list.size(), [&found](std::size_t at) {
    const metrics::Findings::Row& of = found.list[at];
    const std::string_view level = metrics::Findings::levels.at(of.level);
    return fmt::format("<b class=\"{}\">{}: {}</b> ({}): {}<br>{}", level, level, html(of.check), html(of.confidence),
                       html(found.texts.at(at)), html(found.remedies.at(at)));
  });
}

void add_troubles(std::string& page, const metrics::Reading& reading) {
  using Outcome = metrics::DeviceReading::Outcome;
  const metrics::SweptFabric& fabric = *reading.fabric;
  for (const bool are_switches : {true, false}) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < reading.devices.size(); ++at) {
      const metrics::Device& device = fabric.devices[at];
      const Outcome outcome = reading.devices[at].outcome;
      if (device.is_switch != are_switches || !metrics::has_failed(reading.devices[at])) continue;
      const std::string_view how = outcome == Outcome::silent    ? "silent"
                                   : outcome == Outcome::refused ? "refused"
                                   : outcome == Outcome::moved   ? "another device has its LID"
                                   : outcome == Outcome::unowned ? "it does not identify itself"
                                                                 : "read in part";
      lines.push_back(fmt::format("0x{:016x} {}: {}", device.guid.value, fabric.name(device.node), how));
    }
    add_list(page, are_switches ? "Switches whose counters were not read" : "Ports of channel adapters whose counters were not read",
             lines.size(), [&lines](std::size_t at) { return html(lines[at]); });
  }
  add_list(page, "What the sweep could not read", fabric.failures.size(),
           [&fabric](std::size_t at) { return html(fabric.failures[at].why); });
  add_list(page, "GUIDs that more than one device claims", fabric.twins.size(),
           [&fabric](std::size_t at) { return fmt::format("0x{:016x}", fabric.twins[at].value); });
}

// What it may load: nothing. The icon is empty, or browsers would look for one.
constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ibtool exporter</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>
body{font:1em sans-serif;margin:2em;max-width:70em}th{text-align:left;padding-right:2em;font-weight:normal}li{overflow-wrap:anywhere}
.verdict{font-size:1.3em}.good{color:#060}.error{color:#b00;stroke:#b00;fill:#b00}.warning{color:#950;stroke:#c70;fill:#c70}
.info{color:#036;stroke:#369;fill:#369}.link{stroke:#bbb;fill:none}.switch{stroke:#333;fill:#fff}svg{width:100%}
svg path.error,svg path.warning{stroke-width:3;fill:none}svg path.info{stroke-width:2;fill:none}svg text{font-size:12px}
</style></head><body>
<h1>ibtool exporter</h1>
<p><a href="/metrics">Metrics</a>, <a href="/-/healthy">healthy</a>, <a href="/-/ready">ready</a></p>
)";

constexpr std::size_t most_marks = 40;  // of a tier
constexpr std::size_t most_tiers = 8;   // the last one has all that are farther away
constexpr unsigned width = 960, tier_height = 90, margin = 40, radius = 5, stub = 22;

/// Calls `use` with the node at the other end of each link of a switch.
template <class Use>
void each_peer(const metrics::SweptFabric& fabric, const metrics::PortStates& states, NodeIndex node, Use use) {
  const subnet::Node& of = fabric.subnet.node(node);
  for (PortIndex port = of.first_port + 1; port < of.first_port + of.slots; ++port) {
    if (const PortIndex peer = metrics::linked_peer(fabric.subnet, states, port); peer != subnet::none) use(fabric.subnet.port(peer).node);
  }
}

/// How many links a switch is away from a host, by node; a switch without a way to a host is in the first tier.
std::vector<std::size_t> tiers_of(const metrics::SweptFabric& fabric, const metrics::PortStates& states) {
  constexpr std::size_t unknown = most_tiers;
  std::vector<std::size_t> tiers(fabric.subnet.nodes().size(), unknown);
  std::deque<NodeIndex> next;
  const auto is_switch = [&fabric](NodeIndex node) { return fabric.subnet.node(node).kind() == subnet::NodeKind::sw; };
  for (const metrics::Device& device : fabric.switches()) {
    each_peer(fabric, states, device.node, [&](NodeIndex peer) {
      if (is_switch(peer) || std::exchange(tiers[device.node], 0) == 0) return;
      next.push_back(device.node);
    });
  }
  for (; !next.empty(); next.pop_front()) {
    each_peer(fabric, states, next.front(), [&](NodeIndex peer) {
      if (tiers[peer] != unknown || !is_switch(peer)) return;
      tiers[peer] = std::min(tiers[next.front()] + 1, most_tiers - 1);
      next.push_back(peer);
    });
  }
  std::ranges::replace(tiers, unknown, std::size_t{0});
  return tiers;
}

/// A mark of the picture, which stands for one switch or several side by side.
struct Mark {
  std::size_t tier{}, at{};
  auto operator<=>(const Mark&) const = default;
};

/// A small picture of a fabric as an SVG element: its switches in tiers by how far they are from hosts, the links between them, and which
/// of these have findings. A tier of a large fabric has one mark for several switches, so that the size is bounded.
class Picture {
 public:
  Picture(const metrics::SweptFabric& fabric, const metrics::PortStates& states) : fabric_(fabric), states_(states) {
    const std::vector<std::size_t> tiers = tiers_of(fabric, states);
    for (const metrics::Device& device : fabric.switches()) switches_.at(tiers[device.node]).push_back(device.node);
    while (tiers_ < most_tiers && !switches_.at(tiers_).empty()) ++tiers_;
    for (std::size_t tier = 0; tier < tiers_; ++tier) {
      for (std::size_t at = 0; at < switches_.at(tier).size(); ++at) marks_[switches_.at(tier)[at]] = {tier, at / share(tier)};
    }
  }

  std::string draw(const metrics::Findings* findings) {
    if (findings != nullptr) {
      for (const metrics::Findings::Row& finding : findings->list) mark(finding);
    }
    std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Tiers of switches\">\n", width, height());
    draw_links(out);
    draw_bad(out);
    draw_marks(out);
    return out + "</svg>\n";
  }

 private:
  std::size_t share(std::size_t tier) const { return (switches_.at(tier).size() + most_marks - 1) / most_marks; }
  std::size_t mark_count(std::size_t tier) const { return (switches_.at(tier).size() + share(tier) - 1) / share(tier); }
  std::size_t height() const { return tiers_ * tier_height + stub; }
  double x(const Mark& mark) const {
    return margin + (static_cast<double>(mark.at) + 0.5) * (width - 2 * margin) / static_cast<double>(mark_count(mark.tier));
  }
  std::size_t y(const Mark& mark) const { return (tiers_ - 1 - mark.tier) * tier_height + tier_height / 2; }

  /// Notes where a finding is: on a link between switches, on one to a host, or on a switch.
  void mark(const metrics::Findings::Row& finding) {
    const auto mark_of = [&](const std::optional<metrics::Findings::End>& end) {
      const metrics::Device* device = end && !fabric_.has_twins(end->guid) ? fabric_.find(true, end->guid) : nullptr;
      return device != nullptr ? marks_.find(device->node) : marks_.end();
    };
    const auto one = mark_of(finding.end), other = mark_of(finding.other_end);
    const auto worst = [&](std::uint8_t& level) { level = std::max(level, finding.level); };
    if (one != marks_.end() && other != marks_.end()) {
      worst(bad_links_[std::minmax(one->second, other->second)]);
    } else if (one != marks_.end()) {
      worst((finding.other_end ? bad_stubs_ : bad_marks_)[one->second]);
    } else if (other != marks_.end()) {
      worst(bad_stubs_[other->second]);
    }
  }

  void draw_links(std::string& out) const {
    std::set<std::pair<Mark, Mark>> links;
    for (const auto& [node, mark] : marks_) {
      each_peer(fabric_, states_, node, [&, &from = mark](NodeIndex peer) {
        const auto far = marks_.find(peer);
        if (far != marks_.end() && far->second != from) links.insert(std::minmax(from, far->second));
      });
    }
    out += "<path class=\"link\" d=\"";
    for (const auto& [one, other] : links) add_line(out, one, other);
    out += "\"/>\n";
  }

  void add_line(std::string& out, const Mark& one, const Mark& other) const {
    if (one.tier != other.tier) {
      out += fmt::format("M{:.0f} {}L{:.0f} {}", x(one), y(one), x(other), y(other));
    } else {  // a bow, for a straight line would run through the marks between
      out += fmt::format("M{:.0f} {}Q{:.0f} {} {:.0f} {}", x(one), y(one), (x(one) + x(other)) / 2, y(one) - tier_height / 3, x(other),
                         y(other));
    }
  }

  void draw_bad(std::string& out) const {
    for (const auto& [link, level] : bad_links_) {
      out += fmt::format("<path class=\"{}\" d=\"", metrics::Findings::levels.at(level));
      add_line(out, link.first, link.second);
      out += "\"/>\n";
    }
    for (const auto& [mark, level] : bad_stubs_) {
      out += fmt::format("<path class=\"{}\" d=\"M{:.0f} {}v{}\"/>\n", metrics::Findings::levels.at(level), x(mark), y(mark), stub);
    }
  }

  void draw_marks(std::string& out) const {
    for (std::size_t tier = 0; tier < tiers_; ++tier) {
      const Mark first{tier, 0};
      out += fmt::format("<text x=\"0\" y=\"{}\">{} switches</text>\n", y(first) - 2 * radius, switches_.at(tier).size());
      for (std::size_t at = 0; at < mark_count(tier); ++at) {
        const Mark mark{tier, at};
        const auto bad = bad_marks_.find(mark);
        const std::string_view look = bad == bad_marks_.end() ? "switch" : metrics::Findings::levels.at(bad->second);
        out += fmt::format("<circle class=\"{}\" cx=\"{:.0f}\" cy=\"{}\" r=\"{}\"><title>{}</title></circle>\n", look, x(mark), y(mark),
                           radius, html(title(mark)));
      }
    }
  }

  std::string title(const Mark& mark) const {
    const std::vector<NodeIndex>& all = switches_.at(mark.tier);
    const std::size_t first = mark.at * share(mark.tier), count = std::min(share(mark.tier), all.size() - first);
    const std::string_view name = fabric_.name(all[first]);
    return count == 1 ? std::string(name) : fmt::format("{} and {} more", name, count - 1);
  }

  const metrics::SweptFabric& fabric_;
  const metrics::PortStates& states_;
  std::array<std::vector<NodeIndex>, most_tiers> switches_;  ///< by tier
  std::size_t tiers_{};
  std::map<NodeIndex, Mark> marks_;
  std::map<std::pair<Mark, Mark>, std::uint8_t> bad_links_;  ///< the worst level
  std::map<Mark, std::uint8_t> bad_stubs_, bad_marks_;       ///< of links to hosts, and of switches
};

using http::Answer;
using http::Request;

constexpr std::uint32_t most_shards = 1024;
constexpr std::uint64_t rounds_until_outdated = 2;  // no client may hold a reading when the second one after it begins

class MetricsBody final : public http::Body {
 public:
  MetricsBody(const Engine& engine, const metrics::PageRules& rules, metrics::PagePart part)
      : engine_(engine), round_(engine.published_round()), page_(rules, engine.view(), part) {}
  bool next(std::string& out, std::size_t size) override { return page_.next(out, size); }
  bool is_outdated() const override { return engine_.rounds() >= round_ + rounds_until_outdated; }

 private:
  const Engine& engine_;
  std::uint64_t round_;
  metrics::Page page_;
};

std::uint32_t number(const Request& request, std::string_view name, std::uint32_t low, std::uint32_t high, std::uint32_t usual) {
  const std::optional<std::string_view> word = request.value(name);
  if (!word) return usual;
  const std::optional<std::uint64_t> value = parse_digits(*word, 10);
  if (!value || *value < low || *value > high)
    throw UsageError(fmt::format("{}: {} is not a number from {} to {}", name, in_quotes(*word), low, high));
  return static_cast<std::uint32_t>(*value);
}

constexpr std::pair<std::string_view, metrics::Selection> collectors[]{
    {"switch", metrics::select_switch}, {"hca", metrics::select_hca}, {"errors", metrics::select_errors}, {"data", metrics::select_data}};

/// Which families `collect[]` selects: the families of each of its values.
std::uint8_t selected_by(const Request& request) {
  unsigned selected = 0;
  for (const auto& [name, value] : request.query) {
    if (name != "collect[]") continue;
    const auto* const found = std::ranges::find(collectors, std::string_view(value), [](const auto& of) { return of.first; });
    if (found == std::end(collectors))
      throw UsageError(fmt::format("collect[]: {} is none of switch, hca, errors and data", in_quotes(value)));
    selected |= found->second;
  }
  return selected == 0 ? std::uint8_t{metrics::select_all} : static_cast<std::uint8_t>(selected);
}

const Engine& engine_of(const Request& request, const LocalPorts& ports) {
  const std::string_view name = request.value("port").value_or(std::string_view());
  const auto found = name.empty() ? ports.begin() : std::ranges::find(ports, name, &LocalPort::name);
  if (found != ports.end()) return *found->engine;
  throw UsageError(fmt::format("port: {} is none of {}", in_quotes(name), joined(std::views::transform(ports, &LocalPort::name), ", ")));
}

}  // namespace

std::string front_page(const metrics::View& view, metrics::WallTime now) {
  std::string page(head);
  add_verdict(page, view);
  add_findings(page, view);
  if (view.reading) {
    add_troubles(page, *view.reading);
    if (view.reading->fabric->switch_count != 0) page += Picture(*view.reading->fabric, *view.states).draw(view.findings.get());
  }
  page += "<table>\n";
  if (view.reading) {
    const metrics::SweptFabric& fabric = *view.reading->fabric;
    add_row(page, "Counters read", when(view.reading->time, view.reading->took, now));
    add_row(page, "Fabric swept", when(fabric.time, fabric.took, now));
    add_row(page, "Switches", std::to_string(fabric.switch_count));
    add_row(page, "Ports of channel adapters", std::to_string(fabric.hcas().size()));
    add_row(page, "Ports with counters", std::to_string(view.reading->rows.size()));
  }
  add_row(page, "MADs sent", std::to_string(view.exporter.mads_sent));
  add_row(page, "Sweeps", std::to_string(view.exporter.sweeps));
  add_row(page, "Version", view.exporter.version);
  return page + "</table>\n</body></html>\n";
}

bool prefers_openmetrics(std::string_view accepted) {
  const std::vector<http::Acceptable> types = http::acceptable(accepted);
  const unsigned openmetrics = weight_of(types, "application/openmetrics-text").value_or(0);
  std::optional<unsigned> plain;  // by the most specific of its names (RFC 9110, 12.5.1)
  for (const std::string_view name : {"text/plain", "text/*", "*/*"}) {
    if (!plain) plain = weight_of(types, name);
  }
  return openmetrics != 0 && openmetrics >= plain.value_or(0);
}

metrics::PagePart part_of(const Request& request) {
  metrics::PagePart part;
  part.format = prefers_openmetrics(request.accept) ? metrics::Format::openmetrics : metrics::Format::text;
  for (const auto& [name, value] : request.query) {
    if (name != "num_shards" && name != "shard" && name != "collect[]" && name != "port")
      throw UsageError(fmt::format("There is no parameter {}: try num_shards, shard, collect[] or port", in_quotes(name)));
  }
  if (request.value("shard") && !request.value("num_shards")) throw UsageError("shard needs num_shards");
  if (request.value("num_shards") && !request.value("shard")) throw UsageError("num_shards needs shard");
  part.shards = number(request, "num_shards", 1, most_shards, 1);
  part.shard = number(request, "shard", 0, part.shards - 1, 0);
  part.selected = selected_by(request);
  return part;
}

Answer answer(const Request& request, const LocalPorts& ports, const metrics::PageRules& rules, const async::Clock& clock) {
  try {
    if (request.path == "/metrics") {
      const metrics::PagePart part = part_of(request);
      auto body = std::make_unique<MetricsBody>(engine_of(request, ports), rules, part);
      return {.content_type = std::string(content_type(part.format)), .body = std::move(body)};
    }
    if (request.path == "/")
      return {.content_type = "text/html; charset=utf-8", .text = front_page(engine_of(request, ports).view(), clock.wall_time())};
  } catch (const UsageError& error) {
    return {.status = 400, .text = error.message() + "\n"};
  }
  if (request.path == "/-/healthy") return {.text = "OK\n"};
  if (request.path != "/-/ready") return {.status = 404, .text = "There is no such page: try /metrics\n"};
  if (std::ranges::all_of(ports, [](const LocalPort& port) { return port.engine->is_ready(); }))
    return {.text = "The exporter is ready.\n"};
  return {.status = 503, .text = "The fabric was not read yet, or not for too long a time.\n"};
}

}  // namespace ib::tools::exporter
