// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/cell.hpp"

#include "base/escape.hpp"

namespace ib::report {
namespace {

/// Whether a spreadsheet may take a text that begins with `code` for a formula. Also an apostrophe, which marks such texts.
bool begins_formula(char32_t code) {
  constexpr std::u32string_view all = U"=+-@\t\r\n'＝＋－＠";
  return all.find(code) != std::u32string_view::npos;
}

/// `value` as UTF-8 that no spreadsheet takes for a formula and no terminal obeys.
std::string harmless_cell(std::string_view value) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string text;
  if (!value.empty() && begins_formula(decode_utf8(value).code)) text = "'";
  while (!value.empty()) {
    const Utf8Char c = decode_utf8(value);
    const bool is_kept = c.valid && (!is_hostile(c.code) || c.code == '\t' || c.code == '\r' || c.code == '\n');
    text += is_kept ? value.substr(0, c.size) : replacement;
    value.remove_prefix(c.size);
  }
  return text;
}

}  // namespace

std::string csv_cell(std::string_view value) {
  std::string text = harmless_cell(value);
  if (text.find_first_of("\",;\t\r\n ") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string tsv_cell(std::string_view value) {
  std::string escaped;
  for (const char c : harmless_cell(value)) {
    const std::string_view special = "\t\r\n\\", letters = "trn\\";
    const std::size_t at = special.find(c);
    if (at != std::string_view::npos) escaped += '\\';
    escaped += at == std::string_view::npos ? c : letters[at];
  }
  return escaped;
}

}  // namespace ib::report
