// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A performance management agent that counts all there is to count, for test_performance.py: `serve_performance [CAPABILITY_MASK
// [CAPABILITY_MASK2]]`, with the preload ibtest-agents.so. It has one port, of the number that this host's has. Every counter holds
// something else, so that one in the place of another is seen.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "mad/channel/open.hpp"
#include "mad/server.hpp"
#include "programs/programs.hpp"
#include "support/fake_pma.hpp"

namespace ibtest::programs::serve_performance {

using namespace ib;

namespace {

/// A value that no other counter has: large ones where the field has room.
std::uint64_t count_of(const FieldInfo& field, unsigned place) {
  if (field.bits >= 64) return (std::uint64_t{1} << 33) + place * 1000003ULL;
  if (field.bits >= 16) return 1000 + place * 7;
  return 1 + place % ((1ULL << field.bits) - 1);
}

bool is_selector(const FieldInfo& field) {
  return field.reserved || field.name == "op_code" || field.name == "port_select" || field.name.view().starts_with("counter_select");
}

void fill(ibtest::FakePma& pma, unsigned port, const StructInfo& attribute, unsigned& place) {
  for (const FieldInfo& field : attribute.fields) {
    if (is_selector(field)) continue;
    for (std::uint32_t index = 0; index < std::max<std::uint32_t>(field.count, 1); ++index) {
      try {
        std::uint64_t& count = pma.count(port, field.name, index);
        if (count == 0) count = count_of(field, ++place);
      } catch (const std::invalid_argument&) {
        break;  // no counter
      }
    }
  }
}

constexpr const StructInfo& (*counted[])() = {pm::PortCountersExt::info,
                                              pm::PortCounters::info,
                                              pm::PortXmitDataSL::info,
                                              pm::PortRcvDataSL::info,
                                              pm::PortXmitDiscardDetails::info,
                                              pm::PortRcvErrorDetails::info,
                                              pm::PortExtendedSpeedsCounters::info,
                                              pm::PortOpRcvCounters::info,
                                              pm::PortFlowCtlCounters::info,
                                              pm::PortVLOpPackets::info,
                                              pm::PortVLOpData::info,
                                              pm::PortVLXmitFlowCtlUpdateErrors::info,
                                              pm::PortVLXmitWaitCounters::info,
                                              pm::SwPortVLCongestion::info,
                                              pm::PortRcvConCtrl::info,
                                              pm::PortSLRcvFecn::info,
                                              pm::PortSLRcvBecn::info,
                                              pm::PortXmitConCtrl::info,
                                              pm::PortVLXmitTimeCong::info};

}  // namespace

int run(int argc, char** argv) {
  const sys::DeviceList devices = sys::DeviceList::read();
  try {
    const sys::EndPort& end_port = devices.default_end_port();
    const auto port = static_cast<unsigned>(end_port.number);
    ibtest::FakeFabric fabric;
    const auto node = fabric.add_ca(0x100, port, "counted");
    ibtest::FakePma pma(fabric, node, port, 1);
    if (argc > 1) pma.capability_mask = static_cast<std::uint16_t>(std::strtoul(argv[1], nullptr, 0));
    if (argc > 2) pma.capability_mask2 = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 0));
    unsigned place = 0;
    for (const auto& attribute : counted) fill(pma, port, attribute(), place);

    async::Loop loop;
    mad::Rpc mads(loop, mad::open_umad(end_port));
    mad::Server server(mads);
    server.serve(mad::service_of<pm::PortCounters>());
    const auto answer = [&](const mad::Incoming& incoming) {
      const ibtest::FakeFabric::Answer mad = pma.answer(incoming.bytes());
      const mad::HeaderView header(mad);
      mad::ReplyHeader reply;
      reply.status = header.status();
      server.send_reply(incoming, Bytes(mad).subspan(mad::data_area(pm::PortCounters::mgmt_class).offset), reply);
    };
    for (const std::uint8_t method : {mad::method::get, mad::method::set}) {
      for (const auto& attribute : counted)
        server.on(pm::PortCounters::mgmt_class, method, static_cast<std::uint16_t>(attribute().attribute_id), answer);
      for (const std::uint16_t attribute : {mad::ClassPortInfo::attribute_id, pm::PortSamplesCtl::attribute_id})
        server.on(pm::PortCounters::mgmt_class, method, attribute, answer);
    }
    loop.run(server.run());
  } catch (const Error& error) {
    for (const std::string& line : error.lines(1)) fmt::print(stderr, "{}\n", line);
    return 1;
  }
  return 0;
}

}  // namespace ibtest::programs::serve_performance
