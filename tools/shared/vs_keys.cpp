// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/vs_keys.hpp"

#include "iba/text.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

void add_vs_keys(OptionSet& set, std::optional<std::string>& file) {
  set.value("--vskey", "FILE", "Read VS_Keys from FILE: one, or a line of GUID and key for each device; -: read one from the terminal.",
            [&file](const std::string& text) {
              if (parse_number(text)) throw OptionError("--vskey: a VS_Key on the command line is seen by others: name a file, or -");
              if (text.empty()) throw OptionError("--vskey: the name of the file is empty");
              file = text;
            });
}

phy::VsKeys read_vs_keys(const Host& host, const std::optional<std::string>& file) {
  if (!file) return {};
  if (*file != "-") {
    phy::VsKeys keys = phy::VsKeys::read(*file);
    return host.options().from ? phy::VsKeys() : keys;
  }
  if (host.options().from) return {};
  const auto key = parse_number(read_unseen(*host.options().world, "VS_Key"));
  if (!key) throw UsageError("The VS_Key is not a number");
  return phy::VsKeys(*key);
}

phy::ReadingOptions reading_options(Stack& stack, const subnet::PortPaths& paths, const phy::VsKeys& keys, phy::ReadingOptions options) {
  options.paths = &paths;
  options.vs_keys = &keys;
  options.smps = &stack.lowest_transactor();
  options.is_stored = stack.host().options().from.has_value();
  return options;
}

}  // namespace ib::tools
