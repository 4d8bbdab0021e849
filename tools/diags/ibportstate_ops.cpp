// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See ibportstate.hpp. Numbers are read by C's strtoull(…, 0), as ever: what is no number is 0.
#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "tools/diags/console.hpp"
#include "tools/diags/ibportstate.hpp"
#include "tools/diags/options.hpp"

namespace ib::diags::portstate {
namespace {

using smp::PortPhysicalState;
using smp::PortState;

constexpr std::uint16_t unlikely_lid = 0x1234;

constexpr std::pair<std::string_view, StateOp> state_ops[]{
    {"query", StateOp::query},     {"enable", StateOp::enable}, {"reset", StateOp::reset},
    {"disable", StateOp::disable}, {"down", StateOp::down},     {"arm", StateOp::arm},
    {"active", StateOp::active},   {"on", StateOp::on},         {"off", StateOp::off},
};

const std::pair<std::string_view, StateOp>* find_state(std::string_view word) {
  for (const auto& op : state_ops)
    if (op.first == word) return &op;
  return nullptr;
}

struct Range {
  std::uint64_t low, high;
  const char* complaint;  ///< before the value
  bool hex = false;
  std::uint64_t also = 0;  ///< a value beyond `high`
};

std::uint64_t checked(std::uint64_t value, const Range& range) {
  if ((value >= range.low && value <= range.high) || (range.also != 0 && value == range.also)) return value;
  throw Failure("main", range.hex ? fmt::format("{} 0x{:x}", range.complaint, value) : fmt::format("{} {}", range.complaint, value));
}

/// Takes an operation with a value; false if `word` is none.
bool take(Operations& ops, std::string_view word, const char* text) {
  const std::uint64_t value = text == nullptr ? 0 : std::strtoull(text, nullptr, 0);
  const auto take_into = [&](auto& member, const Range& range) {
    using Value = typename std::remove_reference_t<decltype(member)>::value_type;
    if (text == nullptr) throw Failure("main", fmt::format("{} requires an additional parameter", word));
    member = static_cast<Value>(checked(value, range));
    return true;
  };
  if (word == "speed") return take_into(ops.speed, {0, 15, "invalid speed value"});
  if (word == "espeed") return take_into(ops.espeed, {0, 31, "invalid extended speed value"});
  if (word == "fdr10") return take_into(ops.fdr10, {0, 1, "invalid fdr10 speed value"});
  if (word == "width") return take_into(ops.width, {0, 31, "invalid width value", false, 255});
  if (word == "vls") return take_into(ops.vls, {1, 5, "invalid vls value"});
  if (word == "mtu") return take_into(ops.mtu, {1, 5, "invalid mtu value"});
  if (word == "lid") return take_into(ops.lid, {1, last_unicast_lid, "invalid lid value", true});
  if (word == "smlid") return take_into(ops.smlid, {1, last_unicast_lid, "invalid smlid value", true});
  if (word == "lmc") return take_into(ops.lmc, {0, 7, "invalid lmc value"});
  if (word == "mkeylease") return take_into(ops.mkeylease, {0, 0xffff, "invalid mkey lease time"});
  if (word == "mkeyprot") return take_into(ops.mkeyprot, {0, 3, "invalid mkey protection bit setting"});
  if (word != "mkey") return false;
  if (text == nullptr) throw Failure("main", "mkey requires an additional parameter");
  ops.mkey = read_m_key(text, "New M_Key: ", "Bad new M_Key\n", "main");
  return true;
}

bool is_no_lid(Lid lid) { return lid.value == 0 || lid.value == 0xffff; }

void set_state(smp::PortInfo& info, StateOp op) {
  switch (op) {
    case StateOp::on:
    case StateOp::enable:
    case StateOp::reset:
      info.port_physical_state = PortPhysicalState::polling;
      break;
    case StateOp::off:
    case StateOp::disable:
      info.port_physical_state = PortPhysicalState::disabled;
      break;
    case StateOp::down:
      info.port_state = PortState::down;
      break;
    case StateOp::arm:
      info.port_state = PortState::armed;
      break;
    case StateOp::active:
      info.port_state = PortState::active;
      break;
    case StateOp::query:
      break;
  }
}

/// The first of `order` that both ports may use, where the link does not run at it.
template <std::size_t n>
void warn_below(const char* function, const char* what, unsigned both, unsigned active,
                const std::pair<unsigned, const char*> (&order)[n]) {
  for (const auto& [bit, name] : order) {
    if ((both & bit) == 0) continue;
    if (active != bit) warn(function, fmt::format("Peer ports operating at active {} {} rather than {} ({})", what, active, bit, name));
    return;
  }
}

constexpr std::pair<unsigned, const char*> widths[]{{8, "12x"}, {4, "8x"}, {2, "4x"}, {16, "2x"}, {1, "1x"}};
constexpr std::pair<unsigned, const char*> speeds[]{{4, "10.0 Gbps"}, {2, "5.0 Gbps"}, {1, "2.5 Gbps"}};
constexpr std::pair<unsigned, const char*> ext_speeds[]{{8, "106.25 Gbps"}, {4, "53.125 Gbps"}, {2, "25.78125 Gbps"}, {1, "14.0625 Gbps"}};

/// What a port may use: `enabled`, where `all` stands for all that it supports.
unsigned usable(unsigned enabled, unsigned supported, unsigned all) { return enabled == all ? supported : enabled; }

}  // namespace

Operations read_operations(const std::vector<std::string>& arguments) {
  Operations ops;
  for (std::size_t at = 2; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    if (const auto* state = find_state(word)) {
      if (ops.state) {
        throw Failure("main", fmt::format("{} only one of: query, enable, disable, reset, down, arm, active, can be specified", word));
      }
      ops.state = state->second;
      continue;
    }
    const char* value = at + 1 < arguments.size() ? arguments[at + 1].c_str() : nullptr;
    if (!take(ops, word, value)) throw Failure("main", fmt::format("invalid operation: {}", word));
    ++at;
  }
  return ops;
}

bool Operations::change() const {
  return state.value_or(StateOp::query) != StateOp::query || speed || espeed || fdr10 || width || vls || mtu || lmc || lid || smlid ||
         m_key_fields();
}

void Operations::apply(smp::PortInfo& info) const {
  if (!lid && is_no_lid(info.lid)) info.lid = Lid{unlikely_lid};
  if (!smlid && is_no_lid(info.master_sm_lid)) info.master_sm_lid = Lid{unlikely_lid};
  info.port_state = PortState::no_change;
  info.port_physical_state = PortPhysicalState::no_change;
  if (state) set_state(info, *state);
  info.link_speed_enabled = speed.value_or(0);
  info.link_speed_ext_enabled = espeed.value_or(0);
  info.link_width_enabled = width.value_or(0);
  if (vls) info.operational_vls = static_cast<smp::VLCap>(*vls);
  if (mtu) info.neighbor_mtu = static_cast<smp::Mtu>(*mtu);
  if (lid) info.lid = Lid{*lid};
  if (smlid) info.master_sm_lid = Lid{*smlid};
  if (lmc) info.lmc = *lmc;
  if (mkey) info.m_key = *mkey;
  if (mkeylease) info.m_key_lease_period = *mkeylease;
  if (mkeyprot) info.m_key_protect_bits = *mkeyprot;
}

void validate(const Side& port, const Side& peer) {
  const smp::PortInfo &a = port.info, &b = peer.info;
  warn_below("validate_width", "width",
             usable(a.link_width_enabled, a.link_width_supported, 255) & usable(b.link_width_enabled, b.link_width_supported, 255),
             a.link_width_active, widths);
  warn_below("validate_speed", "speed",
             usable(a.link_speed_enabled, a.link_speed_supported, 15) & usable(b.link_speed_enabled, b.link_speed_supported, 15),
             a.link_speed_active, speeds);
  if (port.extended_speeds && peer.extended_speeds) {
    warn_below(
        "validate_extended_speed", "extended speed",
        usable(a.link_speed_ext_enabled, a.link_speed_ext_supported, 31) & usable(b.link_speed_ext_enabled, b.link_speed_ext_supported, 31),
        a.link_speed_ext_active, ext_speeds);
  } else if ((port.mlnx.link_speed_enabled & peer.mlnx.link_speed_enabled & 1U) != 0 && (port.mlnx.link_speed_active & 1U) == 0) {
    warn("main", fmt::format("Peer ports operating at active speed {} rather than FDR10", a.link_speed_active));
  }
}

}  // namespace ib::diags::portstate
