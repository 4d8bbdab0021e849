// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/fake_pma.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "mad/packet.hpp"

namespace ibtest {

using ib::Bytes;
using ib::FieldInfo;
using ib::MutableBytes;
using ib::StructInfo;
using ib::mad::HeaderView;
namespace pm = ib::pm;
namespace status = ib::mad::status;
namespace capability_mask = ib::pm::capability_mask;

namespace {

constexpr std::uint8_t performance = ib::mad::mgmt_class::performance;
constexpr std::uint16_t bad_field = status::invalid_attribute_or_modifier;  // 0x1c
constexpr unsigned all_ports = 0xff;
constexpr std::array<std::string_view, 4> selectors = {"op_code", "port_select", "counter_select", "counter_select2"};

bool is_counter(const FieldInfo& field) {
  return !field.reserved && field.kind == ib::FieldKind::uint && std::ranges::find(selectors, field.name) == selectors.end();
}

bool is_sampling(const StructInfo& info) {
  const auto id = static_cast<std::uint16_t>(info.attribute_id);
  return id == pm::PortSamplesCtl::attribute_id || id == pm::PortSamplesRes::attribute_id || id == pm::PortSamplesResExt::attribute_id;
}

bool is_extended(const StructInfo& info) { return info.attribute_id == pm::PortCountersExt::attribute_id; }

std::uint64_t number(Bytes bytes, const FieldInfo& field, unsigned index = 0) {
  return ib::wire::get_bits(bytes, field.bit_offset + std::size_t{index} * field.bits, field.bits);
}

std::uint64_t number(Bytes bytes, const StructInfo& info, std::string_view name) {
  const FieldInfo* field = ib::find_field(info, name);
  return field != nullptr ? number(bytes, *field) : 0;
}

void put(MutableBytes bytes, const FieldInfo& field, unsigned index, std::uint64_t value) {
  ib::wire::set_bits(bytes, field.bit_offset + std::size_t{index} * field.bits, field.bits, value);
}

std::uint64_t greatest(unsigned bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }

/// Whether the CounterSelect of `wanted` names element `index` of a counter. Bits go by the order of the counters, but
/// PortCounters has those of PortXmitWait and QP1Dropped in CounterSelect2, and PortCountersExtended those of its additional part.
bool is_selected(const StructInfo& info, const FieldInfo& wanted_field, unsigned wanted_index, Bytes wanted) {
  const std::uint64_t select = number(wanted, info, "counter_select") | number(wanted, info, "counter_select2") << 16;
  unsigned bit = 0;
  for (const FieldInfo& field : info.fields) {
    if (!is_counter(field)) continue;
    const bool narrow_one = info.attribute_id == pm::PortCounters::attribute_id;
    if (narrow_one && field.name == "qp1_dropped") {
      if (&field == &wanted_field) return (select >> 17 & 1) != 0;
      continue;
    }
    if (is_extended(info) && field.name == "symbol_error_counter") bit = 16;
    if (&field == &wanted_field) return (select >> (bit + wanted_index) & 1) != 0;
    bit += field.count;
  }
  return false;
}

}  // namespace

FakePma::FakePma(FakeFabric& fabric, FakeFabric::NodeId node, unsigned first, unsigned ports)
    : fabric_(fabric), node_(node), first_(first), ports_(ports) {}

std::uint64_t& FakePma::count(unsigned port, std::string_view counter, unsigned index) {
  const auto has_it = [&](const StructInfo& info) {
    if (info.mgmt_class != performance || info.attribute_id < 0) return false;
    return std::ranges::any_of(info.fields, [&](const FieldInfo& f) { return is_counter(f) && f.name == counter && index < f.count; });
  };
  if (std::ranges::none_of(ib::all_structs(), has_it)) throw std::invalid_argument("no PM attribute has " + std::string(counter));
  return counts_[{port, std::string(counter), index}];
}

std::size_t FakePma::times(std::uint16_t attribute) const {
  return static_cast<std::size_t>(std::ranges::count(asked, attribute, &Asked::attribute));
}

FakeFabric::Answer FakePma::answer(Bytes request) {
  const HeaderView header(request);
  const ib::mad::DataArea area = ib::mad::data_area(performance);
  const Bytes wanted = request.subspan(area.offset);
  const bool is_class_port_info = header.attribute_id() == ib::mad::ClassPortInfo::attribute_id;
  const StructInfo* info = is_class_port_info ? nullptr : ib::find_attribute(performance, 1, header.attribute_id());
  if (rs_fec && info == &pm::PortExtendedSpeedsCounters::info()) info = &pm::PortExtendedSpeedsCountersRsFec::info();
  const unsigned port = info != nullptr ? static_cast<unsigned>(number(wanted, *info, "port_select")) : 0;
  asked.push_back({header.method(), header.attribute_id(), port});
  std::vector<std::uint8_t> data(area.size);
  std::uint16_t code = status::unsupported_method_attribute;
  if (is_class_port_info && header.method() == ib::mad::method::get) {
    fill_class_port_info(data);
    code = 0;
  } else if (info != nullptr && knows(*info) && (info->methods >> header.method() & 1U) != 0) {
    code = is_sampling(*info) ? fill_sampling(header.method(), *info, wanted, data) : fill(header.method(), *info, wanted, data);
  }
  FakeFabric::Answer reply = answer_to(request, code);
  if (code == 0) std::ranges::copy(data, reply.begin() + static_cast<std::ptrdiff_t>(area.offset));
  return reply;
}

void FakePma::fill_class_port_info(MutableBytes data) const {
  ib::mad::ClassPortInfo info;
  info.base_version = info.class_version = 1;
  info.capability_mask = static_cast<std::uint16_t>(
      capability_mask | (capability_mask2 != 0 ? ib::mad::class_capability_mask::capability_mask2_supported : 0));
  info.capability_mask2 = capability_mask2;
  info.resp_time_value = resp_time_value;
  info.pack(data);
}

bool FakePma::knows(const StructInfo& info) const {
  const auto id = static_cast<std::uint16_t>(info.attribute_id);
  const bool wide =
      (capability_mask & (capability_mask::is_extended_width_supported | capability_mask::is_extended_width_no_ietf_supported)) != 0;
  return !unsupported.contains(id) && (wide || (!is_extended(info) && id != pm::PortSamplesResExt::attribute_id));
}

std::optional<std::vector<unsigned>> FakePma::ports_of(unsigned port_select) const {
  std::vector<unsigned> ports;
  if (port_select == all_ports) {
    if ((capability_mask & capability_mask::all_port_select) == 0) return {};
    for (unsigned i = 0; i < ports_; ++i) ports.push_back(first_ + i);
  } else {
    if (port_select < first_ || port_select >= first_ + ports_) return {};
    ports.push_back(port_select);
  }
  return ports;
}

std::uint16_t FakePma::fill(std::uint8_t method, const StructInfo& info, Bytes wanted, MutableBytes data) {
  const auto ports = ports_of(static_cast<unsigned>(number(wanted, info, "port_select")));
  if (!ports) return bad_field;
  if (method == ib::mad::method::set) {
    for (const unsigned port : *ports) set(port, info, wanted);
  }
  for (const FieldInfo& field : info.fields) {
    if (!is_counter(field)) {
      if (!field.reserved) put(data, field, 0, number(wanted, field));
      continue;
    }
    for (unsigned i = 0; is_kept(info, field) && i < field.count; ++i) {
      std::uint64_t sum = 0;  // of all ports it saturates too
      for (const unsigned port : *ports) {
        const std::uint64_t value = shown(port, info, field, i);
        sum += std::min(value, greatest(field.bits) - sum);
      }
      put(data, field, i, sum);
    }
  }
  return 0;
}

bool FakePma::is_kept(const StructInfo& info, const FieldInfo& field) const {
  if (field.name == "port_xmit_wait" && (capability_mask & capability_mask::port_counters_xmit_wait_supported) == 0) return false;
  if (field.name == "qp1_dropped" && (capability_mask & capability_mask::is_qp1_drop_supported) == 0) return false;
  if (!is_extended(info)) return true;
  if (field.name.view().find("cast_") != std::string_view::npos)
    return (capability_mask & capability_mask::is_extended_width_supported) != 0;
  const bool additional = field.bit_offset >= 72 * 8;
  return !additional || (capability_mask2 & pm::capability_mask2::is_additional_port_counters_extended_supported) != 0;
}

std::uint64_t FakePma::shown(unsigned port, const StructInfo& info, const FieldInfo& field, unsigned index) {
  const Counter key{port, std::string(field.name), index};
  const std::uint64_t since = counts_[key] - zeros_[{info.attribute_id, key}];
  return std::min(since, greatest(field.bits));
}

void FakePma::set(unsigned port, const StructInfo& info, Bytes wanted) {
  for (const FieldInfo& field : info.fields) {
    for (unsigned i = 0; is_counter(field) && i < field.count; ++i) {
      if (!is_selected(info, field, i, wanted)) continue;
      const Counter key{port, std::string(field.name), i};
      zeros_[{info.attribute_id, key}] = counts_[key] - number(wanted, field, i);
    }
  }
}

std::uint16_t FakePma::fill_sampling(std::uint8_t method, const StructInfo& info, Bytes wanted, MutableBytes data) {
  if (info.attribute_id == pm::PortSamplesCtl::attribute_id) {
    if (!ports_of(static_cast<unsigned>(number(wanted, info, "port_select")))) return bad_field;
    if (method == ib::mad::method::set && polls_left_ == 0) {  // a running sample is not disturbed (IBA 16.1.3.2)
      control_ = pm::PortSamplesCtl::unpack(wanted);
      polls_left_ = sampling_polls;
      sample_start_ = counts_;
      sampled_port_ = control_.port_select;
    }
    control_.port_select = static_cast<std::uint8_t>(number(wanted, info, "port_select"));
    control_.sample_status = polls_left_ > 0 ? pm::SampleStatus::running : pm::SampleStatus::done;
    if (tick) control_.tick = *tick;
    control_.pack(data);
    return 0;
  }
  if (method == ib::mad::method::set) return status::unsupported_method_attribute;
  const bool running = polls_left_ > 0;
  if (running) --polls_left_;
  for (const FieldInfo& field : info.fields) {
    if (field.name == "tag") put(data, field, 0, control_.tag);
    if (field.name == "sample_status") put(data, field, 0, running ? 2 : 0);
    if (field.name == "extended_width") put(data, field, 0, 2);  // 64 bits
    for (unsigned i = 0; field.name == "counter" && !running && i < field.count; ++i) put(data, field, i, sampled(i, field.bits));
  }
  return 0;
}

std::uint64_t FakePma::sampled(unsigned at, unsigned bits) {
  constexpr std::array<const char*, 6> names = {"", "port_xmit_data", "port_rcv_data", "port_xmit_pkts", "port_rcv_pkts", "port_xmit_wait"};
  std::array<std::uint8_t, pm::PortSamplesCtl::wire_size> bytes{};
  control_.pack(bytes);
  const auto select = number(bytes, pm::PortSamplesCtl::info(), "counter_select" + std::to_string(at));
  if (select == 0 || select >= names.size()) return 0;
  const Counter key{sampled_port_, names[static_cast<std::size_t>(select)], 0};
  return std::min(counts_[key] - sample_start_[key], greatest(bits));
}

FakePma& run_pma(FakeFabric& fabric, FakeFabric::NodeId id) {
  FakeFabric::Node& node = fabric.node(id);
  const unsigned first = node.is_switch() && node.switch_info.enhanced_port0 ? 0 : 1;
  const auto pma = std::make_shared<FakePma>(fabric, id, first, static_cast<unsigned>(node.ports.size()) - first);
  node.services[performance].answer = [pma](unsigned, Bytes request) { return pma->answer(request); };
  return *pma;
}

}  // namespace ibtest
