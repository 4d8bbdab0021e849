// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See vendor.hpp.
#include "tools/diags/vendor.hpp"

#include <cstdlib>

#include "base/escape.hpp"
#include "tools/diags/console.hpp"

namespace ib::diags {

std::uint32_t read_oui(const char* text) { return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 0) & 0xffffffU); }

std::string received_text(Bytes field) {
  const std::string_view all = fixed_text(field);
  std::string text;
  for (std::size_t at = 0; at <= all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    text += printable(all.substr(at, end - at));
    if (end < all.size()) text += '\n';
    at = end + 1;
  }
  return text;
}

async::Task<> serve_forever(Context& context, std::string_view cannot, void (*serve)(mad::Server& server, std::uint32_t oui),
                            std::uint32_t oui) {
  Fabric fabric(context);
  mad::Server server(context.session.rpc());
  try {
    serve(server, oui);
  } catch (const SysError&) {
    throw Failure("main", std::string(cannot));
  }
  if (context.settings.debug > 0) warn("main", "starting to serve...");
  co_await server.run();
}

}  // namespace ib::diags
