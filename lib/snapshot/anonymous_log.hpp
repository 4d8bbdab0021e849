// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A log of the requests of a run and of their answers, byte by byte, so that a site can send what a device really answers.
//
// It does not say whose fabric it is: GUIDs, GIDs, node descriptions and serial numbers (iba/secrets.hpp) are replaced by made-up ones, the
// same by the same, and keys are zero. What follows the layout of an attribute, and MADs without a layout, are zero. Wherever else the
// bytes of an original value stand, they are zero, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "async/loop.hpp"
#include "base/file.hpp"
#include "iba/types.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/model.hpp"

namespace ib::snapshot {

class AnonymousLog {
 public:
  /// Begins the file at `path`. `loop` must outlive this object. Throws UsageError and SysError.
  AnonymousLog(std::string path, async::Loop& loop) : file_(std::move(path)), loop_(loop), start_(loop.now()) {}

  /// A Transactor whose requests go to `below`, and are kept. It lives as long as this object.
  mad::Transactor& on(mad::Transactor& below);
  /// Writes `heading`, a line for each node of `subnet` that got a request, and a line for each MAD: its direction (> request, < answer,
  /// ! no answer), the number of the node, milliseconds since the beginning, and the bytes in hexadecimal. Throws SysError.
  void write(std::string_view heading, const subnet::Subnet& subnet);

 private:
  using Content = std::vector<std::uint8_t>;
  class Keeping;
  struct KeptMad {
    path::Path path;
    char direction;
    std::chrono::duration<double, std::milli> time;
    Content mad;
    std::size_t node{};  ///< the number of the node in the file; 0: it is not known
  };

  void keep(const path::Path& path, char direction, Bytes mad);
  void learn_fabric(const subnet::Subnet& subnet);
  void learn_word(Bytes word);
  void learn_guid(Guid guid);
  Content anonymous(Bytes mad);
  Content made_up(const Content& original, std::size_t size, bool is_text);
  void wipe_originals(std::span<std::uint8_t> bytes) const;

  FileReplacement file_;
  async::Loop& loop_;
  async::Time start_;
  std::vector<std::unique_ptr<mad::Transactor>> keeping_;
  std::vector<KeptMad> kept_;
  std::set<Content> originals_;          ///< that must not be in the file
  std::map<Content, unsigned> numbers_;  ///< of what was replaced
};

}  // namespace ib::snapshot
