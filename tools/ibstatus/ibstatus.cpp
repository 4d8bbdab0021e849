// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibstatus: the end ports of this host, briefly; ibv_devices: its devices.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "sys/sysfs.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/shared/devices_report.hpp"

namespace ib::tools {
namespace {

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

struct IbstatusReport final : DevicesReport {
  /// What infiniband-diags shows of a port: the content of files of sysfs. It shows a port that is not there, too: all of it is "unknown".
  struct DiagsPort {
    std::string device, number;
    /// GID 0, LID, SM LID, state, physical state, rate, link layer; nothing for a file that cannot be read.
    std::array<std::optional<std::string>, 7> content{};
  };
  std::vector<DiagsPort> diags_ports;
  std::string diags_failure;  ///< why infiniband-diags goes no further

  void text(TextOut& out) const override {
    for (const auto& [device, ports] : devices) {
      for (const sys::EndPort* p : ports) {
        out.print("Infiniband device {} port {} status:\n", in_quotes(device->name), p->number);
        out.print("\tdefault gid:\t {}\n\tbase lid:\t {}\n\tsm lid:\t\t {}\n", to_text(p->default_gid()), p->lid.value, p->sm_lid.value);
        out.print("\tstate:\t\t {}: {}\n", p->state, upper(link_state_text(p->state)));
        out.print("\tphys state:\t {}: {}\n", p->phys_state, phys_link_state_text(p->phys_state));
        out.print("\trate:\t\t {}\n", escaped(p->rate_text));
        out.print("\tlink layer:\t {}\n\n", link_layer_text(*p));
      }
    }
  }

  void diags_text(TextOut& out) const override {
    for (const DiagsPort& port : diags_ports) {
      out.print("Infiniband device '{}' port {} status:\n", printable(port.device), printable(port.number));
      diags_lines(out, port);
    }
    if (!diags_failure.empty()) out.print("Fatal error:  {}\n", printable_words(diags_failure));
  }

 private:
  /// As a shell prints them: words with one blank between, after a blank if there are any.
  static void diags_lines(TextOut& out, const DiagsPort& port) {
    constexpr std::array<std::string_view, 7> headings{"default gid:\t", "base lid:\t", "sm lid:\t\t",  "state:\t\t",
                                                       "phys state:\t",  "rate:\t\t",   "link_layer:\t"};
    for (std::size_t at = 0; at < headings.size(); ++at) {
      const std::string text = port.content.at(at).value_or(at + 1 == headings.size() ? "IB" : "unknown");
      out.print("\t{}", headings.at(at));
      for (const std::string_view word : split(text, " \t\n")) {
        if (!word.empty()) out.print(" {}", printable(word));
      }
      out.write("\n");
    }
    out.write("\n");
  }
};

/// The content of the files of a port. A stored host has no files: what it has of the port stands for them.
std::array<std::optional<std::string>, 7> content_of(const sys::EndPort& port, bool is_stored) {
  const auto coded = [](unsigned number, const std::string& text) { return fmt::format("{}: {}", number, text); };
  if (is_stored) {
    const Gid gid = port.default_gid();
    return {to_text(Guid{gid.prefix().value}) + ":" + to_text(gid.guid()),
            to_hex(port.lid.value),
            to_hex(port.sm_lid.value),
            coded(port.state, port.state_text),
            coded(port.phys_state, port.phys_state_text),
            port.rate_text,
            port.link_layer_text};
  }
  const std::string dir = fmt::format("{}/class/infiniband/{}/ports/{}/", sys::sysfs_root(), port.device->name, port.number);
  std::array<std::optional<std::string>, 7> content;
  constexpr std::array<std::string_view, 7> files{"gids/0", "lid", "sm_lid", "state", "phys_state", "rate", "link_layer"};
  std::ranges::transform(files, content.begin(), [&dir](std::string_view file) { return sys::read_attribute(dir + std::string(file)); });
  return content;
}

constexpr std::string_view diags_usage =
    "Usage: ibstatus [-h] [DEVICE[:PORT]...]\n\n"
    "Prints the ports of the devices that are named, or of all: GID, LIDs, state, rate.\n";

class Ibstatus final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.word("DEVICE[/PORT]", port_);
    offer_devices(set, common, true);
    add_table_options(set, common, table_, keys_of(sys::listed_end_port_columns()));
    add_common(set, common, group_output);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.script([this](const std::vector<std::string>& words) { words_ = words; });
  }

  std::string_view table_rows() const override { return table_.given() ? "ports" : "devices.ports"; }

  async::Task<> run(Session& session, Emit& emit) override {
    table_.refuse_for_json(session.host().options().format, "ports", "devices");
    if (!words_.empty() && words_.front() == "-h") {
      emit.text().write(diags_usage);
      emit.set_diags_status(diags_failed);
      co_return;
    }
    IbstatusReport report;
    if (port_) {
      report.add(session.host().own_devices().find_end_port(*port_));
    } else if (words_.empty()) {
      add_all(session.host(), report);
    }
    for (const std::string& word : words_) {
      const std::string name = word.substr(0, word.find(':')), number = word.substr(word.rfind(':') + 1);
      add_ports(session.host(), name, number == name ? std::nullopt : std::optional(number), report);
    }
    if (!report.diags_failure.empty()) emit.set_diags_status(diags_failed);
    report.emit(emit, table_);
    co_return;
  }

 private:
  static void add_all(Host& host, IbstatusReport& report) {
    const sys::DeviceList& list = host.own_devices();
    report.add_all(list);
    if (list.devices().empty()) report.diags_failure = "No devices";
    for (const sys::Device* device : by_name(list)) add_ports(host, device->name, std::nullopt, report);
  }

  /// The ports of a device, in the order of their numbers as text, or the one of that number: "" is none of them. Nothing after a
  /// failure.
  static void add_ports(Host& host, const std::string& name, const std::optional<std::string>& number, IbstatusReport& report) {
    if (!report.diags_failure.empty()) return;
    std::vector<IbstatusReport::DiagsPort> ports;
    const bool is_stored = host.options().from.has_value();
    for (const auto& device : host.own_devices().devices()) {
      if (device->name != name) continue;
      for (const auto& port : device->ports) ports.push_back({name, std::to_string(port->number), content_of(*port, is_stored)});
    }
    if (ports.empty())
      report.diags_failure = fmt::format("device '{}': sys files not found ({}/class/infiniband/{}/ports)", name, sys::sysfs_root(), name);
    if (number) {
      std::erase_if(ports, [&](const auto& port) { return port.number != *number; });
      if (ports.empty() && !number->empty() && report.diags_failure.empty()) ports.push_back({name, *number});
    }
    std::ranges::sort(ports, {}, &IbstatusReport::DiagsPort::number);
    report.diags_ports.insert(report.diags_ports.end(), ports.begin(), ports.end());
  }

  std::optional<std::string> port_;
  std::vector<std::string> words_;
  TableOptions table_;
};

struct IbvDevicesReport final : DevicesReport {
  void text(TextOut& out) const override {
    out.print("    {:<16}\t    node GUID\n    {:<16}\t-------------------\n", "device", "------");
    for (const auto& [device, ports] : devices) out.print("    {:<16}\t{}\n", escaped(device->name), to_text(device->node_guid));
  }
};

class IbvDevices final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override { add_common(set, common, group_output); }

  std::string_view table_rows() const override { return "devices"; }

  async::Task<> run(Session& session, Emit& emit) override {
    IbvDevicesReport report;
    report.add_all(session.host().own_devices());
    emit(report);
    co_return;
  }
};

}  // namespace

constinit const CommandInfo rooms::ibstatus{
    .name = "ibstatus",
    .group = HelpGroup::local,
    .summary = "Print the ports of this host, a short paragraph each.",
    .make = make_command<Ibstatus>,
    .make_diags = make_command<Ibstatus>,
};
constinit const CommandInfo rooms::ibv_devices{
    .name = "ibv_devices",
    .group = HelpGroup::local,
    .summary = "List the RDMA devices of this host with their node GUIDs.",
    .make = make_command<IbvDevices>,
};

}  // namespace ib::tools
