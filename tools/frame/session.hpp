// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of one run of one command: a Host, the Stack on its end port with the manners of the dialect, and the Targets of the command
// line. A command gets a node from Manners::smp_node() or gmp_node(), sends requests to the node's path, and gets the result from
// Manners::take(). A function gets the part that it uses; only a command's run(), and what calls for the whole, gets a Session. The parts
// stand in host.hpp, stack.hpp, manners.hpp and targets.hpp: a file includes those that it uses.
#pragma once

namespace ib::tools {

class Host;
class Manners;
class Stack;
class Targets;

class Session {
 public:
  Session(Host& host, Stack& stack, Manners& manners, Targets& targets)
      : host_(host), stack_(stack), manners_(manners), targets_(targets) {}

  Host& host() { return host_; }
  Stack& stack() { return stack_; }
  Manners& manners() { return manners_; }
  Targets& targets() { return targets_; }

 private:
  Host& host_;
  Stack& stack_;
  Manners& manners_;
  Targets& targets_;
};

}  // namespace ib::tools
