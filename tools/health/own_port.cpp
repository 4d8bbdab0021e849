// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The file of --state has one line of words: its kind, the GUID and the number of the port, the time of the reading in milliseconds since
// 1970, and for each counter its name, the width of its field in bits and its value.
#include "tools/health/fetch.hpp"

#include <fmt/format.h>

#include <sstream>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "iba/text.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/manners.hpp"

namespace ib::tools::health {
namespace {

constexpr std::string_view family_of_files = "ibtool-health-", kind_of_file = "ibtool-health-2";
constexpr unsigned all_bits = 64;
constexpr unsigned most_mads = 8;         // of a reading
constexpr unsigned mads_of_counters = 3;  // ClassPortInfo of the PMA, and its counters of both widths
constexpr std::size_t longest_state = 4096, longest_read = std::size_t{1} << 20U;  // bytes

counters::CounterKey own_key(const Subnet& subnet) {
  const subnet::Port& port = subnet.port(subnet.start);
  return counters::counter_key(subnet, port.node, port.number);
}

/// Adds a counter of the file to a row. What this program does not know is passed over.
void add_counter(counters::CounterRow& row, std::string_view name, unsigned bits, std::uint64_t value) {
  for (std::size_t column = 0; column < counters::counter_columns; ++column) {
    if (counters::columns[column].field != name) continue;
    if (bits == all_bits) row.wide |= 1U << column;
    if (row.field(column).bits != bits || (bits < all_bits && value >> bits != 0)) return;
    row.known |= std::uint64_t{1} << column;
    row.counters[column] = value;
  }
}

/// The row of the words that follow the head of a file, which ends with a line feed. Nothing if they are cut or damaged: of a row that
/// lacks counters those are not known to have stood still.
std::optional<counters::CounterRow> row_of(std::istringstream& words) {
  counters::CounterRow row;
  std::string name;
  unsigned bits = 0;
  std::uint64_t value = 0;
  while (words >> name) {
    if (!(words >> bits >> value)) return {};
    add_counter(row, name, bits, value);
  }
  if (row.known == 0) return {};
  return row;
}

/// Reads the end port, and the port at the other end of its link, into `fabric`: five SMPs where nothing is lost. A request to a silent
/// neighbour has three tries, so that there are MADs left for the counters.
async::Task<> read_own_link(Session& session, Fabric& fabric) {
  DiscoveryOptions options;
  options.mode = "DR";  // by LID the sweep would need PortInfo of port 0 of the switch
  options.needs.switch_infos = false;
  options.needs.descriptions = {NodeKind::sw, NodeKind::router, NodeKind::other};
  options.needs.end_ports = {NodeKind::ca, NodeKind::router};  // not the LID of the switch at the other end
  path::Path here = session.stack().here();
  here.ib().retries = 0;  // what did not answer is requested once more at the end of the sweep
  co_await discover_from(session, options, std::move(here), 1, fabric);
  fabric.names = session.manners().node_name_map();
  fabric.subnet.node_of(fabric.subnet.start).set_description(as_bytes(session.host().end_port().device->node_description));
}

/// Puts the reading in the file `state` into `history`, if there is one of this port. A file that is damaged, or of another port, is
/// passed over. Returns why a reading of this port is passed over, because it is of an impossible time; else nothing. Throws as
/// read_private_file() does.
std::string load_state(const std::string& state, const Subnet& subnet, async::Loop& loop, counters::CounterHistory& history) {
  const std::optional<std::string> text = read_private_file(state, longest_read);
  if (!text) return {};
  // Files of --state are as this or another version has written them, empty, or all zeros as after a loss of power.
  if (!text->starts_with(family_of_files) && text->find_first_not_of('\0') != std::string::npos)
    throw UsageError(fmt::format("{} holds something else than a state of ibtool health", in_quotes(state)));
  if (text->size() > longest_state || !text->ends_with('\n')) return {};  // damaged: it is replaced
  std::istringstream words(*text);
  std::string kind, guid;
  unsigned port = 0;
  std::int64_t milliseconds = 0;
  const counters::CounterKey key = own_key(subnet);
  if (!(words >> kind >> guid >> port >> milliseconds) || kind != kind_of_file || guid != to_text(key.node) || port != key.port) return {};
  if (std::string why = why_impossible(milliseconds, loop.clock().wall_time()); !why.empty()) return why;
  std::optional<counters::CounterRow> row = row_of(words);
  if (!row) return {};
  row->port = subnet.start;
  row->error_time = row->traffic_time = time_of(milliseconds, loop);
  history.take(key, *row);
  return {};
}

/// Keeps the last reading of the port. Throws as replace_private_file() does.
void save_state(const std::string& state, const Subnet& subnet, async::Loop& loop, const counters::CounterHistory& history) {
  const counters::CounterKey key = own_key(subnet);
  const counters::CounterRow* row = history.last(key);
  if (row == nullptr) return;
  const auto age = std::chrono::duration_cast<WallTime::duration>(loop.now() - row->error_time);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>((loop.clock().wall_time() - age).time_since_epoch()).count();
  std::string text = fmt::format("{} {} {} {}", kind_of_file, to_text(key.node), key.port, milliseconds);
  for (std::size_t column = 0; column < counters::counter_columns; ++column) {
    if (!row->is_known(column)) continue;
    text += fmt::format(" {} {} {}", counters::columns[column].field, row->field(column).bits, row->value(column));
  }
  replace_private_file(state, text + '\n');
}

}  // namespace

DownPort examine_down_port(Stack& stack, const HealthRequest& wanted) {
  const subnet::NodeNameMap& names = stack.manners().node_name_map();
  DownPort port{{}, {wanted.baseline ? wanted.baseline : stack.former_fabric(), names}, {}};
  port.own.names = names;
  subnet::add_own_node(port.own.subnet, stack.down_port());
  Input input(port.own.subnet, port.own.failures, wanted.thresholds, wanted.host_names);
  input.own_port = stack.down_port().name();
  if (wanted.phy) {
    for (const Source source : sources_of_phy) input.source(source) = {};  // wanted: only the port is in the way
  }
  if (const auto* compared = port.former.compare(port.own.subnet)) input.compare_with(*compared);
  port.diagnosis = examine(input, wanted.selection);
  return port;
}

Selection local_selection(const Selection& wanted) {
  Selection selection;
  for (const Check& check : all_checks()) {
    if (check.is_of_link && wanted.has(check)) selection.only.push_back(&check);
  }
  if (selection.only.empty()) throw UsageError("--port local: none of these checks can be done with one link");
  selection.why_not = "--port local looks at one link";
  return selection;
}

async::Task<> run_local(Session& session, Emit& emit, const HealthRequest& wanted, const TableOptions& table) {
  session.stack().require_fabric("--port local");
  if (session.host().end_port().number == 0)
    throw UsageError(fmt::format("--port local looks at the link of an adapter, and {} is port 0 of a switch: name the switch instead",
                                 session.host().end_port().name()));
  Fabric fabric;
  co_await read_own_link(session, fabric);
  const bool has_room = session.stack().stats()->sent() + mads_of_counters <= most_mads;
  Scope scope{false, std::vector<bool>(fabric.subnet.ports().size()), std::vector<bool>(fabric.subnet.nodes().size(), true)};
  scope.ports[fabric.subnet.start] = true;  // no path to the PMA of the other one is known
  Input input(fabric.subnet, fabric.failures, wanted.thresholds, wanted.host_names);
  EarlierRounds earlier{.counters = CounterReadings(true)};
  counters::CounterHistory& history = earlier.counters.history();
  const std::string why = wanted.state ? load_state(*wanted.state, fabric.subnet, session.stack().loop(), history) : std::string();
  if (!why.empty()) session.host().log().warning(fmt::format("{} cannot begin a window: {}", in_quotes(*wanted.state), why));
  EarlierRounds* const kept = wanted.state ? &earlier : nullptr;
  Diagnosis diagnosis;
  if (has_room) {
    HealthRun run{session.stack(), fabric, wanted, scope, input, kept};
    diagnosis = co_await diagnose(run);
  } else {
    for (const Source source : {Source::counters, Source::window})
      input.not_read(source, "the other end did not answer some requests, which used up the eight MADs");
    diagnosis = examine(input, wanted.selection);
  }
  HealthReport(session.host(), fabric, nullptr, wanted, diagnosis).emit(emit, table);
  if (wanted.state) save_state(*wanted.state, fabric.subnet, session.stack().loop(), history);
}

}  // namespace ib::tools::health
