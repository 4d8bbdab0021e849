// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibportstate: a port's PortInfo, and the fields of it that people set. A SubnSet writes the whole attribute: it is read
// first, what is not to change goes back as "no change" or as it was read.
#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/registry.hpp"
#include "mad/transactor.hpp"
#include "subnet/mlnx.hpp"
#include "subnet/peer.hpp"
#include "subnet/set_target.hpp"
#include "subnet/way_in.hpp"
#include "tools/frame/commands.hpp"
#include "tools/ibportstate/report.hpp"

namespace ib::tools {
namespace ibportstate {
namespace {

constexpr unsigned last_port = 254;                      // IBA 14.2.5.6: 255 is a wildcard
constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier: the fields of extended speeds count
constexpr std::uint8_t fdr10_bit = 1;                    // of MlnxExtPortInfo's speeds and StateChangeEnable

template <class T>
std::vector<std::uint8_t> packed(const T& value) {
  std::vector<std::uint8_t> bytes(T::wire_size);
  value.pack(bytes);
  return bytes;
}

class Ibportstate final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target("TARGET", target_);
    set.integer("PORTNUM", port_, {0, last_port});
    set.words("OP [OP_ARG]", words_);
    set.offer([] {
      const std::vector<std::string_view> names = operation_names();
      return std::vector<std::string>(names.begin(), names.end());
    });
    set.notes(
        "OP is query, one of enable, on, disable, off, reset, down, arm, active,\n"
        "or a setting and its value: speed, espeed, fdr10, width, vls, mtu, lid,\n"
        "smlid, lmc, mkey, mkeylease, mkeyprot.");
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    set.flag("--force", force_, "Disable also the port by which the request comes in.");
    add_common(set, common, group_target);
  }

  void diags_options(DiagsOptions& set) override {
    set.target("TARGET", target_);
    set.integer("PORTNUM", port_);
    set.optional_operands();
    set.words("OP [OP_ARG]", words_);
    set.notes(
        "Without OP the port is shown. OP is one of query, enable, on, disable, off,\n"
        "reset, down, arm, active, or a setting and its value: speed, espeed, fdr10,\n"
        "width, vls, mtu, lid, smlid, lmc, mkey, mkeylease, mkeyprot.");
    as_diags_ = true;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const CommonOptions& common = session.options();
    if (!as_diags_) changes_ = Changes::read(common, words_);
    const Destination node = co_await session.smp_node(target_);
    if (as_diags_) changes_ = Changes::read_as_diags(common, words_);
    if (!changes_.is_query()) {
      session.require_fabric("A change of a port");
      session.require_exact_targets();
    }
    Side side(node, port_);
    // A Set begins with the present PortInfo, which is read from the node itself.
    mad::Transactor& transactor = changes_.is_query() ? session.transactor() : session.smp_transactor();
    if (as_diags_) co_await read_node(session, transactor, side);
    if (as_diags_ && !changes_.is_query()) side.node.path.ib().meant = side.node_info->node_guid;  // what is read now is what is set
    if (as_diags_ && changes_.sets_m_key() && side.is_switch() && port_ != 0)
      throw DiagsFailure({"main", "Can't set M_Key fields on switch port != 0"});
    if (changes_.is_query()) {
      QueryReport report(session, side);
      co_await or_so_far(emit, report, query(session, transactor, side, report));
      emit(report);
      if (as_diags_ && report.peer) warn_of_slow_link(session, side, *report.peer);
    } else {
      SetReport report(session, side);
      async::Task<> work = as_diags_ ? set_as_diags(session, transactor, side, report) : set(session, emit, transactor, side, report);
      co_await or_so_far(emit, report, std::move(work));
      emit(report);
    }
  }

 private:
  /// Emits the results that were found before `work` fails.
  static async::Task<> or_so_far(Emit& emit, const Report& report, async::Task<> work) {
    try {
      co_await std::move(work);
    } catch (const Error&) {
      emit.so_far(report);
      throw;
    }
  }

  static async::Task<> read_node(Session& session, mad::Transactor& transactor, Side& side) {
    mad::Result<smp::NodeInfo> node = co_await transactor.try_subn_get<smp::NodeInfo>(side.node.path);
    side.node_info = session.take(std::move(node), {"get_node_info", "smp query nodeinfo failed"});
  }

  static async::Task<smp::PortInfo> port_info(Session& session, mad::Transactor& transactor, const Side& side, unsigned port,
                                              const char* why) {
    mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(side.node.path, port);
    co_return session.take(std::move(info), {"get_port_info", why});
  }

  /// PortInfo, and with infiniband-diags what else it shows of speeds.
  async::Task<> read_port(Session& session, mad::Transactor& transactor, Side& side) const {
    std::optional<smp::PortInfo> port0;  // of a switch; its CapabilityMask applies to all ports
    if (as_diags_ && side.is_switch()) port0 = co_await port_info(session, transactor, side, 0, "smp query port 0 portinfo failed");
    const smp::PortInfo info = co_await port_info(session, transactor, side, side.port, "smp query portinfo failed");
    side.bytes = packed(info);
    const std::uint32_t capabilities = (port0 ? *port0 : info).capability_mask;
    side.extended_speeds = as_diags_ && (capabilities & smp::capability_mask::is_extended_speeds_supported) != 0;
  }

  static async::Task<smp::MlnxExtPortInfo> read_mlnx(Session& session, mad::Transactor& transactor, const Side& side) {
    mad::Result<smp::MlnxExtPortInfo> info = co_await transactor.try_subn_get<smp::MlnxExtPortInfo>(side.node.path, side.port);
    co_return session.take(std::move(info), {"get_mlnx_ext_port_info", "smp query ext portinfo failed"});
  }

  async::Task<> read_all(Session& session, mad::Transactor& transactor, Side& side) const {
    co_await read_port(session, transactor, side);
    if (!as_diags_ || !session.options().mlnx_extended_port_info || !subnet::has_mlnx_ext_port_info(*side.node_info)) co_return;
    const smp::MlnxExtPortInfo mlnx = co_await read_mlnx(session, transactor, side);
    side.mlnx_bytes = packed(mlnx);
  }

  async::Task<> query(Session& session, mad::Transactor& transactor, Side& side, QueryReport& report) const {
    co_await read_all(session, transactor, side);
    const smp::PortInfo info = side.info();
    if (as_diags_) {
      if (!side.is_switch() || side.port == 0 || info.port_state != smp::PortState::active) co_return;
      // infiniband-diags looks for the peer at the end of the route alone.
      report.peer.emplace(session.beyond(side.node, static_cast<std::uint8_t>(side.port)), 0);
      report.lacks_peer = true;
      co_await read_node(session, transactor, *report.peer);
      report.peer->port = report.peer->node_info->local_port_num;
      co_await read_all(session, transactor, *report.peer);
      report.lacks_peer = false;
    } else if (info.port_state != smp::PortState::down) {
      try {
        co_await read_node(session, transactor, side);
        if (!side.is_switch() || side.port != 0) report.peer = co_await find_peer(session, transactor, side);
      } catch (const Error& error) {
        report.lacks_peer = true;
        report.why_no_peer = error.what();
        session.report(error);
      }
    }
  }

  /// The port at the other end of the link, by a route or by the SA.
  static async::Task<Side> find_peer(Session& session, mad::Transactor& transactor, const Side& side) {
    const smp::PortInfo info = side.info();
    const unsigned port = side.port != 0 ? side.port : info.local_port_num;  // on other nodes, port 0 is the port that got the request
    mad::Result<subnet::Peer> found =
        co_await subnet::find_peer(transactor, side.node.path, *side.node_info, port, info, session.options().use_sa);
    const subnet::Peer peer = std::move(found).take();
    Side result({peer.path, session.name_of(peer.path)}, peer.port);
    result.bytes = packed(peer.info);
    if (side.node.path.directed() == nullptr && peer.path.directed() != nullptr)
      co_await ask_by_lid(session, transactor, side.node.path.ib(), result);
    co_return result;
  }

  /// Reads a peer by its LID, if it was found by a directed route from a LID. `like` is a path of SMPs by LID. Not every fabric answers
  /// such routes, and LocalPortNum is the port through which the request came in. Thus the output does not depend on how the peer was
  /// found.
  static async::Task<> ask_by_lid(Session& session, mad::Transactor& transactor, path::IbPath like, Side& peer) {
    like.dlid = peer.info().lid;
    if (!like.dlid.is_unicast()) {  // a port of a switch, whose port 0 has the LID
      const mad::Result<smp::PortInfo> port0 = co_await transactor.try_subn_get<smp::PortInfo>(peer.node.path, 0);
      if (!port0 || !port0->lid.is_unicast()) co_return;
      like.dlid = port0->lid;
    }
    like.slid = session.end_port().lid;
    const path::Path path = like;
    const mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(path, peer.port);
    if (!info) co_return;
    peer.node = {path, session.name_of(path)};
    peer.bytes = packed(*info);
  }

  /// Sets with care: what the port or its kind of node rules out is refused before anything is sent.
  async::Task<> set(Session& session, Emit& emit, mad::Transactor& transactor, Side& side, SetReport& report) const {
    // The output names the node of the Set, and GUIDs are compared before anything is read for the Set.
    mad::Result<smp::NodeInfo> meant = co_await subnet::check_set_target(transactor, side.node.path);
    side.node_info = std::move(meant).take();
    side.node.path.ib().meant = side.node_info->node_guid;  // what is read now is what is set
    const mad::Result<smp::NodeDescription> description = co_await transactor.try_subn_get<smp::NodeDescription>(side.node.path);
    if (description) side.description = fixed_text(description->node_string);
    co_await read_port(session, transactor, side);
    const smp::PortInfo info = side.info();
    report.dry_run = dry_run_;
    report.needless = changes_.only_if_disabled() && info.port_physical_state != smp::PortPhysicalState::disabled;
    if (report.needless) co_return;
    if (changes_.disables() && !force_) {
      try {
        co_await subnet::check_way_in(transactor, side.node.path, *side.node_info, port_, info, session.options().use_sa);
      } catch (const UsageError& error) {
        throw UsageError(error.message() + " (--force does it all the same)");
      }
    }
    const smp::PortInfo wanted = changes_.applied(info);
    report.changes = changes_.list(info);
    co_await check_node(transactor, side);
    if (changes_.fdr10()) co_await set_fdr10(transactor, side, report);
    if (!changes_.sets_port_info() || dry_run_) co_return;
    const smp::PortInfo answer = co_await send(transactor, side, wanted);
    report.after = side;
    report.after->bytes = packed(answer);
    session.note(report.what_changed());
    for (const Change& change : changes_.ignored(answer)) {
      session.log().error(fmt::format("The port did not take over {} {}: it answers {}", change.field->iba_name, change.to, change.from));
      emit.raise(Exit::findings);
    }
  }

  /// Refuses what the kind of node rules out.
  async::Task<> check_node(mad::Transactor& transactor, const Side& side) const {
    const subnet::PortSetting* of_end_port = changes_.of_end_port();
    const bool on_port0 = port_ == 0 && changes_.has_state();
    if (side.is_switch() && on_port0) throw UsageError("Port 0 of a switch has no link");
    if (side.is_switch() && port_ != 0 && of_end_port != nullptr)
      throw UsageError(fmt::format("Port {} of a switch has no {} of its own: port 0 has", port_, of_end_port->name));
    if (changes_.fdr10() && !subnet::has_mlnx_ext_port_info(*side.node_info)) throw UsageError("The node knows no FDR10");
    if (!changes_.sets_ext_speed()) co_return;
    std::uint32_t capabilities = side.info().capability_mask;
    if (side.is_switch() && port_ != 0) {
      const auto port0 = co_await transactor.subn_get<smp::PortInfo>(side.node.path);
      capabilities = port0.capability_mask;
    }
    if ((capabilities & smp::capability_mask::is_extended_speeds_supported) == 0)
      throw UsageError("The node does not support extended link speeds");
  }

  async::Task<> set_fdr10(mad::Transactor& transactor, const Side& side, SetReport& report) const {
    auto info = co_await transactor.subn_get<smp::MlnxExtPortInfo>(side.node.path, port_);
    const std::uint8_t enabled = *changes_.fdr10();
    if ((enabled & ~info.link_speed_supported) != 0) throw UsageError("The port does not support FDR10");
    const StructInfo& attribute = smp::MlnxExtPortInfo::info();
    report.changes.push_back({&attribute, find_field(attribute, "link_speed_enabled"), info.link_speed_enabled, enabled});
    if (dry_run_) co_return;
    info.state_change_enable = fdr10_bit;
    info.link_speed_enabled = enabled;
    co_await transactor.subn_set(side.node.path, port_, info);
  }

  async::Task<smp::PortInfo> send(mad::Transactor& transactor, const Side& side, const smp::PortInfo& wanted) const {
    const std::uint32_t modifier = port_ | (changes_.sets_ext_speed() ? extended_speeds_bit : 0U);
    try {
      const smp::PortInfo answer = co_await transactor.subn_set(side.node.path, modifier, wanted);
      co_return answer;
    } catch (mad::MadStatusError& error) {
      if (!wanted.lid.is_unicast())
        error.note("Setting a port that has no LID, which some nodes refuse unless 'lid' and 'smlid' give it one");
      throw;
    }
  }

  /// Sets as infiniband-diags does: sends a PortInfo in any case, without further requests before it.
  async::Task<> set_as_diags(Session& session, mad::Transactor& transactor, Side& side, SetReport& report) const {
    co_await read_all(session, transactor, side);
    report.needless = changes_.only_if_disabled() && side.info().port_physical_state != smp::PortPhysicalState::disabled;
    if (report.needless) co_return;
    report.disables = changes_.disables();
    if (changes_.fdr10()) {
      smp::MlnxExtPortInfo mlnx = side.mlnx();
      mlnx.state_change_enable = fdr10_bit;
      mlnx.link_speed_enabled = *changes_.fdr10();
      mad::Result<smp::MlnxExtPortInfo> answer = co_await transactor.try_subn_set(side.node.path, port_, mlnx);
      report.mlnx_after = side;
      report.mlnx_after->mlnx_bytes =
          packed(session.take(std::move(answer), {"set_mlnx_ext_port_info", "smp set MLNX ext portinfo failed"}));
    }
    const std::uint32_t modifier = port_ | (side.extended_speeds ? extended_speeds_bit : 0U);
    const smp::PortInfo wanted = changes_.applied_as_diags(side.info());
    mad::Result<smp::PortInfo> answer = co_await transactor.try_subn_set(side.node.path, modifier, wanted);
    const smp::PortInfo after = session.take(std::move(answer), {"set_port_info", "smp set portinfo failed"});
    report.after = side;
    report.after->bytes = packed(after);
  }

  Target target_;
  unsigned port_{};
  std::vector<std::string> words_;
  Changes changes_;
  bool dry_run_{}, force_{};
  bool as_diags_{};  ///< show all speeds, and the peer of switch ports only; set without checks
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
};

}  // namespace ib::tools
