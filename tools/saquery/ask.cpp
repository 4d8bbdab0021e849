// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Sends the queries of saquery. If a query fails, infiniband-diags' saquery ends with an errno as its exit status.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "iba-gen/mad.hpp"
#include "snapshot/transactor.hpp"
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

[[noreturn]] void give_up_as_diags(const Session& session, const StructInfo& record, const mad::MadError& error) {
  int status = EIO;
  std::string text;
  if (dynamic_cast<const mad::NotRead*>(&error) != nullptr) {
    text = fmt::format("Query SA failed: {}\n", error.message());
  } else if (error.reply().empty()) {
    status = ETIMEDOUT;
    const std::string reason = std::strerror(status);
    session.diags_warning("sa_query", fmt::format("umad_recv failed: attr 0x{:x}: {}\n", record.attribute_id, reason));
    text = fmt::format("Query SA failed: {}\n", reason);
  } else if (error.status() == 0) {  // the answer is for another query
    text = fmt::format("Query SA failed: {}\n", error.message());
  } else {
    text = status_line(error.status());
  }
  if (&record == &mad::ClassPortInfo::info()) text += "Failed to query SA:ClassPortInfo\n";
  throw DiagsExit(status, std::move(text));
}

}  // namespace

FormedReport::FormedReport(const Session& session, RecordStyle record_style, const sa::Pattern& asked)
    : RecordsReport(asked), style(record_style) {
  const CommonOptions& options = session.options();
  names = options.int_names || options.error_level() >= 2 ? RecordNames::internal : RecordNames::saquery;
  keys = options.keys;
  records.type = &pattern.answer();
}

void FormedReport::diags_text(TextOut& out) const {
  for (const Bytes record : records.bytes) {
    if (!shown || shown(record)) out.write(record_text(*form, record, style));
  }
}

FormedReport Ask::report(const sa::Pattern& pattern) const {
  return FormedReport(session, {session.node_name_map(), session.options().keys}, pattern);
}

async::Task<> Ask::fetch(FormedReport& report, std::uint8_t method, std::uint32_t modifier) const {
  mad::Transactor& asked = transactor();
  mad::Result<sa::Records> tried = co_await sa::try_records(asked, asked.sa_path(), report.pattern, method, modifier);
  if (tried) {
    report.records = std::move(*tried);
    const std::size_t arrived = report.records.bytes.size();
    if (report.records.torn) as_diags ? session.diags_warning("sa_query", torn_text(arrived)) : warn_torn(session.log(), arrived);
    co_return;
  }
  if (as_diags) give_up_as_diags(session, report.pattern.record(), tried.error());
  report.none = sa::is_no_records(tried.error());
  if (!report.none) tried.error().raise();
}

}  // namespace ib::tools::saquery
