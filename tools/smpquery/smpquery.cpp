// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpquery: reads an attribute of a port by SMP: what iba-defs lists, with the texts of both references where they have it.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/smp.hpp"
#include "report/field_columns.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/shared/table_options.hpp"
#include "tools/smpquery/operation.hpp"

namespace ib::tools {
namespace smpquery {
namespace {

std::string operation_list(bool diags) {
  std::string text = diags ? "OP, in any case, is one of\n" : "OP is one of the following; unambiguous abbreviations will do.\n";
  for (const Operation& op : operations()) {
    if (!diags || op.diags) text += fmt::format("    {}{}{}\n", op.query->name, op.query->alias.empty() ? "" : " ", op.query->alias);
  }
  return text + "ATTR_MOD is the attribute modifier: the port for operations on ports.";
}

/// Words for what no operation reads, and the command that does.
struct Elsewhere {
  std::string_view words, where;
};
constexpr Elsewhere found_elsewhere[]{
    {"cable cables cableinfo module modules", "ports' modules: ibtool modules"},
    {"counters errors perf", "counters: ibtool perfquery"},
    {"links", "links: ibtool iblinkinfo"},
    {"firmware fw", "firmware: ibtool firmware"},
    {"temperature", "temperatures: ibtool environment"},
    {"routes", "forwarding tables: ibtool ibroute"},
};

/// Whether the attribute modifier of an operation is the number of a port.
bool takes_port(const Operation& operation) {
  return operation.query->access == Access::port || operation.query->info == &smp::SLToVLMappingTable::info() ||
         operation.query->info == &smp::VLArbitrationTable::info();
}

/// A row of --all: a port, or the first port of a node, with its attribute.
struct ListedRow : PortLine {
  std::vector<std::uint8_t> bytes;  ///< empty: it was not read
};

/// The columns of --all. They describe the node and the fields of the attribute.
std::vector<report::Column<ListedRow>> listed_columns(const QueryInfo& query, Keys keys) {
  constexpr std::size_t usual_fields = 5;  // beside the node, its LID and the port
  auto columns = listed_columns_of<ListedRow>({"node_description", "lid", "port_num"},
                                              {"node_guid", "node_type", "node_description", "node_name", "lid", "port_num"});
  if (query.access != Access::port) columns.pop_back();
  // Each row says what its data is, as each report of an attribute does.
  columns.push_back({{.key = "attribute", .heading = "ATTRIBUTE"}, [&query](const ListedRow&) { return query.info->iba_name; }});
  const auto structure_of = [&query](const ListedRow& row) { return report::LaidOut{query.info, row.bytes}; };
  std::ranges::move(report::field_columns<ListedRow>({{query.info}, keys, "data", usual_fields}, structure_of),
                    std::back_inserter(columns));
  return columns;
}

/// "ports" or "nodes": the list in JSON. Throws UsageError for an attribute in blocks.
std::string_view listed_rows(const QueryInfo& query) {
  if (query.access == Access::block)
    throw UsageError(fmt::format("--all is not for {}: a port or a node has several blocks of it", query.name));
  return query.access == Access::port ? "ports" : "nodes";
}

/// Reads the attribute of all ports, or of all nodes, of the fabric and prints a table. Devices that do not have it are not in it.
async::Task<> list_all(Session& session, Emit& emit, const QueryInfo& query, const TableOptions& options) {
  const std::string_view list = listed_rows(query);
  auto table = report::Table<ListedRow>(listed_columns(query, session.host().options().keys), options);
  Fabric fabric = co_await discover(session, DiscoveryOptions());
  subnet::SurveyOptions how = port_survey(session.stack(), subnet::SurveyWay::smp);
  auto found = co_await subnet::read_attribute(session.stack().transactor(), fabric.subnet, query, std::move(how));
  std::vector<ListedRow> rows;
  bool any_read = false;
  for (auto& row : found.rows) {
    any_read = any_read || row.value.has_value();
    if (row.value && row.value->empty()) continue;
    rows.push_back({{&fabric, row.port}, std::move(row.value).value_or(std::vector<std::uint8_t>())});
  }
  require_read(any_read, found.failures);
  add_failures(session.host(), fabric, std::move(found.failures));
  if (emit.json()) emit.sink().value("operation", query.name);
  emit(TableReport<ListedRow>(fabric, list, std::move(table), std::move(rows)));
}

constexpr std::uint32_t last_port_modifier = 255;

class Smpquery final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.word("OP", word_);
    set.offer([] {
      std::vector<std::string> names;
      for (const Operation& op : operations()) {
        for (const std::string_view name : {op.query->name, op.query->alias})
          if (!name.empty()) names.emplace_back(name);
      }
      return names;
    });
    set.is_operation(find_operation);
    set.target_each("TARGET", target_);
    set.optional_operands();
    set.integer("ATTR_MOD", modifier_);
    set.is_port([this] { return takes_port(find_operation(word_)); });
    set.notes(operation_list(false));
    set.text("--all", all_, "OP", "Instead of OP and TARGET: read OP of all ports, or all nodes, of the fabric, and print a table.");
    set.offer([] {
      std::vector<std::string> names;
      for (const Operation& op : operations())
        if (op.query->access != Access::block) names.emplace_back(op.query->name);
      return names;
    });
    set.instead_of_operands("--all");
    add_table_options(set, common, table_, [this] {
      const QueryInfo* query = all_ ? find_operation(*all_).query : nullptr;
      return query == nullptr || query->access == Access::block ? std::vector<std::string>()
                                                                : keys_of(listed_columns(*query, Keys::hidden));
    });
    set.flag("-c --combined", common.combined, "TARGET is two words, a LID and a directed route from there: 6 0,12.");
    add_extended(set);
    add_common(set, common, group_target);
  }

  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.operand("OP", [this](const std::string& word) {
      word_ = word;
      operation_ = find_diags_operation(word);
      if (operation_ == nullptr) throw DiagsFailure(fmt::format("operation '{}' not supported", word));
    });
    set.target("TARGET", target_);
    set.optional_operands();
    set.integer("PORT", modifier_);
    set.notes(operation_list(true));
    set.flag("-c --combined", common.combined, "The address is a LID, and a directed route from there.");
    add_node_name_map(set, common);
    add_extended(set);
    always_names_node_ = true;
  }

  std::string_view table_rows() const override {
    return all_ ? listed_rows(*find_operation(*all_).query) : find_operation(word_).run == any_attribute ? "data" : "";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (all_) co_return co_await list_all(session, emit, *find_operation(*all_).query, table_);
    if (table_.given()) throw UsageError("--format table and wide, --columns, --sort and --top are for the table of --all");
    if (operation_ == nullptr) operation_ = &find_operation(word_);
    if (!always_names_node_ && takes_port(*operation_) && modifier_ > last_port_modifier)
      throw UsageError(fmt::format("ATTR_MOD: {} is not the number of a port (0 to {})", modifier_, last_port_modifier));
    const Destination node = co_await session.manners().smp_node(target_);
    session.stack().open();  // a device that cannot be opened is an error before the heading
    const OperationRun op{session.stack(), emit, node, *operation_, word_, modifier_, extended_, always_names_node_};
    co_await operation_->run(op);
  }

 private:
  void add_extended(OptionSet& set) { set.flag("-x --extended", extended_, "Request extended speeds in PortInfo."); }
  const Operation* operation_{};  ///< null: the operation of word_
  std::string word_;
  Target target_;
  std::uint32_t modifier_{};
  std::optional<std::string> all_;  ///< the operation of the table
  TableOptions table_;
  bool extended_{}, always_names_node_{};
};

}  // namespace

const Operation& find_operation(std::string_view word) {
  for (const Elsewhere& other : found_elsewhere) {
    for (const std::string_view known : split(other.words, " "))
      if (equal_ignoring_case(word, known)) throw UsageError(fmt::format("smpquery has no operation {} ({})", known, other.where));
  }
  for (const Operation& op : operations()) {
    if (equal_ignoring_case(word, op.query->info->iba_name) || equal_ignoring_case(word, op.query->info->name)) return op;
  }
  // Abbreviations of what the references have stay what they are.
  const auto names = [](const Operation& op) {
    return std::array<std::string_view, 3>{op.query->name, op.query->alias,
                                           op.attribute == nullptr ? std::string_view() : op.query->info->iba_name};
  };
  return find_by_prefix(word, operations(), &Operation::classic, names, "ibtool help smpquery");
}

const Operation* find_diags_operation(std::string_view word) {
  const std::string given = to_lower(word);
  const auto found = std::ranges::find_if(operations(), [&](const Operation& op) {
    return op.diags && (to_lower(op.query->name) == given || to_lower(op.query->alias) == given);
  });
  return found != operations().end() ? &*found : nullptr;
}

}  // namespace smpquery

constinit const CommandInfo rooms::smpquery{
    .name = "smpquery",
    .group = HelpGroup::query,
    .summary = "Print an attribute of a node or port: NodeInfo, PortInfo, its tables.",
    .make = make_command<tools::smpquery::Smpquery>,
    .make_diags = make_command<tools::smpquery::Smpquery>,
};

}  // namespace ib::tools
