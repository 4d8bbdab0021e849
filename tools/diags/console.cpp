// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See console.hpp.
#include "tools/diags/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iterator>

#include "base/escape.hpp"

namespace ib::diags {

std::string warning_line(std::string_view function, std::string_view text) {
  return fmt::format("ibwarn: [{}] {}: {}\n", getpid(), function, text);
}

void warn(std::string_view function, std::string_view text) { tell(warning_line(function, text)); }

bool tell(std::string_view text) {
  const std::string shown = printable_words(text);
  return std::fwrite(shown.data(), 1, shown.size(), stderr) == shown.size();
}

std::string failure_line(std::string_view tool, const Failure& failure, bool debug) {
  const std::string what = printable_words(failure.what());
  if (debug) return fmt::format("{}: iberror: [pid {}] {}: failed: {}\n", tool, getpid(), failure.function(), what);
  return fmt::format("{}: iberror: failed: {}\n", tool, what);
}

std::string panic_line(const Panic& panic) {
  return fmt::format("ibpanic: [{}] {}: {}: {}\n", getpid(), panic.function(), panic.what(), std::strerror(panic.code()));
}

int finish_output(std::string_view tool, tools::TextOut& out, int status) {
  try {
    out.finish();
    return status;
  } catch (const SysError& error) {
    tell(fmt::format("{}: standard output: {}\n", tool, std::strerror(error.code())));
    return status == 0 ? failed_status : status;
  }
}

std::string hex_words(Bytes bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    fmt::format_to(std::back_inserter(text), "{:02x}", bytes[at]);
    if (at % 2 == 1) text += (at + 1) % 16 == 0 ? '\n' : ' ';
  }
  if (bytes.size() % 16 != 0) text += '\n';
  return text;
}

}  // namespace ib::diags
