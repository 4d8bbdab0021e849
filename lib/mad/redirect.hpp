// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Class agents that are to be found elsewhere (IBA 13.5.2): an answer with the redirect status carries a ClassPortInfo
// whose Redirect fields say where. The Rpc asks again there, and remembers it for later requests of that class and node.
#pragma once

#include <map>
#include <tuple>

#include "mad/error.hpp"
#include "mad/request.hpp"

namespace ib::mad {

/// How often one request is sent on before that is an error.
inline constexpr unsigned most_redirects = 4;

/// Whether the agent answered that it is to be found elsewhere, and said no more.
bool is_redirect(const HeaderView& answer);
bool is_redirect(const Result<Reply>& result);

/// `from`, of which `answer` with is_redirect() came, changed as the answer says. A DLID of 0 means that the SA has to be asked
/// for the way to its DGID. Throws Error where the answer makes no sense.
path::Path redirected(const path::Path& from, Bytes answer);

/// Where class agents have sent us.
class Redirects {
 public:
  /// The path to take instead of `path`, or null.
  const path::Path* find(const path::Path& path, std::uint8_t mgmt_class) const;
  void remember(const path::Path& path, std::uint8_t mgmt_class, const path::Path& instead);
  void forget(const path::Path& path, std::uint8_t mgmt_class);

 private:
  using Key = std::tuple<std::uint8_t, std::uint16_t, std::array<std::uint8_t, 16>>;  // class, DLID, DGID
  static Key key_of(const path::Path& path, std::uint8_t mgmt_class);
  std::map<Key, path::Path> paths_;
};

}  // namespace ib::mad
