// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/error.hpp"

#include <fmt/format.h>

#include <system_error>

namespace ib {

Error& Error::note(std::string text) {
  notes_.push_back(std::move(text));
  return *this;
}

std::vector<std::string> Error::lines(int /*verbosity*/, Keys /*keys*/) const {
  std::vector<std::string> out(notes_.rbegin(), notes_.rend());
  out.push_back(message_);
  return out;
}

SysError::SysError(int code, std::string_view call, std::string_view object, Exit exit)
    : Error(fmt::format("{} {}: {}", call, object, std::generic_category().message(code)), exit), code_(code) {}

}  // namespace ib
