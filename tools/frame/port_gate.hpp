// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The layer above the Rpc that knows the state of the end port. What cannot leave this host in that state is not sent: the error names the
// port and its state, where a timeout would make the fabric look empty or silent. Directed routes of no hop always pass. It also remembers
// an SA that does not answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/clock.hpp"
#include "mad/transactor.hpp"
#include "sys/device.hpp"

namespace ib::tools {

class Stack;
struct KnownFabric;
struct World;

/// Nothing passes the end port: it is Down, or has no physical link.
class PortDown final : public Error {
 public:
  using Error::Error;
};

/// Whether an SMP on `path` stays on this host: a directed route of no hop, which begins here.
bool stays_here(const path::Path& path);

/// The link of an end port, as a stored fabric has it.
struct FormerLink {
  std::string file;       ///< the stored fabric
  std::string other_end;  ///< "port 7 of 'leaf' 0000:0000:0000:0100"

  /// "; it was linked to port 7 of 'leaf' 0000:0000:0000:0100 (in 'F')".
  std::string clause() const;
};

/// The link that the first stored fabric has which knows the end port. Nothing if none does. A file that cannot be read is passed over.
std::optional<FormerLink> former_link(const World& world, const sys::EndPort& port, const std::vector<KnownFabric>& known);

class PortGate final : public mad::Transactor {
 public:
  /// Both must outlive this object. The stack knows the state.
  PortGate(mad::Transactor& below, Stack& stack);

  /// Throws PortDown. A GMP that cannot leave the port in Initialize or Armed is mad::NotRead. If an SA has let a request wait for its
  /// whole timeout, further requests that read from it get one short try, for a minute or until it answers. Commands have other ways: a
  /// sweep, and SL 0.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  /// An SA that does not answer.
  struct SilentSa {
    Lid lid;
    async::Time until;  ///< when it gets the whole timeout again
    std::string why;
    bool is_reported{};
  };
  mad::Task<mad::Result<mad::Reply>> query_sa(const mad::Request& request);

  mad::Transactor& below_;
  Stack& stack_;
  std::optional<SilentSa> silent_sa_;
};

}  // namespace ib::tools
