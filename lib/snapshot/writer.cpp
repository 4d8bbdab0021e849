// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/writer.hpp"

#include <fmt/format.h>

#include <memory>

#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "mad/describe.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::snapshot {
namespace {

/// The node and the number of a port as the tables have them; −1 and 0 for none.
std::pair<std::int64_t, std::int64_t> numbers_of(const subnet::Subnet& subnet, subnet::PortIndex at) {
  if (at == subnet::none) return {-1, 0};
  return {subnet.port(at).node, subnet.port(at).number};
}

/// Whether a switch that was requested by its LID for its NodeInfo is another one than the one of the model: the LID has changed hands.
bool is_of_other_node(const subnet::Subnet& subnet, const AnswerKey& key, const mad::Reply& reply) {
  const bool is_by_lid = mad::is_smp(key.mgmt_class) && key.attribute == smp::NodeInfo::attribute_id && key.selector == by_lid;
  return is_by_lid && smp::NodeInfo::unpack(reply.payload()).node_guid != subnet.node(key.node).guid();
}

/// Why the answer to a request for a register is not one to it, or null. The modifier names the register, and is not stored with an answer.
std::shared_ptr<const mad::MadError> as_of_other_register(const mad::Request& request, const mad::Reply& reply) {
  const bool is_register =
      request.mgmt_class == mlx::AccessRegister::mgmt_class && request.attribute_id == mlx::AccessRegister::attribute_id;
  if (!is_register || reply.header().attribute_modifier() == request.attribute_modifier) return nullptr;
  return std::make_shared<const subnet::FalseAnswer>("The answer is of another register or index.", mad::to_mad(request), reply.bytes,
                                                     request.path);
}

/// Copies the rows of the tables that are read back from one database into another, whose tables are empty. With Keys::hidden without keys.
void copy_content(Database& from, Database& to, Keys keys) {
  for (const TableDefinition& table : raw_tables) {
    // The columns by name: a file of an older format has another one.
    std::string columns, places;
    Statement column(to, fmt::format("SELECT name FROM pragma_table_info('{}')", table.name));
    for (int at = 1; column.step(); ++at) {
      columns += fmt::format("{}{}", at == 1 ? "" : ",", column.text(0));
      places += fmt::format("{}?{}", at == 1 ? "" : ",", at);
    }
    Statement row(from, fmt::format("SELECT {} FROM {}", columns, table.name));
    Statement copy(to, fmt::format("INSERT INTO {} VALUES({})", table.name, places));
    while (row.step()) {
      copy.bind_row(row);
      std::vector<std::uint8_t> request, reply;
      if (keys == Keys::hidden && table.name == "raw_failure") {
        request = mad::without_keys(row.bytes(11));
        reply = mad::without_keys(row.bytes(12));
        copy.bind(12, Bytes(request)).bind(13, Bytes(reply));
      } else if (keys == Keys::hidden && table.name == "raw_answer" && row.integer(6) == answered) {
        const AnswerKey key = key_in(row);
        const bool is_table = key.mgmt_class == mad::mgmt_class::sa;
        if (const auto payload = without_keys_of(key, row.bytes(9))) {
          reply = *payload;
          copy.bind(9, is_table ? row.integer(8) : 1).bind(10, is_table ? Bytes(reply) : without_trailing_zeros(reply));
        }
      }
      copy.run();
    }
  }
}

}  // namespace

Writer::Writer(const std::string& file, Keys keys, Snapshot* old, const async::Clock& clock)
    : keys_(keys), clock_(clock), file_(file), has_end_(old != nullptr) {
  database_.emplace(file_.fd(), file_.name(), Database::Mode::write);
  database_->run(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", application_id, format_version));
  for (const TableDefinition& table : raw_tables) database_->run(std::string(table.sql));
  database_->run("BEGIN");
  if (old != nullptr) copy_content(old->database(), *database_, keys);
  fact_.emplace(*database_, "INSERT OR REPLACE INTO raw_fact VALUES(?1,?2)");
  answer_.emplace(*database_, "INSERT OR REPLACE INTO raw_answer VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)");
  if (old == nullptr) put_fact("begun", std::to_string(now()));
  if (old == nullptr) put_fact(kind_fact, kind_snapshot);
  if (old == nullptr || keys == Keys::hidden) put_fact("keys", keys == Keys::shown ? "shown" : "hidden");  // shown: all rows have theirs
}

void Writer::put_origin(const sys::EndPort& port) {
  put_origin_facts(port, [this](std::string_view name, std::string_view value) { put_fact(name, value); });
  put_fact("port", std::to_string(port.number));
}

void Writer::put_end() {
  put_fact("ended", std::to_string(now()));
  has_end_ = true;
}

void Writer::put_row(const AnswerKey& key, std::int64_t status, Bytes payload, bool hides_key) {
  answer_->bind(1, key.mgmt_class).bind(2, key.attribute).bind(3, key.node).bind(4, key.entry_port).bind(5, key.modifier);
  answer_->bind(6, key.selector).bind(7, status).bind(8, now()).bind(9, std::int64_t{hides_key}).bind(10, payload);
  answer_->run();
  ++answers_;
}

void Writer::put_answer(const AnswerKey& key, Bytes payload) {
  const auto public_payload = keys_ == Keys::hidden ? without_keys_of(key, payload) : std::nullopt;
  put_row(key, answered, without_trailing_zeros(public_payload ? Bytes(*public_payload) : payload), public_payload.has_value());
}

void Writer::put_table(const QueryInfo& table, const mad::Reply& reply) {
  std::vector<std::uint8_t> bytes = reply.bytes;
  if (keys_ == Keys::hidden) sa::hide_keys(table, bytes);
  put_row(table_key(table), answered, bytes);
}

void Writer::put_failure(const AnswerKey& key, const mad::MadError& error) {
  if (const auto* timeout = dynamic_cast<const mad::MadTimeout*>(&error)) {
    std::array<std::uint8_t, 12> how{};
    store_be(how.data(), std::uint32_t{timeout->tries()});
    store_be(how.data() + 4, static_cast<std::uint64_t>(timeout->waited().count()));
    return put_row(key, no_answer, how);
  }
  if (error.status() != 0) return put_row(key, error.status(), {});
  put_row(key, false_answer, as_bytes(error.message()));
}

void Writer::put_result(const subnet::Subnet& subnet, const mad::Request& request, const mad::Result<mad::Reply>& result) {
  if (request.method != mad::method::get || request.mgmt_class == mad::mgmt_class::sa) return;
  const subnet::PathEnd place = subnet::end_of_path(subnet, request.path);
  if (place.node == subnet::none) return;
  const AnswerKey key = key_of(subnet, place, request);
  if (result && is_of_other_node(subnet, key, *result)) return;
  if (result) {
    if (const auto error = as_of_other_register(request, *result)) return put_failure(key, *error);
    const mad::DataArea area = stored_area(request.mgmt_class);
    return put_answer(key, Bytes(result->bytes).subspan(area.offset, area.size));
  }
  // A request with 0 tries was not sent: the failure that made the node silent is stored already.
  if (mad::unanswered_tries(result.error()) != 0U) put_failure(key, result.error());
}

void Writer::put_fabric(const subnet::SweptSubnet& fabric) {
  const auto [node, number] = numbers_of(fabric.subnet, fabric.subnet.start);
  put_fact("start", fmt::format("{} {}", node, number));
  put_nodes(fabric.subnet);
  put_ports(fabric.subnet);
  put_failures(fabric.failures);
}

void Writer::put_attribute(std::uint16_t attribute, subnet::NodeIndex node, Bytes payload) {
  put_row({.mgmt_class = mad::mgmt_class::smp, .attribute = attribute, .node = node}, answered, without_trailing_zeros(payload));
}

/// Rows come in the order of their keys, which is fastest.
void Writer::put_nodes(const subnet::Subnet& subnet) {
  Statement row(*database_, "INSERT INTO raw_node VALUES(?1,?2,?3,?4,?5,?6)");
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    const auto [via_node, via_port] = numbers_of(subnet, node.via);
    row.bind(1, at).bind(2, node.hops).bind(3, via_node).bind(4, via_port).bind(5, node.entry_port);
    row.bind(6, std::int64_t{node.lid_refused}).run();
    put_attribute(smp::NodeInfo::attribute_id, at, wire::packed(node.info));
  }
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const auto& description = subnet.node(at).description_bytes;
    if (subnet.node(at).has_description)
      put_attribute(smp::NodeDescription::attribute_id, at, as_bytes({description.data(), description.size()}));
  }
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (node.has_switch_info) put_attribute(smp::SwitchInfo::attribute_id, at, node.switch_info_bytes);
  }
}

void Writer::put_ports(const subnet::Subnet& subnet) {
  Statement row(*database_, "INSERT INTO raw_port VALUES(?1,?2,?3,?4,?5,?6,?7)");
  for (subnet::PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    const AnswerKey key{
        .mgmt_class = mad::mgmt_class::smp, .attribute = smp::PortInfo::attribute_id, .node = port.node, .modifier = port.number};
    if (port.has_info) put_answer(key, port.info_bytes);
    const std::int64_t fdr10 = port.fdr10_supported << 8U | port.fdr10;
    if (port.peer == subnet::none && port.guid.value == 0 && fdr10 == 0 && !port.has_info) continue;
    const auto [peer_node, peer_port] = numbers_of(subnet, port.peer);
    row.bind(1, port.node).bind(2, port.number).bind(3, static_cast<std::int64_t>(port.guid.value)).bind(4, peer_node);
    row.bind(5, peer_port).bind(6, fdr10).bind(7, std::int64_t{port.has_info}).run();
  }
}

void Writer::put_failures(const subnet::Failures& failures) {
  Statement row(*database_, "INSERT INTO raw_failure VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)");
  std::int64_t number = 0;
  for (const subnet::Failure& failure : failures) {
    const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
    const auto* timeout = dynamic_cast<const mad::MadTimeout*>(error);
    const std::int64_t kind = static_cast<std::int64_t>(failure.kind);
    const std::int64_t node = failure.node == subnet::none ? -1 : std::int64_t{failure.node};
    const std::int64_t tries = timeout != nullptr ? std::int64_t{timeout->tries()} : -1;
    const std::int64_t waited = timeout != nullptr ? timeout->waited().count() : 0;
    std::string path;
    std::vector<std::uint8_t> request, reply;
    if (error != nullptr) {
      path::Path public_path = error->path();
      public_path.ib().end_port = nullptr;  // the file names it once
      path = path::to_spec(public_path);
      request = stored_mad(error->request());
      reply = stored_mad(error->reply());
    }
    row.bind(1, ++number).bind(2, kind).bind(3, node).bind(4, failure.port).bind(5, std::int64_t{failure.beyond});
    row.bind(6, std::string_view(failure.attribute)).bind(7, failure.modifier).bind(8, std::string_view(failure.why));
    row.bind(9, tries).bind(10, waited).bind(11, std::string_view(path)).bind(12, Bytes(request)).bind(13, Bytes(reply));
    row.run();
  }
}

/// A whole MAD as it may be stored.
std::vector<std::uint8_t> Writer::stored_mad(Bytes mad) const {
  return keys_ == Keys::shown ? std::vector<std::uint8_t>(mad.begin(), mad.end()) : mad::without_keys(mad);
}

std::uint64_t Writer::commit() {
  if (!has_end_) put_end();
  write_decoded_tables(*database_);
  database_->run("COMMIT");
  fact_.reset();
  answer_.reset();
  std::uint64_t bytes = 0;
  {
    Statement size(*database_, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()");
    size.step();
    bytes = static_cast<std::uint64_t>(size.integer(0));
  }
  database_.reset();
  file_.keep();
  return bytes;
}

mad::Task<mad::Result<mad::Reply>> Recording::try_call(const mad::Request& request) {
  mad::Result<mad::Reply> result = co_await below_.try_call(request);
  ++counts_.requests;
  if (result || !mad::is_timeout(result.error())) ++(result ? counts_.answered : counts_.refused);
  writer_.put_result(subnet_, request, result);
  co_return result;
}

}  // namespace ib::snapshot
