// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/records.hpp"

#include <algorithm>

#include "sa/subn_adm.hpp"

namespace ib::sa {
namespace {

constexpr std::uint8_t no_records = 3;  // IBA 15.2.4

Records parse(mad::Reply reply, const StructInfo& type, std::uint8_t method) {
  const TableRows table = table_rows(reply, least_size(type));
  Records records;
  records.type = &type;
  records.torn = table.torn;
  records.bytes = RecordBuffer(std::move(reply.bytes), table.records.first(type.bytes));
  if (!mad::is_list_method(method) && records.bytes.empty()) throw Error("The SA's answer holds no record");
  return records;
}

}  // namespace

std::size_t least_size(const StructInfo& record) {
  std::size_t size = 0;
  for (const FieldInfo& field : record.fields) {
    if (!field.reserved) size = std::max<std::size_t>(size, (field.bit_offset + std::size_t{field.bits} * field.count + 7) / 8);
  }
  return size;
}

std::uint8_t list_method(const StructInfo& record) {
  for (const std::uint8_t method : {mad::method::get_table, mad::method::get_multi, mad::method::get_trace_table}) {
    if ((record.methods >> method & 1U) != 0) return method;
  }
  return mad::method::get;
}

async::Task<mad::Result<Records>> try_records(mad::Transactor& transactor, const path::Path& path, const Pattern& pattern,
                                              std::uint8_t method, std::uint32_t modifier) {
  mad::Request request = sa_request(path, pattern.record(), method, pattern.bytes(), pattern.component_mask());
  request.attribute_modifier = modifier;
  mad::Result<mad::Reply> reply = co_await transactor.try_call(request);
  if (!reply) co_return reply.shared_error();
  co_return parse(std::move(*reply), pattern.answer(), method);
}

async::Task<Records> find_records(mad::Transactor& transactor, const Pattern& pattern) {
  mad::Result<Records> records = co_await try_records(transactor, transactor.sa_path(), pattern);
  if (!records && is_no_records(records.error())) {
    Records none;
    none.type = &pattern.answer();
    co_return none;
  }
  co_return std::move(records).take();
}

bool is_no_records(const mad::MadError& error) {
  const auto* sa = dynamic_cast<const mad::SaError*>(&error);
  return sa != nullptr && sa->code() == no_records;
}

}  // namespace ib::sa
