// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/serving.hpp"

#include "base/escape.hpp"
#include "mad/server.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {
namespace {

constexpr std::uint32_t last_oui = 0xffffff;

}  // namespace

void add_oui(OptionSet& set, std::uint32_t& oui) {
  set.value("-o --oui", "OUI", "The OUI of the service (0x001405).", [&oui, diags = set.is_diags()](const std::string& text) {
    oui = diags ? static_cast<std::uint32_t>(c_number(text)) & last_oui : parse_within<std::uint32_t>(text, "--oui", {0, last_oui});
  });
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    shown += printable(text.substr(at, end - at));
    if (end < text.size()) shown += '\n';
    at = end + 1;
  }
  return shown;
}

async::Task<> serve(Stack& stack, std::function<void(mad::Server& server)> offer, std::string cannot) {
  stack.require_lids();
  stack.progress().stop();
  mad::Server server(stack.rpc());
  // This is printed only with these options. Otherwise, senders of requests could fill the log of a server that runs for years.
  if (stack.host().options().error_level() > 0 || stack.host().options().show_errors)
    server.set_reporter([&stack](const Error& error) { stack.host().report(error); });
  try {
    offer(server);
  } catch (const SysError& error) {
    stack.manners().refuse(error, cannot);
  }
  co_await server.run();
}

}  // namespace ib::tools
