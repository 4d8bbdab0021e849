// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The requests of infiniband-diags' saquery. If one fails, the program ends with an errno as its exit status.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba/wire.hpp"
#include "tools/saquery/saquery.hpp"

namespace ib::tools::saquery {
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

[[noreturn]] void exit_for(const StructInfo& record, const mad::MadError& error) {
  int status = EIO;
  std::string text;
  if (dynamic_cast<const mad::NotRead*>(&error) != nullptr) {
    text = fmt::format("Query SA failed: {}\n", error.message());
  } else if (error.reply().empty()) {
    status = ETIMEDOUT;
    text = fmt::format("Query SA failed: {}\n", std::strerror(status));
  } else if (error.status() == 0) {  // the answer is for another query
    text = fmt::format("Query SA failed: {}\n", error.message());
  } else {
    text = status_line(error.status());
  }
  if (&record == &mad::ClassPortInfo::info()) text += "Failed to query SA:ClassPortInfo\n";
  throw DiagsExit(status, std::move(text));
}

/// The answer of the SA about nodes, or the end of the program.
sa::Nodes nodes_or_exit(Host& host, mad::Result<sa::Nodes> answer) {
  if (!answer) exit_for(sa::NodeRecord::info(), answer.error());
  if (answer->torn) warn(host.world(), "sa_query", torn_text(answer->records.size()));
  return std::move(*answer);
}

}  // namespace

async::Task<> fetch_records_or_exit(Stack& stack, RecordsReport& report, std::uint8_t method, std::uint32_t modifier) {
  mad::Transactor& transactor = stack.transactor();
  mad::Result<sa::Records> tried = co_await sa::try_records(transactor, transactor.sa_path(), report.pattern, method, modifier);
  if (!tried) exit_for(report.pattern.record(), tried.error());
  report.records = std::move(*tried);
  if (report.records.torn) warn(stack.host().world(), "sa_query", torn_text(report.records.bytes.size()));
}

async::Task<sa::Nodes> search_all_nodes(Session& session, ListKind list, std::string word) {
  if (node_key(list) == NodeKey::name) {
    mad::Result<sa::Nodes> called = co_await session.targets().nodes_called(word, Targets::NameRule::any_whole);
    co_return nodes_or_exit(session.host(), std::move(called));
  }
  mad::Result<sa::Nodes> table = co_await session.targets().node_table();
  sa::Nodes nodes = nodes_or_exit(session.host(), std::move(table));
  const std::uint64_t number = c_number(word);
  std::erase_if(nodes.records, [&](const sa::NodeRecord& node) {
    if (list == ListKind::adapters) return node.node_info.node_type != smp::NodeType::channel_adapter;
    if (list == ListKind::name_of_lid) return node.lid.value != static_cast<std::uint16_t>(number);
    return node.node_info.port_guid.value != number;
  });
  co_return nodes;
}

async::Task<Lid> lid_or_exit(Session& session, std::string text) {
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0) {
    mad::Result<sa::Nodes> called = co_await session.targets().nodes_called(text, Targets::NameRule::description);
    const sa::Nodes nodes = nodes_or_exit(session.host(), std::move(called));
    if (!nodes.records.empty()) co_return nodes.records.front().lid;
    throw DiagsExit(ENONET, fmt::format("Failed to find lid for \"{}\": {}\n", printable(text), std::strerror(ENONET)));
  }
  errno = 0;
  const long value = std::strtol(text.c_str(), nullptr, 0);
  if (errno != 0 || value <= 0 || value > UINT16_MAX)
    throw DiagsExit(EINVAL, fmt::format("Invalid lid specified: \"{}\"\n", printable(text)));
  co_return Lid{static_cast<std::uint16_t>(value)};
}

}  // namespace ib::tools::saquery
