// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rpc_names.hpp"

#include <algorithm>

#include "base/split.hpp"
#include "iba-gen/mad.hpp"
#include "iba/registry.hpp"

namespace ib::mad {
namespace {

constexpr RpcName table[] = {
    {"SubnGet", mgmt_class::smp, method::get},
    {"SubnSet", mgmt_class::smp, method::set},
    {"SubnAdmGet", mgmt_class::sa, method::get},
    {"SubnAdmGetTable", mgmt_class::sa, method::get_table},
    {"SubnAdmGetTraceTable", mgmt_class::sa, method::get_trace_table},
    {"SubnAdmGetMulti", mgmt_class::sa, method::get_multi},
    {"SubnAdmSet", mgmt_class::sa, method::set},
    {"SubnAdmDelete", mgmt_class::sa, method::delete_},
    {"PerformanceGet", mgmt_class::performance, method::get},
    {"PerformanceSet", mgmt_class::performance, method::set},
    {"BMGet", mgmt_class::board, method::get},
    {"BMSet", mgmt_class::board, method::set},
    {"DevMgtGet", mgmt_class::device, method::get},
    {"DevMgtSet", mgmt_class::device, method::set},
    {"CommMgtGet", mgmt_class::communication, method::get},
    {"CommMgtSet", mgmt_class::communication, method::set},
    {"SNMPGet", mgmt_class::snmp, method::get},
    {"SNMPSet", mgmt_class::snmp, method::set},
    {"CCGet", mgmt_class::congestion, method::get},
    {"CCSet", mgmt_class::congestion, method::set},
    {"VendGet", 0, method::get},
    {"VendSet", 0, method::set},
};

}  // namespace

std::span<const RpcName> rpc_names() { return table; }

std::string_view rpc_name(std::uint8_t mgmt_class, std::uint8_t method) {
  const std::uint8_t of = is_smp(mgmt_class) ? mgmt_class::smp : is_vendor(mgmt_class) ? std::uint8_t{0} : mgmt_class;
  const auto found = std::ranges::find_if(table, [&](const RpcName& rpc) { return rpc.mgmt_class == of && rpc.method == method; });
  return found != std::end(table) ? found->name : std::string_view();
}

const RpcName* find_rpc(std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const RpcName& rpc) { return equal_ignoring_case(rpc.name, name); });
  return found != std::end(table) ? &*found : nullptr;
}

std::optional<RpcHeader> rpc_header(const RpcName& rpc, const StructInfo& attribute) {
  if ((attribute.methods >> rpc.method & 1U) == 0) return {};
  for (const AttributeClass& c : classes_of(attribute)) {
    if (rpc.mgmt_class == 0 ? is_vendor(c.mgmt_class) : c.mgmt_class == rpc.mgmt_class)
      return RpcHeader{c.mgmt_class, c.class_version, c.oui};
  }
  return {};
}

std::vector<const StructInfo*> attributes_of(const RpcName& rpc) {
  std::vector<const StructInfo*> found;
  for (const StructInfo& info : all_structs()) {
    if (rpc_header(rpc, info)) found.push_back(&info);
  }
  return found;
}

const StructInfo* find_attribute_of(const RpcName& rpc, std::string_view name) {
  const StructInfo* by_title = nullptr;
  for (const StructInfo* info : attributes_of(rpc)) {
    if (equal_ignoring_case(info->iba_name, name) || equal_ignoring_case(info->name, name)) return info;
    if (by_title == nullptr && equal_ignoring_case(info->title, name)) by_title = info;
  }
  return by_title;
}

}  // namespace ib::mad
