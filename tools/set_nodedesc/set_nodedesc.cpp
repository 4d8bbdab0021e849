// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_nodedesc: the NodeDescription that this host's channel adapters give, as sysfs holds it.
#include <fmt/format.h>

#include <cerrno>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "sys/sysfs.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t longest = 64;  // IBA 14.2.5.2

struct NodedescReport final : Report {
  struct Entry {
    const sys::Device* device{};
    std::string description;
  };
  std::vector<Entry> entries;

  void visit(out::Sink& sink) const override {
    sink.begin_array("devices");
    for (const Entry& entry : entries) {
      sink.begin_object();
      sink.value("name", entry.device->name);
      sink.value("node_guid", entry.device->node_guid);
      sink.value("node_description", entry.description);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    for (const Entry& entry : entries) out.print("{}: {}\n", escaped(entry.device->name), escaped(entry.description));
  }
};

/// What was set, on which devices: nothing to say in text.
struct RenamedReport final : Report {
  std::string description;
  std::vector<const sys::Device*> devices;

  void visit(out::Sink& sink) const override {
    sink.value("node_description", description);
    sink.begin_array("devices");
    for (const sys::Device* device : devices) sink.value({}, std::string_view(device->name));
    sink.end_array();
  }
  void text(TextOut& /*out*/) const override {}
};

class SetNodedesc final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[-v] [NAME]", 0, 1);
    set.notes("By default all CAs are altered, use -C or -P to select a single CA.");
    set.flag("-v", view_, "Show the descriptions, set nothing.");
    add_common(set, common, group_device | group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const std::vector<const sys::Device*> devices = chosen(session);
    if (view_ || session.operands().empty()) {
      NodedescReport report;
      for (const sys::Device* device : devices) {
        std::string description = co_await description_of(session, *device);
        report.entries.push_back({device, std::move(description)});
      }
      emit(report);
      co_return;
    }
    RenamedReport report;
    report.description = session.operands()[0];
    report.devices = devices;
    if (report.description.empty()) throw UsageError("A node description can not be empty");
    if (report.description.size() > longest)
      throw UsageError(fmt::format("A node description has at most {} bytes: this one has {}", longest, report.description.size()));
    // All of them or none, as far as can be known before.
    for (const sys::Device* device : devices) on_attribute(*device, [](const std::string& path) { sys::check_writable(path); });
    for (const sys::Device* device : devices)
      on_attribute(*device, [&](const std::string& path) { sys::write_attribute(path, report.description); });
    emit(report);
  }

 private:
  static std::vector<const sys::Device*> chosen(Session& session) {
    const CommonOptions& options = session.options();
    const sys::DeviceList& all = session.devices();
    if (options.device) return {&all.find_device(*options.device)};
    if (options.port) return {all.find_end_port(*options.port).device};
    std::vector<const sys::Device*> devices;
    for (const auto& device : all.devices()) devices.push_back(device.get());
    return devices;
  }

  /// What sysfs has, or, where it has nothing, what the session's own port answers.
  static async::Task<std::string> description_of(Session& session, const sys::Device& device) {
    const bool asks = device.node_description.empty() && session.end_port().device == &device;
    if (!asks) co_return device.node_description;
    const path::Path path = co_await session.smp_path(nullptr);
    const auto answer = co_await session.transactor().subn_get<smp::NodeDescription>(path);
    co_return std::string(fixed_text(answer.node_string));
  }

  template <class Act>
  static void on_attribute(const sys::Device& device, Act act) {
    try {
      act(fmt::format("{}/class/infiniband/{}/node_desc", sys::sysfs_root(), device.name));
    } catch (SysError& error) {
      const bool denied = error.code() == EACCES || error.code() == EPERM;
      error.note(fmt::format("Can't set the node description of {}{}", device.name, denied ? ": only root may" : ""));
      throw;
    }
  }

  bool view_{};
};

}  // namespace

constexpr std::string_view set_nodedesc_aliases[]{"set_nodedesc.sh"};
constinit const CommandInfo rooms::set_nodedesc{.name = "set_nodedesc", .group = HelpGroup::config, .summary = "Print or set the node descriptions of the devices of this host.", .make = make_command<SetNodedesc>, .aliases = set_nodedesc_aliases, .changes = true};

}  // namespace ib::tools
