// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports with errors: the text, in the layout of infiniband-diags, whose dialect has its own forms of GUIDs and names in it; JSON; and a
// table of what is known of the port, its counters in words, and a column for each counter.
#include "tools/ibqueryerrors/ibqueryerrors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "iba/text.hpp"
#include "report/sink.hpp"
#include "sa/records.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/rate.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

/// The columns of a row that are known and that `is_wanted`, a predicate of counters::Column, selects.
template <class IsWanted>
std::vector<std::size_t> known_columns(const counters::CounterRow& row, IsWanted is_wanted) {
  std::vector<std::size_t> found;
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (row.is_known(column) && std::invoke(is_wanted, counters::columns[column])) found.push_back(column);
  }
  return found;
}
std::vector<std::size_t> known_columns(const counters::CounterRow& row, counters::Source source) {
  return known_columns(row, [source](const counters::Column& column) { return column.source == source; });
}

/// " [PortInactiveDiscards == 3]" for each counter of details that is not zero.
std::string details_text(const counters::CounterRow& row, counters::Source source) {
  std::string text;
  for (const std::size_t column : known_columns(row, source)) {
    if (row.value(column) != 0) text += fmt::format(" [{} == {}]", dialects_of(row.field(column)).libibmad, row.value(column));
  }
  return text;
}

std::string traffic_text(const counters::CounterRow& row, bool with_zeros) {
  std::string text;
  for (const std::size_t column : known_columns(row, &counters::Column::is_traffic)) {
    const std::uint64_t value = row.value(column);
    if (value == 0 && !with_zeros) continue;
    const bool is_data = counters::columns[column].meaning == counters::Meaning::data;
    text += fmt::format(" [{} == {} ({})]", dialects_of(row.named_field(column)).libibmad, value, human_count(value, is_data));
  }
  return text;
}

void visit_count(report::Sink& sink, const counters::CounterRow& row, std::size_t column) {
  sink.value("counter", counters::columns[column].field);
  sink.value("count", row.value(column), report::counter(row.field(column).unit));
}

void visit_counts(report::Sink& sink, std::string_view key, const counters::CounterRow& row, const std::vector<std::size_t>& columns) {
  sink.objects(key, columns, [&](std::size_t column) { visit_count(sink, row, column); });
}

void visit_errors(report::Sink& sink, std::string_view key, const QueryOptions& wanted, const counters::CounterRow& row) {
  sink.objects(key, wanted.errors_of(row), [&](std::size_t error) {
    visit_count(sink, row, error);
    sink.value("threshold", wanted.threshold_of(counters::columns[error].field));
    sink.value("saturated", row.is_full(error));
  });
}

/// The columns of details that are known, those of discards first.
std::vector<std::size_t> details_of(const counters::CounterRow& row) {
  std::vector<std::size_t> details = known_columns(row, counters::Source::discard_details);
  std::ranges::copy(known_columns(row, counters::Source::error_details), std::back_inserter(details));
  return details;
}

using report::Cell;
using Columns = std::vector<report::Column<ErrorLine>>;

/// "SymbolErrorCounter 12, PortRcvErrors 3": those of `columns` that are not 0, in the order of all columns.
std::string words_of(const counters::CounterRow& row, std::vector<std::size_t> columns) {
  std::ranges::sort(columns);
  std::string words;
  for (const std::size_t column : columns) {
    if (row.value(column) == 0) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", dialects_of(row.named_field(column)).libibmad, row.value(column));
  }
  return words;
}

Cell errors_cell(const ErrorLine& line) {
  const QueryOptions& wanted = line.report->wanted;
  return report::Nested{words_of(line.counts, wanted.errors_of(line.counts)),
                        [&](report::Sink& sink, std::string_view key) { visit_errors(sink, key, wanted, line.counts); }};
}

Cell details_cell(const ErrorLine& line) {
  return report::Nested{words_of(line.counts, details_of(line.counts)), [&line](report::Sink& sink, std::string_view key) {
                          visit_counts(sink, key, line.counts, details_of(line.counts));
                        }};
}

/// A column for each counter that is read. Usual ones are data, and without errors packets too.
void add_counters(Columns& to, const QueryOptions& wanted) {
  const counters::CounterRow any;
  for (std::size_t at = 0; at < counters::columns.size(); ++at) {
    const counters::Column& of = counters::columns[at];
    const bool is_read = of.source == counters::Source::counters
                             ? (of.is_traffic() ? wanted.data || wanted.data_only : !wanted.data_only)
                             : of.source != counters::Source::fec && wanted.details && !wanted.data_only;
    if (!is_read) continue;
    const counters::CounterInfo* counter = counters::find_counter(of.field);
    const FieldInfo& field = any.named_field(at);
    const bool is_usual = of.is_traffic() && counter->narrow != nullptr && (wanted.data_only || of.meaning == counters::Meaning::data);
    to.push_back({{.key = of.field, .heading = dialects_of(field).libibmad, .measure = report::counter(field.unit), .usual = is_usual},
                  [at](const ErrorLine& line) { return report::cell(line.counts.count(at)); }});
  }
}

}  // namespace

void add_thresholds(OptionSet& set, QueryOptions& wanted) {
  set.text({"-T --threshold-file", "--threshold-file"}, wanted.threshold_file, "FILE",
           "Thresholds, the highest counts that are not errors: lines COUNTER=NUMBER.");
}
void add_report_options(OptionSet& set, QueryOptions& wanted) {
  set.action("-c --suppress-common", "Do not count PortRcvSwitchRelayErrors as errors.",
             [&wanted] { wanted.suppress("PortRcvSwitchRelayErrors"); });
  set.flag("-r --report-port", wanted.report_port, "Show the links of ports with errors.");
  set.flag("--data", wanted.data, "Show data and packets of ports with errors too.");
  set.action("--switch", "Check switches.", [&wanted] { wanted.kinds |= {subnet::NodeKind::sw}; });
  set.action("--ca", "Check channel adapters.", [&wanted] { wanted.kinds |= {subnet::NodeKind::ca}; });
  set.action("--router", "Check routers.", [&wanted] { wanted.kinds |= {subnet::NodeKind::router}; });
  set.flag("--details", wanted.details, "Show why packets were discarded, and details of receive errors.");
  set.flag("--counters", wanted.data_only, "Show data and packets of all ports, and no errors.");
  set.flag("-k --clear-errors", wanted.clear_errors, "Clear the error counters after they were read.");
  set.flag("-K --clear-counts", wanted.clear_counts, "Clear the data and packet counters after they were read.");
}

std::string human_count(std::uint64_t value, bool data) {
  constexpr std::array<const char*, 7> units{"", "K", "M", "G", "T", "P", "E"};
  unsigned unit = 0;
  std::uint64_t divisor = 1;
  for (std::uint64_t rest = value / 1024; rest != 0; rest /= 1024) {
    ++unit;
    divisor *= 1024;
  }
  auto shown = static_cast<float>(value);
  if (data) {
    shown *= 4;
    if (shown / static_cast<float>(divisor) > 1024) {
      ++unit;
      divisor *= 1024;
    }
  }
  return fmt::format("{:5.3f}{}{}", static_cast<double>(shown / static_cast<float>(divisor)), units.at(unit), data ? "B" : "");
}

async::Task<> find_paths_to(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, NodeIndex node, PathQuery query) {
  co_await stack.prepare_sa();
  if (!stack.transactor().knows_sa()) co_return paths.do_without(std::string(mad::no_sa_is_known));
  std::vector<PortIndex> ends;
  for (const PortIndex port : counters::countable_ports(fabric.subnet, node)) ends.push_back(fabric.subnet.end_port_of(port));
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  for (const PortIndex end : ends) {
    if (!query.of_route && fabric.subnet.lid(end) == stack.host().end_port().lid) continue;
    path::IbPath to;  // by its GID where that is known, else by its LID
    to.end_port = &stack.host().end_port();
    if (query.known && query.known->guid() == fabric.subnet.port_guid(end)) {
      to.dgid = query.known;
    } else {
      to.dlid = fabric.subnet.lid(end);
    }
    const path::Path by = to;
    try {
      const path::Path path = co_await stack.gmp_path(&by);
      paths.use(end, path);
    } catch (const SysError&) {
      throw;
    } catch (const Error& error) {
      const auto* answer = dynamic_cast<const mad::MadError*>(&error);
      const std::optional<path::Path> plain = subnet::gmp_path(fabric.subnet, end, stack.here());
      if (query.plain_if_none && plain && answer != nullptr && sa::is_no_records(*answer)) {
        paths.use(end, *plain);
        continue;
      }
      paths.do_without(error.message());
      if (query.of_route) break;
    }
  }
}

void summary_text(TextOut& out, const counters::ErrorSummary& summary) {
  out.print("\n## Summary: {} nodes checked, {} bad nodes found\n", summary.nodes, summary.bad_nodes);
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", summary.ports, summary.bad_ports);
}

std::string ErrorReport::quoted_name(NodeIndex at) const {
  const subnet::Node* node = at == subnet::none ? nullptr : &fabric.subnet.node(at);
  if (is_diags) return '"' + (node != nullptr ? diags_node_name(*node, fabric.names) : std::string()) + '"';
  return in_quotes(node != nullptr ? subnet::name_of(*node, &fabric.names) : std::string_view());
}

std::string ErrorReport::guid(Guid value) const { return is_diags ? fmt::format("0x{:x}", value.value) : to_text(value); }

Exit ErrorReport::status() const { return summary.bad_ports != 0 ? Exit::findings : FabricReport::status(); }

void ErrorReport::group_ports() { grouping = subnet::group(fabric.subnet, subnet::breadth_first(fabric.subnet)); }

std::string ErrorReport::errors_text(const counters::PmaReading& reading) const {
  std::string text;
  const counters::CounterRow& row = reading.row;
  for (const std::size_t error : wanted.errors_of(row)) {
    text += fmt::format(" [{} == {}", dialects_of(row.named_field(error)).libibmad, row.value(error));
    text += row.field(error).bits == 64 ? fmt::format(" ({})]", human_count(row.value(error), false)) : "]";
    if (counters::columns[error].field == "port_xmit_discards") text += details_text(row, counters::Source::discard_details);
    if (counters::columns[error].field == "port_rcv_errors") text += details_text(row, counters::Source::error_details);
  }
  return text;
}

void ErrorReport::reading_text(TextOut& out, const counters::PmaNode& node, const counters::PmaReading& reading) const {
  const subnet::Node& of = fabric.subnet.node(node.node);
  const bool all = reading.select == subnet::all_ports;
  if (all && of.kind() != subnet::NodeKind::sw) return;
  const Guid at = wanted.data_only ? of.guid() : fabric.subnet.port_guid(reading.port);
  const std::string select = all ? "ALL" : std::to_string(reading.select);
  const std::string counts = wanted.data_only ? traffic_text(reading.row, true)
                                              : errors_text(reading) + (wanted.data ? traffic_text(reading.row, false) : std::string());
  out.print("   GUID {} port {}:{}\n", guid(at), select, counts);
  if (wanted.report_port && !all)
    out.print("       Link info: {:6}{:4}[{:>2}] =={}==>  {}", fabric.subnet.lid(reading.port).value, reading.select,
              grouping.external_text(reading.port), diags_link_text(fabric.subnet, reading.port), far_end(reading.port));
}

std::string ErrorReport::far_end(PortIndex at) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const PortIndex peer = subnet.port(at).peer;
  if (peer == subnet::none) return fmt::format("           [  ] {} ( )\n", quoted_name(peer));
  const Guid guid = subnet.port_guid(peer);
  const std::string text =
      fmt::format("{} {:6} {:4}[{:>2}] {} ({})\n", is_diags ? fmt::format("0x{:016x}", guid.value) : to_text(guid), subnet.lid(peer).value,
                  subnet.port(peer).number, grouping.external_text(peer), quoted_name(subnet.port(peer).node), diags_could_be(subnet, at));
  constexpr std::size_t most = 255;  // what infiniband-diags has room for
  return is_diags ? text.substr(0, most) : text;
}

void ErrorReport::node_text(TextOut& out, const counters::PmaNode& node) const {
  const subnet::Node& of = fabric.subnet.node(node.node);
  std::string heading = wanted.data_only ? fmt::format("Data Counters for {} {}\n", guid(of.guid()), quoted_name(node.node))
                        : of.kind() == subnet::NodeKind::sw
                            ? fmt::format("Errors for {} {}\n", guid(fabric.subnet.port_guid(of.first_port)), quoted_name(node.node))
                            : fmt::format("Errors for {}\n", quoted_name(node.node));
  const auto print = [&](const counters::PmaReading& reading) {
    if (!is_reported(reading)) return;
    out.write(std::exchange(heading, {}));
    reading_text(out, node, reading);
  };
  if (node.all) print(*node.all);
  std::ranges::for_each(node.ports, print);
}

void ErrorReport::text(TextOut& out) const {
  summary_text(out, summary);
  out.write(has_thresholds ? "## Thresholds: " : "## (null)");  // C prints a null pointer so
  for (const auto& [counter, value] : wanted.given) out.print("[{} = {}]", libibmad_name(*counter), value);
  out.write("\n");
  if (summary.failed_requests != 0) out.print("##          {} PMA query failures\n", summary.failed_requests);
  out.write("## Suppressed:");
  for (const std::string& counter : wanted.suppressed) out.print(" {}", counter);
  out.write("\n");
}

void visit_summary(report::Sink& sink, const counters::ErrorSummary& summary) {
  sink.value("nodes_checked", summary.nodes);
  sink.value("nodes_bad", summary.bad_nodes);
  sink.value("ports_checked", summary.ports);
  sink.value("ports_bad", summary.bad_ports);
}

void ErrorReport::visit_counters(report::Sink& sink, const counters::CounterRow& row) const {
  if (!wanted.data_only) visit_errors(sink, "errors", wanted, row);
  if (wanted.details) visit_counts(sink, "details", row, details_of(row));
  if (wanted.data || wanted.data_only) visit_counts(sink, "traffic", row, known_columns(row, &counters::Column::is_traffic));
}

void ErrorReport::visit_node(report::Sink& sink, const counters::PmaNode& node) const {
  visit_names(sink, node.node);
  if (node.all && is_reported(*node.all)) {
    sink.begin_object("all_ports");
    visit_counters(sink, node.all->row);
    sink.end_object();
  } else {
    sink.null_object("all_ports", [this](report::Sink& unknown) {
      if (!wanted.data_only) unknown.null("errors");
      if (wanted.details) unknown.null("details");
      if (wanted.data || wanted.data_only) unknown.null("traffic");
    });
  }
  sink.begin_array("ports");
  each_reported_port(node, [&](const counters::PmaReading& reading) {
    sink.begin_object();
    visit_port_members(sink, reading.port);
    visit_counters(sink, reading.row);
    sink.end_object();
  });
  sink.end_array();
}

/// Writes the members of a node with a port of which all counters are known, and are errors.
void ErrorReport::visit_example(report::Sink& sink) const {
  QueryOptions every = wanted;
  every.suppressed.clear();
  every.thresholds = {};
  counters::PmaReading reading;
  reading.port = 0;
  reading.row.known = ~std::uint64_t{0};
  reading.row.counters.fill(1);
  counters::PmaNode node;
  node.node = fabric.subnet.port(reading.port).node;
  node.ports.push_back(reading);
  ErrorReport(fabric, every).visit_node(sink, node);
}

void ErrorReport::visit(report::Sink& sink) const {
  sink.begin_array("nodes");
  if (!fabric.subnet.ports().empty()) report::announce(sink, [this](report::Sink& to) { visit_example(to); });
  for (const counters::PmaNode& node : readings.nodes) {
    const bool reported = (node.all && is_reported(*node.all)) ||
                          std::ranges::any_of(node.ports, [this](const counters::PmaReading& reading) { return is_reported(reading); });
    if (!reported) continue;
    sink.begin_object();
    visit_node(sink, node);
    sink.end_object();
  }
  sink.end_array();
  visit_summary(sink, summary);
  sink.objects("thresholds", wanted.thresholds.all(), [&](const counters::ErrorThresholds::Threshold& threshold) {
    sink.value("counter", threshold.counter->name);
    sink.value("threshold", threshold.value);
  });
  sink.array("suppressed", wanted.suppressed, [&](const std::string& counter) {
    const auto is_called = [&counter](const FieldInfo& field) { return dialects_of(field).libibmad == counter; };
    const auto field = std::ranges::find_if(pm::PortCounters::info().fields, is_called);
    sink.value({}, field->name);
  });
  visit_failures(sink);
}

Columns error_columns(const QueryOptions& wanted) {
  Columns columns = listed_columns_of<ErrorLine>({"node_description", "port_num", "peer.node_description", "peer.port_num"});
  if (!wanted.data_only) columns.push_back({{.key = "errors", .heading = "ERRORS", .usual = true}, errors_cell});
  if (wanted.details && !wanted.data_only) columns.push_back({{.key = "details", .heading = "DETAILS", .usual = true}, details_cell});
  add_counters(columns, wanted);
  return columns;
}

}  // namespace ib::tools::ibqueryerrors
