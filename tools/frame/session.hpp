// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of one run of one command: a Host, the Stack on its end port with the manners of the dialect, and the Targets of the command
// line. A command gets a node from Manners::smp_node() or gmp_node(), sends requests to the node's path, and gets the result from
// Manners::take(). A function gets the part that it uses; only a command's run(), and what calls for the whole, gets a Session.
#pragma once

#include <memory>
#include <utility>

#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools {

class Session {
 public:
  Session(const World& world, MakeManners make_manners, CommonOptions options, async::Loop& loop)
      : manners_(make_manners(stack_)),
        host_(world, std::move(options), manners_->port_choice()),
        stack_(host_, loop, manners_.get()),
        targets_(stack_) {}

  Host& host() { return host_; }
  Stack& stack() { return stack_; }
  Manners& manners() { return *manners_; }
  Targets& targets() { return targets_; }

 private:
  std::unique_ptr<Manners> manners_;
  Host host_;
  Stack stack_;
  Targets targets_;
};

}  // namespace ib::tools
