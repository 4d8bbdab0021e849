// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A device of Mellanox that answers in its vendor class what vendstat asks, for test_vendstat.py: `serve_vendor DEVICE_ID`. Its
// configuration space and its counter groups keep what is written to them.
#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <string_view>

#include "iba-gen/mlx.hpp"
#include "mad/channel/open.hpp"
#include "mad/server.hpp"
#include "programs/programs.hpp"

namespace ibtest::programs::serve_vendor {

using namespace ib;

namespace {

constexpr unsigned last_port = 36;

class Switch {
 public:
  explicit Switch(std::uint16_t device_id) : device_id_(device_id) {
    // PortXmitWait of every other port of an InfiniScale III.
    for (std::uint32_t port = 1; port <= 24; port += 2) words_[0x10013c + (port << 12)] = port * 0x111;
    for (unsigned port = 1; port <= last_port; ++port) groups_[port] = {};
  }

  void serve(mad::Server& server) {
    server.serve(mad::service_of<mlx::GeneralInfo>());
    server.on<mlx::ClassPortInfo>(mad::method::get, [](const auto&, const mad::Incoming&) {
      mlx::ClassPortInfo info;
      info.base_version = info.class_version = 1;
      info.resp_time_value = 17;
      return info;
    });
    server.on<mlx::Is4GeneralInfo>(mad::method::get, [this](const auto&, const mad::Incoming&) { return general(); });
    for (const std::uint8_t method : {mad::method::get, mad::method::set}) {
      server.on<mlx::ConfigSpaceAccess>(
          method, [this](const auto& access, const mad::Incoming& incoming) { return config_space(access, incoming); });
      server.on<mlx::ConfigCounterGroups>(
          method, [this](const auto& wanted, const mad::Incoming& incoming) { return counter_groups(wanted, incoming); });
    }
    server.on(mlx::CounterGroupInfo::mgmt_class, mad::method::get, mlx::CounterGroupInfo::attribute_id,
              [this, &server](const mad::Incoming& incoming) { group_info(server, incoming); });
  }

 private:
  static mad::MadError bad_modifier(const mad::Incoming& incoming, std::string_view what) {
    return incoming.error(mad::status::invalid_attribute_or_modifier,
                          fmt::format("{}: attribute modifier {:#x}", what, incoming.header().attribute_modifier()));
  }

  mlx::Is4GeneralInfo general() const {
    mlx::Is4GeneralInfo info;
    info.hw_revision = 0xa1;
    info.device_id = device_id_;
    info.uptime = 86461;
    info.fw_major = 7;
    info.fw_minor = 4;
    info.fw_sub_minor = 2;
    info.fw_build_id = 0xbeef;
    info.fw_month = 0x11;
    info.fw_day = 0x21;
    info.fw_year = 0x2026;
    constexpr std::string_view psid = "MT_0D00110009";
    std::ranges::copy(psid, info.fw_psid.begin());
    info.fw_init_file_version = 3;
    info.ext_major = 27;
    info.ext_minor = 2010;
    info.ext_sub_minor = 5042;
    info.sw_major = 11;
    info.sw_minor = 30;
    info.sw_sub_minor = 1;
    return info;
  }

  mlx::ConfigSpaceAccess config_space(mlx::ConfigSpaceAccess access, const mad::Incoming& incoming) {
    const std::uint32_t modifier = incoming.header().attribute_modifier();
    const std::uint32_t records = modifier >> 16 & 0x3f;
    if (modifier >> 22 != 2 || records < 1 || records > access.record.size()) throw bad_modifier(incoming, "configuration space");
    for (std::size_t i = 0; i < records; ++i) {
      mlx::ConfigRecord& record = access.record.at(i);
      std::uint32_t& word = words_[record.address];
      if (incoming.header().method() == mad::method::set) word = (word & ~record.mask) | (record.data & record.mask);
      record.data = word;
    }
    return access;
  }

  mlx::ConfigCounterGroups counter_groups(const mlx::ConfigCounterGroups& wanted, const mad::Incoming& incoming) {
    const auto port = groups_.find(incoming.header().attribute_modifier());
    if (port == groups_.end()) throw bad_modifier(incoming, "counter groups");
    if (incoming.header().method() == mad::method::set) port->second = wanted;
    return port->second;
  }

  /// More groups than the attribute's definition shows.
  void group_info(mad::Server& server, const mad::Incoming& incoming) const {
    if (!groups_.contains(incoming.header().attribute_modifier())) throw bad_modifier(incoming, "counter groups");
    constexpr std::uint32_t masks[] = {0xffff, 0x3, 0, 0x80000001, 0x7};
    std::array<std::uint8_t, 12 + sizeof masks> bytes{};
    store_be(&bytes[8], static_cast<std::uint32_t>(std::size(masks)));
    for (std::size_t i = 0; i < std::size(masks); ++i) store_be(&bytes[12 + 4 * i], masks[i]);
    server.send_reply(incoming, Bytes(bytes));
  }

  std::uint16_t device_id_;
  std::map<std::uint32_t, std::uint32_t> words_;              // of the configuration space, by address
  std::map<std::uint32_t, mlx::ConfigCounterGroups> groups_;  // by port
};

}  // namespace

int run(int argc, char** argv) {
  const sys::DeviceList devices = sys::DeviceList::read();
  try {
    async::Loop loop;
    mad::Rpc mads(loop, mad::open_umad(devices.default_end_port()));
    mad::Server server(mads);
    Switch device(static_cast<std::uint16_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 0));
    device.serve(server);
    server.set_reporter([](const Error& error) { fmt::print(stderr, "refused: {}\n", error.what()); });
    loop.run(server.run());
  } catch (const Error& error) {
    for (const std::string& line : error.lines(1)) fmt::print(stderr, "{}\n", line);
    return 1;
  }
  return 0;
}

}  // namespace ibtest::programs::serve_vendor
