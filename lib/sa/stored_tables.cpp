// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/stored_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "async/group.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "sa/pattern.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"
#include "sa/table_reply.hpp"

namespace ib::sa {
namespace {

std::vector<QueryInfo> make_infos() {
  std::vector<QueryInfo> made;
  for (const QueryInfo& query : all_queries()) {
    if (!query.by_sa() || query.part.empty()) continue;
    made.push_back(query);
    if (query.info != &MCMemberRecord::info()) continue;
    QueryInfo& groups = made.emplace_back(query);  // all that an SA gives without an SM_Key
    groups.name = "MCMemberRecord groups";
    groups.trust = Trust::none;
  }
  return made;
}

constexpr std::size_t tables_at_a_time = 4;  // an SA works on one query after another; a table may take many megabytes

/// The query that reads the whole table. Of paths, those that begin at this end port are kept.
Pattern query_of(const QueryInfo& table, const sys::EndPort& end_port) {
  Pattern pattern(*table.info);
  if (table.info == &PathRecord::info()) pattern.match("SGID", to_text(end_port.default_gid()));
  return pattern;
}

bool exists_once(const StructInfo& record) { return &record == &mad::ClassPortInfo::info(); }

/// Reads tables. Lives as long as the task that reads.
class TableReader {
 public:
  TableReader(mad::Transactor& transactor, TableReading reading, std::size_t tables)
      : transactor_(transactor), reading_(std::move(reading)), failures_(tables) {}

  async::Task<> read(std::size_t at, const QueryInfo& table) {
    const bool with_key = table.trust == Trust::keys ? reading_.with_keys : table.trust != Trust::none;
    mad::Result<mad::Reply> reply = co_await fetch(table, with_key);
    // opensm does not answer a query with a wrong SM_Key.
    if (!reply && with_key && table.trust != Trust::required) reply = co_await fetch(table, false);
    take(at, table, reply);
    if (reading_.progress) reading_.progress(++done_, failures_.size());
  }

  std::vector<TableFailure> failures() const {
    std::vector<TableFailure> result;
    for (const std::optional<TableFailure>& failure : failures_) {
      if (failure) result.push_back(*failure);
    }
    return result;
  }

 private:
  /// After a query that a sound SA answers, and during which it answered no other one, none is sent: it is silent.
  async::Task<mad::Result<mad::Reply>> fetch(const QueryInfo& table, bool with_key) {
    if (silence_) co_return silence_;
    path::Path path = transactor_.sa_path();
    constexpr std::uint64_t usual_key = 1;
    if (with_key && path.ib().sm_key == 0) path.ib().sm_key = usual_key;
    if (!with_key) path.ib().sm_key = 0;
    const Pattern pattern = query_of(table, transactor_.end_port());
    const std::uint8_t method = exists_once(*table.info) ? mad::method::get : mad::method::get_table;
    const mad::Request request = sa_request(path, *table.info, method, pattern.bytes(), pattern.component_mask());
    const std::size_t answers = answers_;
    mad::Result<mad::Reply> reply = co_await transactor_.try_call(request);
    if (reply || !mad::is_timeout(reply.error())) {
      ++answers_;
    } else if (!with_key && answers == answers_) {
      silence_ = reply.shared_error();
    }
    co_return reply;
  }

  void take(std::size_t at, const QueryInfo& table, const mad::Result<mad::Reply>& reply) {
    if (!reply) {
      failures_[at] = TableFailure{&table, reply.shared_error(), reply.error().message()};
      return;
    }
    try {
      if (!exists_once(*table.info)) check_end(at, table, *reply);
    } catch (const Error& error) {
      failures_[at] = TableFailure{&table, nullptr, error.message()};
      return;
    }
    if (reading_.keep) reading_.keep(table, *reply);
  }

  /// Records a failure if the table came without its end. The part that came is kept; its reader sees that it is not complete. Throws Error
  /// if the answer contradicts itself.
  void check_end(std::size_t at, const QueryInfo& table, const mad::Reply& reply) {
    const TableRows rows = table_rows(reply, least_size(*table.info));
    if (rows.torn) failures_[at] = TableFailure{&table, nullptr, fmt::format("only its first {} records arrived", rows.records.size())};
  }

  mad::Transactor& transactor_;
  TableReading reading_;
  std::vector<std::optional<TableFailure>> failures_;  // by place among the tables
  std::size_t done_ = 0, answers_ = 0;
  std::shared_ptr<const mad::MadError> silence_;  // of the query that showed that the SA is silent
};

}  // namespace

std::span<const QueryInfo> stored_table_infos() {
  static const std::vector<QueryInfo> all = make_infos();
  return all;
}

const QueryInfo* find_stored_table(std::string_view name) {
  const std::span<const QueryInfo> all = stored_table_infos();
  const auto found = std::ranges::find(all, name, &QueryInfo::name);
  return found == all.end() ? nullptr : &*found;
}

const QueryInfo* stored_table_for(const mad::Request& request) {
  const bool trusted = request.path.ib().sm_key != 0;
  for (const QueryInfo& table : stored_table_infos()) {
    if (table.info->attribute_id != request.attribute_id) continue;
    if (table.info != &MCMemberRecord::info() || trusted == (table.trust == Trust::required)) return &table;
  }
  return nullptr;
}

async::Task<std::vector<TableFailure>> read_tables(mad::Transactor& transactor, std::vector<const QueryInfo*> tables,
                                                   TableReading reading) {
  TableReader reader(transactor, std::move(reading), tables.size());
  const auto read = [&reader, &tables](const QueryInfo*& table) {
    return reader.read(static_cast<std::size_t>(&table - tables.data()), *table);
  };
  if (!tables.empty()) co_await read(tables.front());  // shows whether the SA answers
  std::span<const QueryInfo*> others = std::span(tables).subspan(std::min<std::size_t>(tables.size(), 1));
  co_await async::for_each(others, tables_at_a_time, read);
  co_return reader.failures();
}

void hide_keys(const QueryInfo& table, MutableBytes mad) {
  const auto hide = [mad](std::size_t at, std::size_t size) {
    const std::size_t begin = std::min(at, mad.size());
    std::ranges::fill(mad.subspan(begin, std::min(size, mad.size() - begin)), std::uint8_t{0});
  };
  hide(sm_key_at, sm_key_size);
  const std::size_t begin = mad::data_area(mad::mgmt_class::sa).offset;
  const std::size_t step =
      exists_once(*table.info) || mad.size() < begin ? 0 : std::size_t{8} * load_be<std::uint16_t>(&mad[mad::attribute_offset_offset]);
  const std::vector<SecretPlace> places = secret_places(*table.info);
  for (std::size_t at = begin; at < mad.size() && !places.empty(); at += step) {
    for (const SecretPlace& place : places) hide(at + place.offset, place.size);
    if (step == 0) return;
  }
}

}  // namespace ib::sa
