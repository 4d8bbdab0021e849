// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Fabrics as libibnetdisc finds them, for the programs of infiniband-diags: how far a sweep goes, the order in which nodes are listed, and
// the messages. Our own sweep reads the fabric. The sweep of libibnetdisc is computed from the result, and what it would not find is
// removed.
#pragma once

#include "formats/topology_text.hpp"
#include "subnet/model/order.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// A fabric with the sweep by which libibnetdisc finds it.
struct LibibnetdiscFabric : Fabric {
  subnet::LegacySweep sweep{};             ///< of a cache only `hops`; empty after keep()
  std::vector<subnet::NodeIndex> order{};  ///< the order of lists: the last found node first; of a cache the order of the file

  /// Sets `sweep` and `order`.
  void compute_sweep(const Host& host, bool with_steps = false);
  /// Reads the file of an option that compares with it. Throws DiagsFailure with `what`, the words for the option.
  void load(const Host& host, const std::string& file, std::string_view what);
  /// Removes from the model what `part`, a sweep of the model, does not find. Sets `order`.
  void keep(const subnet::LegacySweep& part);
};

/// What a program wants of libibnetdisc.
struct LibibnetdiscWanted {
  std::optional<std::string> load_cache{};  ///< the file to read instead of the fabric
  unsigned max_hops{};                      ///< as LegacyScan::max_hops
  bool with_steps{};                        ///< LegacySweep::steps is wanted
  bool silent{};                            ///< the program calls libibnetdisc_failures() itself
};

/// The discovery that a sweep of libibnetdisc is computed from: by directed routes, with FDR10 as ibdiag.conf says.
DiscoveryOptions libibnetdisc_discovery(const Host& host);
/// Discovers the fabric around this host, or reads a file. Prints what did not answer. Throws DiagsFailure, and as discover() does.
async::Task<> discover_as_libibnetdisc(Session& session, const LibibnetdiscWanted& wanted, LibibnetdiscFabric& fabric);
/// Reads what discover_from() reads. If the node at `start` does not answer, the fabric has no nodes, and a failure. Prints nothing.
async::Task<> discover_part_as_libibnetdisc(Session& session, path::Path start, unsigned radius, Fabric& fabric,
                                            std::optional<subnet::KnownNode> known);
/// The radius that finds all that a sweep of libibnetdisc bounded to `hops` finds, which can go two links beyond its bound.
unsigned radius_for_libibnetdisc(unsigned hops);

/// Opens the end port. If this fails, ends the command like a program whose discovery failed.
void open_for_libibnetdisc(Stack& stack);
/// Prints on stderr what did not answer. `from_here` means that the sweep began at this host.
void libibnetdisc_failures(const Host& host, const Fabric& fabric, bool from_here);
using formats::libibnetdisc_route;

/// Writes `fabric` to `file` as a cache of libibnetdisc, and replaces an existing file. Throws Error if that is not possible.
void store_fabric(const LibibnetdiscFabric& fabric, const std::string& file);

}  // namespace ib::tools
