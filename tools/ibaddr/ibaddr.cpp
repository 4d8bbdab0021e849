// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibaddr: the GID and the LIDs of an end port.
#include <arpa/inet.h>

#include <array>

#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"

namespace ib::tools {
namespace {

/// The parts of an address to print. If none is selected, all are printed.
struct ShownAddresses {
  bool gid{}, lid{};
  bool decimal{};  ///< infiniband-diags: LIDs in decimal
};

struct IbaddrReport final : Report {
  ShownAddresses shown;
  path::Path path = path::IbPath{};
  Guid port_guid;
  smp::PortInfo info;

  unsigned last_lid() const { return info.lid.value + (1U << info.lmc) - 1; }
  Gid gid() const { return Gid::from(info.gid_prefix == GidPrefix{} ? link_local_prefix : info.gid_prefix, port_guid); }

  void visit(report::Sink& sink) const override {
    path::visit(sink, "path", path);
    sink.value("gid", gid());
    sink.value("port_guid", port_guid);
    sink.lid_or_null("lid", info.lid);
    sink.value("lmc", info.lmc);
    sink.value_or_null("last_lid", info.lid != Lid{}, last_lid());
  }
  void text(TextOut& out) const override {
    if (shown.gid) out.print("GID {}", to_text(gid()));
    if (shown.lid) out.print("{}LID start {} end {}", shown.gid ? " " : "", info.lid.value, last_lid());
    out.write("\n");
  }
  void diags_text(TextOut& out) const override {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, Gid::from(info.gid_prefix, port_guid).bytes.data(), text.data(), text.size());
    if (shown.gid) out.print("GID {} ", text.data());
    if (shown.decimal) {
      out.print("LID start {} end {}", info.lid.value, last_lid());
    } else if (shown.lid) {
      out.print("LID start 0x{:x} end 0x{:x}", info.lid.value, last_lid());
    }
    out.write("\n");
  }
};

class Ibaddr final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target_each("TARGET", target_);
    set.flag("-l --lid_show", shown_.lid, "Print only the LIDs.");
    set.flag("-L --Lid_show", shown_.lid, "Print only the LIDs.");
    set.flag("-g --gid_show", shown_.gid, "Print only the GID.");
    add_common(set, common, group_target);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.integer("PORT", port_);
    set.flag("-g --gid_show", shown_.gid, "Print only the GID.");
    set.flag("-l --lid_show", shown_.lid, "Print only the LIDs.");
    set.flag("-L --Lid_show", shown_.decimal, "Print only the LIDs, in decimal.");
    set.without("KL");
  }

  async::Task<> run(Session& session, Emit& emit) override {
    constexpr const char* why = "can't resolve requested address";
    const Destination at = co_await session.manners().smp_node(target_);
    const std::uint32_t port = port_.value_or(target_.given() ? 0 : session.host().end_port().number);
    mad::Transactor& transactor = session.stack().transactor();
    const auto node = co_await session.manners().get<smp::NodeInfo>(transactor, at.path, 0, why);
    IbaddrReport report;
    report.info = co_await session.manners().get<smp::PortInfo>(transactor, at.path, port, why);
    report.shown = shown_;
    if (!shown_.gid && !shown_.lid && !shown_.decimal) report.shown.gid = report.shown.lid = true;
    report.path = at.path;
    report.port_guid = node.port_guid;
    emit(report);
  }

 private:
  Target target_;
  std::optional<std::uint32_t> port_;
  ShownAddresses shown_;
};

}  // namespace

constinit const CommandInfo rooms::ibaddr{
    .name = "ibaddr",
    .group = HelpGroup::query,
    .summary = "Print the GID and the LIDs of a port.",
    .make = make_command<Ibaddr>,
    .make_diags = make_command<Ibaddr>,
};

}  // namespace ib::tools
