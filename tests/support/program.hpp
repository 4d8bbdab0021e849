// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The whole program in the process of a test: a command line in, exit status and both streams out. It stands on a world of its own: a
// fabric in memory, a clock that jumps, streams that are files.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "support/fake_fabric.hpp"
#include "support/fake_sysfs.hpp"
#include "tools/frame/world.hpp"

namespace ibtest {

struct Outcome {
  int status{};
  std::string out, err;

  /// `err` without the line about an SA that is waited for; the time-out of an SA is longer than that line takes.
  std::string err_after_wait() const {
    const std::size_t at = err.find("W: Waiting for the subnet administrator at ");
    return at == std::string::npos ? err : err.substr(0, at) + err.substr(err.find('\n', at) + 1);
  }
};

/// What differs from the usual world.
struct Outside {
  std::string in{};                           ///< standard input
  bool full_disk = false;                     ///< standard output takes nothing
  ib::async::Clock* clock{};                  ///< instead of a FakeClock of its own
  std::FILE* out{};                           ///< standard output, where it is not to be Outcome::out
  std::FILE* err{};                           ///< standard error, where it is not to be Outcome::err
  std::string cache{};                        ///< IBTOOL_CACHE; empty: none
  std::string from{};                         ///< IBTOOL_FROM; empty: none
  std::vector<std::string> node_name_maps{};  ///< World::node_name_maps
  /// The state and the physical state of the end port in sysfs, as "2: INIT"; empty: Active, or Down and Polling where its cable was cut.
  std::string port_state{}, port_phys_state{};
  int open_failure{};  ///< errno with which the device of the fabric can not be opened; 0: it can
  const ib::tools::DiagsRelease* diags_release = &ib::tools::diags_releases.front();  ///< World::diags_release, 44 by default
  std::string executable{};                                                           ///< World::executable
  std::map<std::string, std::string> links{};                                         ///< what World::read_link finds
};

/// `ibtool WORDS…` on a host whose device fake0 is where `fabric` is attached.
Outcome ibtool(FakeFabric& fabric, std::vector<std::string> words, const Outside& outside = {});
/// `NAME WORDS…` there, a program of infiniband-diags: `words` begins with its name.
Outcome diags(FakeFabric& fabric, std::vector<std::string> words, const Outside& outside = {});
/// `ibtool WORDS…` on the host in SYSFS_PATH, for commands that need no fabric. Without words not even argv[0] is there.
Outcome ibtool(std::vector<std::string> words, const Outside& outside = {});
Outcome diags(std::vector<std::string> words, const Outside& outside = {});

}  // namespace ibtest
