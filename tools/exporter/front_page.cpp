// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The page for people: whether all is well, what is wrong with which cable, what does not answer, a picture, and when the fabric was swept
// and read. It needs no script and nothing from elsewhere, and forbids both. Names come from the fabric, and may hold anything: text is
// escaped by html() and nowhere else. Lists show so many rows, so that the size of the page is bounded.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/escape.hpp"
#include "base/utc_time.hpp"
#include "tools/exporter/pages.hpp"

namespace ib::tools::exporter {
namespace {

constexpr std::size_t most_rows = 100;      // of one list
constexpr std::size_t longest_text = 1000;  // bytes of one text: names of a node name map may have any length

void add_row(std::string& page, std::string_view name, std::string_view value) {
  fmt::format_to(std::back_inserter(page), "<tr><th>{}<td>{}\n", name, html(value));
}

/// A list of `count` rows, of which the first ones are shown. `row` returns the row of an index as HTML.
void add_list(std::string& page, std::string_view heading, std::size_t count, auto row) {
  if (count == 0) return;
  fmt::format_to(std::back_inserter(page), "<h2>{}: {}</h2>\n<ul>\n", heading, count);
  for (std::size_t at = 0; at < std::min(count, most_rows); ++at) page += fmt::format("<li>{}\n", row(at));
  if (count > most_rows) page += fmt::format("<li>and {} more\n", count - most_rows);
  page += "</ul>\n";
}

std::string when(metrics::WallTime time, std::chrono::nanoseconds took, metrics::WallTime now) {
  const double ago = std::chrono::duration<double>(now - time).count();
  return fmt::format("{} ({:.0f} s ago, took {:.3f} s)", utc_text(time), ago, std::chrono::duration<double>(took).count());
}

/// The devices whose counters were not read.
std::vector<std::string> unread(const metrics::Reading& reading, bool are_switches) {
  using Outcome = metrics::DeviceReading::Outcome;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < reading.devices.size(); ++at) {
    const metrics::Device& device = reading.fabric->devices[at];
    const Outcome outcome = reading.devices[at].outcome;
    if (device.is_switch != are_switches || !metrics::has_failed(reading.devices[at])) continue;
    const std::string_view how = outcome == Outcome::silent    ? "silent"
                                 : outcome == Outcome::refused ? "refused"
                                 : outcome == Outcome::moved   ? "another device has its LID"
                                 : outcome == Outcome::unowned ? "it does not identify itself"
                                                               : "read in part";
    lines.push_back(fmt::format("0x{:016x} {}: {}", device.guid.value, reading.fabric->name(device.node), how));
  }
  return lines;
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
  const metrics::SweptFabric& fabric = *reading.fabric;
  for (const bool are_switches : {true, false}) {
    const std::vector<std::string> lines = unread(reading, are_switches);
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

}  // namespace

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

std::string front_page(const metrics::View& view, metrics::WallTime now) {
  std::string page(head);
  add_verdict(page, view);
  add_findings(page, view);
  if (view.reading) {
    add_troubles(page, *view.reading);
    page += tier_picture(*view.reading->fabric, *view.states, view.findings.get());
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

}  // namespace ib::tools::exporter
