// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibstatus: the end ports of this host, briefly; ibv_devices: its devices.
#include <algorithm>
#include <cctype>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/devices_report.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

struct IbstatusReport final : DevicesReport {
  void text(TextOut& out) const override {
    for (const auto& [device, ports] : devices) {
      for (const sys::EndPort* p : ports) {
        out.print("Infiniband device {} port {} status:\n", quoted(device->name), p->number);
        out.print("\tdefault gid:\t {}\n\tbase lid:\t {}\n\tsm lid:\t\t {}\n", to_text(p->default_gid()), p->lid.value, p->sm_lid.value);
        out.print("\tstate:\t\t {}: {}\n", p->state, upper(link_state_text(p->state)));
        out.print("\tphys state:\t {}: {}\n", p->phys_state, phys_link_state_text(p->phys_state));
        out.print("\trate:\t\t {}\n\n", escaped(p->rate_text));
      }
    }
  }
};

class Ibstatus final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[DEVICE[/PORT]]", 0, any_number);
    add_common(set, common, group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (session.operands().size() > 1) throw UsageError("Too many arguments");
    IbstatusReport report;
    if (session.operands().empty()) {
      for (const auto& device : session.devices().devices()) report.add(*device);
    } else {
      report.add(session.devices().find_end_port(session.operands()[0]));
    }
    emit(report);
    co_return;
  }
};

struct IbvDevicesReport final : DevicesReport {
  void text(TextOut& out) const override {
    out.print("    {:<16}\t    node GUID\n    {:<16}\t-------------------\n", "device", "------");
    for (const auto& [device, ports] : devices) out.print("    {:<16}\t{}\n", escaped(device->name), to_text(device->node_guid));
  }
};

class IbvDevices final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("", 0, 0);
    add_common(set, common, group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    IbvDevicesReport report;
    for (const auto& device : session.devices().devices()) report.add(*device);
    emit(report);
    co_return;
  }
};

}  // namespace

constinit const CommandInfo rooms::ibstatus{.name = "ibstatus", .group = HelpGroup::local, .summary = "Print the ports of this host, a short paragraph each.", .make = make_command<Ibstatus>, .diags = true, .legacy = diags::ibstatus};
constinit const CommandInfo rooms::ibv_devices{.name = "ibv_devices", .group = HelpGroup::local, .summary = "List the RDMA devices of this host with their node GUIDs.", .make = make_command<IbvDevices>};

}  // namespace ib::tools
