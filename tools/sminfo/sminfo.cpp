// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// sminfo: what a subnet manager says of itself, and the SubnSet(SMInfo) by which managers hand over to each other.
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "path/json.hpp"
#include "report/structure.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/sminfo/all_managers.hpp"

namespace ib::tools {
namespace {

using sminfo::description_at;

struct SminfoReport final : Report {
  path::Path path;
  unsigned lid;  ///< 0 if a directed route begins at this port: it does not say the LID at its end
  smp::SMInfo info;
  std::string description;  ///< of its node; empty if it was not read
  Keys keys;

  SminfoReport(const Host& host, const path::Path& manager)
      : path(manager), lid(path.ib().dlid == permissive_lid ? 0U : path.ib().dlid.value), keys(host.options().keys) {}

  unsigned state() const { return static_cast<unsigned>(info.sm_state); }
  std::string line() const {
    const std::string_view word = smp::to_text(info.sm_state);
    return fmt::format("sminfo: sm lid {} sm guid {}, activity count {} priority {} state {}{}{}", lid, to_text(info.guid), info.act_count,
                       info.priority, state(), word.empty() ? "" : fmt::format(" ({})", word),
                       description.empty() ? "" : " on " + in_quotes(description));
  }
  void visit(report::Sink& sink) const override {
    path::visit(sink, "path", path);
    sink.value("lid", lid);
    sink.text_or_null("node_description", description);
    report::visit_attribute(sink, info, keys);
  }
  void text(TextOut& out) const override { out.print("{}\n", line()); }
  void diags_text(TextOut& out) const override {
    constexpr std::array<std::string_view, 4> names{"SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"};
    out.print("sminfo: sm lid {} sm guid 0x{:x}, activity count {} priority {} state {} {}\n", lid, info.guid.value, info.act_count,
              info.priority, state(), state() < names.size() ? names[state()] : "???");
  }
};

/// What both command lines come down to.
struct Wanted {
  Target target;
  std::optional<std::uint32_t> modifier;  ///< of the Set, if one is wanted
  std::optional<std::uint8_t> state, priority;
  std::optional<std::uint32_t> activity;
  std::uint64_t sm_key{};

  /// `info` with the values of the options.
  smp::SMInfo applied(smp::SMInfo info) const {
    info.sm_key = sm_key;
    if (state) info.sm_state = static_cast<smp::SMState>(*state);
    if (priority) info.priority = *priority;
    if (activity) info.act_count = *activity;
    return info;
  }
};

void add_settings(OptionSet& set, Wanted& wanted) {
  set.number("-s --state", wanted.state, "STATE", "The state to set", {0, 15});
  set.number("-p --priority", wanted.priority, "PRIORITY", "The priority to set", {0, 15});
  set.number("-a --activity", wanted.activity, "COUNT", "The activity count to set");
}

/// The subnet manager that this port knows.
Destination known_manager(Stack& stack) {
  const path::Path path = sminfo::path_of_manager(stack, stack.host().end_port().sm_lid);
  return {path, stack.manners().name_of(path)};
}

async::Task<smp::SMInfo> read_manager(Manners& manners, mad::Transactor& transactor, const path::Path& path, std::uint64_t sm_key) {
  const smp::SMInfo mine{.sm_key = sm_key};  // SubnGet carries the SM_Key of the requester (IBA 14.2.5.13)
  mad::Result<smp::SMInfo> answer = co_await transactor.try_subn_get<smp::SMInfo>(path, 0, mine);
  co_return manners.take(std::move(answer), "query");
}

class Sminfo final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target_each("TARGET", wanted_.target);
    set.integer("ATTR_MOD", wanted_.modifier);
    set.notes(
        "With ATTR_MOD a SubnSet(SMInfo) follows, which requests the manager to hand over, stand by and the like (IBA 14.4.1).\n"
        "It carries what was read, but for what the options say.");
    add_settings(set, wanted_);
    set.key("--sminfo_smkey --sminfo-smkey", wanted_.sm_key, "SMINFO_SMKEY", "The SM_Key of the SMInfo that is sent");
    set.flag("--all", all_, "List all subnet managers that the SA knows, the master first.");
    set.instead_of_operands("--all");
    add_table_options(set, common, table_, keys_of(sminfo::manager_columns()));
    add_common(set, common, group_target);
  }

  std::string_view table_rows() const override { return wanted_.modifier ? "" : all_ ? "managers" : "data"; }

  async::Task<> run(Session& session, Emit& emit) override {
    const std::optional<std::uint32_t>& modifier = wanted_.modifier;
    if (!modifier && (wanted_.state || wanted_.priority || wanted_.activity))
      throw UsageError("--state, --priority and --activity set nothing without an ATTR_MOD");
    if (table_.given() && !all_) throw UsageError("--columns, --sort, --top and a table are for --all: there is one manager here");
    if (all_) {
      table_.refuse_for_json(session.host().options().format, "managers", "their attributes");
      table_of<sminfo::ManagersReport::Manager>(sminfo::manager_columns(), table_);
      sminfo::ManagersReport managers(session.host());
      co_await sminfo::read_all_managers(session.stack(), wanted_.sm_key, managers);
      managers.emit(emit, table_, session.host().world().out);
      co_return;
    }
    if (modifier) session.stack().require_exact_targets();
    if (!wanted_.target.given()) session.stack().require_link();  // without a link the SM LID is that of another time, or 0
    mad::Transactor& transactor = modifier ? session.stack().smp_transactor() : session.stack().transactor();
    Destination manager = co_await session.manners().smp_node(wanted_.target);
    if (!wanted_.target.given()) {
      const sys::EndPort& here = session.host().end_port();
      if (!here.sm_lid.is_unicast())
        throw Error(fmt::format("No subnet manager is known: the SM LID of {} is {}", here.name(), here.sm_lid.value));
      manager = known_manager(session.stack());
    }
    if (modifier) manager = co_await session.manners().identified(std::move(manager));
    SminfoReport report(session.host(), manager.path);
    report.info = co_await read_manager(session.manners(), transactor, manager.path, wanted_.sm_key);
    if (manager.path.ib().dlid == permissive_lid) {
      const auto port = co_await transactor.subn_get<smp::PortInfo>(manager.path);
      report.lid = port.lid.value;
    }
    report.description = co_await description_at(transactor, manager.path);
    if (modifier) {
      emit.heading(report.line());  // what it was stays readable where the Set fails
      const smp::SMInfo changed = wanted_.applied(report.info);
      mad::Result<smp::SMInfo> answer = co_await transactor.try_subn_set(manager.path, *modifier, changed);
      report.info = session.manners().take(std::move(answer), "query");
      if (session.host().options().dry_run) co_return;
    }
    emit(report);
  }

 private:
  Wanted wanted_;
  TableOptions table_;
  bool all_{};
};

/// infiniband-diags: a Set carries what the options say and nothing that was read. If no manager is known, this node is the target.
class SminfoDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.without("sK");
    set.optional_operands();
    set.target("TARGET", wanted_.target);
    set.operand("ATTR_MOD", [this](const std::string& word) {
      const int modifier = std::atoi(word.c_str());
      if (modifier != 0) wanted_.modifier = static_cast<std::uint32_t>(modifier);
    });
    set.notes("With an ATTR_MOD other than 0 the manager gets a SubnSet(SMInfo) of what the options say.");
    add_settings(set, wanted_);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    for (std::optional<std::uint8_t>* number : {&wanted_.state, &wanted_.priority}) {  // of four bits
      if (*number) *number = static_cast<std::uint8_t>(**number & 15U);
    }
    if (wanted_.modifier) session.stack().require_exact_targets();
    mad::Transactor& transactor = wanted_.modifier ? session.stack().smp_transactor() : session.stack().transactor();
    Destination manager = co_await session.manners().smp_node(wanted_.target);
    if (!wanted_.target.given() && session.host().end_port().sm_lid.is_unicast()) manager = known_manager(session.stack());
    if (wanted_.modifier) manager = co_await session.manners().identified(std::move(manager));
    SminfoReport report(session.host(), manager.path);
    if (wanted_.modifier) {
      const smp::SMInfo changed = wanted_.applied({.sm_state = smp::SMState::standby});
      mad::Result<smp::SMInfo> answer = co_await transactor.try_subn_set(manager.path, *wanted_.modifier, changed);
      report.info = session.manners().take(std::move(answer), "query");
    } else {
      report.info = co_await read_manager(session.manners(), transactor, manager.path, wanted_.sm_key);
    }
    emit(report);
  }

 private:
  Wanted wanted_;
};

}  // namespace

constinit const CommandInfo rooms::sminfo{
    .name = "sminfo",
    .group = HelpGroup::query,
    .summary = "Print the state, priority and activity of a subnet manager, or change them.",
    .make = make_command<Sminfo>,
    .make_diags = make_command<SminfoDiags>,
    .changes = true,
};

}  // namespace ib::tools
