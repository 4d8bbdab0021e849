// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// This host in one process: its RDMA devices, the end port through which the fabric is reached, the options with their keys. A Host lives
// as long as the process. A Stack (stack.hpp) is opened on its end port; it may be closed and opened again.
#pragma once

#include <memory>
#include <string_view>

#include "base/keys.hpp"
#include "base/log.hpp"
#include "sys/device.hpp"

namespace ib {
class Error;
}
namespace ib::snapshot {
class StoredFabric;
}

namespace ib::tools {

class Manners;
struct CommonOptions;
struct World;

class Host {
 public:
  /// `world` and `manners`, which choose the end port (else DeviceList::select()), must outlive this object. Opens nothing.
  Host(const World& world, CommonOptions options, const Manners* manners = nullptr);
  ~Host();

  const World& world() const { return world_; }
  Log& log() const;
  const CommonOptions& options() const { return *options_; }
  /// As if --sa had been given.
  void use_sa();

  /// The devices that lead to the fabric: of the file of --from, else of this host. The first call reads them. Throws SysError.
  const sys::DeviceList& devices();
  /// As above, for a command about the devices themselves. Throws UsageError with --from and a file that does not hold its host's devices.
  const sys::DeviceList& own_devices();
  /// The end port that a target named, else the one of -C and -P, else the default of the dialect. Throws UsageError if there is none.
  const sys::EndPort& end_port();
  /// The result of end_port(), if -P or a target named it; else null.
  const sys::EndPort* named_end_port() const { return is_named_ ? end_port_ : nullptr; }
  /// A target names the end port.
  void name_end_port(const sys::EndPort& port);
  /// Reads sysfs again, because LIDs, states and the devices themselves change while a process runs. A chosen end port is replaced by the
  /// end port of the same device and number, because another port may lead to another fabric. Throws SysError, and UsageError if the port
  /// is gone; devices() and end_port() then stay unchanged. Nothing may be open on the end port. Paths that refer to it stay valid until
  /// the next call.
  void reread();

  /// The fabric of --from. The first call opens the file. Throws as snapshot::open_fabric() does.
  snapshot::StoredFabric& stored();

  /// A diagnostic line on stderr ("D: …") with -d.
  void debug(std::string_view text) const;
  /// As above, also with -v.
  void detail(std::string_view text) const;
  /// Prints the effect of a Set on stderr. A Set prints nothing else. Nothing with --dry-run.
  void note(std::string_view line) const;
  /// An error that does not end the command ("E: …" and "E: +…" on stderr). For `top` see print_error().
  void report(const Error& error, bool top = true) const;

 private:
  const sys::EndPort& select(const sys::DeviceList& list);

  const World& world_;
  std::unique_ptr<CommonOptions> options_;
  const Manners* manners_;
  std::unique_ptr<sys::DeviceList> devices_, devices_before_;  ///< the latter until reread() is called once more
  const sys::EndPort* end_port_{};
  bool is_named_{};
  std::unique_ptr<snapshot::StoredFabric> stored_;
};

/// Prints the `E:` lines of an error at the level of detail. Without `top` they continue a line that says what failed.
void print_error(Log& log, const Error& error, int level, Keys keys = Keys::hidden, bool top = true);

}  // namespace ib::tools
