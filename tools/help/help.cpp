// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// help: the list of commands, or one command's usage and options.
#include "tools/frame/help.hpp"

#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

class Help final : public Command {
 public:
  void options(OptionSet& set, CommonOptions&) override {
    set.optional_operands();
    set.word("COMMAND", command_);
    set.offer([] {
      std::vector<std::string> names;
      for (const CommandInfo* info : commands()) names.emplace_back(info->name);
      return names;
    });
  }
  async::Task<> run(Session&, Emit& emit) override {
    if (!command_) {
      emit.text().write(command_list());
      co_return;
    }
    const CommandInfo* info = find_command(*command_);
    if (info == nullptr) throw no_such_command(*command_);
    emit.text().write(help_of(*info));
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
