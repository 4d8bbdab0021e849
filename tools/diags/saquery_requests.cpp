// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/diags/saquery_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/escape.hpp"
#include "tools/diags/console.hpp"
#include "tools/diags/options.hpp"
#include "iba-gen/sa.hpp"
#include "iba/wire.hpp"

namespace ib::diags {
namespace {

/// "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)" and a newline.
std::string status_line(unsigned status) {
  constexpr std::array<std::string_view, 10> texts{"SA_NO_ERROR",
                                                   "SA_ERR_NO_RESOURCES",
                                                   "SA_ERR_REQ_INVALID",
                                                   "SA_ERR_NO_RECORDS",
                                                   "SA_ERR_TOO_MANY_RECORDS",
                                                   "SA_ERR_REQ_INVALID_GID",
                                                   "SA_ERR_REQ_INSUFFICIENT_COMPONENTS",
                                                   "SA_ERR_REQ_DENIED",
                                                   "SA_ERR_STATUS_PRIO_SUGGESTED",
                                                   "SA_ERR_UNKNOWN"};
  const unsigned own = status >> 8;
  const std::string by_class = own == 0 ? "" : fmt::format(" SA({})", texts[std::min<std::size_t>(own, texts.size() - 1)]);
  const std::string common = (status & 0xffU) == 0 ? ""
                                                   : fmt::format(" ({}; {}; {})", (status & 1U) != 0 ? "BUSY" : "",
                                                                 (status & 2U) != 0 ? "Redirection Required" : "", "MAD ERROR");
  return fmt::format("ERROR: Query result returned 0x{:04x}, {}{}\n", status, common, by_class);
}

}  // namespace

async::Task<sa::Records> ask_sa(mad::Transactor& transactor, const sa::Pattern& pattern, std::uint8_t method, std::uint32_t modifier) {
  mad::Result<sa::Records> records = co_await sa::try_records(transactor, transactor.sa_path(), pattern, method, modifier);
  if (records) co_return std::move(*records);
  const mad::MadError& error = records.error();
  if (error.reply().empty()) {
    const std::string text = std::strerror(timed_out);
    warn("sa_query", fmt::format("umad_recv failed: attr 0x{:x}: {}\n", pattern.record().attribute_id, text));
    throw Stop{timed_out, fmt::format("Query SA failed: {}\n", text)};
  }
  throw Stop{io_error, status_line(error.status())};
}

async::Task<std::uint16_t> lid_of(mad::Transactor& transactor, std::string word) {
  if (!word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) != 0) {
    const sa::Pattern all(sa::NodeRecord::info());
    const sa::Records nodes = co_await ask_sa(transactor, all);
    for (const Bytes bytes : nodes.bytes) {
      const auto node = wire::unpack_short<sa::NodeRecord>(bytes);
      if (fixed_text(node.node_description.node_string) == word) co_return node.lid.value;
    }
    throw Stop{not_on_network, fmt::format("Failed to find lid for \"{}\": {}\n", printable(word), std::strerror(not_on_network))};
  }
  errno = 0;
  const long value = std::strtol(word.c_str(), nullptr, 0);
  if (errno != 0 || value <= 0 || value > UINT16_MAX)
    throw Stop{invalid_argument, fmt::format("Invalid lid specified: \"{}\"\n", printable(word))};
  co_return static_cast<std::uint16_t>(value);
}

}  // namespace ib::diags
