// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the exporter answers to HTTP requests: /metrics, a page for people, and whether it runs and is ready.
#pragma once

#include <string>

#include "http/server.hpp"
#include "metrics/families.hpp"
#include "tools/exporter/engine.hpp"

namespace ib::tools::exporter {

/// Which page a request for /metrics wants. Throws UsageError for a shard, a collector or a parameter that there is not.
metrics::PagePart part_of(const http::Request& request);

/// Whether the header Accept `accepted` prefers OpenMetrics (RFC 9110, 12.5.1).
bool prefers_openmetrics(std::string_view accepted);

/// `text` for HTML: nothing of it is markup, controls are visible, and what is longer than a name should be is cut.
std::string html(std::string_view text);
/// A small picture of a fabric as an SVG element: its switches in tiers by how far they are from hosts, the links between them, and which
/// of these have findings. A tier of a large fabric has one mark for several switches, so that the size is bounded. Empty without switches.
std::string tier_picture(const metrics::SweptFabric& fabric, const metrics::PortStates& states, const metrics::Findings* findings);

/// The page for people, as HTML.
std::string front_page(const metrics::View& view, std::chrono::system_clock::time_point now);

/// Answers a request. `ports` and `rules` must outlive the body of the answer.
http::Answer answer(const http::Request& request, const LocalPorts& ports, const metrics::PageRules& rules, const async::Clock& clock);

}  // namespace ib::tools::exporter
