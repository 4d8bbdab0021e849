// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/serving.hpp"

#include "mad/server.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

std::uint32_t parse_oui(std::string_view text) { return static_cast<std::uint32_t>(parse_integer(text, "--oui", 0, 0xffffff)); }

void report_refusals(mad::Server& server, const Session& session) {
  // Not otherwise: whoever can send requests could fill the log of a host that serves for years.
  if (session.options().error_level() == 0 && !session.options().show_errors) return;
  server.set_reporter([&session](const Error& error) { session.report(error); });
}

}  // namespace ib::tools
