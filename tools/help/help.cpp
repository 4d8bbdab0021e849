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
    set.operand("COMMAND", [this](std::string_view word) {
      info_ = find_command(word);
      if (info_ == nullptr) throw no_such_command(word);
    });
  }
  async::Task<> run(Session&, Emit& emit) override {
    emit.text().write(info_ != nullptr ? help_of(*info_) : command_list());
    co_return;
  }

 private:
  const CommandInfo* info_{};
};

}  // namespace

constinit const CommandInfo rooms::help{
    .name = "help",
    .group = HelpGroup::local,
    .summary = "List the commands, or tell about one.",
    .make = make_command<Help>,
};

}  // namespace ib::tools
