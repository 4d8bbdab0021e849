// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes are texts that end with a NUL, and a cookie that the answer repeats.
#include "mad/sysstat.hpp"

#include <algorithm>

#include "iba-gen/ofa.hpp"

namespace ib::mad {

namespace {

constexpr std::uint8_t ping_class = mgmt_class::ofa_ping, sysstat_class = mgmt_class::ofa_sysstat;
constexpr std::uint16_t ping_attribute = 0;

std::vector<std::uint8_t> with_nul(const std::string& text) {
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  bytes.push_back(0);
  return bytes;
}

std::vector<std::uint8_t> one_packet(const std::string& text) { return with_nul(text.substr(0, data_area(sysstat_class).size - 1)); }

ClassPortInfo own_class_port_info() {
  ClassPortInfo info;
  info.base_version = 1;
  info.class_version = 1;
  info.resp_time_value = 16;  // 0.27 s
  info.redirect_q_key = info.trap_q_key = path::qp1_qkey;
  return info;
}

/// `info` with the fields of `wanted` that Set(ClassPortInfo) may change: the destination of traps, at its end (IBA 13.4.8.1).
ClassPortInfo with_trap_fields(const ClassPortInfo& info, const ClassPortInfo& wanted) {
  constexpr std::size_t trap_gid_at = 40;
  auto bytes = wire::packed(info);
  std::ranges::copy(Bytes(wire::packed(wanted)).subspan(trap_gid_at), bytes.begin() + trap_gid_at);
  return ClassPortInfo::unpack(bytes);
}

/// Answers with `payload`, by RMPP if it does not fit one packet.
void answer(Server& server, const Incoming& incoming, Bytes payload) {
  if (payload.size() <= data_area(sysstat_class).size) return server.send_reply(incoming, payload);
  server.send_rmpp_reply(incoming, payload);
}

void answer_ping(Server& server) {
  // The answer repeats the whole attribute, including data after the cookie, in as many segments as the request had.
  server.on(sysstat_class, method::get, ofa::SysStatPing::attribute_id,
            [&server](const Incoming& incoming) { answer(server, incoming, incoming.payload()); });
}

}  // namespace

void serve_ping(Server& server, const std::string& host, std::uint32_t oui) {
  server.serve({.mgmt_class = ping_class, .oui = oui});
  server.on(ping_class, method::get, ping_attribute,
            [&server, text = one_packet(host)](const Incoming& incoming) { server.send_reply(incoming, text); });
}

void serve_sysstat_ping(Server& server, std::uint32_t oui) {
  server.serve({.mgmt_class = sysstat_class, .oui = oui});
  answer_ping(server);
}

void serve_sysstat(Server& server, const std::string& host, const std::string& cpus, std::uint32_t oui) {
  server.serve({.mgmt_class = sysstat_class, .oui = oui});
  answer_ping(server);
  server.on(sysstat_class, method::get, ofa::SysStatHostInfo::attribute_id,
            [&server, text = one_packet(host)](const Incoming& incoming) { server.send_reply(incoming, text); });
  server.on(sysstat_class, method::get, ofa::SysStatCpuInfo::attribute_id,
            [&server, text = with_nul(cpus)](const Incoming& incoming) { answer(server, incoming, text); });
  const auto info = std::make_shared<ClassPortInfo>(own_class_port_info());
  server.on<ClassPortInfo>(sysstat_class, method::get, [info](const ClassPortInfo&, const Incoming&) { return *info; });
  server.on<ClassPortInfo>(sysstat_class, method::set,
                           [info](const ClassPortInfo& wanted, const Incoming&) { return *info = with_trap_fields(*info, wanted); });
}

}  // namespace ib::mad
