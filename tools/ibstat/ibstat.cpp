// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibstat: the devices and end ports of this host.
#include "base/escape.hpp"
#include "iba/text.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/devices_report.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

enum class Form { full, short_form, names, guids, one_port };

struct IbstatReport final : DevicesReport {
  Form form = Form::full;

  static void device_text(TextOut& out, const sys::Device& d) {
    out.print("CA {}\n", quoted(d.name));
    out.print("\tCA type: {}\n", escaped(d.ca_type));
    out.print("\tNumber of ports: {}\n", d.ports.size());
    out.print("\tFirmware version: {}\n", escaped(d.firmware));
    out.print("\tHardware version: {}\n", escaped(d.hardware));
    out.print("\tNode GUID: {}\n", to_text(d.node_guid));
    out.print("\tSystem image GUID: {}\n", to_text(d.system_image_guid));
  }

  static void port_text(TextOut& out, const sys::EndPort& p, std::string_view indent) {
    out.print("{}State: {}\n", indent, link_state_text(p.state));
    out.print("{}Physical state: {}\n", indent, phys_link_state_text(p.phys_state));
    out.print("{}Rate: {}\n", indent, quoted(p.rate_text));
    out.print("{}Base lid: {}\n", indent, p.lid.value);
    out.print("{}LMC: {}\n", indent, p.lmc);
    out.print("{}SM lid: {}\n", indent, p.sm_lid.value);
    out.print("{}Capability mask: {}\n", indent, to_hex(p.capability_mask, 8));
    out.print("{}Port GUID: {}\n", indent, to_text(p.port_guid()));
  }

  void text(TextOut& out) const override {
    for (const auto& [device, ports] : devices) {
      if (form == Form::names) out.print("{}\n", escaped(device->name));
      if (form == Form::full || form == Form::short_form) device_text(out, *device);
      if (form == Form::short_form || form == Form::names) continue;
      for (const sys::EndPort* port : ports) {
        if (form == Form::guids) {
          out.print("{}\n", to_text(port->port_guid()));
        } else if (form == Form::one_port) {
          out.print("CA: {}\nPort {}:\n", quoted(device->name), port->number);
          port_text(out, *port, "");
        } else {
          out.print("\tPort {}:\n", port->number);
          port_text(out, *port, "\t\t");
        }
      }
    }
  }
};

class Ibstat final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[-lsp] [DEVICE [PORT]]", 0, any_number);
    set.flag("-l --list_of_cas", names_, "List all IB devices names");
    set.flag("-s --short", short_, "Do not show port information");
    set.flag("-p --port_list", guids_, "Show only port GUIDs");
    add_common(set, common, group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const std::vector<std::string>& operands = session.operands();
    if (operands.size() > (names_ ? 0U : 2U)) throw UsageError("Too many arguments");
    IbstatReport report;
    if (operands.empty()) {
      for (const auto& device : session.devices().devices()) report.add(*device);
    } else if (operands.size() == 1) {
      report.add(session.devices().find_device(operands[0]));
    } else {
      report.add(session.devices().find_end_port(operands[1], &session.devices().find_device(operands[0])));
    }
    report.form = names_                 ? Form::names
                  : guids_               ? Form::guids
                  : short_               ? Form::short_form
                  : operands.size() == 2 ? Form::one_port
                                         : Form::full;
    emit(report);
    co_return;
  }

 private:
  bool names_{}, short_{}, guids_{};
};

}  // namespace

constinit const CommandInfo rooms::ibstat{.name = "ibstat", .group = HelpGroup::local, .summary = "Print the RDMA devices and ports of this host: state, rate, addresses.", .make = make_command<Ibstat>, .diags = true, .legacy = diags::ibstat};

}  // namespace ib::tools
