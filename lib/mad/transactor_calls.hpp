// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Bodies of the typed calls of Transactor; included by mad/transactor.hpp only. Each packs T, calls and unpacks.
#pragma once

#include "mad/transactor.hpp"

namespace ib::mad {

namespace detail {

/// The bytes of an attribute, in the frame of the call that sends them.
template <class T>
std::array<std::uint8_t, T::wire_size> packed(const T& value) {
  std::array<std::uint8_t, T::wire_size> bytes{};
  value.pack(bytes);
  return bytes;
}

/// A reply has the full data area of its class, which no attribute of the class exceeds.
template <class T>
Result<T> unpacked(const Result<Reply>& reply) {
  if (!reply) return reply.shared_error();
  return T::unpack(reply->payload());
}

template <class T>
constexpr std::uint8_t version_of() {
  return T::mgmt_class_version;
}

template <class T>
constexpr std::uint32_t vendor_oui_of() {
  if constexpr (requires { T::vendor_oui; }) return T::vendor_oui;
  return 0;
}

}  // namespace detail

template <class T>
Task<Result<T>> Transactor::try_subn_get(const path::Path& path, std::uint32_t modifier, Reason reason) {
  const Request request{.path = path,
                        .mgmt_class = smp_class(path),
                        .attribute_id = T::attribute_id,
                        .attribute_modifier = modifier,
                        .payload = {},
                        .reason = reason};
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<T>(reply);
}

template <class T>
Task<T> Transactor::subn_get(const path::Path& path, std::uint32_t modifier, Reason reason) {
  Result<T> result = co_await try_subn_get<T>(path, modifier, reason);
  co_return std::move(result).take();
}

template <class T>
Task<Result<T>> Transactor::try_subn_set(const T& value, const path::Path& path, std::uint32_t modifier) {
  const auto bytes = detail::packed(value);
  const Request request{.path = path,
                        .mgmt_class = smp_class(path),
                        .method = method::set,
                        .attribute_id = T::attribute_id,
                        .attribute_modifier = modifier,
                        .payload = bytes};
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<T>(reply);
}

template <class T>
Task<T> Transactor::subn_set(const T& value, const path::Path& path, std::uint32_t modifier) {
  Result<T> result = co_await try_subn_set(value, path, modifier);
  co_return std::move(result).take();
}

template <class T>
Task<Result<T>> Transactor::try_gmp_get(const path::Path& path, std::uint32_t modifier, T value) {
  const auto bytes = detail::packed(value);
  const Request request{.path = path,
                        .mgmt_class = T::mgmt_class,
                        .class_version = detail::version_of<T>(),
                        .attribute_id = T::attribute_id,
                        .attribute_modifier = modifier,
                        .payload = bytes,
                        .oui = detail::vendor_oui_of<T>()};
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<T>(reply);
}

template <class T>
Task<Result<T>> Transactor::try_gmp_set(const T& value, const path::Path& path, std::uint32_t modifier) {
  const auto bytes = detail::packed(value);
  const Request request{.path = path,
                        .mgmt_class = T::mgmt_class,
                        .class_version = detail::version_of<T>(),
                        .method = method::set,
                        .attribute_id = T::attribute_id,
                        .attribute_modifier = modifier,
                        .payload = bytes,
                        .oui = detail::vendor_oui_of<T>()};
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<T>(reply);
}

template <class T>
Task<T> Transactor::performance_get(const path::Path& path, T value, std::uint32_t modifier) {
  Result<T> result = co_await try_gmp_get<T>(path, modifier, value);
  co_return std::move(result).take();
}

template <class T>
Task<T> Transactor::performance_set(const T& value, const path::Path& path, std::uint32_t modifier) {
  Result<T> result = co_await try_gmp_set(value, path, modifier);
  co_return std::move(result).take();
}

template <class T>
Task<T> Transactor::vend_get(const path::Path& path, std::uint32_t modifier) {
  Result<T> result = co_await try_gmp_get<T>(path, modifier);
  co_return std::move(result).take();
}

template <class T>
Task<T> Transactor::vend_set(const T& value, const path::Path& path, std::uint32_t modifier) {
  Result<T> result = co_await try_gmp_set(value, path, modifier);
  co_return std::move(result).take();
}

template <class Query>
Task<Result<decltype(Query::record)>> Transactor::try_subn_adm_get(const Query& query) {
  using Record = decltype(Query::record);
  const auto bytes = detail::packed(query.record);
  const Request request{.path = sa_path_,
                        .mgmt_class = mgmt_class::sa,
                        .class_version = 2,
                        .attribute_id = Record::attribute_id,
                        .payload = bytes,
                        .component_mask = query.component_mask};
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<Record>(reply);
}

template <class Query>
Task<decltype(Query::record)> Transactor::subn_adm_set(const Query& query) {
  using Record = decltype(Query::record);
  const auto bytes = detail::packed(query.record);
  const Request request{.path = sa_path_,
                        .mgmt_class = mgmt_class::sa,
                        .class_version = 2,
                        .method = method::set,
                        .attribute_id = Record::attribute_id,
                        .payload = bytes,
                        .component_mask = query.component_mask};
  const Reply reply = co_await call(request);
  co_return Record::unpack(reply.payload());
}

template <class Query>
Task<decltype(Query::record)> Transactor::subn_adm_get(const Query& query) {
  auto result = co_await try_subn_adm_get(query);
  co_return std::move(result).take();
}

template <class Query>
Task<Result<SaTable<decltype(Query::record)>>> Transactor::try_subn_adm_get_table(const Query& query) {
  using Record = decltype(Query::record);
  const auto bytes = detail::packed(query.record);
  const Request request{.path = sa_path_,
                        .mgmt_class = mgmt_class::sa,
                        .class_version = 2,
                        .method = method::get_table,
                        .attribute_id = Record::attribute_id,
                        .payload = bytes,
                        .component_mask = query.component_mask};
  const Result<Reply> reply = co_await try_call(request);
  if (!reply) co_return reply.shared_error();
  const SaTable<Bytes> rows = sa_records(*reply, Record::wire_size);
  SaTable<Record> table;
  table.cut = rows.cut;
  table.records.reserve(rows.records.size());
  for (const Bytes row : rows.records) table.records.push_back(Record::unpack(row));
  co_return table;
}

template <class Query>
Task<std::vector<decltype(Query::record)>> Transactor::subn_adm_get_table(const Query& query) {
  auto result = co_await try_subn_adm_get_table(query);
  auto table = std::move(result).take();
  if (table.cut) throw Error(std::string(cut_text));
  co_return std::move(table.records);
}

}  // namespace ib::mad
