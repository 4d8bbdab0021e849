// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the exporter answers to HTTP requests: /metrics, a page for people, and whether it lives and is ready.
#pragma once

#include <string>

#include "http/server.hpp"
#include "metrics/page.hpp"
#include "tools/exporter/engine.hpp"

namespace ib::tools::exporter {

/// Which page a request for /metrics wants. Throws UsageError for a shard, a collector or a parameter that there is not.
metrics::PageWanted wanted_by(const http::Request& request);

/// Whether the header Accept `accepted` prefers OpenMetrics (RFC 9110, 12.5.1).
bool prefers_openmetrics(std::string_view accepted);

/// The page for people, as HTML.
std::string front_page(const metrics::View& view, std::chrono::system_clock::time_point now);

class Pages {
 public:
  /// Both must outlive this object and all bodies of answers.
  Pages(const Engine& engine, const metrics::PageRules& rules, const async::Clock& clock) : engine_(engine), rules_(rules), clock_(clock) {}

  http::Answer answer(const http::Request& request) const;

 private:
  http::Answer metrics_page(const http::Request& request) const;

  const Engine& engine_;
  const metrics::PageRules& rules_;
  const async::Clock& clock_;
};

}  // namespace ib::tools::exporter
