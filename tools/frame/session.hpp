// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of one run of one command: a Host, the Stack on its end port with the manners of the dialect, and the Targets of the command
// line. A command gets a node from Manners::smp_node() or gmp_node(), sends requests to the node's path, and gets the result from
// Manners::take(). A function gets the part that it uses; only a command's run(), and what calls for the whole, gets a Session. The parts
// stand in host.hpp, stack.hpp, manners.hpp and targets.hpp: a file includes those that it uses.
#pragma once

#include <cstdint>
#include <memory>

namespace ib::async {
class Loop;
}

namespace ib::tools {

class Host;
class Manners;
class Stack;
class Targets;
enum class Dialect : std::uint8_t;
struct CommonOptions;
struct World;

class Session {
 public:
  Session(const World& world, Dialect dialect, CommonOptions options, async::Loop& loop);
  ~Session();

  Host& host();
  Stack& stack();
  Manners& manners();
  Targets& targets();

 private:
  struct Parts;

  const std::unique_ptr<Parts> parts_;
};

}  // namespace ib::tools
