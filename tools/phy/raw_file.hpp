// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Keeps the requests of a run, for the fabric and for registers, and their answers, byte by byte, so that a site can send what a device
// really answers.
// The file does not say whose fabric it is: GUIDs, GIDs, node descriptions and serial numbers (iba/secrets.hpp) are replaced by made-up
// ones, the same by the same, and keys are zero. What follows the layout of a register, and MADs without a layout, are zero. Wherever else
// the bytes of an original value stand, they are zero, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model/model.hpp"

namespace ib::tools {

class RawFile {
 public:
  /// `file` is the one to write. Both must outlive this object.
  RawFile(FileReplacement& file, async::Loop& loop);

  /// A Transactor whose requests go to `below`, and are kept. It lives as long as this object.
  mad::Transactor& on(mad::Transactor& below);
  /// Writes what was kept of the nodes of `subnet`. Throws SysError.
  void write(const subnet::Subnet& subnet);

 private:
  using Content = std::vector<std::uint8_t>;
  class Keeping;
  struct Kept {
    path::Path path;
    char direction;  ///< '>' to the node, '<' from it, '!' no answer
    std::chrono::duration<double, std::milli> time;
    Content mad;
  };
  void keep(const path::Path& path, char direction, Bytes mad);
  void learn_fabric(const subnet::Subnet& subnet);
  void learn(Bytes mad);
  void learn_word(Bytes word);
  void learn_guid(Guid guid);
  Content anonymous(Bytes mad);
  Content made_up(const Content& original, std::size_t size, bool is_text);
  void wipe_originals(std::span<std::uint8_t> bytes) const;

  FileReplacement& file_;
  async::Loop& loop_;
  async::Time start_;
  std::vector<std::unique_ptr<mad::Transactor>> keeping_;
  std::vector<Kept> kept_;
  std::set<Content> originals_;          ///< that must not be in the file
  std::map<Content, unsigned> numbers_;  ///< of what was replaced
};

}  // namespace ib::tools
