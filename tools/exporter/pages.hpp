// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the exporter answers to HTTP requests: /metrics, a page for people, and whether it runs and is ready.
#pragma once

#include <string>

#include "http/server.hpp"
#include "metrics/page.hpp"
#include "tools/exporter/local_ports.hpp"

namespace ib::tools::exporter {

/// Which page a request for /metrics wants. Throws UsageError for a shard, a collector or a parameter that there is not.
metrics::PageWanted wanted_by(const http::Request& request);

/// Whether the header Accept `accepted` prefers OpenMetrics (RFC 9110, 12.5.1).
bool prefers_openmetrics(std::string_view accepted);

/// The page for people, as HTML.
std::string front_page(const metrics::View& view, std::chrono::system_clock::time_point now);

class Pages {
 public:
  /// All must outlive this object and all bodies of answers.
  Pages(const LocalPorts& ports, const metrics::PageRules& rules, const async::Clock& clock)
      : ports_(ports), rules_(rules), clock_(clock) {}

  http::Answer answer(const http::Request& request) const;

 private:
  /// The engine of the port that a request names. Throws UsageError.
  const Engine& engine_of(const http::Request& request) const;
  http::Answer metrics_page(const http::Request& request) const;
  http::Answer people_page(const http::Request& request) const;
  http::Answer ready_page() const;

  const LocalPorts& ports_;
  const metrics::PageRules& rules_;
  const async::Clock& clock_;
};

}  // namespace ib::tools::exporter
