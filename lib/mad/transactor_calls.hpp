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

template <class Record>
Result<SaTable<Record>> unpacked_table(const Result<Reply>& reply) {
  if (!reply) return reply.shared_error();
  const SaRows rows = sa_records(*reply, Record::wire_size);
  SaTable<Record> table;
  table.cut = rows.cut || rows.torn;
  table.records.reserve(rows.records.size());
  for (const Bytes row : rows.records) table.records.push_back(Record::unpack(row));
  return table;
}

template <class T>
constexpr std::uint32_t vendor_oui_of() {
  if constexpr (requires { T::vendor_oui; }) return T::vendor_oui;
  return 0;
}

template <class T>
Request smp_request(const path::Path& path, std::uint8_t method, std::uint32_t modifier, Bytes payload, Reason reason) {
  return {.path = path,
          .mgmt_class = smp_class(path),
          .method = method,
          .attribute_id = T::attribute_id,
          .attribute_modifier = modifier,
          .payload = payload,
          .reason = reason};
}

template <class T>
Request gmp_request(const path::Path& path, std::uint8_t method, std::uint32_t modifier, Bytes payload) {
  return {.path = path,
          .mgmt_class = T::mgmt_class,
          .class_version = T::mgmt_class_version,
          .method = method,
          .attribute_id = T::attribute_id,
          .attribute_modifier = modifier,
          .payload = payload,
          .oui = vendor_oui_of<T>()};
}

template <class T>
Request sa_request(const path::Path& path, std::uint8_t method, Bytes payload, std::uint64_t component_mask) {
  return {.path = path,
          .mgmt_class = mgmt_class::sa,
          .class_version = 2,
          .method = method,
          .attribute_id = T::attribute_id,
          .payload = payload,
          .component_mask = component_mask};
}

/// What a try_ call gives; throws the error.
template <class T>
Task<T> taken(Task<Result<T>> tried) {
  Result<T> result = co_await std::move(tried);
  co_return std::move(result).take();
}

/// The same of a table; throws Error where it was cut.
template <class T>
Task<std::vector<T>> taken_whole(Task<Result<SaTable<T>>> tried) {
  Result<SaTable<T>> result = co_await std::move(tried);
  SaTable<T> table = std::move(result).take();
  if (table.cut) throw Error(std::string(cut_text));
  co_return std::move(table.records);
}

}  // namespace detail

template <class T>
Task<Result<T>> Transactor::try_subn_get(const path::Path& path, std::uint32_t modifier, Reason reason) {
  const Request request = detail::smp_request<T>(path, method::get, modifier, {}, reason);
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<T>(reply);
}

template <class T>
Task<Result<T>> Transactor::try_subn_set(const T& value, const path::Path& path, std::uint32_t modifier) {
  const auto bytes = detail::packed(value);
  const Request request = detail::smp_request<T>(path, method::set, modifier, bytes, asked);
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<T>(reply);
}

template <class T>
Task<Result<T>> Transactor::try_gmp(std::uint8_t method, const path::Path& path, std::uint32_t modifier, T value) {
  const auto bytes = detail::packed(value);
  const Request request = detail::gmp_request<T>(path, method, modifier, bytes);
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<T>(reply);
}

template <class Query>
Task<Result<decltype(Query::record)>> Transactor::try_subn_adm(std::uint8_t method, const Query& query) {
  using Record = decltype(Query::record);
  const auto bytes = detail::packed(query.record);
  const Request request = detail::sa_request<Record>(sa_path_, method, bytes, query.component_mask);
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked<Record>(reply);
}

template <class Query>
Task<Result<SaTable<decltype(Query::record)>>> Transactor::try_subn_adm_get_table(const Query& query) {
  using Record = decltype(Query::record);
  const auto bytes = detail::packed(query.record);
  const Request request = detail::sa_request<Record>(sa_path_, method::get_table, bytes, query.component_mask);
  const Result<Reply> reply = co_await try_call(request);
  co_return detail::unpacked_table<Record>(reply);
}

}  // namespace ib::mad
