// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one interface for all requests to the fabric. A Transactor turns requests into replies. It is the Rpc over a channel, or
// a Transactor on top of another one (SA instead of SMPs, a recorder, a recording).
//
// Requests of all classes have the same shape: path, attribute modifier, value. The attribute is a descriptor (its bytes stay as
// they are) or, for the classes that programs set and get most, a type (its bytes are packed and unpacked); it determines the
// class of the request. The names come from the IBA: SubnGet(PortInfo) is subn_get<smp::PortInfo>(path, port). A function try_…
// returns its error; the others, and taken(), throw it. The methods of the subnet administrator are in sa/subn_adm.hpp.
//
// Paths and bytes given by reference must live until the call has ended: await the call at once, or keep them in the frame of
// the task that awaits it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "iba/struct_info.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "mad/request.hpp"

namespace ib::mad {

using async::Task;

/// The value of a try_ function. Throws its error.
template <class T>
Task<T> taken(Task<Result<T>> tried) {
  Result<T> result = co_await std::move(tried);
  co_return std::move(result).take();
}

/// An attribute of the subnet management class, which is sent in SMPs.
template <class T>
concept SubnAttribute = is_smp(T::mgmt_class);
/// An attribute of several classes: ClassPortInfo, Notice (IBA 13.4.8).
template <class T>
concept CommonAttribute = T::attribute_id != 0 && !requires {
  T::mgmt_class;
};
template <class T>
concept PerformanceAttribute = CommonAttribute<T> || T::mgmt_class == mgmt_class::performance;

/// The reason why the SA is not queried where no subnet manager has ever configured the end port; see Transactor::knows_sa().
inline constexpr std::string_view no_sa_is_known = "no subnet administrator is known";

/// Turns requests into replies.
class Transactor {
 public:
  explicit Transactor(const sys::EndPort& end_port);
  Transactor(const Transactor&) = delete;
  Transactor& operator=(const Transactor&) = delete;
  virtual ~Transactor() = default;

  /// Sends the request, waits, and retries as the path says. The result is a valid reply with status 0, or the MadError that
  /// came instead. Throws SysError if this host cannot send at all.
  virtual Task<Result<Reply>> try_call(const Request& request) = 0;

  /// Like try_call(), but throws the MadError.
  Task<Reply> call(const Request& request);

  const sys::EndPort& end_port() const { return end_port_; }
  /// The path to the subnet administrator of the end port (IBA 15.4.2). It may be changed (SM_Key, retries) only before its first use.
  path::Path& sa_path() { return sa_path_; }
  const path::Path& sa_path() const { return sa_path_; }
  /// Whether the end port has learnt of an SA, or sa_path() was set to one.
  bool knows_sa() const { return sa_path_.ib().dlid != Lid{} || sa_path_.ib().has_grh; }

  /// Get of the attribute that `info` describes, in the class of the attribute. `path` decides whether an SMP is directed-route
  /// or LID-routed, and gives its M_Key. `value` is the content of the request (selectors, keys); empty means zeros. The result
  /// is the data area of the answer: the attribute, and the rest of the area. Throws std::invalid_argument if the structure is
  /// not an attribute of exactly one class.
  Task<Result<std::vector<std::uint8_t>>> try_get(const path::Path& path, const StructInfo& info, std::uint32_t modifier = 0,
                                                  Bytes value = {}, Reason reason = requested) {
    return try_untyped(method::get, path, info, modifier, value, reason);
  }
  /// Set of an attribute. The result is the node's answer, which contains the values that the node really set.
  Task<Result<std::vector<std::uint8_t>>> try_set(const path::Path& path, const StructInfo& info, std::uint32_t modifier, Bytes value) {
    return try_untyped(method::set, path, info, modifier, value, requested);
  }

  /// SubnGet(T). `value` holds the fields that a request of T needs (the SM_Key of an SMInfo).
  template <SubnAttribute T>
  Task<Result<T>> try_subn_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = requested) {
    return try_typed(method::get, path, modifier, std::move(value), reason);
  }
  template <SubnAttribute T>
  Task<T> subn_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = requested) {
    return taken(try_typed(method::get, path, modifier, std::move(value), reason));
  }
  template <SubnAttribute T>
  Task<Result<T>> try_subn_set(const path::Path& path, std::uint32_t modifier, T value) {
    return try_typed(method::set, path, modifier, std::move(value), requested);
  }
  template <SubnAttribute T>
  Task<T> subn_set(const path::Path& path, std::uint32_t modifier, T value) {
    return taken(try_typed(method::set, path, modifier, std::move(value), requested));
  }

  /// PerformanceGet(T). `value` holds the selectors (port_select, counter_select, …) that T may have.
  template <PerformanceAttribute T>
  Task<Result<T>> try_performance_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}, Reason reason = requested) {
    return try_typed(method::get, path, modifier, std::move(value), reason, mgmt_class::performance);
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

/// A Transactor on top of another one, which must outlive it, with the end port and the path to the SA of that one.
class Layer : public Transactor {
 protected:
  explicit Layer(Transactor& below) : Transactor(below.end_port()), below_(below) { sa_path() = below.sa_path(); }

  Transactor& below_;
};

/// A reply always has the full data area of its class, and no attribute of the class is longer.
template <class T>
Task<Result<T>> Transactor::try_typed(std::uint8_t method, const path::Path& path, std::uint32_t modifier, T value, Reason reason,
                                      std::uint8_t mgmt_class) {
  const auto bytes = wire::packed(value);
  Request request = attribute_request(path, T::info(), method, modifier, bytes, mgmt_class);
  request.reason = reason;
  const Result<Reply> reply = co_await try_call(request);
  if (!reply) co_return reply.shared_error();
  co_return T::unpack(reply->payload());
}

/// The NodeDescription of the node at the end of `path`; empty if it cannot be read.
Task<std::string> description_at(Transactor& transactor, path::Path path);

}  // namespace ib::mad
