// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/attributes.hpp"

namespace ib::path {

namespace {

// Converts a member of any type that paths consist of to a number and back.
template <class T>
std::optional<std::uint64_t> number(const T& member) {
  if constexpr (requires { member.value; }) {
    return member.value;
  } else {
    return static_cast<std::uint64_t>(member);
  }
}
template <class T>
std::optional<std::uint64_t> number(const std::optional<T>& member) {
  return member ? number(*member) : std::nullopt;
}
std::optional<std::uint64_t> number(const std::optional<Duration>& member) {
  if (!member) return std::nullopt;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(*member).count());
}

template <class T>
void assign(T& member, std::uint64_t value) {
  if constexpr (requires { member.value; }) {
    member.value = static_cast<decltype(member.value)>(value);
  } else {
    member = static_cast<T>(value);
  }
}
template <class T>
void assign(std::optional<T>& member, std::uint64_t value) {
  assign(member.emplace(), value);
}
void assign(std::optional<Duration>& member, std::uint64_t value) { member = std::chrono::microseconds(value); }

template <auto member>
constexpr Attribute both(std::string_view name, AttributeForm form, std::uint64_t limit) {
  return {name,
          form,
          limit,
          true,
          true,
          [](const IbPath& path) { return number(path.*member); },
          [](IbPath& path, std::uint64_t value) { assign(path.*member, value); },
          nullptr};
}

/// An attribute that has no meaning on a directed route.
template <auto member>
constexpr Attribute routed(std::string_view name, AttributeForm form, std::uint64_t limit) {
  Attribute attribute = both<member>(name, form, limit);
  attribute.directed = false;
  return attribute;
}

template <auto member>
constexpr Attribute directed(std::string_view name, AttributeForm form, std::uint64_t limit) {
  return {name,
          form,
          limit,
          false,
          true,
          [](const IbPath& path) { return number(static_cast<const IbDrPath&>(path).*member); },
          [](IbPath& path, std::uint64_t value) { assign(static_cast<IbDrPath&>(path).*member, value); },
          nullptr};
}

constexpr Attribute gid(std::string_view name, std::optional<Gid> IbPath::*member) {
  return {name, AttributeForm::gid, 0, true, false, nullptr, nullptr, member};
}

constexpr Attribute sm_key() {
  Attribute attribute = both<&IbPath::sm_key>("SMKey", AttributeForm::secret, UINT64_MAX);
  attribute.well_known = 1;  // the default of subnet managers and of our options
  return attribute;
}

constexpr std::uint64_t bits(unsigned count) { return (std::uint64_t{1} << count) - 1; }

constexpr std::uint64_t one_day = 86'400'000'000;  // µs

constexpr Attribute table[] = {
    both<&IbPath::cc_key>("CCKey", AttributeForm::secret, UINT64_MAX),
    gid("DGID", &IbPath::dgid),
    both<&IbPath::dlid>("DLID", AttributeForm::lid, bits(16)),
    both<&IbPath::m_key>("MKey", AttributeForm::secret, UINT64_MAX),
    both<&IbPath::mtu>("MTU", AttributeForm::decimal, bits(6)),
    gid("SGID", &IbPath::sgid),
    both<&IbPath::sl>("SL", AttributeForm::decimal, bits(4)),
    both<&IbPath::slid>("SLID", AttributeForm::lid, bits(16)),
    sm_key(),
    both<&IbPath::dack_resp_time>("dack_resp_time", AttributeForm::decimal, bits(5)),
    both<&IbPath::dqpn>("dqpn", AttributeForm::decimal, bits(24)),
    both<&IbPath::dqpsn>("dqpsn", AttributeForm::decimal, bits(24)),
    directed<&IbDrPath::dr_dlid>("drDLID", AttributeForm::decimal, bits(16)),
    {"drPath", AttributeForm::route, 0, false, true, nullptr, nullptr, nullptr},
    directed<&IbDrPath::dr_slid>("drSLID", AttributeForm::decimal, bits(16)),
    both<&IbPath::drdatomic>("drdatomic", AttributeForm::decimal, bits(8)),
    both<&IbPath::flow_label>("flow_label", AttributeForm::decimal, bits(20)),
    routed<&IbPath::has_grh>("has_grh", AttributeForm::boolean, 1),
    both<&IbPath::hop_limit>("hop_limit", AttributeForm::decimal, bits(8)),
    both<&IbPath::min_rnr_timer>("min_rnr_timer", AttributeForm::decimal, bits(5)),
    both<&IbPath::packet_life_time>("packet_life_time", AttributeForm::decimal, bits(6)),
    both<&IbPath::pkey>("pkey", AttributeForm::hex, bits(16)),
    both<&IbPath::qkey>("qkey", AttributeForm::hex, bits(32)),
    both<&IbPath::rate>("rate", AttributeForm::decimal, bits(6)),
    both<&IbPath::resp_time>("resp_time", AttributeForm::decimal, bits(5)),
    both<&IbPath::retries>("retries", AttributeForm::decimal, 1000),
    both<&IbPath::sack_resp_time>("sack_resp_time", AttributeForm::decimal, bits(5)),
    both<&IbPath::sqpn>("sqpn", AttributeForm::decimal, bits(24)),
    both<&IbPath::sqpsn>("sqpsn", AttributeForm::decimal, bits(24)),
    both<&IbPath::srdatomic>("srdatomic", AttributeForm::decimal, bits(8)),
    both<&IbPath::timeout>("timeout_us", AttributeForm::decimal, one_day),
    both<&IbPath::traffic_class>("traffic_class", AttributeForm::decimal, bits(8)),
    both<&IbPath::umad_agent_id>("umad_agent_id", AttributeForm::decimal, bits(32)),
};

}  // namespace

std::span<const Attribute> attributes() { return table; }

}  // namespace ib::path
