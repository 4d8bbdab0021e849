// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of one run of one command: a Host, the Stack on its end port with the manners of the dialect, and the Targets of the command
// line. A command gets a node from Manners::smp_node() or gmp_node(), sends requests to the node's path, and gets the result from
// Manners::take(). A function gets the part that it uses; only a command's run(), and what calls for the whole, gets a Session. The parts
// stand in host.hpp, stack.hpp, manners.hpp and targets.hpp: a file includes those that it uses.
#pragma once

#include <memory>

namespace ib::async {
class Loop;
}

namespace ib::tools {

class Host;
class Manners;
class Stack;
class Targets;
struct CommonOptions;
struct World;

using MakeManners = std::unique_ptr<Manners> (*)(Stack& stack);

class Session {
 public:
  Session(const World& world, MakeManners make_manners, CommonOptions options, async::Loop& loop);
  ~Session();

  Host& host() { return host_; }
  Stack& stack() { return stack_; }
  Manners& manners() { return manners_; }
  Targets& targets() { return targets_; }

 private:
  struct Parts;

  const std::unique_ptr<Parts> parts_;
  Host& host_;
  Stack& stack_;
  Manners& manners_;
  Targets& targets_;
};

}  // namespace ib::tools
