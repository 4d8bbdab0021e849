// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_nodedesc: the NodeDescription that this host's channel adapters give, as sysfs holds it.
#include <fmt/format.h>

#include <cerrno>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "sys/sysfs.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t longest = 64;  // IBA 14.2.5.2

struct NodedescReport final : Report {
  struct NamedDevice {
    const sys::Device* device{};
    std::string description;
    std::string before{};  ///< where it was set
  };
  std::vector<NamedDevice> devices;
  bool set = false, dry_run = false;

  void visit(report::Sink& sink) const override {
    sink.objects("devices", devices, [&](const NamedDevice& named) {
      sink.value("device", named.device->name);
      sink.value("node_guid", named.device->node_guid);
      sink.value("node_description", named.description);
    });
  }
  void text(TextOut& out) const override {
    for (const NamedDevice& named : devices) {
      out.print("{}{}: {}", dry_run ? "Would set " : "", escaped(named.device->name), escaped(named.description));
      if (set) out.print(" ({} {})", dry_run ? "is" : "was", in_quotes(named.before));
      out.write("\n");
    }
  }
};

class SetNodedesc final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.operand("NAME", [this](std::string_view text) {
      if (text.empty() || text.size() > longest)
        throw UsageError(fmt::format("a node description has 1 to {} bytes: this one has {}", longest, text.size()));
      name_ = text;
    });
    set.notes("Without -C and -P all devices are meant.");
    set.flag("-v", view_, "Print the descriptions, and set nothing.");
    add_common(set, common, group_device | group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    NodedescReport report;
    report.set = !view_ && !name_.empty();
    report.dry_run = report.set && session.host().options().dry_run;
    for (const sys::Device* device : chosen(session.host())) {
      std::string description = name_;
      if (!report.set) description = co_await description_of(session.stack(), *device);
      report.devices.push_back({device, std::move(description), device->node_description});
    }
    // All of them or none, as far as can be known before.
    for (const bool writes : {false, true}) {
      for (const auto& named : report.devices) {
        if (report.set && !(writes && report.dry_run)) set_description(*named.device, writes);
      }
    }
    emit(report);
  }

 private:
  static std::vector<const sys::Device*> chosen(Host& host) {
    if (host.options().device || host.options().port) return {host.end_port().device};
    std::vector<const sys::Device*> devices;
    for (const auto& device : host.own_devices().devices()) devices.push_back(device.get());
    return devices;
  }

  /// The description in sysfs, or, if sysfs has none, the answer of the session's own port.
  static async::Task<std::string> description_of(Stack& stack, const sys::Device& device) {
    const bool reads_node = device.node_description.empty() && stack.host().end_port().device == &device;
    if (!reads_node) co_return device.node_description;
    const Target here;
    const Destination node = co_await stack.manners().smp_node(here);
    const auto answer = co_await stack.transactor().subn_get<smp::NodeDescription>(node.path);
    co_return std::string(fixed_text(answer.node_string));
  }

  /// Writes the description, or only finds out whether it can be written.
  void set_description(const sys::Device& device, bool writes) const {
    const std::string path = fmt::format("{}/class/infiniband/{}/node_desc", sys::sysfs_root(), device.name);
    try {
      writes ? sys::write_attribute(path, name_) : sys::check_writable(path);
    } catch (SysError& error) {
      const bool denied = error.code() == EACCES || error.code() == EPERM;
      error.note(fmt::format("Can't set the node description of {}{}", device.name, denied ? ": only root may" : ""));
      throw;
    }
  }

  std::string name_;
  bool view_{};
};

}  // namespace

constinit const CommandInfo rooms::set_nodedesc{
    .name = "set_nodedesc",
    .group = HelpGroup::config,
    .summary = "Print or set the node descriptions of the devices of this host.",
    .make = make_command<SetNodedesc>,
    .alias = "set_nodedesc.sh",
    .changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
