// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// help: the list of commands, or one command's usage and options.
#include "tools/frame/help.hpp"

#include <fmt/format.h>

#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

class Help final : public Command {
 public:
  void options(OptionSet& set, CommonOptions&) override {
    set.optional_operands();
    set.word("COMMAND", command_);
  }
  async::Task<> run(Session&, Emit& emit) override {
    emit.text().write(command_ ? help_of(command_named(*command_)) : command_list());
    co_return;
  }

 private:
  std::optional<std::string> command_;
};

}  // namespace

constinit const CommandInfo rooms::help{
    .name = "help",
    .group = HelpGroup::local,
    .summary = "List the commands, or tell about one.",
    .make = make_command<Help>,
};

}  // namespace ib::tools
