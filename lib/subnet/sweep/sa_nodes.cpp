// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/sa_nodes.hpp"

#include <fmt/format.h>

#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"

namespace ib::subnet {
namespace {

Mismatch no_sa_path(Guid port) { return {.error = true, .words = fmt::format("SA could not find a path for {}", to_text(port))}; }

}  // namespace

void SaNodes::take(const sa::Records& records) {
  is_whole = !records.torn;
  is_cut = records.torn;
  for (const Bytes row : records.bytes) {
    const auto record = wire::unpack_short<sa::NodeRecord>(row);
    guid_by_lid.try_emplace(record.lid.value, record.node_info.port_guid);
  }
}

async::Task<> SaNodes::read(mad::Transactor& transactor) {
  const sa::Pattern all(sa::NodeRecord::info());
  async::Task<mad::Result<sa::Records>> query = sa::try_records(transactor, transactor.sa_path(), all);
  sa::Records records;
  const std::shared_ptr<const Error> error = co_await sa::store_answer(std::move(query), records);
  if (!error || sa::is_no_records(*error)) co_return take(records);
  not_read = error;
}

Failures SaNodes::failures(std::string_view result) const {
  Failures met;
  if (not_read) {
    const Failure::Kind kind = kind_of(*not_read);
    std::string why = fmt::format("{}{}", not_read->message(), kind == Failure::Kind::not_read ? "" : result);
    met.push_back({.kind = kind, .attribute = "NodeRecord", .why = std::move(why), .error = not_read});
  }
  if (is_cut) {
    std::string why = fmt::format("The SA's table of NodeRecords came without its end: {} arrived.", guid_by_lid.size());
    met.push_back({.kind = Failure::Kind::no_record, .attribute = "NodeRecord", .why = std::move(why), .error = {}});
  }
  return met;
}

Mismatches SaNodes::check(const Subnet& subnet, PortIndex end, const PortPaths* paths) const {
  const Guid own = subnet.end_port_guid(end);
  const auto by_sa = guid_by_lid.find(subnet.lid(end).value);
  if (by_sa == guid_by_lid.end()) {
    if (is_whole) return {{.error = true, .words = fmt::format("The SA knows no node at LID {}", subnet.lid(end).value)}};
  } else if (own != Guid{} && by_sa->second != own) {
    const std::string found = to_text(by_sa->second), expected = to_text(own);
    return {{.error = true,
             .field = "portGUID",
             .found = found,
             .expected = expected,
             .words = fmt::format("SA and SMP NodeInfo's differ: the SA says {}, the port {}", found, expected)}};
  }
  if (paths != nullptr && paths->has_service_levels() && !paths->gmp(end)) return {no_sa_path(own)};
  return {};
}

async::Task<Mismatches> check_sa_records(mad::Transactor& transactor, const Subnet& subnet, PortIndex end, Gid here) {
  SaNodes nodes;
  sa::Pattern of_lid(sa::NodeRecord::info());
  of_lid.match("LID", subnet.lid(end).value);
  nodes.take(co_await sa::find_records(transactor, of_lid, mad::method::get));
  Mismatches findings = nodes.check(subnet, end);
  if (!findings.empty()) co_return findings;
  sa::Pattern paths(sa::PathRecord::info());
  paths.match("SGID", to_text(here));
  paths.match("DGID", to_text(Gid::from(here.prefix(), subnet.end_port_guid(end))));
  paths.match("reversible", 1);
  paths.match("numbPath", 1);
  const sa::Records found = co_await sa::find_records(transactor, paths, mad::method::get);
  if (found.bytes.empty()) findings.push_back(no_sa_path(subnet.end_port_guid(end)));
  co_return findings;
}

}  // namespace ib::subnet
