// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A sysfs tree in a temporary directory, and SYSFS_PATH pointing at it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ibtest {

/// The files of a sysfs tree, which nobody looks at yet.
class SysfsTree {
 public:
  SysfsTree();
  ~SysfsTree();
  SysfsTree(const SysfsTree&) = delete;
  SysfsTree& operator=(const SysfsTree&) = delete;

  /// Writes the file `path` (below the root, as "class/infiniband/x/node_type").
  void write(std::string_view path, std::string_view content);
  const std::filesystem::path& root() const { return root_; }

  /// What a port is made of; the rest is that of an ordinary port.
  struct Port {
    unsigned number = 1;
    std::string state = "4: ACTIVE", phys_state = "5: LinkUp";
    std::string gid = "fe80:0000:0000:0000:0002:c903:0000:1491";
    std::string link_layer = "InfiniBand";
    std::uint32_t capability_mask = 0x02514868U & ~(1U << 10);
    std::string umad{};  ///< "umad0", or empty for a port without
  };
  /// A CA with the attributes that the kernel shows.
  void device(const std::string& name, const std::string& node_guid = "0002:c903:0000:1490", const std::string& node_type = "1: CA");
  void port(const std::string& device, const Port& port);

 private:
  std::filesystem::path root_;
};

/// Has SYSFS_PATH point at a tree for as long as it lives.
class SysfsInUse {
 public:
  explicit SysfsInUse(const SysfsTree& tree);
  ~SysfsInUse();
  SysfsInUse(const SysfsInUse&) = delete;
  SysfsInUse& operator=(const SysfsInUse&) = delete;

 private:
  std::optional<std::string> saved_;
};

/// A tree that is in use for as long as it lives.
class FakeSysfs : public SysfsTree {
 private:
  SysfsInUse in_use_{*this};
};

}  // namespace ibtest
