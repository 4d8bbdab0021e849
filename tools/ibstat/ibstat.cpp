// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The devices and end ports of this host: ibstat, ibstatus and ibv_devices.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "sys/device_columns.hpp"
#include "sys/sysfs.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace {

/// `InfiniBand` or `Ethernet`: the escaped text of sysfs. If sysfs has none, InfiniBand.
std::string link_layer_text(const sys::EndPort& port) {
  return port.link_layer_text.empty() ? "InfiniBand" : escaped(port.link_layer_text);
}

/// The devices in the order of infiniband-diags: sorted by their names as texts (mlx5_10 before mlx5_2).
std::vector<const sys::Device*> by_name(const sys::DeviceList& list) {
  std::vector<const sys::Device*> devices;
  for (const auto& device : list.devices()) devices.push_back(device.get());
  std::ranges::sort(devices, {}, &sys::Device::name);
  return devices;
}

/// The base of the reports. Derived classes add the text. The report refers to the session's list of devices.
struct DevicesReport : Report {
  struct ListedDevice {
    const sys::Device* device;
    std::vector<const sys::EndPort*> ports;
  };
  std::vector<ListedDevice> devices;

  void add_all(const sys::DeviceList& list) {
    for (const auto& device : list.devices()) add(*device);
  }
  void add(const sys::Device& device) {
    devices.push_back({&device, {}});
    for (const auto& port : device.ports) devices.back().ports.push_back(port.get());
  }
  void add(const sys::EndPort& port) { devices.push_back({port.device, {&port}}); }

  void visit(report::Sink& sink) const override {
    sink.begin_array("devices");
    sys::Device any;
    sys::EndPort any_port;
    any_port.device = &any;
    report::announce(sink, [&](report::Sink& to) { visit_device(to, {&any, {&any_port}}); });
    for (const ListedDevice& shown : devices) visit_device(sink, shown);
    sink.end_array();
  }
  /// Emits the report, or its ports as a table where `options` want one.
  void emit(Emit& emit, const TableOptions& options) const {
    const auto ports = [this] {
      std::vector<const sys::EndPort*> all;
      for (const ListedDevice& shown : devices) all.insert(all.end(), shown.ports.begin(), shown.ports.end());
      return all;
    };
    emit_either(emit, options, *this, "ports", sys::listed_end_port_columns(), ports);
  }

 private:
  static void visit_device(report::Sink& sink, const ListedDevice& shown) {
    sink.begin_object();
    report::write_members<sys::Device>(sink, sys::device_columns(), *shown.device);
    sink.objects("ports", shown.ports,
                 [&](const sys::EndPort* port) { report::write_members<sys::EndPort>(sink, sys::end_port_columns(), *port); });
    sink.end_object();
  }
};

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

constinit const CommandInfo rooms::ibstat{
    .name = "ibstat",
    .group = HelpGroup::local,
    .summary = "Print the RDMA devices and ports of this host: state, rate, addresses.",
    .make = make_command<Ibstat>,
    .make_diags = make_command<Ibstat>,
};
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
