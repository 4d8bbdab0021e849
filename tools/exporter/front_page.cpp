// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The page for people: when the fabric was swept and read, how large it is, and what does not answer. It needs no script and nothing from
// elsewhere. Names come from the fabric, and may hold anything: text is escaped here and nowhere else.
#include <fmt/format.h>

#include <iterator>

#include "base/escape.hpp"
#include "base/utc_time.hpp"
#include "tools/exporter/pages.hpp"

namespace ib::tools::exporter {
namespace {

constexpr std::size_t most_rows = 100;  // of one list

/// `text` for HTML: nothing of it is markup, controls are visible.
std::string html(std::string_view text) {
  std::string escaped;
  for (const char c : harmless_line(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

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
    if (lines.size() > most_rows) fmt::format_to(std::back_inserter(out_), "<li>and {} more\n", lines.size() - most_rows);
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
    const std::string_view how = outcome == Outcome::silent ? "silent" : outcome == Outcome::refused ? "refused" : "read in part";
    lines.push_back(fmt::format("0x{:016x} {}: {}", devices[at].guid.value, fabric.name(devices[at].node), how));
  }
  return lines;
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

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ibtool exporter</title>
<style>body{font:1em sans-serif;margin:2em}th{text-align:left;padding-right:2em;font-weight:normal}</style></head><body>
<h1>ibtool exporter</h1>
<p><a href="/metrics">Metrics</a>, <a href="/-/healthy">healthy</a>, <a href="/-/ready">ready</a></p>
<table>
)";

}  // namespace

std::string front_page(const metrics::View& view, metrics::WallTime now) {
  Writer page;
  page.add(head);
  page.row("Version", view.exporter.version);
  page.row("MADs sent", std::to_string(view.exporter.mads_sent));
  page.row("Sweeps", std::to_string(view.exporter.sweeps));
  if (view.reading) add_fabric(page, view, now);
  page.add("</table>\n");
  if (view.reading) {
    add_troubles(page, view);
  } else {
    page.add("<p>The fabric was not read yet, or not for too long a time.</p>\n");
  }
  page.add("</body></html>\n");
  return page.take();
}

}  // namespace ib::tools::exporter
