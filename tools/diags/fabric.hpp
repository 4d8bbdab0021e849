// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fabric as a tool of infiniband-diags sees it: its ways to name a node, and requests whose failure is a warning
// and no value. Warnings, also those of -e and -d, have libibmad's words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "base/bytes.hpp"
#include "tools/diags/legacy.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::diags {

/// A node to ask, and what messages call it: "Lid 4", "DR path slid 65535; dlid 65535; 0,1".
struct Target {
  path::Path path;
  std::string text;
};

/// A directed route as libibmad reads it: numbers between commas, each as C's atoi() reads it, cut to a byte. The
/// first stands for this node and is not looked at. Nothing for an empty text, or one of more than max_hops hops.
std::optional<std::vector<std::uint8_t>> read_route(std::string_view text);
/// "slid 65535; dlid 65535; 0,1,3".
std::string route_text(Lid slid, Lid dlid, const std::vector<std::uint8_t>& route);

class Fabric {
 public:
  /// Opens the end port. Throws Failure where that is not possible.
  explicit Fabric(Context& context);

  /// The node that `text` names in the form of -D, -L or -G (not -c). Nothing where it names none, or the SA knows none.
  async::Task<std::optional<Target>> resolve(std::string_view text);
  /// The node that "LID ROUTE" names: LID-routed to LID, on by directed route.
  std::optional<Target> combined(std::string_view text);
  /// The node at the other end of the link of port `port` of a switch. Throws Failure where that is too far.
  Target beyond(const Target& target, unsigned port);
  /// This host's end port, by its LID.
  Target self();
  /// The subnet manager that this port knows; this node where it knows none.
  Target subnet_manager();
  const sys::EndPort& end_port() const { return end_port_; }

  /// SubnGet: the 64 bytes of the attribute, or nothing after a warning. `data` is what the request carries.
  async::Task<std::optional<std::vector<std::uint8_t>>> smp_get(const Target& target, std::uint16_t attribute, std::uint32_t modifier,
                                                                Bytes data = {});
  /// The same as a structure.
  template <class T>
  async::Task<std::optional<T>> get(const Target& target, std::uint32_t modifier = 0);
  /// SubnSet of `data`, an attribute's 64 bytes; the answer's.
  async::Task<std::optional<std::vector<std::uint8_t>>> smp_set(const Target& target, std::uint16_t attribute, std::uint32_t modifier,
                                                                Bytes data);
  /// A request of a class of GMPs without RMPP to the port at `target`: the answer's data, or nothing after a warning.
  async::Task<std::optional<std::vector<std::uint8_t>>> gmp(const Target& target, std::uint8_t mgmt_class, std::uint8_t method,
                                                            std::uint16_t attribute, std::uint32_t modifier, Bytes data);
  /// `target` for GMPs, and any request to it: likewise.
  Target gmp_target(Target target) const;
  async::Task<std::optional<std::vector<std::uint8_t>>> gmp_call(const Target& target, const mad::Request& request);

 private:
  async::Task<std::optional<std::vector<std::uint8_t>>> smp(const Target& target, const mad::Request& request);
  std::optional<Target> by_lid(long lid);
  Target by_known_lid(Lid lid);
  std::optional<Target> by_route(std::string_view text);
  async::Task<std::optional<Target>> by_guid(std::string_view text);
  void prepare(path::IbPath& path) const;
  /// To the P_Key at the index of -Y, if the port has one there.
  void set_pkey(path::IbPath& path) const;
  void warn_of(const mad::MadError& error, std::string_view function, const std::string& target) const;

  const Settings& settings_;
  const sys::EndPort& end_port_;
  mad::Transactor& transactor_;
};

template <class T>
async::Task<std::optional<T>> Fabric::get(const Target& target, std::uint32_t modifier) {
  const auto bytes = co_await smp_get(target, T::attribute_id, modifier);
  if (!bytes) co_return std::nullopt;
  co_return T::unpack(*bytes);
}

}  // namespace ib::diags
