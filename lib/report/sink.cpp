// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/sink.hpp"

#include <fmt/format.h>

namespace ib::report {

std::string hex64_text(std::uint64_t value) { return fmt::format("0x{:016x}", value); }

void Sink::hex64(std::string_view key, std::uint64_t value) { text(key, hex64_text(value)); }

void Sink::null_object(std::string_view key, const std::function<void(Sink&)>& /*unknown_members*/) { null(key); }

}  // namespace ib::report
