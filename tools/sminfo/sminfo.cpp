// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// sminfo: what a subnet manager says of itself, and the SubnSet(SMInfo) by which managers hand over to each other.
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "path/json.hpp"
#include "report/structure.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/identified.hpp"

namespace ib::tools {
namespace {

struct SminfoReport final : Report {
  path::Path path = path::IbDrPath();
  unsigned lid{};
  smp::SMInfo info;
  Keys keys{};

  unsigned state() const { return static_cast<unsigned>(info.sm_state); }
  std::string line() const {
    return fmt::format("sminfo: sm lid {} sm guid {}, activity count {} priority {} state {}", lid, to_text(info.guid), info.act_count,
                       info.priority, state());
  }
  void visit(report::Sink& sink) const override {
    path::visit(sink, "path", path);
    sink.value("lid", lid);
    report::visit_attribute(sink, info, keys);
  }
  void text(TextOut& out) const override { out.print("{}\n", line()); }
  void diags_text(TextOut& out) const override {
    constexpr std::array<std::string_view, 4> names{"SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"};
    out.print("sminfo: sm lid {} sm guid 0x{:x}, activity count {} priority {} state {} {}\n", lid, info.guid.value, info.act_count,
              info.priority, state(), state() < names.size() ? names[state()] : "???");
  }
};

class Sminfo final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.integer("ATTR_MOD", modifier_);
    set.notes(
        "With ATTR_MOD a SubnSet(SMInfo) follows, which asks the manager to hand over, stand by and the like (IBA 14.4.1).\n"
        "It carries what was read, but for what the options say.");
    set.number("-s --state", state_, "STATE", "The state to set", {0, 15});
    set.number("-p --priority", priority_, "PRIORITY", "The priority to set", {0, 15});
    set.number("-a --activity", activity_, "COUNT", "The activity count to set");
    set.key("--sminfo_smkey --sminfo-smkey", sm_key_, "SMINFO_SMKEY", "The SM_Key of the SMInfo that is sent");
    add_common(set, common, group_target);
  }

  void diags_options(DiagsOptions& set) override {
    set.without("sK");
    set.optional_operands();
    set.target("TARGET", target_);
    set.operand("ATTR_MOD", [this](const std::string& word) {
      const int modifier = std::atoi(word.c_str());
      if (modifier != 0) modifier_ = static_cast<std::uint32_t>(modifier);
    });
    set.notes("With an ATTR_MOD other than 0 the manager gets a SubnSet(SMInfo) of what the options say.");
    const auto four_bits = [&](std::string_view name, char letter, std::optional<std::uint8_t>& to, std::string_view help) {
      set.value(name, letter, "NUMBER", help, [&to](const std::string& text) { to = static_cast<std::uint8_t>(c_number(text) & 15U); });
    };
    four_bits("state", 's', state_, "The state to set");
    four_bits("priority", 'p', priority_, "The priority to set");
    set.number("activity", 'a', activity_, "COUNT", "The activity count to set");
    as_diags_ = true;
  }

  std::string_view table_rows() const override { return modifier_ ? "" : "data"; }

  async::Task<> run(Session& session, Emit& emit) override {
    const DiagsWords words{"main", "query"};
    if (!modifier_ && !as_diags_ && (state_ || priority_ || activity_))
      throw UsageError("--state, --priority and --activity set nothing without an ATTR_MOD");
    if (modifier_) session.require_exact_targets();
    mad::Transactor& transactor = modifier_ ? session.smp_transactor() : session.transactor();
    Destination manager = co_await find_manager(session);
    if (modifier_) manager = co_await identified(session, std::move(manager));
    const smp::SMInfo mine{.sm_key = sm_key_};  // SubnGet carries the SM_Key of the requester (IBA 14.2.5.13)
    SminfoReport report;
    report.path = manager.path;
    report.keys = session.options().keys;
    if (modifier_ && as_diags_) {
      report.info.sm_state = smp::SMState::standby;
    } else {
      mad::Result<smp::SMInfo> answer = co_await transactor.try_subn_get<smp::SMInfo>(manager.path, 0, mine);
      report.info = session.take(std::move(answer), words);
    }
    report.lid = co_await lid_of(transactor, manager.path);
    if (modifier_) {
      if (!as_diags_) emit.heading(report.line());  // what it was stays readable where the Set fails
      const smp::SMInfo wanted = changed(report.info);
      mad::Result<smp::SMInfo> answer = co_await transactor.try_subn_set(manager.path, *modifier_, wanted);
      report.info = session.take(std::move(answer), words);
      if (session.options().dry_run) co_return;
    }
    emit(report);
  }

 private:
  /// The target, or else the subnet manager that this port knows.
  async::Task<Destination> find_manager(Session& session) const {
    Destination node = co_await session.smp_node(target_);
    const sys::EndPort& port = session.end_port();
    if (target_.given() || (as_diags_ && !port.sm_lid.is_unicast())) co_return node;
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
    co_return Destination{path, session.name_of(path)};
  }

  /// The LID at the end of `path`, which a directed route does not say.
  async::Task<unsigned> lid_of(mad::Transactor& transactor, const path::Path& path) const {
    if (path.ib().dlid != permissive_lid) co_return path.ib().dlid.value;
    if (as_diags_) co_return 0;
    const auto port = co_await transactor.subn_get<smp::PortInfo>(path);
    co_return port.lid.value;
  }

  smp::SMInfo changed(smp::SMInfo info) const {
    info.sm_key = sm_key_;
    if (state_) info.sm_state = static_cast<smp::SMState>(*state_);
    if (priority_) info.priority = *priority_;
    if (activity_) info.act_count = *activity_;
    return info;
  }

  Target target_;
  std::optional<std::uint32_t> modifier_;  ///< of the Set, if one is wanted
  std::optional<std::uint8_t> state_, priority_;
  std::optional<std::uint32_t> activity_;
  std::uint64_t sm_key_{};
  /// infiniband-diags' way: a Set carries what the options say and nothing that was read, no LID is asked for, and where no manager is
  /// known this node is asked.
  bool as_diags_{};
};

}  // namespace

constinit const CommandInfo rooms::sminfo{
    .name = "sminfo",
    .group = HelpGroup::query,
    .summary = "Print what a subnet manager says of itself: state, priority, activity; or tell it otherwise.",
    .make = make_command<Sminfo>,
    .make_diags = make_command<Sminfo>,
    .changes = true,
};

}  // namespace ib::tools
