// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// sminfo: what a subnet manager says of itself, and the SubnSet(SMInfo) by which managers hand over to each other.
#include <fmt/format.h>

#include <limits>

#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

struct SminfoReport final : Report {
  unsigned lid{};
  smp::SMInfo info;

  std::string line() const {
    return fmt::format("sminfo: sm lid {} sm guid {}, activity count {} priority {} state {}", lid, to_text(info.guid), info.act_count,
                       info.priority, static_cast<unsigned>(info.sm_state));
  }
  void visit(out::Sink& sink) const override {
    sink.value("lid", lid);
    sink.value("guid", info.guid);
    sink.value("act_count", info.act_count);
    sink.value("priority", info.priority);
    sink.value("sm_state", static_cast<unsigned>(info.sm_state));
    sink.value("sm_state_text", smp::to_text(info.sm_state));
  }
  void text(TextOut& out) const override { out.print("{}\n", line()); }
};

class Sminfo final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[TARGET [ATTR_MOD]]", 0, any_number);
    set.notes(
        "This command includes the ability to send a SubnSet(SMInfo)\n"
        "packet with a given priority, state, SM_Key and attribute\n"
        "modifier. A set is performed if ATTR_MOD is given. See IBA 14.4.1.");
    set.number("-s --state", state_, "STATE", "Set the SM state", {0, 15});
    set.number("-p --priority", priority_, "PRIORITY", "Set the SM priority", {0, 15});
    set.number("-a --activity", activity_, "COUNT", "Set the activity count");
    set.key("--sminfo_smkey --sminfo-smkey", sm_key_, "SMINFO_SMKEY", "Use this value for the SMPSMInfo.SMKey");
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target, OperandKind::integer}, 0);
    const std::optional<std::int64_t> modifier = session.integer(1);
    if (modifier && (*modifier < 0 || *modifier > std::numeric_limits<std::uint32_t>::max()))
      throw UsageError(fmt::format("The attribute modifier {} does not fit 32 bits", *modifier));
    path::Path path = co_await session.smp_path(session.target(0));
    if (session.target(0) == nullptr) path = path_to_sm(session);
    mad::Transactor& transactor = modifier ? session.smp_transactor() : session.transactor();
    SminfoReport report;
    report.info = co_await get(transactor, path);
    report.lid = path.ib().dlid.value;
    if (path.ib().dlid == permissive_lid) {
      const auto port = co_await transactor.subn_get<smp::PortInfo>(path);
      report.lid = port.lid.value;
    }
    if (modifier) {
      emit.heading(report.line());  // what it was stays readable where the set fails
      const smp::SMInfo wanted = changed(report.info);
      report.info = co_await transactor.subn_set(path, static_cast<std::uint32_t>(*modifier), wanted);
    }
    emit(report);
  }

 private:
  /// The path to the subnet manager that this port knows.
  static path::Path path_to_sm(Session& session) {
    const sys::EndPort& port = session.end_port();
    if (!port.sm_lid.is_unicast())
      throw Error(fmt::format("No subnet manager is known: the SM LID of {} is {}", port.name(), port.sm_lid.value));
    path::IbPath ib;
    ib.end_port = &port;
    ib.dlid = port.sm_lid;
    ib.slid = port.lid;
    ib.dqpn = ib.sqpn = Qpn{0};
    ib.qkey = 0;
    path::Path path = ib;
    session.apply_options(path);
    return path;
  }

  /// SubnGet(SMInfo), which carries the SM_Key of the one who asks (IBA 14.2.5.13).
  async::Task<smp::SMInfo> get(mad::Transactor& transactor, const path::Path& path) const {
    smp::SMInfo mine;
    mine.sm_key = sm_key_;
    return transactor.subn_get(path, 0, mine);
  }

  smp::SMInfo changed(smp::SMInfo info) const {
    info.sm_key = sm_key_;
    if (state_) info.sm_state = static_cast<smp::SMState>(*state_);
    if (priority_) info.priority = *priority_;
    if (activity_) info.act_count = *activity_;
    return info;
  }

  std::optional<std::uint8_t> state_, priority_;
  std::optional<std::uint32_t> activity_;
  std::uint64_t sm_key_{};
};

}  // namespace

constinit const CommandInfo rooms::sminfo{
    .name = "sminfo",
    .group = HelpGroup::query,
    .summary = "Print what a subnet manager says of itself: state, priority, activity; or tell it otherwise.",
    .make = make_command<Sminfo>,
    .changes = true,
    .diags = true,
    .legacy = diags::sminfo};

}  // namespace ib::tools
