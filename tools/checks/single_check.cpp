// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Checks one node or one port. The node, and the other end of the link if a check needs it, are read into a small model. The checks
// are the same as for a whole fabric.
#include <fmt/format.h>

#include "base/log.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "mad/plain_text.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/sweep/peer.hpp"
#include "tools/checks/checks.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/check_rows.hpp"

namespace ib::tools::checks {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

bool is_switch(const smp::NodeInfo& node) { return node.node_type == smp::NodeType::switch_; }

class SingleCheck final : public Command {
 public:
  explicit SingleCheck(Looks looks) : looks_(looks) {}

  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    if (looks_.ports()) {
      set.integer("PORT", port_, {0, path::last_port});
      set.is_port();
    }
    set.flag("-N --nocolor", plain_, "Print no colours; without it a terminal gets them.");
    add_table_options(set, common, table_, keys_of(check_columns()));
    add_common(set, common, group_target);
  }

  std::string_view table_rows() const override { return "checks"; }

  async::Task<> run(Session& session, Emit& emit) override {
    table_.check(check_columns());
    Fabric fabric;
    const Destination node = co_await session.smp_node(target_);
    CheckReport report(fabric);
    report.verbose = session.options().verbosity >= 1;
    report.colour = !plain_ && terminal_of(session.world().out).has_colours;
    report.describes = report.summary = false;
    report.errors_apart = true;
    CheckRow row;
    row.kind = looks_.node ? CheckKind::node : CheckKind::port;
    bool complete = true;
    if (looks_.node) {
      co_await read_node(session, node, fabric, row);
    } else {
      complete = co_await read_port(session, node, fabric, row);
    }
    report.add(std::move(row));
    report.emit(emit, table_, session.world().out);
    if (!complete) emit.raise(Exit::incomplete);
    report_errors(session.log(), emit, report);
  }

 private:
  /// Prints the problem on stderr, after the verdict.
  static void report_errors(Log& log, Emit& emit, const CheckReport& report) {
    for (const CheckRow& row : report.rows()) {
      const std::string where = row.kind == CheckKind::node ? "" : ": " + report.place(row);
      for (const subnet::Finding& finding : row.findings) {
        if (!finding.error) continue;
        emit.text().push();
        log.error(finding.sentence() + where);
      }
    }
  }

  static async::Task<NodeIndex> add_node(mad::Transactor& transactor, path::Path path, subnet::Subnet& subnet) {
    const auto info = co_await transactor.subn_get<smp::NodeInfo>(path);
    co_return subnet.add_node(info);
  }

  static async::Task<> add_port(mad::Transactor& transactor, path::Path path, subnet::Subnet& subnet, PortIndex port) {
    const auto info = co_await transactor.subn_get<smp::PortInfo>(path, subnet.port(port).number);
    subnet.set_port_info(port, wire::packed(info));
  }

  /// Reads the end port at `node` and its records in the SA.
  async::Task<> read_node(Session& session, const Destination& node, Fabric& fabric, CheckRow& row) const {
    mad::Transactor& transactor = session.transactor();
    const NodeIndex at = co_await add_node(transactor, node.path, fabric.subnet);
    const smp::NodeInfo info = fabric.subnet.node(at).info;
    row.port = fabric.subnet.port_of(at, is_switch(info) ? 0 : info.local_port_num);
    co_await add_port(transactor, node.path, fabric.subnet, row.port);
    const Lid lid = fabric.subnet.lid(row.port);
    sa::NodeRecord::Query by_lid;
    by_lid.lid(lid);
    const mad::Result<sa::NodeRecord> record = co_await sa::try_subn_adm_get(transactor, by_lid);
    if (!record && !sa::is_no_records(record.error())) record.error().raise();
    if (!record) {
      row.findings = {subnet::no_node_record(lid)};
    } else if (record->node_info.port_guid != info.port_guid) {
      row.findings = {subnet::other_port_guid(record->node_info.port_guid, info.port_guid)};
    }
    if (!row.findings.empty()) co_return;
    sa::Pattern pattern(sa::PathRecord::info());
    pattern.match("SGID", to_text(session.end_port().default_gid()));
    pattern.match("DGID", to_text(Gid::from(session.end_port().default_gid().prefix(), info.port_guid)));
    pattern.match("reversible", 1);
    pattern.match("numbPath", 1);
    const mad::Result<sa::Records> path = co_await sa::try_records(transactor, transactor.sa_path(), pattern, mad::method::get);
    if (!path && !sa::is_no_records(path.error())) path.error().raise();
    if (!path) row.findings = {subnet::no_sa_path(info.port_guid)};
  }

  /// Reads and checks the port. Returns false if the other end of the link does not answer, so that a check was not possible.
  async::Task<bool> read_port(Session& session, const Destination& node, Fabric& fabric, CheckRow& row) const {
    mad::Transactor& transactor = session.transactor();
    subnet::Subnet& subnet = fabric.subnet;
    const NodeIndex at = co_await add_node(transactor, node.path, subnet);
    const smp::NodeInfo info = subnet.node(at).info;
    const bool own = !is_switch(info) && port_ == 0;  // on other nodes than switches, port 0 means the port that gets the request
    row.port = subnet.port_of(at, own ? info.local_port_num : port_);
    if (row.port == subnet::none) {
      const std::string whom = co_await named_node(session, node.path);
      throw Error(no_such_port_text(whom, info, port_));
    }
    co_await add_port(transactor, node.path, subnet, row.port);
    if (is_switch(info) && port_ != 0) co_await add_port(transactor, node.path, subnet, subnet.port_of(at, 0));
    if (is_switch(info) && port_ == 0) subnet.node(at) = co_await with_switch_info(transactor, node.path, subnet.node(at));
    const bool wants_peer =
        (looks_.width || looks_.speed) && subnet::is_trained(subnet.port(row.port)) && subnet.port(row.port).number != 0;
    bool complete = true;
    if (wants_peer) complete = co_await add_peer(session, node, subnet, row.port);
    row.findings = check_port(subnet, row.port, looks_);
    co_return complete;
  }

  static async::Task<subnet::Node> with_switch_info(mad::Transactor& transactor, path::Path path, subnet::Node node) {
    const auto info = co_await transactor.subn_get<smp::SwitchInfo>(path);
    info.pack(node.switch_info_bytes);
    node.has_switch_info = true;
    co_return node;
  }

  static async::Task<bool> add_peer(Session& session, const Destination& node, subnet::Subnet& subnet, PortIndex port) {
    try {
      co_await read_peer(session, node, subnet, port);
    } catch (const SysError&) {
      throw;
    } catch (Error& error) {
      error.note("Reading the other end of the link");
      session.report(error);
      co_return false;
    }
    co_return true;
  }

  static async::Task<> read_peer(Session& session, const Destination& node, subnet::Subnet& subnet, PortIndex port) {
    mad::Transactor& transactor = session.transactor();
    const subnet::Port here = subnet.port(port);
    mad::Result<subnet::Peer> found =
        co_await subnet::find_peer(transactor, node.path, subnet.node(here.node).info, here.number, here.info(), session.options().use_sa);
    const subnet::Peer peer = std::move(found).take();
    const NodeIndex at = co_await add_node(transactor, peer.path, subnet);
    const PortIndex there = subnet.port_of(at, peer.port);
    if (there == subnet::none) throw Error(fmt::format("{} has no port {}", mad::target_text(peer.path), peer.port));
    subnet.set_port_info(there, wire::packed(peer.info));
    const PortIndex end = subnet.end_port_of(there);  // port 0 has the CapabilityMask of all ports of a switch
    if (end != there) co_await add_port(transactor, peer.path, subnet, end);
    subnet.link(port, there);
  }

  Looks looks_;
  Target target_;
  unsigned port_{};
  TableOptions table_;
  bool plain_{};
};

}  // namespace

std::unique_ptr<Command> make_single(Looks looks) { return std::make_unique<SingleCheck>(looks); }

}  // namespace ib::tools::checks
