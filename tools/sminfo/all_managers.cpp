// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/sminfo/all_managers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "report/member_names.hpp"
#include "report/structure.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::tools::sminfo {

namespace {

using report::Cell;
using Manager = ManagersReport::Manager;

constexpr std::array<report::Column<Manager>, 7> all_manager_columns{{
    {{.key = "lid", .heading = "LID", .usual = true}, [](const Manager& manager) { return Cell(std::uint64_t{manager.lid.value}); }},
    {{.key = "node_description", .heading = "NODE", .usual = true},
     [](const Manager& manager) { return report::text_cell(manager.description); }},
    {{.key = "silent", .heading = "SILENT", .usual = true}, [](const Manager& manager) { return Cell(manager.is_silent); }},
    {{.key = "data.guid", .heading = "GUID", .usual = true}, [](const Manager& manager) { return Cell(manager.info.guid); }},
    {{.key = "data.act_count", .heading = "ACTIVITY", .usual = true},
     [](const Manager& manager) { return Cell(std::uint64_t{manager.info.act_count}); }},
    {{.key = "data.priority", .heading = "PRIORITY", .usual = true},
     [](const Manager& manager) { return Cell(std::uint64_t{manager.info.priority}); }},
    {{.key = "data.sm_state", .heading = "STATE", .measure = report::state(), .usual = true, .coded = true},
     [](const Manager& manager) {
       return Cell(report::Coded{static_cast<double>(manager.info.sm_state), std::string(smp::to_text(manager.info.sm_state))});
     }},
}};

}  // namespace

std::span<const report::Column<Manager>> manager_columns() { return all_manager_columns; }

void ManagersReport::emit(Emit& emit, const TableOptions& options, std::FILE* file) const {
  emit_either(
      emit, options, *this, "managers", manager_columns(), [this] { return managers; }, file);
}

path::Path path_of_manager(Stack& stack, Lid lid) {
  path::Path path = subnet::smp_path_to(stack.host().end_port(), lid);
  stack.apply_options(path);
  return path;
}

async::Task<std::string> description_at(mad::Transactor& transactor, path::Path path) {
  const mad::Result<smp::NodeDescription> answer = co_await transactor.try_subn_get<smp::NodeDescription>(path);
  co_return answer ? std::string(fixed_text(answer->node_string)) : std::string();
}

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
    ManagersReport::Manager manager{record.lid, {}, record.sm_info};
    const path::Path path = path_of_manager(stack, record.lid);
    const mad::Result<smp::SMInfo> now = co_await transactor.try_subn_get<smp::SMInfo>(path, 0, mine);
    manager.is_silent = !now;
    if (now) manager.info = *now;
    manager.description = co_await description_at(transactor, path);
    report.managers.push_back(std::move(manager));
  }
  std::ranges::sort(report.managers, {}, [](const ManagersReport::Manager& manager) {
    return std::tuple(manager.info.sm_state != smp::SMState::master, -int{manager.info.priority}, manager.info.guid);
  });
}

void ManagersReport::visit(report::Sink& sink) const {
  const auto visit_manager = [this](report::Sink& to, const Manager& manager) {
    to.value("lid", manager.lid);
    to.text_or_null("node_description", manager.description);
    to.value("silent", manager.is_silent);
    report::visit_attribute(to, manager.info, keys);
  };
  sink.begin_array("managers");
  report::announce(sink, [&](report::Sink& to) { visit_manager(to, {}); });
  for (const Manager& manager : managers) {
    sink.begin_object();
    visit_manager(sink, manager);
    sink.end_object();
  }
  sink.end_array();
}

void ManagersReport::text(TextOut& out) const {
  for (const Manager& manager : managers) {
    const smp::SMInfo& info = manager.info;
    out.print("{:<11} priority {:<2} activity count {:<8} LID {:<5} {} {}{}\n",
              fmt::format("{} ({})", smp::to_text(info.sm_state), static_cast<unsigned>(info.sm_state)), info.priority, info.act_count,
              manager.lid.value, to_text(info.guid), in_quotes(manager.description),
              manager.is_silent ? ": does not answer; this is what the SA's record says" : "");
  }
}

Exit ManagersReport::status() const { return std::ranges::any_of(managers, &Manager::is_silent) ? Exit::incomplete : Exit::ok; }

}  // namespace ib::tools::sminfo
