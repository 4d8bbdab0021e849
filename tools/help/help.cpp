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
  void options(OptionSet& set, CommonOptions&) override { set.usage("[COMMAND]", 0, 1); }
  async::Task<> run(Session& session, Emit& emit) override {
    if (session.operands().empty()) {
      emit.text().write(command_list());
      co_return;
    }
    const CommandInfo* info = find_command(session.operands().front());
    if (info == nullptr) throw no_such_command(session.operands().front());
    emit.text().write(help_of(*info));
  }
};

}  // namespace

constinit const CommandInfo rooms::help{.name = "help", .group = HelpGroup::local, .summary = "List the commands, or tell about one.", .make = make_command<Help>};

}  // namespace ib::tools
