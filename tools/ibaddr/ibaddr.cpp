// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibaddr: the GID and the LIDs of an end port.
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

struct IbaddrReport final : Report {
  bool show_gid{}, show_lid{};
  Gid gid;
  Guid port_guid;
  unsigned lid{}, lmc{};

  unsigned last_lid() const { return lid + (1U << lmc) - 1; }
  void visit(out::Sink& sink) const override {
    sink.value("gid", gid);
    sink.value("port_guid", port_guid);
    sink.value("lid", lid);
    sink.value("lmc", lmc);
    sink.value("last_lid", last_lid());
  }
  void text(TextOut& out) const override {
    if (show_gid) out.print("GID {}", to_text(gid));
    if (show_lid) out.print("{}LID start {} end {}", show_gid ? " " : "", lid, last_lid());
    out.write("\n");
  }
};

class Ibaddr final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[-glL] [TARGET]", 0, any_number);
    set.flag("-l --lid_show", lid_, "Show LID information");
    set.flag("-L --Lid_show", lid_, "Show LID information");
    set.flag("-g --gid_show", gid_, "Show GID information");
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target}, 0);
    const path::Path path = co_await session.smp_path(session.target(0));
    const auto node = co_await session.transactor().subn_get<smp::NodeInfo>(path);
    const auto port = co_await session.transactor().subn_get<smp::PortInfo>(path);
    IbaddrReport report;
    report.show_gid = gid_ || !lid_;
    report.show_lid = lid_ || !gid_;
    report.port_guid = node.port_guid;
    report.gid = Gid::from(port.gid_prefix == GidPrefix{} ? link_local_prefix : port.gid_prefix, node.port_guid);
    report.lid = port.lid.value;
    report.lmc = port.lmc;
    emit(report);
  }

 private:
  bool lid_{}, gid_{};
};

}  // namespace

constinit const CommandInfo rooms::ibaddr{.name = "ibaddr", .group = HelpGroup::query, .summary = "Print the GID and the LIDs of a port.", .make = make_command<Ibaddr>, .diags = true, .legacy = diags::ibaddr};

}  // namespace ib::tools
