// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See fabric.hpp. The requests go through the same transactor as those of our own commands; only times and tries are
// libibmad's: three tries of a second each, unless the user says otherwise.
#include "tools/diags/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "iba-gen/sa.hpp"
#include "sa/subn_adm.hpp"
#include "tools/diags/console.hpp"

namespace ib::diags {
namespace {

constexpr std::chrono::milliseconds default_timeout{1000};
constexpr unsigned tries = 3;
constexpr std::size_t smp_data = 64;  // bytes of an SMP's data (IBA 14.2.1)

mad::Transactor& opened(Context& context) {
  const Settings& settings = context.settings;
  const std::string device = settings.device.value_or("(null)");
  const long port = std::strtol(settings.port.c_str(), nullptr, 0);
  try {
    return context.session.transactor();
  } catch (const UsageError&) {
    // There is no such port: what follows says it all.
  } catch (const Error& error) {
    warn("umad_open_port", error.what());
  }
  warn("mad_rpc_open_port", fmt::format("can't open UMAD port ({}:{})", device, port));
  throw Failure("main", fmt::format("Failed to open '{}' port '{}'", device, port));
}

}  // namespace

std::optional<std::vector<std::uint8_t>> read_route(std::string_view text) {
  std::vector<std::uint8_t> route;
  while (!text.empty()) {
    const std::string number(text.substr(0, text.find(',')));
    route.push_back(static_cast<std::uint8_t>(std::atoi(number.c_str())));
    text.remove_prefix(std::min(number.size() + 1, text.size()));
  }
  if (route.empty() || route.size() > path::max_hops + 1U) return std::nullopt;
  return route;
}

std::string route_text(Lid slid, Lid dlid, const std::vector<std::uint8_t>& route) {
  return fmt::format("slid {}; dlid {}; {}", slid.value, dlid.value, fmt::join(route, ","));
}

Fabric::Fabric(Context& context)
    : settings_(context.settings), end_port_((opened(context), context.session.end_port())), transactor_(context.session.transactor()) {
  path::IbPath& sa = transactor_.sa_path().ib();
  prepare(sa);
  sa.sm_key = settings_.sa_key;
  if (settings_.sm_lid) sa.dlid = *settings_.sm_lid;
  set_pkey(sa);
}

void Fabric::prepare(path::IbPath& path) const {
  path.end_port = &end_port_;
  path.m_key = settings_.m_key;
  path.retries = tries - 1;
  path.timeout = settings_.timeout_ms ? std::chrono::milliseconds(*settings_.timeout_ms) : default_timeout;
}

void Fabric::set_pkey(path::IbPath& path) const {
  const std::vector<Pkey>& pkeys = end_port_.carrier(false).pkeys;
  if (settings_.pkey_index < pkeys.size()) path.pkey = pkeys[settings_.pkey_index];
}

std::optional<Target> Fabric::by_lid(long lid) {
  if (lid < 1 || lid > last_unicast_lid) return std::nullopt;
  path::IbPath path;
  path.dlid = Lid{static_cast<std::uint16_t>(lid)};
  path.slid = end_port_.lid;
  path.dqpn = path.sqpn = Qpn{0};
  prepare(path);
  return Target{path, fmt::format("Lid {}", lid)};
}

std::optional<Target> Fabric::by_route(std::string_view text) {
  if (settings_.debug > 0) warn("str2drpath", fmt::format("DR str: {}", text));
  const auto route = read_route(text);
  if (!route) return std::nullopt;
  path::IbDrPath path;
  std::copy(route->begin() + 1, route->end(), path.route.begin() + 1);
  path.hops = static_cast<std::uint8_t>(route->size() - 1);
  prepare(path);
  return Target{path, "DR path " + route_text(permissive_lid, permissive_lid, *route)};
}

std::optional<Target> Fabric::combined(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const long lid = std::strtol(copy.c_str(), &end, 0);
  const std::string_view rest = *end == '\0' ? std::string_view{} : std::string_view(end + 1);
  if (settings_.debug > 0) warn("str2drpath", fmt::format("DR str: {}", rest));
  const auto route = read_route(rest);
  if (!route || lid < 1 || lid > last_unicast_lid) return std::nullopt;
  path::IbDrPath path;
  std::copy(route->begin() + 1, route->end(), path.route.begin() + 1);
  path.hops = static_cast<std::uint8_t>(route->size() - 1);
  path.dlid = Lid{static_cast<std::uint16_t>(lid)};
  path.slid = path.dr_slid = end_port_.lid;
  prepare(path);
  std::string name = fmt::format("Lid {}", lid);
  if (path.hops > 0) name += " DR path " + route_text(path.dr_slid, path.dr_dlid, *route);
  return Target{path, name};
}

async::Task<std::optional<Target>> Fabric::by_guid(std::string_view text) {
  const std::string copy(text);
  const Guid guid{std::strtoull(copy.c_str(), nullptr, 0)};
  if (guid.value == 0) co_return std::nullopt;
  const Gid self = end_port_.default_gid();
  const GidPrefix prefix = self.prefix().value != 0 ? self.prefix() : link_local_prefix;
  sa::PathRecord::Query query;
  query.dgid(Gid::from(prefix, guid)).sgid(self);
  const std::string sa_text = fmt::format("Lid {}", transactor_.sa_path().ib().dlid.value);
  if (settings_.debug > 0) warn("sa_rpc_call", fmt::format("attr 0x{:x} mod 0x0 route {}", sa::PathRecord::attribute_id, sa_text));
  const auto record = co_await sa::try_subn_adm_get(transactor_, query);
  if (!record) {
    warn_of(record.error(), "mad_rpc_rmpp", sa_text);
    warn("ib_path_query_via", "sa call path_query failed");
    co_return std::nullopt;
  }
  std::optional<Target> target = by_lid(record->dlid.value);
  co_return target;
}

async::Task<std::optional<Target>> Fabric::resolve(std::string_view text) {
  if (settings_.destination == Destination::direct) co_return by_route(text);
  if (settings_.destination == Destination::guid) {
    std::optional<Target> target = co_await by_guid(text);
    co_return target;
  }
  co_return by_lid(std::strtol(std::string(text).c_str(), nullptr, 0));
}

Target Fabric::beyond(const Target& target, unsigned port) {
  path::IbDrPath path;
  if (const path::IbDrPath* directed = target.path.directed()) {
    path = *directed;
  } else {
    static_cast<path::IbPath&>(path) = target.path.ib();
    path.dr_slid = end_port_.lid;
  }
  const auto longer = path.advance(static_cast<std::uint8_t>(port));
  if (!longer) throw Failure("main", "Too many hops");
  const std::vector<std::uint8_t> route(longer->route.begin(), longer->route.begin() + longer->hops + 1);
  const std::string start = longer->dlid == permissive_lid ? "" : fmt::format("Lid {} ", longer->dlid.value);
  return Target{*longer, fmt::format("{}DR path {}", start, route_text(longer->dr_slid, longer->dr_dlid, route))};
}

Target Fabric::self() { return by_known_lid(end_port_.lid); }

Target Fabric::subnet_manager() { return by_known_lid(end_port_.sm_lid); }

Target Fabric::by_known_lid(Lid lid) {
  if (std::optional<Target> target = by_lid(lid.value)) return *target;
  path::IbDrPath path;  // there is none: libibmad then asks this node
  prepare(path);
  return Target{path, "DR path " + route_text(Lid{0}, Lid{0}, {0})};
}

void Fabric::warn_of(const mad::MadError& error, std::string_view function, const std::string& target) const {
  if (error.status() != 0) {
    if (settings_.show_errors) warn(function, fmt::format("MAD completed with error status 0x{:x}; dport ({})", error.status(), target));
    return;
  }
  if (settings_.show_errors) {
    const auto timeout = settings_.timeout_ms.value_or(static_cast<int>(default_timeout.count()));
    for (unsigned i = 1; i < tries; ++i) warn("_do_madrpc", fmt::format("retry {} (timeout {} ms)", i, timeout));
    warn("_do_madrpc", fmt::format("timeout after {} retries, {} ms", tries, static_cast<long long>(timeout) * tries));
  }
  warn(function, fmt::format("_do_madrpc failed; dport ({})", target));
}

async::Task<std::optional<std::vector<std::uint8_t>>> Fabric::smp(const Target& target, const mad::Request& request) {
  const bool set = request.method == mad::method::set;
  if (settings_.debug > 0) {
    warn(set ? "smp_set_status_via" : "smp_query_status_via",
         fmt::format("attr 0x{:x} mod 0x{:x} route {}", request.attribute_id, request.attribute_modifier, target.text));
  }
  const mad::Result<mad::Reply> reply = co_await transactor_.try_call(request);
  if (!reply) {
    warn_of(reply.error(), "mad_rpc", target.text);
    co_return std::nullopt;
  }
  const Bytes payload = reply->payload();
  std::vector<std::uint8_t> bytes(payload.begin(), payload.end());
  bytes.resize(smp_data);
  co_return bytes;
}

async::Task<std::optional<std::vector<std::uint8_t>>> Fabric::smp_get(const Target& target, std::uint16_t attribute, std::uint32_t modifier,
                                                                      Bytes data) {
  const mad::Request request{.path = target.path,
                             .mgmt_class = mad::smp_class(target.path),
                             .attribute_id = attribute,
                             .attribute_modifier = modifier,
                             .payload = data};
  auto bytes = co_await smp(target, request);
  co_return bytes;
}

async::Task<std::optional<std::vector<std::uint8_t>>> Fabric::smp_set(const Target& target, std::uint16_t attribute, std::uint32_t modifier,
                                                                      Bytes data) {
  const mad::Request request{.path = target.path,
                             .mgmt_class = mad::smp_class(target.path),
                             .method = mad::method::set,
                             .attribute_id = attribute,
                             .attribute_modifier = modifier,
                             .payload = data};
  auto bytes = co_await smp(target, request);
  co_return bytes;
}

async::Task<std::optional<std::vector<std::uint8_t>>> Fabric::gmp(const Target& target, std::uint8_t mgmt_class, std::uint8_t method,
                                                                  std::uint16_t attribute, std::uint32_t modifier, Bytes data) {
  const Target agent = gmp_target(target);
  const mad::Request request{.path = agent.path,
                             .mgmt_class = mgmt_class,
                             .method = method,
                             .attribute_id = attribute,
                             .attribute_modifier = modifier,
                             .payload = data};
  auto bytes = co_await gmp_call(agent, request);
  co_return bytes;
}

Target Fabric::gmp_target(Target target) const {
  path::IbPath& path = target.path.ib();
  path.dqpn = path.sqpn = Qpn{1};
  path.qkey = path::qp1_qkey;
  set_pkey(path);
  return target;
}

async::Task<std::optional<std::vector<std::uint8_t>>> Fabric::gmp_call(const Target& target, const mad::Request& request) {
  const mad::Result<mad::Reply> reply = co_await transactor_.try_call(request);
  if (!reply) {
    warn_of(reply.error(), "mad_rpc_rmpp", target.text);
    co_return std::nullopt;
  }
  const Bytes payload = reply->payload();
  co_return std::vector<std::uint8_t>(payload.begin(), payload.end());
}

}  // namespace ib::diags
