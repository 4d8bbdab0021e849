// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibportstate: a port's PortInfo, and the fields of it that people set. A SubnSet writes the whole attribute: it is read
// first, what is not to change goes back as "no change" or as it was read.
#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "mad/transactor.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/peer.hpp"
#include "tools/frame/commands.hpp"
#include "tools/ibportstate/ibportstate.hpp"

namespace ib::tools {
namespace ibportstate {
namespace {

constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier: the fields of extended speeds count
constexpr std::uint8_t fdr10_bit = 1;                    // of MlnxExtPortInfo's speeds and StateChangeEnable

async::Task<> read_node(Manners& manners, mad::Transactor& transactor, ObservedPort& port) {
  port.node_info = co_await manners.get<smp::NodeInfo>(transactor, port.node.path, 0, "smp query nodeinfo failed");
}

async::Task<> read_port(Manners& manners, mad::Transactor& transactor, ObservedPort& port) {
  const auto info = co_await manners.get<smp::PortInfo>(transactor, port.node.path, port.number, "smp query portinfo failed");
  port.bytes = wire::packed_vector(info);
}

/// Requests to change a port. The Set begins with the present PortInfo, which is read from the node itself.
mad::Transactor& transactor_for_set(Stack& stack) {
  stack.require_fabric("A change of a port");
  stack.require_exact_targets();
  return stack.smp_transactor();
}

/// infiniband-diags shows all speeds, and only the peers of switch ports; it sets without checks of its own.
class Ibportstate final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    set.integer("PORTNUM", number_, {0, path::last_port});
    set.is_port();
    set.optional_operands();
    set.words("OP [OP_ARG]", words_);
    set.offer([] {
      std::vector<std::string> words;
      for (const std::vector<std::string_view>& names : {operation_names(), value_names()})
        words.insert(words.end(), names.begin(), names.end());
      return words;
    });
    set.notes(
        "OP is query (the default), one of enable, on, disable, off, reset, down,\n"
        "arm, active, or a setting and its value: speed, espeed, fdr10, width, vls,\n"
        "mtu, lid, smlid, lmc, mkey, mkeylease, mkeyprot. Speeds and widths have\n"
        "names: speed HDR,NDR; width 4x.");
    set.flag("--and-reset --and_reset", and_reset_, "Make the link train again, so that new speeds and widths act.");
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    set.flag("--force", force_, "Disable also the port by which the request comes in.");
    add_common(set, common, group_target);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    as_diags_ = true;
    set.target("TARGET", target_);
    set.integer("PORTNUM", number_);
    set.optional_operands();
    set.words("OP [OP_ARG]", words_);
    set.notes(
        "Without OP the port is shown. OP is one of query, enable, on, disable, off,\n"
        "reset, down, arm, active, or a setting and its value: speed, espeed, fdr10,\n"
        "width, vls, mtu, lid, smlid, lmc, mkey, mkeylease, mkeyprot.");
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (as_diags_) co_return co_await run_as_diags(session, emit);
    operations_ = PortOperations::read(session.host().options(), words_, false);
    if (and_reset_) operations_.add_reset();
    const Destination node = co_await session.manners().smp_node(target_);
    ObservedPort port(node, number_);
    if (operations_.is_query()) {
      PortStateReport report(session.host(), port);
      co_await query(session.stack(), session.stack().transactor(), port, report);
      if (report.peer) co_await identify(session.stack().transactor(), *report.peer);
      emit(report);
    } else {
      PortSetReport report(session.host(), port);
      co_await set(session.stack(), emit, transactor_for_set(session.stack()), port, report);
      emit(report);
    }
  }

 private:
  static async::Task<> query(Stack& stack, mad::Transactor& transactor, ObservedPort& port, PortStateReport& report) {
    co_await read_port(stack.manners(), transactor, port);
    port.description = co_await description_at(transactor, port.node.path);
    if (port.info().port_state == smp::PortState::down) co_return;
    try {
      co_await read_node(stack.manners(), transactor, port);
      if (!port.is_switch() || port.number != 0) report.peer = co_await find_peer(stack, transactor, port);
    } catch (Error& error) {
      report.lacks_peer = true;
      report.why_no_peer = error.what();
      error.note(fmt::format("What is behind {} was not read", port.name()));
      stack.host().report(error);
    }
  }

  /// Reads which node a peer is. It stays unknown if the peer does not answer.
  static async::Task<> identify(mad::Transactor& transactor, ObservedPort& peer) {
    const mad::Result<smp::NodeInfo> node = co_await transactor.try_subn_get<smp::NodeInfo>(peer.node.path);
    if (node) peer.node_info = *node;
    peer.description = co_await description_at(transactor, peer.node.path);
  }

  /// The port at the other end of the link, by a route or by the SA.
  static async::Task<ObservedPort> find_peer(Stack& stack, mad::Transactor& transactor, const ObservedPort& port) {
    const smp::PortInfo info = port.info();
    const unsigned number =
        port.number != 0 ? port.number : info.local_port_num;  // on other nodes, port 0 is the port that got the request
    mad::Result<subnet::Peer> found =
        co_await subnet::find_peer(transactor, port.node.path, *port.node_info, number, info, stack.host().options().use_sa);
    const subnet::Peer peer = std::move(found).take();
    ObservedPort result({peer.path, stack.manners().name_of(peer.path)}, peer.port);
    result.bytes = wire::packed_vector(peer.info);
    if (port.node.path.directed() == nullptr && peer.path.directed() != nullptr)
      co_await request_by_lid(stack, transactor, port.node.path.ib(), result);
    co_return result;
  }

  /// Reads a peer by its LID, if it was found by a directed route from a LID. `like` is a path of SMPs by LID. Not every fabric answers
  /// such routes, and LocalPortNum is the port through which the request came in. Thus the output does not depend on how the peer was
  /// found.
  static async::Task<> request_by_lid(Stack& stack, mad::Transactor& transactor, path::IbPath like, ObservedPort& peer) {
    like.dlid = peer.info().lid;
    if (!like.dlid.is_unicast()) {  // a port of a switch, whose port 0 has the LID
      const mad::Result<smp::PortInfo> port0 = co_await transactor.try_subn_get<smp::PortInfo>(peer.node.path, 0);
      if (!port0 || !port0->lid.is_unicast()) co_return;
      like.dlid = port0->lid;
    }
    like.slid = stack.host().end_port().lid;
    const path::Path path = like;
    const mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(path, peer.number);
    if (!info) co_return;
    peer.node = {path, stack.manners().name_of(path)};
    peer.bytes = wire::packed_vector(*info);
  }

  /// Sets with care: what the port or its kind of node rules out is refused before anything is sent.
  async::Task<> set(Stack& stack, Emit& emit, mad::Transactor& transactor, ObservedPort& port, PortSetReport& report) {
    // The output names the node of the Set, and GUIDs are compared before anything is read for the Set.
    mad::Result<smp::NodeInfo> meant = co_await subnet::check_set_target(transactor, port.node.path);
    port.node_info = std::move(meant).take();
    subnet::mean_node(port.node.path, *port.node_info);  // what is read now is what is set
    port.description = co_await description_at(transactor, port.node.path);
    co_await read_port(stack.manners(), transactor, port);
    const smp::PortInfo info = port.info();
    report.dry_run = dry_run_;
    report.needless = operations_.is_needless(port.info());
    if (report.needless) co_return;
    if (operations_.disables() && !force_) {
      try {
        co_await subnet::check_carries_our_smps(transactor, port.node.path, *port.node_info, number_, info, stack.host().options().use_sa);
      } catch (const UsageError& error) {
        throw UsageError(error.message() + " (--force does it anyway)");
      }
    }
    operations_.fit(info);
    const smp::PortInfo wanted = operations_.applied(info);
    report.changes = operations_.list(info);
    co_await check_node(transactor, port);
    if (operations_.fdr10()) co_await set_fdr10(transactor, port, report);
    if (!operations_.sets_port_info() || dry_run_) co_return;
    const smp::PortInfo answer = co_await send(transactor, port, wanted);
    report.after = port;
    report.after->bytes = wire::packed_vector(answer);
    stack.host().note(report.what_changed());
    if (operations_.waits_for_reset())
      stack.host().note("The link uses this after it trains the next time: --and-reset, or the operation reset, makes it train");
    for (const Change& change : operations_.ignored(answer)) {
      stack.host().log().error(fmt::format("The port did not take over {} {}: it answers {}", change.field->iba_name,
                                           worded(*change.field, change.to), worded(*change.field, change.from)));
      emit.raise(Exit::findings);
    }
  }

  async::Task<> check_node(mad::Transactor& transactor, const ObservedPort& port) const {
    const subnet::PortSetting* of_end_port = operations_.find(&subnet::PortSetting::of_end_port);
    const bool on_port0 = number_ == 0 && operations_.has_state();
    if (port.is_switch() && on_port0) throw UsageError("Port 0 of a switch has no link");
    if (port.is_switch() && number_ != 0 && of_end_port != nullptr)
      throw UsageError(fmt::format("Port {} of a switch has no {} of its own: port 0 has", number_, of_end_port->name));
    if (operations_.fdr10() && !subnet::has_mlnx_ext_port_info(*port.node_info)) throw UsageError("The node knows no FDR10");
    if (!operations_.sets_ext_speed()) co_return;
    std::uint32_t capabilities = port.info().capability_mask;
    if (port.is_switch() && number_ != 0) {
      const auto port0 = co_await transactor.subn_get<smp::PortInfo>(port.node.path);
      capabilities = port0.capability_mask;
    }
    if ((capabilities & smp::capability_mask::is_extended_speeds_supported) == 0)
      throw UsageError("The node does not support extended link speeds");
  }

  async::Task<> set_fdr10(mad::Transactor& transactor, const ObservedPort& port, PortSetReport& report) const {
    auto info = co_await transactor.subn_get<smp::MlnxExtPortInfo>(port.node.path, number_);
    const std::uint8_t enabled = *operations_.fdr10();
    if ((enabled & ~info.link_speed_supported) != 0) throw UsageError("The port does not support FDR10");
    const StructInfo& attribute = smp::MlnxExtPortInfo::info();
    report.changes.push_back({&attribute, find_field(attribute, "link_speed_enabled"), info.link_speed_enabled, enabled});
    if (dry_run_) co_return;
    info.state_change_enable = fdr10_bit;
    info.link_speed_enabled = enabled;
    co_await transactor.subn_set(port.node.path, number_, info);
  }

  async::Task<smp::PortInfo> send(mad::Transactor& transactor, const ObservedPort& port, const smp::PortInfo& wanted) const {
    const std::uint32_t modifier = number_ | (operations_.sets_ext_speed() ? extended_speeds_bit : 0U);
    try {
      co_return co_await transactor.subn_set(port.node.path, modifier, wanted);
    } catch (mad::MadStatusError& error) {
      if (!wanted.lid.is_unicast())
        error.note("Setting a port that has no LID, which some nodes refuse unless 'lid' and 'smlid' give it one");
      throw;
    }
  }

  async::Task<> run_as_diags(Session& session, Emit& emit) {
    const Destination node = co_await session.manners().smp_node(target_);
    operations_ = PortOperations::read(session.host().options(), words_, true);
    ObservedPort port(node, number_);
    mad::Transactor& transactor = operations_.is_query() ? session.stack().transactor() : transactor_for_set(session.stack());
    co_await read_node(session.manners(), transactor, port);
    if (operations_.is_query()) {
      PortStateReport report(session.host(), port);
      co_await emit_after(diags_query(session.stack(), transactor, port, report), emit, report);
      if (report.peer) warn_of_slow_link(session.host(), port, *report.peer);
      co_return;
    }
    subnet::mean_node(port.node.path, *port.node_info);  // what is read now is what is set
    const auto is_of_m_key = [](const subnet::PortSetting& setting) { return setting.name.starts_with("mkey"); };
    if (port.is_switch() && number_ != 0 && operations_.find(is_of_m_key) != nullptr)
      throw DiagsFailure("Can't set M_Key fields on switch port != 0");
    PortSetReport report(session.host(), port);
    co_await emit_after(diags_set(session.stack(), transactor, port, report), emit, report);
  }

  /// Emits what `work` has found, also if it fails.
  static async::Task<> emit_after(async::Task<> work, Emit& emit, const Report& report) {
    try {
      co_await std::move(work);
    } catch (const Error&) {
      emit.so_far(report);
      throw;
    }
    emit(report);
  }

  /// PortInfo, and what is shown of speeds beside it.
  static async::Task<> read_all(Stack& stack, mad::Transactor& transactor, ObservedPort& port) {
    smp::PortInfo port0;  // of a switch; its CapabilityMask applies to all ports
    if (port.is_switch())
      port0 = co_await stack.manners().get<smp::PortInfo>(transactor, port.node.path, 0, "smp query port 0 portinfo failed");
    co_await read_port(stack.manners(), transactor, port);
    const std::uint32_t capabilities = (port.is_switch() ? port0 : port.info()).capability_mask;
    port.extended_speeds = (capabilities & smp::capability_mask::is_extended_speeds_supported) != 0;
    if (!stack.host().options().mlnx_extended_port_info || !subnet::has_mlnx_ext_port_info(*port.node_info)) co_return;
    const auto mlnx =
        co_await stack.manners().get<smp::MlnxExtPortInfo>(transactor, port.node.path, port.number, "smp query ext portinfo failed");
    port.mlnx_bytes = wire::packed_vector(mlnx);
  }

  /// The node at the other end of the link of port `port` of a switch.
  static Destination beyond(Host& host, const Destination& node, std::uint8_t port) {
    path::IbDrPath path;
    if (const path::IbDrPath* directed = node.path.directed()) {
      path = *directed;
    } else {
      static_cast<path::IbPath&>(path) = node.path.ib();
      path.dr_slid = host.end_port().lid;
    }
    const auto longer = path.advance(port);
    if (!longer) throw DiagsFailure("Too many hops");
    return {*longer, diags_name(*longer)};
  }

  static async::Task<> diags_query(Stack& stack, mad::Transactor& transactor, ObservedPort& port, PortStateReport& report) {
    co_await read_all(stack, transactor, port);
    if (!port.is_switch() || port.number == 0 || port.info().port_state != smp::PortState::active) co_return;
    // The peer is looked for only at the end of the route.
    report.peer.emplace(beyond(stack.host(), port.node, static_cast<std::uint8_t>(port.number)), 0);
    report.lacks_peer = true;
    co_await read_node(stack.manners(), transactor, *report.peer);
    report.peer->number = report.peer->node_info->local_port_num;
    co_await read_all(stack, transactor, *report.peer);
    report.lacks_peer = false;
  }

  /// Sends a PortInfo in any case, without further requests before it.
  async::Task<> diags_set(Stack& stack, mad::Transactor& transactor, ObservedPort& port, PortSetReport& report) const {
    co_await read_all(stack, transactor, port);
    report.needless = operations_.is_needless(port.info());
    if (report.needless) co_return;
    report.disables = operations_.disables();
    if (operations_.fdr10()) {
      smp::MlnxExtPortInfo mlnx = port.mlnx();
      mlnx.state_change_enable = fdr10_bit;
      mlnx.link_speed_enabled = *operations_.fdr10();
      mad::Result<smp::MlnxExtPortInfo> answer = co_await transactor.try_subn_set(port.node.path, number_, mlnx);
      report.mlnx_after = port;
      report.mlnx_after->mlnx_bytes = wire::packed_vector(stack.manners().take(std::move(answer), "smp set MLNX ext portinfo failed"));
    }
    const std::uint32_t modifier = number_ | (port.extended_speeds ? extended_speeds_bit : 0U);
    const smp::PortInfo wanted = operations_.applied_as_diags(port.info());
    mad::Result<smp::PortInfo> answer = co_await transactor.try_subn_set(port.node.path, modifier, wanted);
    const smp::PortInfo after = stack.manners().take(std::move(answer), "smp set portinfo failed");
    report.after = port;
    report.after->bytes = wire::packed_vector(after);
  }

  bool as_diags_{};
  Target target_;
  unsigned number_{};
  std::vector<std::string> words_;
  PortOperations operations_;
  bool dry_run_{}, force_{}, and_reset_{};
};

}  // namespace
}  // namespace ibportstate

constinit const CommandInfo rooms::ibportstate{
    .name = "ibportstate",
    .group = HelpGroup::config,
    .summary = "Print the state of a port and of its link, or change it.",
    .make = make_command<tools::ibportstate::Ibportstate>,
    .make_diags = make_command<tools::ibportstate::Ibportstate>,
    .changes = true,
    .reports_changes = true,
};

}  // namespace ib::tools
