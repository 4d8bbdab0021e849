// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the tables of the subnet administrator that are worth keeping, for test_stored_tables.py. Then it asks each query of standard
// input twice, live and of the kept tables, and prints a line for each: whether both answers have the same records in the same order.
//
// A query is a line: SM_KEY METHOD[@MODIFIER] RECORD [MEMBER=VALUE]…, for instance `0 table NodeRecord LID=7`.
// With the argument --with-keys, the tables are kept with the keys in records.
//
// The first lines of the output tell of the tables: `kept NAME RECORDS` or `failed NAME WHY`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "iba-gen/mad.hpp"
#include "iba/generic.hpp"
#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"
#include "programs/programs.hpp"
#include "sa/pattern.hpp"
#include "sa/records.hpp"
#include "sa/stored_tables.hpp"
#include "sys/device.hpp"

namespace ibtest::programs::stored_tables {

using namespace ib;

namespace {

struct Query {
  std::string line;
  std::uint64_t key = 0;
  std::uint8_t method = mad::method::get_table;
  std::uint32_t modifier = 0;
  sa::Pattern pattern;
};

Query parse(const std::string& line) {
  std::istringstream words(line);
  std::string key, method, record, assignment;
  words >> key >> method >> record;
  Query query{line, std::stoull(key, nullptr, 0), mad::method::get_table, 0, sa::Pattern(*sa::find_record_type(record).info)};
  if (method.starts_with("get")) query.method = mad::method::get;
  if (const std::size_t at = method.find('@'); at != std::string::npos)
    query.modifier = static_cast<std::uint32_t>(std::stoull(method.substr(at + 1), nullptr, 0));
  while (std::getline(words >> std::ws, assignment, ' ')) {
    std::ranges::replace(assignment, '~', ' ');  // for texts with blanks
    const std::size_t equals = assignment.find('=');
    query.pattern.match(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return query;
}

/// An answer as text: records in hex, or the status.
std::vector<std::string> told(const mad::Result<mad::Reply>& answer, const StructInfo& record) {
  if (!answer) return {answer.error().reply().empty() ? "no answer" : fmt::format("status {:#06x}", answer.error().status())};
  std::vector<std::string> rows;
  const auto counter = find_path(record, "act_count");  // of an SMInfo: counts requests, so it changes with each of them
  for (const Bytes row : sa::table_rows(*answer, sa::least_size(record)).records.first(record.bytes)) {
    std::vector<std::uint8_t> bytes(row.begin(), row.end());
    if (counter) write_number(bytes, *counter, 0);
    std::string text;
    for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
    rows.push_back(std::move(text));
  }
  return rows;
}

std::string shown(const std::vector<std::string>& rows) {
  std::string text = fmt::format("{} [", rows.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 40); ++i) text += (i == 0 ? "" : " ") + rows[i];
  return text + (rows.size() > 3 ? " …]" : "]");
}

/// Asks both the SA and the kept tables.
class Comparison {
 public:
  Comparison(mad::Rpc& rpc, std::map<const QueryInfo*, mad::Reply>& kept)
      : rpc_(rpc), kept_(kept), answers_(rpc.end_port(), [this](const QueryInfo& table) { return load(table); }) {}

  /// The line about a query: "same COUNT", "not stored: WHY" or "differs …".
  mad::Task<std::string> compare(const Query& query) {
    path::Path path = rpc_.sa_path();
    path.ib().sm_key = query.key;
    mad::Request request =
        sa::sa_request(path, query.pattern.record(), query.method, query.pattern.bytes(), query.pattern.component_mask());
    request.attribute_modifier = query.modifier;
    const std::optional<std::string> why = answers_.not_in_table(request);
    if (why) co_return "not stored: " + *why;
    const mad::Result<mad::Reply> live = co_await rpc_.try_call(request);
    const auto from_live = told(live, query.pattern.answer()), from_stored = told(answers_.answer(request), query.pattern.answer());
    if (from_live == from_stored) co_return fmt::format("same {}", live ? std::to_string(from_live.size()) : from_live[0]);
    co_return fmt::format("differs live {} stored {}", shown(from_live), shown(from_stored));
  }

 private:
  std::optional<mad::Result<mad::Reply>> load(const QueryInfo& table) const {
    const auto found = kept_.find(&table);
    if (found == kept_.end()) return std::nullopt;
    return found->second;
  }

  mad::Rpc& rpc_;
  std::map<const QueryInfo*, mad::Reply>& kept_;
  sa::StoredAnswers answers_;
};

mad::Task<> run(mad::Rpc& rpc, bool with_keys) {
  std::map<const QueryInfo*, mad::Reply> kept;
  sa::TableReading reading;
  reading.with_keys = with_keys;
  reading.keep = [&kept](const QueryInfo& table, const mad::Reply& reply) { kept.emplace(&table, reply); };
  std::vector<const QueryInfo*> tables;
  for (const QueryInfo& table : sa::stored_table_infos()) tables.push_back(&table);
  const std::vector<sa::TableFailure> failures = co_await sa::read_tables(rpc, tables, reading);
  for (auto& [table, reply] : kept) {
    if (!with_keys) sa::hide_keys(*table, reply.bytes);
    const bool once = table->info == &mad::ClassPortInfo::info();
    fmt::print("kept {} {}\n", sa::table_name(*table), once ? 1 : sa::table_rows(reply, sa::least_size(*table->info)).records.size());
  }
  for (const sa::TableFailure& failure : failures) fmt::print("failed {} {}\n", sa::table_name(*failure.table), failure.why);
  Comparison comparison(rpc, kept);
  std::string line;
  while (std::getline(std::cin, line)) {
    const Query query = parse(line);
    const std::string said = co_await comparison.compare(query);
    fmt::print("{}\n", said);
  }
}

}  // namespace

int run(int argc, char** argv) {
  try {
    const auto devices = sys::DeviceList::read();
    async::Loop loop;
    mad::Rpc rpc(loop, mad::open_umad(devices.default_end_port()));
    rpc.sa_path().ib().timeout = std::chrono::seconds(5);  // the SA of a simulated fabric may get little of the processor
    loop.run(run(rpc, argc > 1 && argv[1] == std::string_view("--with-keys")));
  } catch (const Error& error) {
    fmt::print(stderr, "E: {}\n", error.what());
    return 3;
  }
  return 0;
}

}  // namespace ibtest::programs::stored_tables
