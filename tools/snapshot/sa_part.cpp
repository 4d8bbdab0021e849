// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/snapshot/sa_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sa/stored_tables.hpp"

namespace ib::tools {
namespace {

subnet::Failure failure(subnet::Failure::Kind kind, std::string why, std::shared_ptr<const Error> error = {}) {
  return {.kind = kind, .attribute = {}, .why = std::move(why), .error = std::move(error)};
}

bool is_timeout(const sa::TableFailure& failed) { return failed.error && mad::is_timeout(*failed.error); }

}  // namespace

async::Task<snapshot::SurveyedPart> read_sa_part(Stack& stack, snapshot::Writer& writer, bool& is_silent) {
  using Kind = subnet::Failure::Kind;
  snapshot::SurveyedPart result;
  co_await stack.prepare_sa();
  mad::Transactor& transactor = stack.transactor();
  const path::IbPath& sa = transactor.sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) {
    result.failures.push_back(failure(Kind::no_answer, "No subnet administrator is known."));
    co_return result;
  }
  std::vector<const QueryInfo*> tables;
  for (const QueryInfo& table : sa::stored_table_infos()) tables.push_back(&table);
  result.planned = tables.size();
  sa::TableReading reading;
  reading.with_keys = stack.host().options().keys == Keys::shown;
  reading.keep = [&](const QueryInfo& table, const mad::Reply& reply) {
    ++result.answered;
    writer.put_table(table, reply);
  };
  reading.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "tables of the SA"); };
  const std::vector<sa::TableFailure> failed = co_await sa::read_tables(transactor, std::move(tables), std::move(reading));
  is_silent = result.answered == 0 && std::ranges::all_of(failed, is_timeout);
  if (is_silent) {
    result.failures.push_back(failure(Kind::no_answer, "The subnet administrator does not answer.", failed.front().error));
    co_return result;
  }
  std::set<const mad::MadError*> said;  // the tables that are left after the SA fell silent have one error
  for (const sa::TableFailure& one : failed) {
    if (one.error && !said.insert(one.error.get()).second) continue;
    const bool is_refused = one.error && !is_timeout(one);
    if (is_refused) {
      ++result.refused;
    } else {
      const std::string why = fmt::format("The subnet administrator does not give its {}: {}", one.table->name, one.why);
      result.failures.push_back(failure(one.error ? Kind::no_answer : Kind::false_answer, why, one.error));
    }
  }
  co_return result;
}

}  // namespace ib::tools
