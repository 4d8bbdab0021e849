// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibportstate: a port's PortInfo, and the fields of it that people set. A SubnSet writes the whole attribute: it is read
// first, what is not to change goes back as "no change" or as it was read.
#include <fmt/format.h>

#include <array>

#include "base/log.hpp"
#include "tools/ibportstate/changes.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "subnet/mlnx.hpp"
#include "subnet/peer.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace ibportstate {
namespace {

constexpr unsigned last_port = 254;                      // IBA 14.2.5.6: 255 is a wildcard
constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier: the fields of extended speeds count
constexpr std::uint8_t fdr10_bit = 1;                    // of MlnxExtPortInfo's speeds and StateChangeEnable

std::array<std::uint8_t, smp::PortInfo::wire_size> bytes_of(const smp::PortInfo& info) {
  std::array<std::uint8_t, smp::PortInfo::wire_size> bytes{};
  info.pack(bytes);
  return bytes;
}

AttributeText shown(const Session& session, const smp::PortInfo& info) {
  return {session.options(), smp::PortInfo::info(), bytes_of(info)};
}

/// A port, and the one at the other end of its link.
struct QueryReport final : Report {
  std::string path;
  unsigned port{};
  smp::PortInfo info;
  AttributeText attribute;
  std::optional<subnet::Peer> peer;
  AttributeText peer_attribute;
  bool lacks_peer{};  ///< there is one, but it did not answer

  void visit(out::Sink& sink) const override {
    sink.value("operation", "query");
    sink.value("path", path);
    sink.value("port", port);
    if (peer) {
      sink.begin_object("peer");
      sink.value("path", to_text(peer->path));
      sink.value("port", peer->port);
      sink.begin_object("data");
      peer_attribute.visit(sink);
      sink.end_object();
      sink.end_object();
    } else {
      sink.null("peer");
    }
    sink.begin_object("data");
    attribute.visit(sink);
    sink.end_object();
  }
  void text(TextOut& out) const override {
    out.print("# Port info: Lid {} port {}", info.lid.value, info.local_port_num);
    if (peer) out.print(" (peer is Lid {} port {})", peer->info.lid.value, peer->port);
    if (lacks_peer) out.write(" (the peer does not answer)");
    out.write("\n");
    attribute.text(out, plain_listing);
  }
  Exit status() const override { return lacks_peer ? Exit::incomplete : Exit::ok; }
};

/// What was set, or would be.
struct SetReport final : Report {
  std::string path;
  unsigned port{};
  bool dry_run{}, needless{};
  Keys keys = Keys::hidden;
  std::vector<Change> changes;
  std::optional<AttributeText> after;  ///< the port's answer

  bool hides(const Change& change) const { return change.field->secret && keys == Keys::hidden; }
  void visit(out::Sink& sink) const override {
    sink.value("operation", "set");
    sink.value("path", path);
    sink.value("port", port);
    sink.value("dry_run", dry_run);
    sink.begin_array("changes");
    for (const Change& change : changes) {
      sink.begin_object();
      sink.value("attribute", change.attribute);
      sink.value("field", change.field->name);
      for (const auto& [key, value] : {std::pair{"from", change.from}, {"to", change.to}}) {
        if (hides(change)) {
          sink.null(key);
          continue;
        }
        sink.value(key, value);
        if (change.field->enumeration != nullptr) sink.text(std::string(key) + "_text", symbol(*change.field->enumeration, value));
      }
      sink.end_object();
    }
    sink.end_array();
    if (!after) return;
    sink.begin_object("data");
    after->visit(sink);
    sink.end_object();
  }
  void text(TextOut& out) const override {
    if (needless) out.write("The port is not disabled: there is nothing to do\n");
    if (!dry_run || needless) return;
    out.print("# Would set on {} port {}\n", path, port);
    for (const Change& change : changes) {
      const std::string name = styled_name(*change.field, NameStyle::saquery);
      if (hides(change)) {
        out.print("{:.<25}(not displayed)\n", name);
      } else {
        out.print("{:.<25}{} -> {}\n", name, change.from, change.to);
      }
    }
  }
};

class Ibportstate final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("TARGET PORTNUM OP [OP_ARG] [OP [OP_ARG]]...", 0, any_number);
    set.notes(
        "OP is query, one of enable, on, disable, off, reset, down, arm, active,\n"
        "or a setting and its value: speed, espeed, fdr10, width, vls, mtu, lid,\n"
        "smlid, lmc, mkey, mkeylease, mkeyprot.");
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    set.flag("--force", force_, "Disable also the port by which the request comes in.");
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target, OperandKind::integer, OperandKind::word}, 3, OperandKind::word);
    const std::int64_t number = *session.integer(1);
    if (number < 0 || number > last_port) throw UsageError(fmt::format("The port number {} is not one of 0 to {}", number, last_port));
    port_ = static_cast<unsigned>(number);
    const Changes changes(session.options(), std::span(session.operands()).subspan(2));
    const path::Path path = co_await session.smp_path(session.target(0));
    // What is set begins with what is there, of which the node itself knows best.
    mad::Transactor& transactor = changes.is_query() ? session.transactor() : session.smp_transactor();
    const auto info = co_await transactor.subn_get<smp::PortInfo>(path, port_);
    if (changes.is_query()) {
      co_await query(session, emit, path, info);
    } else {
      co_await set(session, emit, changes, path, info);
    }
  }

 private:
  async::Task<> query(Session& session, Emit& emit, const path::Path& path, const smp::PortInfo& info) {
    QueryReport report;
    report.path = to_text(path);
    report.port = port_;
    report.info = info;
    report.attribute = shown(session, info);
    if (info.port_state != smp::PortState::down) {
      try {
        report.peer = co_await find_peer(session, path, info);
      } catch (const Error& error) {
        report.lacks_peer = true;
        session.report(error);
      }
    }
    if (report.peer) report.peer_attribute = shown(session, report.peer->info);
    emit(report);
  }

  /// The port at the other end of the link; nothing for a switch's port 0, which has no link.
  async::Task<std::optional<subnet::Peer>> find_peer(Session& session, const path::Path& path, const smp::PortInfo& info) const {
    const auto node = co_await session.transactor().subn_get<smp::NodeInfo>(path);
    const bool is_switch = node.node_type == smp::NodeType::switch_;
    if (is_switch && port_ == 0) co_return std::nullopt;
    const unsigned port = port_ != 0 ? port_ : info.local_port_num;  // 0 of other nodes is the port that was asked
    mad::Result<subnet::Peer> peer = co_await subnet::find_peer(session.transactor(), path, node, port, info, session.options().use_sa);
    co_return std::move(peer).take();
  }

  async::Task<> set(Session& session, Emit& emit, const Changes& changes, const path::Path& path, const smp::PortInfo& info) {
    SetReport report;
    report.path = to_text(path);
    report.port = port_;
    report.dry_run = dry_run_;
    report.keys = session.options().keys;
    report.needless = changes.only_if_disabled() && info.port_physical_state != smp::PortPhysicalState::disabled;
    if (report.needless) {
      emit(report);
      co_return;
    }
    if (changes.disables() && subnet::is_way_in(info, port_) && !force_)
      throw UsageError(
          fmt::format("Port {} is the one by which the request came in: disabled, it leaves no way back (see --force)", port_));
    const smp::PortInfo wanted = changes.applied(info);
    report.changes = changes.list(info);
    mad::Transactor& transactor = session.smp_transactor();
    co_await check_node(transactor, changes, path, info);
    if (changes.fdr10()) co_await set_fdr10(transactor, path, *changes.fdr10(), report);
    if (changes.sets_port_info() && !dry_run_) {
      const smp::PortInfo answer = co_await send(transactor, changes, path, wanted);
      report.after = shown(session, answer);
      for (const Change& change : changes.ignored(answer)) {
        log::error(fmt::format("The port did not take over {} {}: it answers {}", change.field->iba_name, change.to, change.from));
        emit.raise(Exit::findings);
      }
    }
    emit(report);
  }

  /// Refuses what the kind of node rules out.
  async::Task<> check_node(mad::Transactor& transactor, const Changes& changes, const path::Path& path, const smp::PortInfo& info) const {
    const subnet::PortSetting* of_end_port = changes.of_end_port();
    const bool on_port0 = port_ == 0 && changes.has_state();
    if (of_end_port == nullptr && !changes.sets_ext_speed() && !changes.fdr10() && !on_port0) co_return;
    const auto node = co_await transactor.subn_get<smp::NodeInfo>(path);
    const bool is_switch = node.node_type == smp::NodeType::switch_;
    if (is_switch && on_port0) throw UsageError("Port 0 of a switch has no link");
    if (is_switch && port_ != 0 && of_end_port != nullptr)
      throw UsageError(fmt::format("Port {} of a switch has no {} of its own: port 0 has", port_, of_end_port->name));
    if (changes.fdr10() && !subnet::has_mlnx_ext_port_info(node)) throw UsageError("The node knows no FDR10");
    if (!changes.sets_ext_speed()) co_return;
    std::uint32_t capabilities = info.capability_mask;
    if (is_switch && port_ != 0) {
      const auto port0 = co_await transactor.subn_get<smp::PortInfo>(path);
      capabilities = port0.capability_mask;
    }
    if ((capabilities & smp::capability_mask::is_extended_speeds_supported) == 0)
      throw UsageError("The node does not support extended link speeds");
  }

  async::Task<> set_fdr10(mad::Transactor& transactor, const path::Path& path, std::uint8_t enabled, SetReport& report) const {
    auto info = co_await transactor.subn_get<smp::MlnxExtPortInfo>(path, port_);
    if ((enabled & ~info.link_speed_supported) != 0) throw UsageError("The port does not support FDR10");
    const FieldInfo* field = find_field(smp::MlnxExtPortInfo::info(), "link_speed_enabled");
    report.changes.push_back({"MlnxExtPortInfo", field, info.link_speed_enabled, enabled});
    if (dry_run_) co_return;
    info.state_change_enable = fdr10_bit;
    info.link_speed_enabled = enabled;
    co_await transactor.subn_set(info, path, port_);
  }

  async::Task<smp::PortInfo> send(mad::Transactor& transactor, const Changes& changes, const path::Path& path,
                                  const smp::PortInfo& wanted) const {
    const std::uint32_t modifier = port_ | (changes.sets_ext_speed() ? extended_speeds_bit : 0U);
    try {
      const smp::PortInfo answer = co_await transactor.subn_set(wanted, path, modifier);
      co_return answer;
    } catch (mad::MadStatusError& error) {
      if (!wanted.lid.is_unicast())
        error.note("Setting a port that has no LID, which some nodes refuse unless 'lid' and 'smlid' give it one");
      throw;
    }
  }

  bool dry_run_{}, force_{};
  unsigned port_{};
};

}  // namespace
}  // namespace ibportstate

constinit const CommandInfo rooms::ibportstate{.name = "ibportstate", .group = HelpGroup::config, .summary = "Print the state of a port and of its link, or change it.", .make = make_command<ibportstate::Ibportstate>, .changes = true, .diags = true, .legacy = diags::ibportstate};

}  // namespace ib::tools
