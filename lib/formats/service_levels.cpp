// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/forwarding_text.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "formats/line_file.hpp"

namespace ib::formats {
namespace {

constexpr std::uint8_t last_sl = 15;  // IBA 7.6.5: SLs have 4 bits

/// A number, and behind it a blank or the end of the line.
std::optional<std::uint64_t> number(Scanner& scanner, std::uint64_t most) {
  scanner.skip_blanks();
  const auto value = scanner.number(most);
  return value && (scanner.at_end() || scanner.take(" ") || scanner.take("\t")) ? value : std::nullopt;
}

std::optional<StoredServiceLevel> parse(std::string_view line) {
  Scanner scanner(line);
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  scanner.take(word);
  const auto source = guid_in(word);
  const auto dlid = source ? number(scanner, last_unicast_lid) : std::nullopt;
  const auto sl = dlid ? number(scanner, last_sl) : std::nullopt;
  if (!sl || !scanner.at_end()) return std::nullopt;
  return StoredServiceLevel{*source, Lid{static_cast<std::uint16_t>(*dlid)}, static_cast<std::uint8_t>(*sl)};
}

}  // namespace

void read_service_levels(const std::string& path, const TakeServiceLevel& take) {
  LineFile file(path);
  bool any = false;
  while (const auto line = file.next()) {
    const std::string_view words = trim(*line);
    if (words.empty() || words.starts_with('#')) continue;
    const auto pair = parse(words);
    if (!pair) throw UsageError(at_line(path, file.number(), "not a line of NODE_GUID DLID SL"));
    take(*pair);
    any = true;
  }
  if (!any) throw UsageError(fmt::format("{}: this file holds no SL", harmless_line(path)));
}

}  // namespace ib::formats
