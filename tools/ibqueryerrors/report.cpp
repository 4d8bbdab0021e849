// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What counts as an error, and the text, in the layout of infiniband-diags. DiagsErrorReport puts its own forms of GUIDs and names in it.
#include "tools/ibqueryerrors/ibqueryerrors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "iba/text.hpp"
#include "sa/records.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"
#include "tools/shared/diags_fabric.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

/// " [PortInactiveDiscards == 3]" for each counter of details that is not zero.
std::string details_text(const counters::CounterRow& row, counters::Source source) {
  std::string text;
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (counters::columns[column].source == source && row.value(column) != 0)
      text += fmt::format(" [{} == {}]", dialects_of(row.field(column)).libibmad, row.value(column));
  }
  return text;
}

std::string traffic_text(const counters::PmaReading& reading, bool with_zeros) {
  std::string text;
  for (const counters::CounterInfo& counter : counters::counter_infos()) {
    if (!counter.traffic) continue;
    const std::optional<std::uint64_t> value = reading.row.count(counter.column);
    if (!value || (*value == 0 && !with_zeros)) continue;
    text += fmt::format(" [{} == {} ({})]", counter_name(counter), *value, human_count(*value, counter.octets != 0));
  }
  return text;
}

constexpr std::string_view common_error = "PortRcvSwitchRelayErrors";
constexpr std::size_t longest_file = std::size_t{1} << 20;  // bytes
constexpr std::size_t most_suppressed = 64;

/// Whether infiniband-diags has a field of PortCounters of that name. QP1Dropped stands elsewhere in its table.
bool names_field(std::string_view name) {
  return std::ranges::any_of(pm::PortCounters::info().fields, [name](const FieldInfo& field) {
    return !field.reserved && field.name != "qp1_dropped" && dialects_of(field).libibmad == name;
  });
}

}  // namespace

void add_thresholds(OptionSet& set, QueryOptions& wanted) {
  set.text({"-T --threshold-file", "--threshold-file"}, wanted.threshold_file, "FILE",
           "Thresholds, the highest counts that are not errors: lines COUNTER=NUMBER.");
}
void add_report_options(OptionSet& set, QueryOptions& wanted, ErrorRules& rules) {
  set.action("-c --suppress-common", "Do not count PortRcvSwitchRelayErrors as errors.", [&rules] { rules.suppress(common_error); });
  set.flag("-r --report-port", wanted.report_port, "Show the links of ports with errors.");
  set.flag("--data", wanted.data, "Show data and packets of ports with errors too.");
  set.flag("--switch", wanted.switches, "Check switches.");
  set.flag("--ca", wanted.cas, "Check channel adapters.");
  set.flag("--router", wanted.routers, "Check routers.");
  set.flag("--details", wanted.details, "Show why packets were discarded, and details of receive errors.");
  set.flag("--counters", wanted.data_only, "Show data and packets of all ports, and no errors.");
  set.flag("-k --clear-errors", wanted.clear_errors, "Clear the error counters after they were read.");
  set.flag("-K --clear-counts", wanted.clear_counts, "Clear the data and packet counters after they were read.");
}

counters::ReadingPlan plan_of(const QueryOptions& wanted, const ErrorRules& applied) {
  counters::ReadingPlan plan;
  using Counts = counters::ReadingPlan::Counts;
  plan.counts = wanted.data_only ? Counts::traffic : wanted.data ? Counts::all : Counts::errors;
  if (wanted.data_only) plan.ports = counters::ReadingPlan::Ports::each;
  const ErrorRules* rules = &applied;
  const auto further = [rules, details = wanted.details](const counters::PmaReading& reading) -> counters::Further {
    const std::vector<std::size_t> errors = rules->errors_of(reading.row);
    const auto has = [&errors](std::string_view counter) { return std::ranges::count(errors, counters::column_of(counter)) != 0; };
    return {.ports = !errors.empty(),
            .discard_details = details && has("port_xmit_discards"),
            .error_details = details && has("port_rcv_errors")};
  };
  if (!wanted.data_only) plan.further = further;
  const auto clear = [errors = wanted.clear_errors, counts = wanted.clear_counts](const counters::CounterInfo& counter) {
    return counter.traffic ? counts : errors && counter.name != "qp1_dropped";
  };
  if (wanted.clears()) plan.clear = clear;
  plan.clear_details = wanted.clear_errors && wanted.details;
  return plan;
}

const std::vector<const counters::CounterInfo*>& error_counters() {
  static const std::vector<const counters::CounterInfo*> counters = [] {
    std::vector<const counters::CounterInfo*> found;
    for (const counters::CounterInfo& counter : counters::counter_infos()) {
      if (!counter.traffic && counter.narrow != nullptr && counter.name != "qp1_dropped") found.push_back(&counter);
    }
    return found;
  }();
  return counters;
}

std::string_view counter_name(const counters::CounterInfo& counter) {
  return dialects_of(counter.narrow != nullptr ? *counter.narrow : *counter.wide).libibmad;
}

bool ErrorRules::read_thresholds(const std::string& file) {
  std::string content;
  try {
    content = read_regular_file(file, longest_file);
  } catch (const Error&) {
    return false;
  }
  SettingLines lines(content);
  while (const auto line = lines.next()) {
    for (const counters::CounterInfo* counter : error_counters()) {
      // Blanks before the name, or between it and '=', make the line one of another name.
      if (!line->whole.starts_with(fmt::format("{}=", counter_name(*counter)))) continue;
      set_threshold(*counter, c_number(std::string(line->value)));
    }
  }
  return true;
}

void ErrorRules::take(const counters::ErrorThresholds& read) {
  for (const auto& [counter, value] : read.all()) {
    if (std::ranges::find(error_counters(), counter) != error_counters().end()) set_threshold(*counter, value);
  }
}

void ErrorRules::set_threshold(const counters::CounterInfo& counter, std::uint64_t value) {
  text += fmt::format("[{} = {}]", counter_name(counter), value);
  thresholds.set(counter, value);
}

void ErrorRules::suppress(std::string_view name) {
  if (name.empty() || !names_field(name)) return;
  (suppressed.size() < most_suppressed ? suppressed : skipped).emplace_back(name);
}

bool ErrorRules::is_suppressed(const counters::CounterInfo& counter) const {
  return std::ranges::find(suppressed, counter_name(counter)) != suppressed.end();
}

std::vector<std::size_t> ErrorRules::errors_of(const counters::CounterRow& row) const {
  std::vector<std::size_t> errors;
  for (const counters::CounterInfo* counter : error_counters()) {
    const std::uint64_t value = row.count(counter->column).value_or(0);
    if (value != 0 && value > threshold_of(counter->name) && !is_suppressed(*counter)) errors.push_back(counter->column);
  }
  return errors;
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
  const path::IbPath& sa = stack.transactor().sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) co_return paths.do_without(std::string(subnet::no_sa_is_known));
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

void Summary::text(TextOut& out) const {
  out.print("\n## Summary: {} nodes checked, {} bad nodes found\n", nodes, bad_nodes);
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", ports, bad_ports);
}

std::string ErrorReport::quoted_name(NodeIndex node) const {
  return in_quotes(node == subnet::none ? std::string() : subnet::name_of(fabric.subnet.node(node), &fabric.names));
}

std::string ErrorReport::guid(Guid value) const { return to_text(value); }

Exit ErrorReport::status() const { return summary.bad_ports != 0 ? Exit::findings : FabricReport::status(); }

bool any_read(const counters::PmaNode& node) {
  return (node.all && node.all->known()) || std::ranges::any_of(node.ports, &counters::PmaReading::known);
}

bool ErrorReport::is_reported(const counters::PmaReading& reading) const {
  return reading.known() && (wanted.data_only || has_errors(reading));
}

void ErrorReport::group_ports() { grouping = subnet::group(fabric.subnet, subnet::breadth_first(fabric.subnet)); }

void ErrorReport::count(const counters::PmaNode& node) {
  summary.nodes += counts_unread() || any_read(node) ? 1 : 0;
  bool bad = false;
  const auto failed = [this](const counters::PmaProblem& problem) { failed_queries += problem.set ? 0 : 1; };
  if (node.problem) failed(*node.problem);
  const auto take = [&](const counters::PmaReading& reading) {
    std::ranges::for_each(reading.problems, failed);
    if (wanted.data_only || !has_errors(reading)) return false;
    return bad = true;
  };
  if (node.all) take(*node.all);
  const auto counts = [this](const counters::PmaReading& reading) { return counts_unread() || reading.known(); };
  if (node.ports.empty() && node.all && counts(*node.all)) summary.ports += fabric.subnet.node(node.node).info.num_ports;
  summary.ports += static_cast<std::size_t>(std::ranges::count_if(node.ports, counts));
  for (const counters::PmaReading& reading : node.ports) summary.bad_ports += take(reading) ? 1 : 0;
  summary.bad_nodes += bad ? 1 : 0;
}

std::string ErrorReport::errors_text(const counters::PmaReading& reading) const {
  std::string text;
  const counters::CounterRow& row = reading.row;
  for (const std::size_t error : rules.errors_of(row)) {
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
  const std::string counts =
      wanted.data_only ? traffic_text(reading, true) : errors_text(reading) + (wanted.data ? traffic_text(reading, false) : std::string());
  out.print("   GUID {} port {}:{}\n", guid(at), select, counts);
  if (wanted.report_port && !all)
    out.print("       Link info: {:6}{:4}[{:>2}] =={}==>  {}", fabric.subnet.lid(reading.port).value, reading.select,
              external(reading.port), diags_link_text(fabric.subnet, reading.port), far_end(reading.port));
}

std::string ErrorReport::external(PortIndex port) const {
  const unsigned number = grouping.external_port.empty() ? 0 : grouping.external_port[port];
  return number == 0 ? std::string() : std::to_string(number);
}

std::string ErrorReport::far_end(PortIndex at) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const PortIndex peer = subnet.port(at).peer;
  if (peer == subnet::none) return fmt::format("           [  ] {} ( )\n", quoted_name(peer));
  return fmt::format("{} {:6} {:4}[{:>2}] {} ({})\n", guid_of_far_end(subnet.port_guid(peer)), subnet.lid(peer).value,
                     subnet.port(peer).number, external(peer), quoted_name(subnet.port(peer).node), diags_could_be(subnet, at));
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

std::string ErrorReport::thresholds_text() const { return "Thresholds: " + rules.text; }

void ErrorReport::text(TextOut& out) const {
  summary.text(out);
  out.print("## {}\n", thresholds_text());
  if (failed_queries != 0) out.print("##          {} PMA query failures\n", failed_queries);
  out.write("## Suppressed:");
  for (const std::string& counter : rules.suppressed) out.print(" {}", counter);
  out.write("\n");
}

}  // namespace ib::tools::ibqueryerrors
