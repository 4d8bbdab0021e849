// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools::exporter {
namespace {

using http::Answer;
using http::Request;

constexpr std::uint32_t most_shards = 1024;
constexpr std::uint64_t rounds_until_outdated = 2;  // no client may hold a reading when the second one after it begins

/// A page while it is sent.
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
  if (selected == 0) return metrics::select_all;
  return static_cast<std::uint8_t>(selected);
}

/// The engine of the port that a request names. Throws UsageError.
const Engine& engine_of(const Request& request, const LocalPorts& ports) {
  const std::string_view name = request.value("port").value_or(std::string_view());
  if (const Engine* engine = ports.find(name)) return *engine;
  throw UsageError(fmt::format("port: {} is none of {}", in_quotes(name), ports.names()));
}

}  // namespace

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
  if (ports.are_ready()) return {.text = "The exporter is ready.\n"};
  return {.status = 503, .text = "The fabric was not read yet, or not for too long a time.\n"};
}

}  // namespace ib::tools::exporter
