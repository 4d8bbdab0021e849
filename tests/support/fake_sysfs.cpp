// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/fake_sysfs.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <fstream>

namespace ibtest {

namespace fs = std::filesystem;

SysfsTree::SysfsTree() {
  std::string name = (fs::temp_directory_path() / "ibtool-sysfs.XXXXXX").string();
  root_ = ::mkdtemp(name.data());
  fs::permissions(root_, fs::perms::group_exec | fs::perms::group_read | fs::perms::others_exec | fs::perms::others_read,
                  fs::perm_options::add);  // as the real one: some tests look at it as another user
}

SysfsTree::~SysfsTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

SysfsInUse::SysfsInUse(const SysfsTree& tree) {
  if (const char* old = ::getenv("SYSFS_PATH")) saved_ = old;
  ::setenv("SYSFS_PATH", tree.root().c_str(), 1);
}

SysfsInUse::~SysfsInUse() {
  if (saved_) {
    ::setenv("SYSFS_PATH", saved_->c_str(), 1);
  } else {
    ::unsetenv("SYSFS_PATH");
  }
}

void SysfsTree::write(std::string_view path, std::string_view content) {
  const fs::path file = root_ / path;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

void SysfsTree::device(const std::string& name, const std::string& node_guid, const std::string& node_type) {
  const std::string dir = "class/infiniband/" + name + "/";
  write(dir + "node_type", node_type + "\n");
  write(dir + "hca_type", "MT4099\n");
  write(dir + "fw_ver", "2.42.5000\n");
  write(dir + "hw_rev", "0\n");
  write(dir + "board_id", "MT_1100120019\n");
  write(dir + "node_desc", "node01 " + name + "\n");
  write(dir + "node_guid", node_guid + "\n");
  write(dir + "sys_image_guid", "0002:c903:0000:1493\n");
}

void SysfsTree::port(const std::string& device, const Port& p) {
  const std::string dir = fmt::format("class/infiniband/{}/ports/{}/", device, p.number);
  write(dir + "state", p.state + "\n");
  write(dir + "phys_state", p.phys_state + "\n");
  write(dir + "rate", "40 Gb/sec (4X QDR)\n");
  write(dir + "lid", "0x12\n");
  write(dir + "sm_lid", "0x1\n");
  write(dir + "lid_mask_count", "2\n");
  write(dir + "sm_sl", "3\n");
  write(dir + "cap_mask", fmt::format("0x{:08x}\n", p.capability_mask));
  if (!p.link_layer.empty()) write(dir + "link_layer", p.link_layer + "\n");
  write(dir + "gids/0", p.gid + "\n");
  write(dir + "pkeys/0", "0xffff\n");
  write(dir + "pkeys/1", "0x8001\n");
  write(dir + "pkeys/2", "0x0000\n");
  if (p.umad.empty()) return;
  write("class/infiniband_mad/" + p.umad + "/ibdev", device + "\n");
  write("class/infiniband_mad/" + p.umad + "/port", fmt::format("{}\n", p.number));
}

}  // namespace ibtest
