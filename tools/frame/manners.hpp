// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The habits of a dialect in a run: how a target is found and named, and what is printed for a request that failed. A Session has the
// object of its dialect. This is why commands, and what they stand on, need not know by which name they were called.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "async/task.hpp"
#include "mad/error.hpp"
#include "path/path.hpp"
#include "subnet/model/node_name_map.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools {

class Session;

/// A node or port to send requests to: its path and its name in texts.
struct Destination {
  path::Path path;
  std::string name;  ///< "Lid 4" of infiniband-diags; path::to_text() of ibtool
};

/// What a Session does in the manner of one dialect. The functions that Session has by the same name are described there.
class Manners {
 public:
  explicit Manners(Session& session) : session_(session) {}
  virtual ~Manners() = default;

  /// How -C and -P choose an end port. Null: DeviceList::select().
  virtual Host::PortChoice port_choice() const { return {}; }
  virtual StackManners stack() = 0;
  virtual subnet::NodeNameMap node_names() const = 0;
  virtual async::Task<Destination> smp_node(const Target& target) = 0;
  virtual async::Task<Destination> gmp_node(const Target& target) = 0;
  virtual async::Task<Destination> identified(Destination node) = 0;
  virtual std::string name_of(const path::Path& path) const = 0;
  virtual void report_failure(const mad::MadError& error) const = 0;
  // Throws if the program ends with `words`, the text of infiniband-diags; returns if it ends with the error of the caller.
  virtual void give_up(const mad::MadError& error, std::string_view words) const = 0;
  virtual void refuse(std::string words) const = 0;
  virtual void diags_warning(std::string_view function, std::string_view text) const = 0;

 protected:
  Session& session_;
};

std::unique_ptr<Manners> ibtool_manners(Session& session);
std::unique_ptr<Manners> diags_manners(Session& session);
using MakeManners = std::unique_ptr<Manners> (*)(Session& session);

/// -P as infiniband-diags reads it: as C's strtol() does, and 0 without -P.
long diags_port_number(const CommonOptions& options);
/// -C as infiniband-diags prints it: "mlx5_0" or "(null)".
std::string diags_device(const CommonOptions& options);

}  // namespace ib::tools
