// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Keeps the requests for registers of a run and their answers, byte by byte, so that a site can send what a device really answers.
// The file does not say whose fabric it is: GUIDs, GIDs, node descriptions and serial numbers (iba/identities.hpp) are replaced by made-up
// ones, the same by the same, and keys are zero. What follows the layout of a register, and MADs without a layout, are zero. Wherever else
// the bytes of an original value stand, they are zero, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "mad/transactor.hpp"
#include "subnet/model.hpp"

namespace ib::tools {

class RawFile final : public mad::Transactor {
 public:
  /// `file` is the one to write, and `subnet` the model whose nodes get the requests. All must outlive this object.
  RawFile(FileReplacement& file, mad::Transactor& below, const subnet::Subnet& subnet, async::Loop& loop);

  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;
  /// Writes what was kept. Throws SysError.
  void write();

 private:
  using Content = std::vector<std::uint8_t>;
  struct Kept {
    subnet::NodeIndex node;
    char direction;  ///< '>' to the node, '<' from it, '!' no answer
    std::chrono::duration<double, std::milli> time;
    Content mad;
  };
  void keep(subnet::NodeIndex node, char direction, Bytes mad);
  void learn_fabric();
  void learn(Bytes mad);
  void learn_word(Bytes word);
  void learn_guid(Guid guid);
  Content anonymous(Bytes mad);
  Content made_up(const Content& original, std::size_t size, bool is_text);
  void wipe_originals(std::span<std::uint8_t> bytes) const;

  FileReplacement& file_;
  mad::Transactor& below_;
  const subnet::Subnet& subnet_;
  async::Loop& loop_;
  async::Time start_;
  std::vector<Kept> kept_;
  std::set<Content> originals_;          ///< that must not be in the file
  std::map<Content, unsigned> numbers_;  ///< of what was replaced
};

}  // namespace ib::tools
