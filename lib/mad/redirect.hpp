// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Redirected class agents (IBA 13.5.2). An answer with the redirect status carries a ClassPortInfo, whose Redirect fields name
// another agent. The Rpc sends the request to that agent, and remembers the agent for later requests of the class to the same node. A
// change is not redirected, neither a Set nor a SubnAdmDelete: it was meant for the node that it was sent to.
#pragma once

#include <map>
#include <tuple>

#include "mad/error.hpp"
#include "mad/request.hpp"

namespace ib::mad {

/// The greatest number of redirects of one request. More are an error.
inline constexpr unsigned most_redirects = 4;

/// Whether the agent answered with a redirect and no other error.
bool is_redirect(const HeaderView& answer);
bool is_redirect(const Result<Reply>& result);

/// The path to the agent that a redirect names. `from` is the path of the request, and `answer` satisfies is_redirect(). A DLID of 0 in the
/// result means that the path to the DGID must be queried from the SA. Throws Error if the redirect makes no sense.
path::Path redirected(const path::Path& from, Bytes answer);

/// The error of a change (changes_something()) that was answered with `redirect`. It says where the change would have gone.
Result<Reply> not_followed(const Request& request, const MadError& redirect);

/// The redirects that class agents have sent.
class Redirects {
 public:
  /// The path to use instead of `path`, or null.
  const path::Path* find(const path::Path& path, std::uint8_t mgmt_class) const;
  void remember(const path::Path& path, std::uint8_t mgmt_class, const path::Path& instead);
  void forget(const path::Path& path, std::uint8_t mgmt_class);

 private:
  using Key = std::tuple<std::uint8_t, std::uint16_t, std::array<std::uint8_t, 16>>;  // class, DLID, DGID
  static Key key_of(const path::Path& path, std::uint8_t mgmt_class);
  std::map<Key, path::Path> paths_;
};

}  // namespace ib::mad
