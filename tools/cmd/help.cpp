// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// help: the list of commands, or one command's usage and options.
#include "tools/help.hpp"

#include <fmt/format.h>

#include "tools/commands.hpp"
#include "tools/session.hpp"

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
    emit.text().write(help_of(command_named(session.operands().front())));
  }
};

}  // namespace

std::unique_ptr<Command> make_help() { return std::make_unique<Help>(); }

}  // namespace ib::tools
