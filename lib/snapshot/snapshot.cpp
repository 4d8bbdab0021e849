// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/snapshot.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <limits>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "mad/describe.hpp"
#include "mad/error.hpp"
#include "path/parse.hpp"
#include "snapshot/answer_key.hpp"
#include "snapshot/format.hpp"

namespace ib::snapshot {
namespace {

using subnet::Failure;
using subnet::NodeIndex;
using subnet::none;
using subnet::PortIndex;
using subnet::Subnet;

/// What sqlite_schema has of a table in a file of `format`, as it would have it in the newest one.
std::string newest_sql(std::string_view sql, std::int64_t format) {
  constexpr std::string_view checksum = ", checksum INTEGER NOT NULL";
  std::string newest(sql);
  const std::size_t at = format == format_version ? std::string::npos : newest.find(checksum);
  return at == std::string::npos ? newest : newest.erase(at, checksum.size());
}

/// Opens a file. Its first bytes say whether it is a snapshot. Throws as open_regular_file() does, and SysError.
UniqueFd open_file(const std::string& file, bool& is_one) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  constexpr std::size_t application_id_offset = 68;
  UniqueFd fd = open_regular_file(file);
  std::array<std::uint8_t, application_id_offset + sizeof(application_id)> head{};
  if (::pread(fd.get(), head.data(), head.size(), 0) < 0) throw SysError(errno, "read", file);
  is_one = as_text(head).starts_with(magic) && load_be<std::uint32_t>(head.data() + application_id_offset) == application_id;
  return fd;
}

}  // namespace

bool is_snapshot_file(const std::string& file) {
  try {
    bool is_one = false;
    const UniqueFd fd = open_file(file, is_one);
    return is_one;
  } catch (const Error&) {
    return false;
  }
}

void Snapshot::damaged(std::string_view what) const {
  throw UsageError(fmt::format("{} is a damaged snapshot: {}", in_quotes(file()), what));
}

Snapshot::Snapshot(std::string file) : StoredFabric(std::move(file)) {
  bool is_one = false;
  fd_ = open_file(this->file(), is_one);
  if (!is_one) throw UsageError(fmt::format("{} is not a snapshot of ibtool", in_quotes(this->file())));
  database_.emplace(fd_.get(), this->file(), Database::Mode::read);
  check_schema();
  has_keys_ = fact("keys") == "shown";
}

void Snapshot::check_schema() {
  Statement version(*database_, "PRAGMA user_version");
  version.step();
  const std::int64_t format = version.integer(0);
  if (format > format_version) {
    throw UsageError(
        fmt::format("{} is a snapshot of a newer ibtool (format {}, this one reads {})", in_quotes(file()), format, format_version));
  }
  if (format <= 0) damaged("it has no format number");
  if (format < oldest_format) {
    throw UsageError(fmt::format("{} is a snapshot of an older ibtool (format {}, this one reads {} and later): take a new one",
                                 in_quotes(file()), format, oldest_format));
  }
  std::size_t found = 0;
  Statement objects(*database_, "SELECT type, name, sql FROM sqlite_schema");
  while (objects.step()) {
    const std::string_view type = objects.text(0), name = objects.text(1), sql = objects.text(2);
    const bool is_usual = type == "table" ? sql.starts_with("CREATE TABLE ") : type == "view";
    if (!is_usual) damaged("it holds what no snapshot does");
    if (!name.starts_with("raw_")) continue;
    const auto table = std::ranges::find(raw_tables, name, &TableDefinition::name);
    if (type != "table" || table == raw_tables.end() || newest_sql(sql, format) != table->sql)
      damaged("its tables are not those of a snapshot");
    ++found;
  }
  if (found != raw_tables.size()) damaged("it lacks tables");
}

std::string Snapshot::fact(std::string_view name) {
  Statement row(*database_, "SELECT value FROM raw_fact WHERE name=?1");
  row.bind(1, name);
  return row.step() ? std::string(row.text(0)) : std::string();
}

sys::DeviceList Snapshot::devices() {
  try {
    return origin_devices([this](std::string_view name) { return fact(name); });
  } catch (const UsageError& error) {
    damaged(error.message());
  }
}

unsigned Snapshot::port_number() { return static_cast<std::uint8_t>(number("port").value_or(0)); }

std::optional<std::int64_t> Snapshot::number(std::string_view name) {
  const std::string text = fact(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool Snapshot::is_in_place() const {
  struct stat open {
  }, named{};
  return ::fstat(fd_.get(), &open) == 0 && ::lstat(file().c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

/// A file that claims to have no keys may be passed on, so it must really have none.
void Snapshot::check_keys(const AnswerKey& key, Bytes payload) const {
  if (!has_keys_ && without_keys_of(key, payload)) damaged("it says that it holds no keys, and holds one");
}

void Snapshot::check_keys(Bytes mad) const {
  if (!has_keys_ && !std::ranges::equal(mad::without_keys(mad), mad)) damaged("it says that it holds no keys, and holds one");
}

bool Snapshot::is_cache() try { return fact(kind_fact) == kind_cache; } catch (const UsageError&) {
  return false;  // what a damaged file was is not known
}

std::vector<Guid> Snapshot::node_guids() {
  std::vector<Guid> guids;
  read_answers(smp::NodeInfo::attribute_id,
               [&guids](std::int64_t, std::int64_t, Bytes payload) { guids.push_back(smp::NodeInfo::unpack(payload).node_guid); });
  return guids;
}

bool Snapshot::has_part(std::string_view name) { return !fact(fmt::format("part {}", name)).empty(); }

/// Calls `take`(node, modifier, payload) for each answer to a sweep for an SMP's attribute, in the order of nodes.
template <class Take>
void Snapshot::read_answers(std::uint16_t attribute, Take take) {
  Statement row(*database_,
                "SELECT node, entry_port, modifier, selector, status, payload FROM raw_answer "
                "WHERE mgmt_class=1 AND attribute=?1");
  row.bind(1, attribute);
  std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t> before{-1, 0, 0, 0};
  while (row.step()) {
    const std::tuple key(row.integer(0), row.integer(1), row.integer(2), row.integer(3));
    const Bytes payload = row.bytes(5);
    const auto [node, entry_port, modifier, selector] = key;
    // Without an order, a damaged index could lead in circles.
    if (key <= before) damaged("its rows are not in order");
    before = key;
    if (row.integer(4) == answered && selector == 0) take(node, modifier, payload);
  }
}

void Snapshot::read_nodes(Subnet& subnet) {
  read_answers(smp::NodeInfo::attribute_id, [&](std::int64_t node, std::int64_t, Bytes payload) {
    const smp::NodeInfo info = smp::NodeInfo::unpack(payload);
    if (node != static_cast<std::int64_t>(subnet.nodes().size())) damaged("nodes are missing");
    if (!subnet.has_room_for(info)) damaged("it has more nodes or ports than a subnet");
    subnet.add_node(info);
  });
  const auto count = static_cast<std::int64_t>(subnet.nodes().size());
  const auto node_at = [&](std::int64_t at) -> subnet::Node& {
    if (at < 0 || at >= count) damaged("nodes are missing");
    return subnet.node(static_cast<NodeIndex>(at));
  };
  read_answers(smp::NodeDescription::attribute_id, [&](std::int64_t at, std::int64_t, Bytes payload) {
    subnet::Node& node = node_at(at);
    std::ranges::copy(padded<64>(payload), node.description_bytes.begin());
    node.has_description = true;
  });
  read_answers(smp::SwitchInfo::attribute_id, [&](std::int64_t at, std::int64_t, Bytes payload) {
    subnet::Node& node = node_at(at);
    node.switch_info_bytes = padded<20>(payload);
    node.has_switch_info = true;
  });
  Statement row(*database_, "SELECT node, hops, via_node, via_port, entry_port, lid_refused FROM raw_node");
  std::int64_t expected = 0;
  while (row.step()) {
    if (row.integer(0) != expected++) damaged("nodes are missing");
    subnet::Node& node = node_at(row.integer(0));
    node.hops = static_cast<std::uint8_t>(row.integer(1));
    const std::int64_t via = row.integer(2);
    if (via >= count) damaged("nodes are missing");
    node.via = via < 0 ? none : subnet.port_of(static_cast<NodeIndex>(via), static_cast<unsigned>(row.integer(3)));
    node.entry_port = static_cast<std::uint8_t>(row.integer(4));
    node.lid_refused = row.integer(5) != 0;
  }
  if (expected != count) damaged("nodes are missing");
}

void Snapshot::read_ports(Subnet& subnet, const subnet::Failures& failures) {
  // Of several ports with one LID, the port whose PortInfo came last does not own the LID.
  std::map<PortIndex, std::array<std::uint8_t, 64>> later;
  for (const Failure& failure : failures) {
    if (failure.kind != Failure::Kind::duplicate_lid || failure.node == none || failure.port < 0) continue;
    const PortIndex at = subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
    if (at != none) later.emplace(at, std::array<std::uint8_t, 64>{});
  }
  const auto port_at = [&](std::int64_t node, std::int64_t number) {
    const bool is_one = node >= 0 && node < static_cast<std::int64_t>(subnet.nodes().size()) && number >= 0 && number < 256;
    const PortIndex at = is_one ? subnet.port_of(static_cast<NodeIndex>(node), static_cast<unsigned>(number)) : none;
    if (at == none) damaged("it names a port that does not exist");
    return at;
  };
  Statement row(*database_, "SELECT node, port, guid, peer_node, peer_port, fdr10, swept FROM raw_port");
  std::pair<std::int64_t, std::int64_t> before{-1, 0};
  while (row.step()) {
    const std::pair key(row.integer(0), row.integer(1));
    if (key <= before) damaged("its rows are not in order");
    before = key;
    const PortIndex at = port_at(key.first, key.second);
    if (row.integer(2) != 0) subnet.set_port_guid(at, Guid{static_cast<std::uint64_t>(row.integer(2))});
    subnet::Port& port = subnet.port(at);
    port.fdr10 = static_cast<std::uint8_t>(row.integer(5));
    port.fdr10_supported = static_cast<std::uint8_t>(row.integer(5) >> 8U);
    port.has_info = row.integer(6) != 0;
    if (row.integer(3) < 0) continue;
    const PortIndex peer = port_at(row.integer(3), row.integer(4));
    if (port.peer != peer) subnet.link(at, peer);
  }
  read_answers(smp::PortInfo::attribute_id, [&](std::int64_t node, std::int64_t number, Bytes payload) {
    const PortIndex at = port_at(node, number);
    check_keys(AnswerKey{.mgmt_class = mad::mgmt_class::smp, .attribute = smp::PortInfo::attribute_id}, payload);
    if (!subnet.port(at).has_info) return;  // the sweep did not read this PortInfo
    const auto info = padded<64>(payload);
    if (const auto owner_exists = later.find(at); owner_exists != later.end()) {
      owner_exists->second = info;
    } else {
      subnet.set_port_info(at, info);
    }
  });
  for (const auto& [at, info] : later) subnet.set_port_info(at, info);
}

subnet::Failures Snapshot::read_failures(const Subnet& subnet, const sys::EndPort* end_port) {
  subnet::Failures failures;
  Statement row(*database_,
                "SELECT kind, node, port, beyond, attribute, modifier, why, tries, waited, path, request, reply, failure "
                "FROM raw_failure");
  std::int64_t number = 0;
  while (row.step()) {
    const Bytes request = row.bytes(10), reply = row.bytes(11);
    if (row.integer(12) != ++number) damaged("its rows are not in order");
    if (row.text(4).find('\n') != std::string_view::npos || row.text(6).find('\n') != std::string_view::npos)
      damaged("it describes a failure in more than one line");
    Failure& failure = failures.emplace_back();
    if (row.integer(0) < 0 || row.integer(0) > static_cast<std::int64_t>(Failure::Kind::no_record)) damaged("it names an unknown failure");
    failure.kind = static_cast<Failure::Kind>(row.integer(0));
    const bool of_node = row.integer(1) >= 0;
    if (of_node && row.integer(1) >= static_cast<std::int64_t>(subnet.nodes().size())) damaged("it names a node that does not exist");
    failure.node = of_node ? static_cast<NodeIndex>(row.integer(1)) : none;
    failure.port = static_cast<int>(std::clamp<std::int64_t>(row.integer(2), -1, 255));
    failure.beyond = row.integer(3) != 0;
    failure.attribute = harmless(row.text(4));
    failure.modifier = static_cast<std::uint32_t>(row.integer(5));
    failure.why = harmless(row.text(6));
    check_keys(request);
    check_keys(reply);
    if (request.size() < mad::header_size) continue;
    path::Path path = path::parse_spec(row.text(9));
    path.ib().end_port = end_port;
    if (row.integer(7) >= 0) {
      failure.error =
          std::make_shared<mad::MadTimeout>(request, path, static_cast<unsigned>(row.integer(7)), std::chrono::nanoseconds(row.integer(8)));
      continue;
    }
    if (reply.size() >= mad::packet_size) failure.error = mad::status_error(request, reply, path);
    if (!failure.error) failure.error = std::make_shared<mad::MadError>(failure.why, request, reply, path);
  }
  return failures;
}

subnet::SweptSubnet Snapshot::read_fabric(const sys::EndPort* end_port) {
  subnet::SweptSubnet fabric;
  Subnet& subnet = fabric.subnet;
  read_nodes(subnet);
  fabric.failures = read_failures(subnet, end_port);
  read_ports(subnet, fabric.failures);
  const std::string start = fact("start");
  const std::vector<std::string_view> parts = split(start, " ");
  const auto node = parse_digits(parts.front(), 10), number = parse_digits(parts.back(), 10);
  if (node && number) subnet.start = subnet.port_of(static_cast<NodeIndex>(*node), static_cast<unsigned>(*number));
  if (subnet.start == none) damaged("it does not say where it begins");
  return fabric;
}

Statement& Snapshot::query(std::string_view conditions, const AnswerKey& key) {
  auto found = statements_.find(conditions);
  if (found == statements_.end()) {
    const std::string sql =
        "SELECT mgmt_class, attribute, node, entry_port, modifier, selector, status, hides_key, payload FROM raw_answer WHERE "
        "mgmt_class=?1 AND ";
    found = statements_.emplace(conditions, Statement(*database_, sql + std::string(conditions))).first;
  }
  Statement& row = found->second;
  row.reset();
  row.bind(1, key.mgmt_class).bind(2, key.attribute).bind(3, key.node).bind(4, key.entry_port);
  return row.bind(5, key.modifier).bind(6, key.selector);
}

std::optional<StoredAnswer> Snapshot::answer_in(Statement& row) const {
  if (!row.step()) return std::nullopt;
  const Bytes payload = row.bytes(8);
  if (row.integer(6) == answered) check_keys(key_in(row), payload);
  return StoredAnswer{row.integer(6), {payload.begin(), payload.end()}, row.integer(7) != 0};
}

std::optional<StoredAnswer> Snapshot::find(const AnswerKey& key) {
  return answer_in(query("attribute=?2 AND node=?3 AND entry_port=?4 AND modifier=?5 AND selector=?6", key));
}

std::optional<StoredAnswer> Snapshot::find_at_other_port(const AnswerKey& key) {
  // From port to port: a search for the others would pass by all the node's rows.
  AnswerKey at_port = key;
  for (std::int64_t after = -1;;) {
    Statement& next = query("attribute=?2 AND node=?3 AND entry_port>?4 ORDER BY entry_port LIMIT 1", key).bind(4, after);
    if (!next.step() || next.integer(3) <= after || next.integer(3) > std::numeric_limits<std::uint8_t>::max()) return std::nullopt;
    after = next.integer(3);
    at_port.entry_port = static_cast<std::uint8_t>(after);
    if (auto found = find(at_port)) return found;
  }
}

std::optional<StoredAnswer> Snapshot::find_lack(const AnswerKey& key) {
  const AnswerKey agent{.mgmt_class = key.mgmt_class, .attribute = key.attribute, .node = key.node, .entry_port = key.entry_port};
  const auto [known, is_new] = lacks_.try_emplace(agent);
  // IBA 13.4.7: bad version, method not supported, method and attribute not supported.
  if (is_new) known->second = answer_in(query("attribute=?2 AND node=?3 AND entry_port=?4 AND status IN (-1, 4, 8, 12) LIMIT 1", key));
  return known->second;
}

std::optional<StoredAnswer> Snapshot::find_silence(const AnswerKey& key) {
  if (mad::is_smp(key.mgmt_class)) return std::nullopt;
  for (const std::uint16_t attribute : {mad::ClassPortInfo::attribute_id, pm::PortCounters::attribute_id}) {
    if (attribute == pm::PortCounters::attribute_id && key.mgmt_class != mad::mgmt_class::performance) continue;
    if (query("attribute=?2 AND node=?3 AND entry_port=?4 AND status>=0 LIMIT 1", key).bind(2, attribute).step()) return std::nullopt;
  }
  const std::optional<AnswerKey> failed = find_unanswered(key);
  return failed ? find(*failed) : std::nullopt;
}

std::optional<AnswerKey> Snapshot::find_unanswered(const AnswerKey& key) {
  const AnswerKey agent{.mgmt_class = key.mgmt_class, .node = key.node, .entry_port = key.entry_port};
  const auto [known, is_new] = unanswered_.try_emplace(agent);
  // From attribute to attribute: an agent is found by an index only together with an attribute.
  for (std::int64_t after = -1; is_new && !known->second;) {
    Statement& next = query("attribute>?2 ORDER BY attribute LIMIT 1", key).bind(2, after);
    if (!next.step() || next.integer(1) <= after) break;
    after = next.integer(1);
    Statement& row = query("attribute=?2 AND node=?3 AND entry_port=?4 AND status=-1 LIMIT 1", key).bind(2, after);
    if (row.step()) known->second = key_in(row);
  }
  return known->second;
}

}  // namespace ib::snapshot
