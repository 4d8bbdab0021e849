// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibstat: the devices and end ports of this host.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/escape.hpp"
#include "base/letter_case.hpp"
#include "iba/text.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/shared/devices_report.hpp"

namespace ib::tools {
namespace {

/// The kind of output. By its legacy name several may be given: the last one in this list wins.
enum class StatForm { full, short_form, names, guids, one_port };

constexpr std::array<const char*, 4> diags_node_types{"???", "CA", "Switch", "Router"};
constexpr std::array<const char*, 5> diags_states{"???", "Down", "Initializing", "Armed", "Active"};
constexpr std::array<const char*, 8> diags_physical_states{"No state change",           "Sleep",  "Polling",           "Disabled",
                                                           "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "PhyTest"};

template <std::size_t N>
const char* word(const std::array<const char*, N>& words, unsigned number) {
  return number < N ? words[number] : "???";
}

const char* diags_node_type(const sys::Device& device) { return word(diags_node_types, device.node_type); }

unsigned highest_port(const sys::Device& device) { return device.ports.empty() ? 0 : device.ports.back()->number; }

/// The whole number at the front of sysfs's "40 Gb/sec (4X QDR)".
std::string diags_rate(const sys::EndPort& port) {
  unsigned value = 0;
  std::from_chars(port.rate_text.data(), port.rate_text.data() + port.rate_text.size(), value);
  if (to_lower(port.rate_text).find("fdr10)") != std::string::npos) return fmt::format("{} (FDR10)", value);
  return value == 2 ? "2.5" : std::to_string(value);  // 1X SDR
}

/// How a dialect writes texts and GUIDs.
struct StatStyle {
  bool as_diags;

  std::string text(std::string_view from) const { return as_diags ? printable(from) : escaped(from); }
  std::string quoted(std::string_view from) const { return as_diags ? fmt::format("'{}'", printable(from)) : in_quotes(from); }
  std::string guid(Guid value) const { return as_diags ? fmt::format("0x{:016x}", value.value) : to_text(value); }
  std::string_view type(const sys::Device& device) const { return as_diags ? diags_node_type(device) : "CA"; }
};

struct IbstatReport final : DevicesReport {
  StatForm form = StatForm::full;

  void text(TextOut& out) const override { print(out, {false}); }
  void diags_text(TextOut& out) const override { print(out, {true}); }

 private:
  static void device_text(TextOut& out, const sys::Device& d, const StatStyle& style) {
    out.print("{} {}\n", style.type(d), style.quoted(d.name));
    out.print("\t{} type: {}\n", style.type(d), style.text(d.ca_type));
    out.print("\tNumber of ports: {}\n", style.as_diags ? highest_port(d) : d.ports.size());
    out.print("\tFirmware version: {}\n", style.text(d.firmware));
    out.print("\tHardware version: {}\n", style.text(d.hardware));
    out.print("\tNode GUID: {}\n", style.guid(d.node_guid));
    out.print("\tSystem image GUID: {}\n", style.guid(d.system_image_guid));
  }

  static void port_text(TextOut& out, const sys::EndPort& p, const StatStyle& style, std::string_view indent) {
    const auto line = [&](std::string_view label, auto value) { out.print("{}{}: {}\n", indent, label, value); };
    line("State", style.as_diags ? word(diags_states, p.state) : link_state_text(p.state));
    line("Physical state", style.as_diags ? word(diags_physical_states, p.phys_state) : phys_link_state_text(p.phys_state));
    line("Rate", style.as_diags ? diags_rate(p) : in_quotes(p.rate_text));
    line("Base lid", p.lid.value);
    line("LMC", p.lmc);
    line("SM lid", p.sm_lid.value);
    line("Capability mask", to_hex(p.capability_mask, 8));
    line("Port GUID", style.guid(p.port_guid()));
    line("Link layer", !style.as_diags ? link_layer_text(p) : p.link_layer_text.empty() ? "IB" : printable(p.link_layer_text));
  }

  void print(TextOut& out, const StatStyle& style) const {
    const bool is_one = form == StatForm::one_port;
    for (const auto& [device, ports] : devices) {
      if (form == StatForm::names) out.print("{}\n", style.text(device->name));
      if (is_one) out.print("{}: {}\n", style.type(*device), style.quoted(device->name));
      if (form == StatForm::full || form == StatForm::short_form) device_text(out, *device, style);
      if (form == StatForm::short_form || form == StatForm::names) continue;
      for (const sys::EndPort* port : ports) {
        if (form == StatForm::guids) {
          if (!style.as_diags || port->port_guid() != Guid{}) out.print("{}\n", style.guid(port->port_guid()));
        } else {
          out.print("{}Port {}:\n", is_one ? "" : "\t", port->number);
          port_text(out, *port, style, is_one ? "" : "\t\t");
        }
      }
    }
  }
};

class Ibstat final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.word("DEVICE", device_);
    offer_devices(set, common, false);
    set.word("PORT", port_);
    add_forms(set);
    add_table_options(set, common, table_, keys_of(sys::listed_end_port_columns()));
    add_common(set, common, group_output);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.without("CDeGKLPstyY");
    set.optional_operands();
    set.word("CA", device_);
    set.integer("PORT", port_number_);
    add_forms(set);
    exact_names_ = true;
  }

  std::string_view table_rows() const override { return table_.given() ? "ports" : "devices.ports"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (form_ == StatForm::names && device_ && !exact_names_) throw UsageError("-l takes no DEVICE");
    table_.refuse_for_json(session.host().options().format, "ports", "devices");
    IbstatReport report;
    report.form = form_;
    if (exact_names_) {
      add_by_exact_name(session.host(), report);
    } else if (device_) {
      report.add(session.host().own_devices().find_device(*device_));
    } else {
      report.add_all(session.host().own_devices());
    }
    if (port_ || (port_number_ && *port_number_ >= 0 && form_ == StatForm::full)) choose_port(session.host(), report);
    report.emit(emit, table_);
    co_return;
  }

 private:
  void add_forms(OptionSet& set) {
    set.action("-l --list_of_cas", "Print only the names of the devices.", [this] { choose(StatForm::names, 'l'); });
    set.action("-s --short", "Leave the ports out.", [this] { choose(StatForm::short_form, 's'); });
    set.action("-p --port_list", "Print only the GUIDs of the ports.", [this] { choose(StatForm::guids, 'p'); });
  }
  void choose(StatForm form, char letter) {
    if (exact_names_) form = std::max(form_, form);
    if (!exact_names_ && form_ != StatForm::full && form_ != form)
      throw OptionError(fmt::format("-{} and -{} contradict each other", chosen_by_, letter));
    form_ = form;
    chosen_by_ = letter;
  }

  /// infiniband-diags takes only a device's name, and shows devices that it has a word for, in the order of their names as text.
  void add_by_exact_name(Host& host, IbstatReport& report) const {
    for (const sys::Device* device : by_name(host.own_devices())) {
      const bool has_word = device->node_type >= 1 && device->node_type < diags_node_types.size();
      if (has_word && (!device_ || device->name == *device_)) report.add(*device);
    }
    if (report.devices.empty() && device_) throw DiagsPanic(fmt::format("'{}' IB device can't be found", *device_), 0);
  }

  /// Leaves one port of the one device in `report`.
  void choose_port(Host& host, IbstatReport& report) const {
    auto& [device, ports] = report.devices.front();
    const sys::EndPort* port =
        port_ ? &host.own_devices().find_end_port(*port_, device) : device->port(static_cast<unsigned>(*port_number_));
    if (port == nullptr) {
      warn(host.world(), "ca_stat",
           fmt::format("{}: '{}' has no port number {} - max ({})", diags_node_type(*device), device->name, *port_number_,
                       highest_port(*device)));
      const std::string failed = fmt::format("stat of IB device '{}' failed", device->name);
      if (host.world().diags_release->ibstat_needs_port) throw DiagsPanic(failed, ENOENT);
      warn(host.world(), "main", failed);
      report.devices.clear();
      return;
    }
    ports = {port};
    if (form_ == StatForm::full) report.form = StatForm::one_port;
  }

  StatForm form_ = StatForm::full;
  char chosen_by_{};
  TableOptions table_;
  std::optional<std::string> device_, port_;
  std::optional<int> port_number_;
  bool exact_names_{};
};

}  // namespace

constinit const CommandInfo rooms::ibstat{
    .name = "ibstat",
    .group = HelpGroup::local,
    .summary = "Print the RDMA devices and ports of this host: state, rate, addresses.",
    .make = make_command<Ibstat>,
    .make_diags = make_command<Ibstat>,
};

}  // namespace ib::tools
