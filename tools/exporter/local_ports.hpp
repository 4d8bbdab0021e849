// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The local ports through which one process sees fabrics: that of -C and -P, and those of --add-port. Each has an engine of its own.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/exporter/engine.hpp"

namespace ib::tools::exporter {

/// A port as users name it: "mlx5_1/1".
struct PortName {
  std::string device, number;
  std::string text() const { return device + "/" + number; }
};

/// DEVICE/PORT. Throws OptionError.
PortName parse_port_name(std::string_view text);

/// Checks that the end port of -C and -P is there. Throws UsageError if it is not, and this host has devices: then the name is wrong. A
/// host without devices may still be starting: nothing is checked. The default port is not checked either.
void check_named_port(Host& host);

class LocalPorts {
 public:
  /// `first` is the stack of the first port; those of `others` are opened as it is, by the same options. It must outlive this object.
  /// None of them needs to be there yet.
  LocalPorts(Stack& first, const std::vector<PortName>& others, const ReaderOptions& options, const Times& times);
  LocalPorts(const LocalPorts&) = delete;
  LocalPorts& operator=(const LocalPorts&) = delete;

  /// Reads all of them until the task is cancelled.
  async::Task<> run();

  /// The engine of the port of that name; an empty one is the first. Null if there is none.
  Engine* find(std::string_view name);
  const Engine* find(std::string_view name) const { return const_cast<LocalPorts*>(this)->find(name); }
  /// "mlx5_0/1, mlx5_1/1".
  std::string names() const;
  std::size_t size() const { return ports_.size(); }
  /// Calls `use` with each engine.
  template <class Use>
  void each(Use use) {
    for (LocalPort& port : ports_) use(*port.engine);
  }
  /// Whether all of them are ready.
  bool are_ready() const;

 private:
  struct LocalPort {
    std::string name;
    std::unique_ptr<Host> host;    ///< null: that of the first stack
    std::unique_ptr<Stack> stack;  ///< null: the first stack
    std::unique_ptr<Engine> engine;
  };
  async::Loop& loop_;
  std::deque<LocalPort> ports_;
};

}  // namespace ib::tools::exporter
