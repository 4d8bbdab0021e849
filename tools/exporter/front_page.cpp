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
#include "health/finding_text.hpp"
#include "tools/exporter/pages.hpp"
#include "tools/exporter/tier_picture.hpp"

namespace ib::tools::exporter {
namespace {

constexpr std::size_t most_rows = 100;      // of one list
constexpr std::size_t longest_text = 1000;  // bytes of one text: names of a node name map may have any length

class Writer {
 public:
  void add(std::string_view text) { out_ += text; }
  void row(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(out_), "<tr><th>{}<td>{}\n", html(name), html(value));
  }
  /// A list of which the first rows are shown.
  void list(std::string_view heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    fmt::format_to(std::back_inserter(out_), "<h2>{}: {}</h2>\n<ul>\n", html(heading), lines.size());
    for (std::size_t at = 0; at < std::min(lines.size(), most_rows); ++at)
      fmt::format_to(std::back_inserter(out_), "<li>{}\n", html(lines[at]));
    end_list(lines.size(), most_rows);
  }
  /// A finding: its level, check and confidence, what was seen, and what to do.
  void finding(const metrics::Findings& found, std::size_t at) {
    const metrics::Findings::Finding& of = found.list[at];
    const std::string_view level = metrics::Findings::levels.at(of.level);
    fmt::format_to(std::back_inserter(out_), "<li><b class=\"{}\">{}: {}</b> ({}): {}<br>{}\n", level, level, html(of.check),
                   html(of.confidence), html(found.texts[at]), html(found.remedies[at]));
  }
  void end_list(std::size_t count, std::size_t shown) {
    if (count > shown) fmt::format_to(std::back_inserter(out_), "<li>and {} more\n", count - shown);
    out_ += "</ul>\n";
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string when(metrics::WallTime time, std::chrono::nanoseconds took, metrics::WallTime now) {
  const double ago = std::chrono::duration<double>(now - time).count();
  return fmt::format("{} ({:.0f} s ago, took {:.3f} s)", utc_text(time), ago, std::chrono::duration<double>(took).count());
}

/// The devices whose counters were not read.
std::vector<std::string> unread(const metrics::SweptFabric& fabric, const std::vector<metrics::Device>& devices,
                                const std::vector<metrics::DeviceReading>& readings) {
  using Outcome = metrics::DeviceReading::Outcome;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < readings.size(); ++at) {
    const Outcome outcome = readings[at].outcome;
    if (!metrics::has_failed(readings[at])) continue;
    const std::string_view how = outcome == Outcome::silent    ? "silent"
                                 : outcome == Outcome::refused ? "refused"
                                 : outcome == Outcome::moved   ? "another device has its LID"
                                 : outcome == Outcome::unowned ? "it does not identify itself"
                                                               : "read in part";
    lines.push_back(fmt::format("0x{:016x} {}: {}", devices[at].guid.value, fabric.name(devices[at].node), how));
  }
  return lines;
}

/// How many findings there are of the levels that matter: "1 error, 2 warnings".
std::string counts_text(const metrics::Findings& found) {
  std::string text;
  for (std::size_t level = metrics::Findings::levels.size(); level-- > 0;) {
    const std::size_t count = found.count(static_cast<std::uint8_t>(level));
    if (count == 0) continue;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, metrics::Findings::levels.at(level), count == 1 ? "" : "s");
  }
  return text;
}

/// The verdict, with the worst level as its class: what is not read is at least a warning.
void add_verdict(Writer& page, const metrics::View& view) {
  if (!view.reading && view.shown_findings() != nullptr) {
    page.add(fmt::format("<p class=\"verdict error\">{}, and nothing else can be read.</p>\n", html(counts_text(*view.findings))));
    return;
  }
  if (!view.reading || !view.findings) {
    page.add("<p class=\"error\">Not known: the fabric was not read yet, or not for too long a time.</p>\n");
    return;
  }
  const metrics::Findings& found = *view.findings;
  const std::uint8_t worst = std::max<std::uint8_t>(found.list.empty() ? 0 : found.list.front().level, found.is_unknown ? 1 : 0);
  page.add(fmt::format("<p class=\"verdict {}\">{}</p>\n", worst == 0 ? "good" : metrics::Findings::levels.at(worst), html(found.verdict)));
}

void add_findings(Writer& page, const metrics::View& view) {
  if (view.shown_findings() == nullptr || view.findings->list.empty()) return;
  const metrics::Findings& found = *view.findings;
  page.add(fmt::format("<h2>Findings: {}</h2>\n<ul>\n", found.list.size()));
  const std::size_t shown = std::min(found.texts.size(), most_rows);
  for (std::size_t at = 0; at < shown; ++at) page.finding(found, at);
  page.end_list(found.list.size(), shown);
}

void add_fabric(Writer& page, const metrics::View& view, metrics::WallTime now) {
  const metrics::Reading& reading = *view.reading;
  const metrics::SweptFabric& fabric = *reading.fabric;
  page.row("Counters read", when(reading.time, reading.took, now));
  page.row("Fabric swept", when(fabric.time, fabric.took, now));
  page.row("Switches", std::to_string(fabric.switches.size()));
  page.row("Ports of channel adapters", std::to_string(fabric.hcas.size()));
  page.row("Ports with counters", std::to_string(reading.rows.size()));
}

void add_troubles(Writer& page, const metrics::View& view) {
  const metrics::Reading& reading = *view.reading;
  const metrics::SweptFabric& fabric = *reading.fabric;
  page.list("Switches whose counters were not read", unread(fabric, fabric.switches, reading.switches));
  page.list("Ports of channel adapters whose counters were not read", unread(fabric, fabric.hcas, reading.hcas));
  std::vector<std::string> lines;
  for (const subnet::Failure& failure : fabric.failures) lines.push_back(failure.why);
  page.list("What the sweep could not read", lines);
  lines.clear();
  for (const Guid guid : fabric.twins) lines.push_back(fmt::format("0x{:016x}", guid.value));
  page.list("GUIDs that more than one device claims", lines);
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
  Writer page;
  page.add(head);
  add_verdict(page, view);
  add_findings(page, view);
  if (view.reading) {
    add_troubles(page, view);
    page.add(tier_picture(*view.reading->fabric, *view.states, view.findings.get()));
  }
  page.add("<table>\n");
  if (view.reading) add_fabric(page, view, now);
  page.row("MADs sent", std::to_string(view.exporter.mads_sent));
  page.row("Sweeps", std::to_string(view.exporter.sweeps));
  page.row("Version", view.exporter.version);
  page.add("</table>\n</body></html>\n");
  return page.take();
}

}  // namespace ib::tools::exporter
