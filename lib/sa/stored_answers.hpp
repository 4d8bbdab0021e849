// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers queries of a subnet administrator from stored tables (sa/stored_tables.hpp): the records that have the values of the query, for
// the components that its component mask names (IBA 15.2.1.1), in the order of the table. What else an SA does with a query is its own
// affair: a LID of a range that is not the base LID finds nothing here, for instance.
//
// Example:
//   StoredAnswers answers(end_port, [&](const QueryInfo& table) { return file.table(table.name); });
//   if (const auto why = answers.not_in_table(request)) throw Error(*why);
//   co_return answers.answer(request);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "mad/error.hpp"
#include "mad/request.hpp"
#include "sa/stored_tables.hpp"
#include "sa/subn_adm.hpp"
#include "sa/table_reply.hpp"

namespace ib::sa {

class StoredAnswers {
 public:
  /// Gives the stored answer to the query for a table, or the error that came instead. Nothing if the table was not read.
  using Load = std::function<std::optional<mad::Result<mad::Reply>>(const QueryInfo& table)>;

  /// `end_port` is the port that read the tables; it must outlive this object. Each table is loaded when it is needed first.
  StoredAnswers(const sys::EndPort& end_port, Load load);
  ~StoredAnswers();
  StoredAnswers(const StoredAnswers&) = delete;
  StoredAnswers& operator=(const StoredAnswers&) = delete;

  /// Whether a table would have the answer to `request`, but was not read. not_in_table() says so too. Throws Error if the table
  /// contradicts itself.
  bool is_unread(const mad::Request& request);

  /// Why stored tables cannot answer `request`, as a sentence for people. Nothing if they can. `request` is a request of the class of
  /// subnet administration. Throws Error if a stored table contradicts itself.
  std::optional<std::string> not_in_table(const mad::Request& request);

  /// The answer to a request that not_in_table() accepts, in the form in which it would have come from the SA: a reply, or an error.
  /// For a table that the SA refused or did not send, this is the stored error. If the stored table is torn, an answer with a table from it
  /// is torn too. Throws Error if a stored table contradicts itself.
  mad::Result<mad::Reply> answer(const mad::Request& request);

 private:
  struct Stored;
  Stored& stored(const QueryInfo& table);
  std::optional<bool> has_qos();

  /// The table whose records answer the request. Null if there is none.
  const QueryInfo* table_of(const mad::Request& request);
  std::optional<std::string> not_in_rows(const mad::Request& request, const QueryInfo& table);

  mad::Result<mad::Reply> answer_once(const mad::Request& request, const Stored& stored) const;
  void select(const mad::Request& request, const QueryInfo& table, TableReply& reply);

  const sys::EndPort& end_port_;
  Load load_;
  std::map<const QueryInfo*, std::unique_ptr<Stored>> tables_;
};

}  // namespace ib::sa
