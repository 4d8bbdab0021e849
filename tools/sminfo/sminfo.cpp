// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// sminfo: the SMInfo of a subnet manager, and the SubnSet(SMInfo) by which managers hand over to each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "report/sink.hpp"
#include "report/structure.hpp"
#include "sa/subn_adm.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace {

/// A subnet manager that the SA knows.
struct Manager {
  Lid lid;
  std::string description;  ///< of the node; empty if it was not read
  smp::SMInfo info;         ///< as the manager answered, or else as the SA's record has it
  bool is_silent{};
};

using report::Cell;

std::span<const report::Column<Manager>> all_manager_columns() {
  static const std::array<report::Column<Manager>, 7> columns{{
      {{.key = "lid", .heading = "LID", .usual = true}, [](const Manager& manager) { return Cell(std::uint64_t{manager.lid.value}); }},
      {{.key = "node_description", .heading = "NODE", .usual = true},
       [](const Manager& manager) { return report::text_cell(manager.description); }},
      {{.key = "silent", .heading = "SILENT", .usual = true}, [](const Manager& manager) { return Cell(manager.is_silent); }},
      {{.key = "data.guid", .heading = "GUID", .usual = true}, [](const Manager& manager) { return Cell(manager.info.guid); }},
      {{.key = "data.act_count", .heading = "ACTIVITY", .usual = true}, [](const Manager& manager) { return manager.info.act_count; }},
      {{.key = "data.priority", .heading = "PRIORITY", .usual = true}, [](const Manager& manager) { return manager.info.priority; }},
      {{.key = "data.sm_state", .heading = "STATE", .measure = report::state(), .usual = true, .coded = true},
       [](const Manager& manager) { return report::coded_cell(true, manager.info.sm_state); }},
  }};
  return columns;
}

struct ManagersReport final : Report {
  std::vector<Manager> managers;  ///< the master first, then by priority, then by GUID
  Keys keys;

  explicit ManagersReport(const Host& host) : keys(host.options().keys) {}
  void visit(report::Sink& sink) const override {
    sink.begin_array("managers");
    report::announce(sink, [&](report::Sink& to) { visit_manager(to, {}); });
    for (const Manager& manager : managers) {
      sink.begin_object();
      visit_manager(sink, manager);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    for (const Manager& manager : managers) {
      const smp::SMInfo& info = manager.info;
      out.print("{:<11} priority {:<2} activity count {:<8} LID {:<5} {} {}{}\n",
                fmt::format("{} ({})", smp::to_text(info.sm_state), static_cast<unsigned>(info.sm_state)), info.priority, info.act_count,
                manager.lid.value, to_text(info.guid), in_quotes(manager.description),
                manager.is_silent ? ": does not answer; this is what the SA's record says" : "");
    }
  }
  Exit status() const override { return std::ranges::any_of(managers, &Manager::is_silent) ? Exit::incomplete : Exit::ok; }

 private:
  void visit_manager(report::Sink& to, const Manager& manager) const {
    to.value("lid", manager.lid);
    to.text_or_null("node_description", manager.description);
    to.value("silent", manager.is_silent);
    report::visit_attribute(to, manager.info, keys);
  }
};

/// Reads all subnet managers; `sm_key` goes with each request (IBA 14.2.5.13). Throws Error if the SA does not list them.
async::Task<> read_all_managers(Stack& stack, std::uint64_t sm_key, ManagersReport& report) {
  co_await stack.prepare_sa();
  mad::Transactor& transactor = stack.transactor();
  const sa::SMInfoRecord::Query query;
  auto answer = co_await sa::try_subn_adm_get_table(transactor, query);
  if (!answer) {
    Error error = answer.error();
    error.note("The subnet managers are listed by the SA: where none answers, ibtool health looks for them in a sweep");
    throw Error(error);
  }
  const smp::SMInfo mine{.sm_key = sm_key};
  for (const sa::SMInfoRecord& record : answer->records) {
    Manager manager{record.lid, {}, record.sm_info};
    const path::Path path = stack.smp_path_to(record.lid);
    const mad::Result<smp::SMInfo> now = co_await transactor.try_subn_get<smp::SMInfo>(path, 0, mine);
    manager.is_silent = !now;
    if (now) manager.info = *now;
    manager.description = co_await description_at(transactor, path);
    report.managers.push_back(std::move(manager));
  }
  std::ranges::sort(report.managers, {}, [](const Manager& manager) {
    return std::tuple(manager.info.sm_state != smp::SMState::master, -int{manager.info.priority}, manager.info.guid);
  });
}

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

/// infiniband-diags: a Set carries only the values of the options, and nothing that was read. If no manager is known, this node is the
/// target.
class Sminfo final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target_each("TARGET", target_);
    set.integer("ATTR_MOD", modifier_);
    set.notes(
        "With ATTR_MOD a SubnSet(SMInfo) follows, which requests the manager to hand over, stand by and the like (IBA 14.4.1).\n"
        "It carries what was read, but for what the options say.");
    add_settings(set);
    add_key(set, common, "--sminfo_smkey --sminfo-smkey", sm_key_, "SMINFO_SMKEY", "The SM_Key of the SMInfo that is sent");
    set.flag("--all", all_, "List all subnet managers that the SA knows, the master first.");
    set.instead_of_operands("--all");
    add_table_options(set, common, table_, keys_of(all_manager_columns()));
    add_common(set, common, group_target);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    as_diags_ = true;
    set.without("sK");
    set.optional_operands();
    set.target("TARGET", target_);
    set.operand("ATTR_MOD", [this](const std::string& word) {
      const int modifier = std::atoi(word.c_str());
      if (modifier != 0) modifier_ = static_cast<std::uint32_t>(modifier);
    });
    set.notes("With an ATTR_MOD other than 0 the manager gets a SubnSet(SMInfo) of what the options say.");
    add_settings(set);
  }

  std::string_view table_rows() const override { return modifier_ ? "" : all_ ? "managers" : "data"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (!as_diags_ && !modifier_ && (state_ || priority_ || activity_))
      throw UsageError("--state, --priority and --activity set nothing without an ATTR_MOD");
    if (table_.given() && !all_) throw UsageError("--columns, --sort, --top and a table are for --all: there is one manager here");
    if (all_) {
      table_.refuse_for_json(session.host().options().format, "managers", "their attributes");
      report::Table<Manager>(all_manager_columns(), table_);
      ManagersReport managers(session.host());
      co_await read_all_managers(session.stack(), sm_key_, managers);
      emit_either(emit, table_, managers, "managers", all_manager_columns(), [&managers] { return managers.managers; });
      co_return;
    }
    if (modifier_) session.stack().require_exact_targets();
    if (!as_diags_ && !target_.given()) session.stack().require_link();  // without a link the SM LID is outdated, or 0
    mad::Transactor& transactor = modifier_ ? session.stack().smp_transactor() : session.stack().transactor();
    Destination manager = co_await session.manners().smp_node(target_);
    if (!target_.given()) {
      const sys::EndPort& here = session.host().end_port();
      if (here.sm_lid.is_unicast()) {
        const path::Path path = session.stack().smp_path_to(here.sm_lid);
        manager = {path, session.manners().name_of(path)};
      } else if (!as_diags_) {
        throw Error(fmt::format("No subnet manager is known: the SM LID of {} is {}", here.name(), here.sm_lid.value));
      }
    }
    if (modifier_) manager = co_await session.manners().identified(std::move(manager));
    SminfoReport report(session.host(), manager.path);
    report.info.sm_state = smp::SMState::standby;
    const smp::SMInfo mine{.sm_key = sm_key_};  // SubnGet carries the SM_Key of the requester (IBA 14.2.5.13)
    if (!as_diags_ || !modifier_) report.info = co_await session.manners().get(transactor, manager.path, 0, "query", mine);
    if (!as_diags_) {
      if (manager.path.ib().dlid == permissive_lid) {
        const auto port = co_await transactor.subn_get<smp::PortInfo>(manager.path);
        report.lid = port.lid.value;
      }
      report.description = co_await description_at(transactor, manager.path);
    }
    if (modifier_) {
      if (!as_diags_) emit.heading(report.line());  // what it was stays readable where the Set fails
      mad::Result<smp::SMInfo> answer = co_await transactor.try_subn_set(manager.path, *modifier_, applied(report.info));
      report.info = session.manners().take(std::move(answer), "query");
      if (session.host().options().dry_run) co_return;
    }
    emit(report);
  }

 private:
  void add_settings(OptionSet& set) {
    set.number("-s --state", state_, "STATE", "The state to set", {0, 15});
    set.number("-p --priority", priority_, "PRIORITY", "The priority to set", {0, 15});
    set.number("-a --activity", activity_, "COUNT", "The activity count to set");
  }
  smp::SMInfo applied(smp::SMInfo info) const {
    info.sm_key = sm_key_;
    if (state_) info.sm_state = static_cast<smp::SMState>(*state_ & 15U);  // infiniband-diags cuts it to four bits
    if (priority_) info.priority = *priority_ & 15U;
    if (activity_) info.act_count = *activity_;
    return info;
  }

  bool as_diags_{};
  Target target_;
  std::optional<std::uint32_t> modifier_;  ///< of the Set, if there is one
  std::optional<std::uint8_t> state_, priority_;
  std::optional<std::uint32_t> activity_;
  std::uint64_t sm_key_{};
  TableOptions table_;
  bool all_{};
};

}  // namespace

constinit const CommandInfo rooms::sminfo{
    .name = "sminfo",
    .group = HelpGroup::query,
    .summary = "Print the state, priority and activity of a subnet manager, or change them.",
    .make = make_command<Sminfo>,
    .make_diags = make_command<Sminfo>,
    .changes = true,
};

}  // namespace ib::tools
