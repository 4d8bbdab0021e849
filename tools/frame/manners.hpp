// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The habits of both dialects in a run: how a target is found and named, and what is printed for a request that failed. The Stack of a
// command has the object for its dialect. This is why commands, and what they stand on, need not know by which name they were called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/task.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model/names.hpp"

namespace ib::mad {
class Channel;
class Tracer;
}  // namespace ib::mad
namespace ib::sys {
class DeviceList;
}

namespace ib::tools {

class Host;
class Stack;
enum class Dialect : std::uint8_t;
struct CommonOptions;
struct Target;
struct World;

/// A node or port to send requests to: its path and its name in texts.
struct Destination {
  path::Path path;
  std::string name;  ///< "Lid 4" of infiniband-diags; path::to_text() of ibtool
};

class Manners {
 public:
  /// `stack` must outlive this object. The constructor does not use it.
  Manners(Stack& stack, Dialect dialect);

  // For Host and Stack.
  /// The end port of -C and -P. Throws UsageError if there is none.
  const sys::EndPort& choose_port(const sys::DeviceList& list, const CommonOptions& options) const;
  std::unique_ptr<mad::Channel> open_channel();
  /// What gets each MAD that is sent or received; may be null.
  std::unique_ptr<mad::Tracer> tracer() const;
  /// Whether requests are sent as libibmad does: in every state of the end port, and with the default P_Key where the index is one of no
  /// P_Key. A path without an answer from the SA is then an error, and SL 0 is not used instead.
  bool as_libibmad() const { return diags_; }

  /// The site's names for nodes: the file of --node-name-map, else a default file that is there. Invalid lines are warnings, and for
  /// infiniband-diags a file that cannot be read; ibtool throws as formats::read_node_name_map() does.
  const subnet::NodeNameMap& node_name_map();
  /// The node that `target` names, or the node of this host if `target` is empty, with a path for SMPs that has the keys and times of the
  /// options. A GID or GUID is resolved by the SA. Throws Error for a GID of another subnet: SMPs do not go there.
  async::Task<Destination> smp_node(const Target& target);
  /// The node that `target` names by a path that GMPs can use, with the P_Key of the options (Stack::gmp_path()).
  async::Task<Destination> gmp_node(const Target& target);
  /// `node` with IbPath::expected_node_guid, for a node that a LID or a route names, which nothing yet says more of: the GUID of the node
  /// that is at the end of its path now, which is requested. What is meant already stays. A command calls it before it reads what it will
  /// set: no Set on this path goes to another node afterwards (SetGuard). Throws subnet::WrongNode if another node was meant before, and
  /// MadError if there is no answer. Returns `node` as it is where SMPs do not go (subnet::takes_smps()).
  async::Task<Destination> identified(Destination node);
  /// The name of the node at `path` in texts.
  std::string name_of(const path::Path& path) const;

  /// The value of the reply. A failure ends the command: ibtool throws the error; infiniband-diags prints libibmad's warning
  /// for the request and gives up with `words`.
  template <class T>
  T take(mad::Result<T> result, std::string_view words) const {
    if (!result) give_up(result.shared_error(), words);
    return std::move(*result);
  }
  /// The answer to SubnGet(T), taken as take() does. `value` holds the fields that the request needs. `words` must outlive the task.
  template <class T>
  async::Task<T> get(mad::Transactor& transactor, path::Path path, std::uint32_t modifier, std::string_view words, T value = {}) const {
    mad::Result<T> answer = co_await transactor.try_subn_get<T>(path, modifier, std::move(value));
    co_return take(std::move(answer), words);
  }
  /// Ends the command for a failure, as take() does.
  [[noreturn]] void give_up(const std::shared_ptr<const mad::MadError>& error, std::string_view words) const;
  /// Ends the command for another reason. ibtool throws `error`.
  template <class E>
  [[noreturn]] void refuse(E error, std::string words) const {
    if (diags_) fail(std::move(words));
    throw error;
  }
  /// A request that failed and does not end the command. ibtool prints "E: …" where -v or -d is given; infiniband-diags warns.
  void report_failure(const mad::MadError& error) const;
  /// "ibwarn: [PID] FUNCTION: TEXT" of infiniband-diags on stderr, for code that both dialects run; other code calls tools::warn().
  void remark(std::string_view function, std::string_view text) const;

 private:
  [[noreturn]] static void fail(std::string words);
  Host& host() const;
  async::Task<std::optional<path::Path>> diags_path(const Target& target);
  async::Task<std::optional<path::Path>> path_of_guid(const std::string& text);
  std::optional<path::Path> path_of_lid(long lid) const;
  std::optional<path::Path> path_of_combined(const std::string& text) const;

  Stack& stack_;
  bool diags_;  ///< the dialect is infiniband-diags
  std::optional<subnet::NodeNameMap> node_name_map_;
};

/// -P as infiniband-diags reads it: as C's strtol() does, and 0 without -P.
long diags_port_number(const CommonOptions& options);
/// -C as infiniband-diags prints it: "mlx5_0" or "(null)".
std::string diags_device(const CommonOptions& options);
/// -C and -P as messages of infiniband-diags have them: "mlx5_0:1" or "(null):0".
std::string diags_port(const CommonOptions& options);
/// Opens the end port for the next opening of `stack`. If that fails, prints the messages of libibumad, and returns errno.
std::optional<int> open_failure(Stack& stack);
/// The name of the node at `path` in texts of infiniband-diags: "Lid 4", "DR path slid 65535; dlid 65535; 0,1".
std::string diags_name(const path::Path& path);

/// Reads the file of --node-name-map, else the first default file that exists, and warns of invalid lines. Empty if no file exists. Throws
/// SysError for a file that cannot be read; a default file that this user may not read is passed over.
subnet::NodeNameMap read_node_names(const World& world, const CommonOptions& options);

/// "0,1,3": numbers between commas, each as C's atoi() reads it, cut to a byte. The first stands for this node and is not looked at.
/// Nothing for an empty text, or one of more than path::max_hops hops.
std::optional<path::IbDrPath> read_diags_route(std::string_view text);

}  // namespace ib::tools
