// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/writer.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "mad/describe.hpp"
#include "snapshot/decoded_tables.hpp"
#include "snapshot/file/new_file.hpp"
#include "snapshot/file/sqlite.hpp"
#include "snapshot/format.hpp"
#include "snapshot/old_content.hpp"
#include "snapshot/origin.hpp"
#include "snapshot/snapshot.hpp"

namespace ib::snapshot {

class Writer::Tables {
 public:
  Tables(const std::string& file, Keys keys, Snapshot* old, const async::Clock& clock) : keys_(keys), clock_(clock), file_(file) {
    database_.emplace(file_.fd(), file_.name(), Database::Mode::write);
    database_->run(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", application_id, format_version));
    for (const TableDefinition& table : raw_tables()) database_->run(std::string(table.sql));
    database_->run("BEGIN");
    if (old != nullptr) copy_content(old->database(), *database_, keys);
    fact_.emplace(*database_, "INSERT OR REPLACE INTO raw_fact VALUES(?1,?2)");
    answer_.emplace(*database_, "INSERT OR REPLACE INTO raw_answer VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)");
    has_end_ = old != nullptr;
    if (old == nullptr) put_fact("begun", std::to_string(now()));
    if (old == nullptr) put_fact(kind_fact, kind_snapshot);
    if (old == nullptr || keys == Keys::hidden) put_fact("keys", keys == Keys::shown ? "shown" : "hidden");  // shown: all rows have theirs
  }

  void put_end() {
    put_fact("ended", std::to_string(now()));
    has_end_ = true;
  }

  void put_fact(std::string_view name, std::string_view value) { fact_->bind(1, name).bind(2, value).run(); }

  /// `payload` is the stored_area() of a reply.
  void put_answer(const AnswerKey& key, Bytes payload) {
    const std::optional<std::vector<std::uint8_t>> public_payload =
        keys_ == Keys::hidden ? without_answer_keys(key, payload) : std::nullopt;
    put_row(key, answered, without_trailing_zeros(public_payload ? Bytes(*public_payload) : payload), public_payload.has_value());
  }

  /// A row whose payload is stored as it is. `hides_key`: a key in it was set, and was made zero.
  void put_row(const AnswerKey& key, std::int64_t status, Bytes payload, bool hides_key = false) {
    answer_->bind(1, key.mgmt_class).bind(2, key.attribute).bind(3, key.node).bind(4, key.entry_port).bind(5, key.modifier);
    answer_->bind(6, key.selector).bind(7, status).bind(8, now()).bind(9, std::int64_t{hides_key}).bind(10, payload);
    answer_->run();
    ++answers_;
  }

  void put_fabric(const subnet::SweptSubnet& fabric) {
    const subnet::Subnet& subnet = fabric.subnet;
    const auto [node, number] = numbers_of(subnet, subnet.start);
    put_fact("start", fmt::format("{} {}", node, number));
    put_nodes(subnet);
    put_descriptions(subnet);
    put_ports(subnet);
    put_failures(fabric.failures);
  }

  std::uint64_t commit() {
    if (!has_end_) put_end();
    write_decoded_tables(*database_);
    database_->run("COMMIT");
    fact_.reset();
    answer_.reset();
    const std::uint64_t size = pages_size();
    database_.reset();
    file_.keep();
    return size;
  }

  void keep_old() { file_.keep_old(); }
  std::uint64_t answers() const { return answers_; }
  Keys keys() const { return keys_; }

 private:
  static AnswerKey smp_key(std::uint16_t attribute, subnet::NodeIndex node, std::uint32_t modifier = 0) {
    return {.mgmt_class = mad::mgmt_class::smp, .attribute = attribute, .node = node, .modifier = modifier};
  }

  /// The node and the number of a port as the tables have them; −1 and 0 for none.
  static std::pair<std::int64_t, std::int64_t> numbers_of(const subnet::Subnet& subnet, subnet::PortIndex at) {
    if (at == subnet::none) return {-1, 0};
    return {subnet.port(at).node, subnet.port(at).number};
  }

  // Rows come in the order of their keys, which is fastest.
  void put_nodes(const subnet::Subnet& subnet) {
    Statement row(*database_, "INSERT INTO raw_node VALUES(?1,?2,?3,?4,?5,?6)");
    for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
      const subnet::Node& node = subnet.node(at);
      const auto [via_node, via_port] = numbers_of(subnet, node.via);
      row.bind(1, at).bind(2, node.hops).bind(3, via_node).bind(4, via_port).bind(5, node.entry_port);
      row.bind(6, std::int64_t{node.lid_refused}).run();
      const auto info = wire::packed(node.info);
      put_row(smp_key(smp::NodeInfo::attribute_id, at), answered, without_trailing_zeros(info));
    }
  }

  void put_descriptions(const subnet::Subnet& subnet) {
    for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
      const subnet::Node& node = subnet.node(at);
      if (!node.has_description) continue;
      const Bytes text = as_bytes({node.description_bytes.data(), node.description_bytes.size()});
      put_row(smp_key(smp::NodeDescription::attribute_id, at), answered, without_trailing_zeros(text));
    }
    for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
      const subnet::Node& node = subnet.node(at);
      if (node.has_switch_info)
        put_row(smp_key(smp::SwitchInfo::attribute_id, at), answered, without_trailing_zeros(node.switch_info_bytes));
    }
  }

  void put_ports(const subnet::Subnet& subnet) {
    Statement row(*database_, "INSERT INTO raw_port VALUES(?1,?2,?3,?4,?5,?6,?7)");
    for (subnet::PortIndex at = 0; at < subnet.ports().size(); ++at) {
      const subnet::Port& port = subnet.port(at);
      if (port.has_info) put_answer(smp_key(smp::PortInfo::attribute_id, port.node, port.number), port.info_bytes);
      const std::int64_t fdr10 = port.fdr10_supported << 8U | port.fdr10;
      if (port.peer == subnet::none && port.guid.value == 0 && fdr10 == 0 && !port.has_info) continue;
      const auto [peer_node, peer_port] = numbers_of(subnet, port.peer);
      row.bind(1, port.node).bind(2, port.number).bind(3, static_cast<std::int64_t>(port.guid.value)).bind(4, peer_node);
      row.bind(5, peer_port).bind(6, fdr10).bind(7, std::int64_t{port.has_info}).run();
    }
  }

  void put_failures(const subnet::Failures& failures) {
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
  std::vector<std::uint8_t> stored_mad(Bytes mad) const {
    return keys_ == Keys::shown ? std::vector<std::uint8_t>(mad.begin(), mad.end()) : mad::without_keys(mad);
  }

  std::uint64_t pages_size() {
    Statement size(*database_, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()");
    size.step();
    return static_cast<std::uint64_t>(size.integer(0));
  }

  std::int64_t now() const { return stored_time(clock_.wall_time()); }

  Keys keys_;
  const async::Clock& clock_;
  NewFile file_;
  std::optional<Database> database_;
  std::optional<Statement> fact_, answer_;
  std::uint64_t answers_{};
  bool has_end_{};
};

Writer::Writer(const std::string& file, Keys keys, Snapshot* old, const async::Clock& clock)
    : tables_(std::make_unique<Tables>(file, keys, old, clock)) {}
Writer::~Writer() = default;

void Writer::put_origin(const sys::EndPort& port) {
  put_origin_facts(port, [this](std::string_view name, std::string_view value) { tables_->put_fact(name, value); });
  tables_->put_fact("port", std::to_string(port.number));
}

void Writer::put_fabric(const subnet::SweptSubnet& fabric) { tables_->put_fabric(fabric); }
void Writer::put_cache_mark() { tables_->put_fact(kind_fact, kind_cache); }
void Writer::keep_old() { tables_->keep_old(); }
void Writer::put_fdr10() { tables_->put_fact("fdr10", "read"); }
void Writer::put_end() { tables_->put_end(); }
void Writer::put_part(std::string_view name) { tables_->put_fact(fmt::format("part {}", name), "read"); }

void Writer::put_answer(const AnswerKey& key, Bytes payload) { tables_->put_answer(key, payload); }

void Writer::put_table(const QueryInfo& table, const mad::Reply& reply) {
  std::vector<std::uint8_t> bytes = reply.bytes;
  if (tables_->keys() == Keys::hidden) sa::hide_keys(table, bytes);
  tables_->put_row(table_key(table), answered, bytes);
}

void Writer::put_failure(const AnswerKey& key, const mad::MadError& error) {
  if (const auto* timeout = dynamic_cast<const mad::MadTimeout*>(&error)) {
    std::array<std::uint8_t, 12> how{};
    store_be(how.data(), std::uint32_t{timeout->tries()});
    store_be(how.data() + 4, static_cast<std::uint64_t>(timeout->waited().count()));
    return tables_->put_row(key, no_answer, how);
  }
  if (error.status() != 0) return tables_->put_row(key, error.status(), {});
  tables_->put_row(key, false_answer, as_bytes(error.message()));
}

std::uint64_t Writer::answers() const { return tables_->answers(); }
std::uint64_t Writer::commit() { return tables_->commit(); }

}  // namespace ib::snapshot
