// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one interface through which everything asks the fabric. A Transactor turns requests into replies: the Rpc over a
// channel, or one that stands on another (SA instead of SMPs, a recorder, a recording).
//
// Every class is asked in one shape: path, attribute modifier, value. The attribute is a type (its bytes are packed and
// unpacked) or a descriptor (its bytes come as they are); it says of which class the request is. The words are those of the
// IBA: SubnGet(PortInfo) is subn_get<smp::PortInfo>(path, port). Each call has a twin try_… which returns the error that
// the other throws. The subnet administrator's own verbs stand in sa/subn_adm.hpp.
//
// Paths and bytes given by reference must live until the call has ended: await at once, or keep them in the frame of the
// task that does.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "iba/struct_info.hpp"
#include "mad/error.hpp"
#include "mad/request.hpp"
#include "mad/stats.hpp"

namespace ib::mad {

using async::Task;

/// What a try_ call gives; throws the error.
template <class T>
Task<T> taken(Task<Result<T>> tried) {
  Result<T> result = co_await std::move(tried);
  co_return std::move(result).take();
}

/// An attribute of the class for subnet management, which travels in SMPs.
template <class T>
concept SubnAttribute = is_smp(T::mgmt_class);
/// One that several classes have: ClassPortInfo, Notice (IBA 13.4.8).
template <class T>
concept CommonAttribute = T::attribute_id != 0 && !requires {
  T::mgmt_class;
};
template <class T>
concept PerformanceAttribute = CommonAttribute<T> || T::mgmt_class == mgmt_class::performance;
/// An attribute of a vendor class, of either range (IBA 16.5).
template <class T>
concept VendorAttribute = is_vendor(T::mgmt_class);
template <class T>
concept CongestionAttribute = CommonAttribute<T> || T::mgmt_class == mgmt_class::congestion;

class Transactor {
 public:
  explicit Transactor(const sys::EndPort& end_port);
  Transactor(const Transactor&) = delete;
  Transactor& operator=(const Transactor&) = delete;
  virtual ~Transactor() = default;

  /// Asks, waits, asks again as the path says. The result is a valid reply with status 0, or the MadError that came
  /// instead. Throws SysError where this host cannot send at all.
  virtual Task<Result<Reply>> try_call(const Request& request) = 0;
  /// The counters of what lies below, null where nothing is sent.
  virtual const Stats* stats() const { return nullptr; }

  /// try_call() that throws the MadError.
  Task<Reply> call(const Request& request);

  const sys::EndPort& end_port() const { return end_port_; }
  /// The path to the subnet administrator of the end port (IBA 15.4.2). To be changed (SM_Key, retries) before use only.
  path::Path& sa_path() { return sa_path_; }
  const path::Path& sa_path() const { return sa_path_; }

  /// Get of the attribute that `info` describes, in the class that it belongs to; an SMP by directed route or LID as `path` is,
  /// with its M_Key. `value` is what the request carries (selectors, keys), zeros where it is empty. The result is the data area
  /// of the answer: the attribute's bytes, and behind them what the class has room for. Throws std::invalid_argument for a
  /// structure that is no attribute of one class.
  Task<Result<std::vector<std::uint8_t>>> try_get(const path::Path& path, const StructInfo& info, std::uint32_t modifier = 0,
                                                  Bytes value = {}, Reason reason = asked);
  Task<std::vector<std::uint8_t>> get(const path::Path& path, const StructInfo& info, std::uint32_t modifier = 0, Bytes value = {},
                                      Reason reason = asked) {
    return taken(try_get(path, info, modifier, value, reason));
  }
  /// Set; the result is what the node answers, which tells what it really set.
  Task<Result<std::vector<std::uint8_t>>> try_set(const path::Path& path, const StructInfo& info, std::uint32_t modifier, Bytes value);
  Task<std::vector<std::uint8_t>> set(const path::Path& path, const StructInfo& info, std::uint32_t modifier, Bytes value) {
    return taken(try_set(path, info, modifier, value));
  }

  /// SubnGet(T); `value` carries what T asks with (the SM_Key of an SMInfo).
  template <SubnAttribute T>
  Task<Result<T>> try_subn_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return try_typed(method::get, path, modifier, std::move(value), reason);
  }
  template <SubnAttribute T>
  Task<T> subn_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return taken(try_typed(method::get, path, modifier, std::move(value), reason));
  }
  template <SubnAttribute T>
  Task<Result<T>> try_subn_set(const path::Path& path, std::uint32_t modifier, T value) {
    return try_typed(method::set, path, modifier, std::move(value), asked);
  }
  template <SubnAttribute T>
  Task<T> subn_set(const path::Path& path, std::uint32_t modifier, T value) {
    return taken(try_typed(method::set, path, modifier, std::move(value), asked));
  }

  /// PerformanceGet(T); `value` carries the selectors (port_select, counter_select, …) that T may have.
  template <PerformanceAttribute T>
  Task<Result<T>> try_performance_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return try_typed(method::get, path, modifier, std::move(value), reason, mgmt_class::performance);
  }
  template <PerformanceAttribute T>
  Task<T> performance_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return taken(try_typed(method::get, path, modifier, std::move(value), reason, mgmt_class::performance));
  }
  template <PerformanceAttribute T>
  Task<Result<T>> try_performance_set(const path::Path& path, std::uint32_t modifier, T value) {
    return try_typed(method::set, path, modifier, std::move(value), asked, mgmt_class::performance);
  }
  template <PerformanceAttribute T>
  Task<T> performance_set(const path::Path& path, std::uint32_t modifier, T value) {
    return taken(try_typed(method::set, path, modifier, std::move(value), asked, mgmt_class::performance));
  }

  /// VendGet(T), with the OUI of its class where that has one.
  template <VendorAttribute T>
  Task<Result<T>> try_vend_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return try_typed(method::get, path, modifier, std::move(value), reason);
  }
  template <VendorAttribute T>
  Task<T> vend_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return taken(try_typed(method::get, path, modifier, std::move(value), reason));
  }
  template <VendorAttribute T>
  Task<Result<T>> try_vend_set(const path::Path& path, std::uint32_t modifier, T value) {
    return try_typed(method::set, path, modifier, std::move(value), asked);
  }
  template <VendorAttribute T>
  Task<T> vend_set(const path::Path& path, std::uint32_t modifier, T value) {
    return taken(try_typed(method::set, path, modifier, std::move(value), asked));
  }

  /// CCGet(T) of congestion control (IBA annex A10).
  template <CongestionAttribute T>
  Task<Result<T>> try_cc_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return try_typed(method::get, path, modifier, std::move(value), reason, mgmt_class::congestion);
  }
  template <CongestionAttribute T>
  Task<T> cc_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = asked) {
    return taken(try_typed(method::get, path, modifier, std::move(value), reason, mgmt_class::congestion));
  }
  template <CongestionAttribute T>
  Task<Result<T>> try_cc_set(const path::Path& path, std::uint32_t modifier, T value) {
    return try_typed(method::set, path, modifier, std::move(value), asked, mgmt_class::congestion);
  }
  template <CongestionAttribute T>
  Task<T> cc_set(const path::Path& path, std::uint32_t modifier, T value) {
    return taken(try_typed(method::set, path, modifier, std::move(value), asked, mgmt_class::congestion));
  }

 private:
  template <class T>
  Task<Result<T>> try_typed(std::uint8_t method, const path::Path& path, std::uint32_t modifier, T value, Reason reason,
                            std::uint8_t mgmt_class = 0);
  Task<Result<std::vector<std::uint8_t>>> try_untyped(std::uint8_t method, const path::Path& path, const StructInfo& info,
                                                      std::uint32_t modifier, Bytes value, Reason reason);

  const sys::EndPort& end_port_;
  path::Path sa_path_;
};

/// A reply has the full data area of its class, which no attribute of the class exceeds.
template <class T>
Task<Result<T>> Transactor::try_typed(std::uint8_t method, const path::Path& path, std::uint32_t modifier, T value, Reason reason,
                                      std::uint8_t mgmt_class) {
  std::array<std::uint8_t, T::wire_size> bytes{};
  value.pack(bytes);
  Request request = attribute_request(path, T::info(), method, modifier, bytes, mgmt_class);
  request.reason = reason;
  const Result<Reply> reply = co_await try_call(request);
  if (!reply) co_return reply.shared_error();
  co_return T::unpack(reply->payload());
}

}  // namespace ib::mad
