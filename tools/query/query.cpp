// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// query: sends any RPC with any attribute. The command line sets fields of the request, and the answer is printed. All of this works with
// the descriptors of attributes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "mad/rpc_names.hpp"
#include "mad/transactor.hpp"
#include "report/structure.hpp"
#include "sa/records.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace {

struct QueryReport final : Report {
  std::string_view method;
  path::Path path = path::IbPath();
  std::uint32_t modifier{};
  bool table = false;  ///< the answer is a list
  sa::Records answer;  ///< one record if the answer is not a list
  const StructInfo* type{};
  bool planned = false;  ///< a Set that --dry-run kept back: there is no answer
  const CommonOptions& options;

  explicit QueryReport(const CommonOptions& common) : options(common) {}

  void visit(report::Sink& sink) const override {
    sink.value("method", method);
    path::visit(sink, "path", path);
    sink.value("modifier", modifier);
    if (!table) {
      report::visit_attribute(sink, answer.bytes[0], *type, options.keys);
      return;
    }
    sink.value("attribute", type->iba_name);
    sink.value("complete", !answer.torn);
    visit_records(sink, "records", answer.bytes, *type, options.keys);
  }

  void text(TextOut& out) const override {
    std::size_t number = 0;
    for (const Bytes record : answer.bytes) {
      if (table) out.print("Reply structure #{}\n", number++);
      AttributeText(options, *type, record).text(out, {.indent = table ? "\t\t" : ""});
    }
  }
  Exit status() const override { return answer.torn ? Exit::incomplete : Exit::ok; }
};

[[noreturn]] void refuse_word(std::string_view what, std::string_view word, const std::vector<std::string_view>& names) {
  throw UsageError(fmt::format("Invalid {}{} Try one of {}", what, did_you_mean(word, names, "."), joined(names, ", ")));
}

std::vector<std::string_view> attribute_names(const mad::RpcName& rpc) {
  std::vector<std::string_view> names;
  for (const StructInfo* info : mad::attributes_of(rpc)) names.push_back(info->iba_name);
  return names;
}

const mad::RpcName& find_method(std::string_view word) {
  if (const mad::RpcName* rpc = mad::find_rpc(word)) return *rpc;
  std::vector<std::string_view> names;
  for (const mad::RpcName& rpc : mad::rpc_names()) names.push_back(rpc.name);
  refuse_word("method", word, names);
}

const StructInfo& find_attribute(const mad::RpcName& rpc, std::string_view word) {
  if (const StructInfo* info = mad::find_attribute_of(rpc, word)) return *info;
  refuse_word(fmt::format("attribute for {}", rpc.name), word, attribute_names(rpc));
}

std::string method_list() {
  std::string text =
      "Sends one MAD with the given fields and prints the answer. What a Set does\n"
      "not name keeps the value that a Get has read before.\n\nMETHOD and ATTRIBUTE are\n";
  for (const mad::RpcName& rpc : mad::rpc_names()) {
    text += fmt::format("    {}\n", rpc.name);
    for (const std::string_view name : attribute_names(rpc)) text += fmt::format("       {}\n", name);
  }
  text.pop_back();
  return text;
}

class Query final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.operand("METHOD", [this](std::string_view word) { rpc_ = &find_method(word); });
    set.offer(mad::rpc_names(), &mad::RpcName::name);
    set.operand("ATTRIBUTE", [this](std::string_view word) {
      if (rpc_ != nullptr) info_ = &find_attribute(*rpc_, word);
    });
    set.offer([this] {
      const auto names = rpc_ != nullptr ? attribute_names(*rpc_) : std::vector<std::string_view>();
      return std::vector<std::string>(names.begin(), names.end());
    });
    set.optional_operands();
    set.target_each("TARGET", target_);
    set.notes(method_list());
    set.number("-a --attribute-id", modifier_, "MODIFIER", "The attribute modifier of the request; zero by default.");
    set.value("-f --field", "FIELD=VALUE[,FIELD=VALUE]", "Give fields of the request a value; may be repeated.",
              [this](std::string_view text) { fields_.emplace_back(text); });
    set.offer([this] { return info_ == nullptr ? std::vector<std::string>() : assignable_members(*info_); });
    add_key(set, common, "--smkey", sm_key_, "SMKEY",
            "The SM_Key of requests to the SA, zero by default; anything but a number: read from the terminal.");
    add_vs_keys(set, vs_keys_);
    set.flag("--zero", zero_, "Fields of a Set that -f does not name become zero.");
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override {
    if (changes()) return {};
    return mad::is_list_method(rpc_->method) ? "records" : "data";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (changes()) session.stack().require_exact_targets();
    if (zero_ && !changes()) throw UsageError(fmt::format("--zero is for methods that set, and {} reads", rpc_->name));
    fields_ = separate_assignments(fields_, *info_);
    take_register();
    const bool is_of_sa = rpc_->mgmt_class == mad::mgmt_class::sa;
    if (is_of_sa) {  // a wrong command line is refused before anything is sent
      make_pattern();
    } else {
      std::vector<std::uint8_t> bytes(info_->bytes);
      apply_fields(bytes);
    }
    QueryReport report(session.host().options());
    report.method = rpc_->name;
    report.modifier = modifier_;
    async::Task<> answer = is_of_sa ? query_sa(session.stack(), report) : send_request(session.stack(), report);
    co_await std::move(answer);
    if (report.answer.torn) session.host().log().warning(torn_text(report.answer.bytes.size()));
    if (!report.planned) emit(report);
  }

 private:
  bool changes() const { return mad::changes_something(rpc_->method); }

  static std::pair<std::string_view, std::string_view> split(std::string_view field) {
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) throw UsageError(fmt::format("Field {} does not have exactly 1 equals.", in_quotes(field)));
    return {field.substr(0, equals), field.substr(equals + 1)};
  }

  /// The attribute modifier of a register is its number.
  void take_register() {
    if (info_->register_id < 0) return;
    const auto number = static_cast<std::uint32_t>(info_->register_id);
    if (modifier_ != 0 && modifier_ != number)
      throw UsageError(fmt::format("-a is not for {}: its attribute modifier is {:#06x}", info_->iba_name, number));
    modifier_ = number;
  }

  sa::Pattern make_pattern() const {
    sa::Pattern pattern(*info_);
    for (const std::string& field : fields_) {
      const auto [name, value] = split(field);
      pattern.match(name, value);
    }
    return pattern;
  }

  void apply_fields(MutableBytes bytes) const {
    select_layout(bytes, *info_);
    for (const std::string& field : fields_) {
      const auto [name, value] = split(field);
      if (const auto place = find_path(*info_, name); place && place->field->name == "vs_key")
        throw UsageError(fmt::format("{}: a VS_Key on the command line is seen by others: --vskey names a file, or -", name));
      set_field(bytes, *info_, name, value);
    }
  }

  async::Task<> query_sa(Stack& stack, QueryReport& report) const {
    co_await stack.prepare_sa();
    mad::Transactor& transactor = stack.transactor();
    path::Path path = transactor.sa_path();
    if (target_.given()) {
      const Destination node = co_await stack.manners().gmp_node(target_);
      path = node.path;
    }
    path.ib().sm_key = sm_key_;
    report.path = path;
    report.table = mad::is_list_method(rpc_->method);
    const sa::Pattern pattern = make_pattern();
    mad::Result<sa::Records> records = co_await sa::try_records(transactor, path, pattern, rpc_->method, modifier_);
    report.answer = std::move(records).take();
    report.type = &pattern.answer();
    report.planned = changes() && stack.host().options().dry_run;
  }

  async::Task<> send_request(Stack& stack, QueryReport& report) const {
    const StructInfo& info = *info_;
    const mad::RpcHeader header = *mad::rpc_header(*rpc_, info);
    const bool is_smp = mad::is_smp(header.mgmt_class);
    const std::optional<FieldRef> key_place = find_path(info, "vs_key");
    const bool is_keyed = find_keyed_data(header.mgmt_class) != nullptr && key_place;
    if (vs_keys_ && !is_keyed) throw UsageError(fmt::format("--vskey: {} has no VS_Key", info.iba_name));
    const phy::VsKeys keys = read_vs_keys(stack.host(), vs_keys_);
    if (is_smp && stack.host().options().skip_sl) throw UsageError("--skip-sl is about GMPs: an SMP has no service level");
    async::Task<Destination> find = is_smp ? stack.manners().smp_node(target_) : stack.manners().gmp_node(target_);
    Destination node = co_await std::move(find);
    std::uint64_t vs_key = 0;
    if (vs_keys_) {
      vs_key = co_await phy::identify_for_key(stack.smp_transactor(), keys, node.path);
    } else if (changes()) {
      node = co_await stack.manners().identified(std::move(node));
    }
    const path::Path& path = node.path;
    report.path = path;
    std::vector<std::uint8_t> bytes(info.bytes);
    mad::Request request{.path = path,
                         .mgmt_class = is_smp ? mad::smp_class(path) : header.mgmt_class,
                         .class_version = header.class_version,
                         .attribute_id = static_cast<std::uint16_t>(info.attribute_id),
                         .attribute_modifier = modifier_,
                         .payload = bytes,
                         .oui = header.oui};
    // A Set begins with the current value of the attribute, which is read from the node itself.
    mad::Transactor& transactor = changes() ? stack.smp_transactor() : stack.transactor();
    const bool readable = (info.methods >> mad::method::get & 1U) != 0;
    if (changes() && readable && !zero_) {
      // The fields that the user gives for a GMP are in the Get too: fields like PortSelect select what is read. An SMP selects by its
      // attribute modifier.
      if (!is_smp) apply_fields(bytes);
      if (is_keyed) write_number(bytes, *key_place, vs_key);
      const mad::Reply before = co_await transactor.call(request);
      bytes = attribute_of(before, info);
      // The states of a port that were read would be commands; zero means "no change" (IBA 14.2.5.6).
      if (&info == &smp::PortInfo::info()) {
        for (const std::string_view state : {"port_state", "port_physical_state"}) write_number(bytes, *find_path(info, state), 0);
      }
    }
    apply_fields(bytes);
    if (is_keyed) write_number(bytes, *key_place, vs_key);
    request.method = rpc_->method;
    request.payload = bytes;
    const mad::Reply reply = co_await transactor.call(request);
    report.planned = changes() && stack.host().options().dry_run;
    const StructInfo* answered = find_attribute_in(reply.bytes);
    const StructInfo& layout = info.register_id >= 0 && answered != nullptr ? *answered : layout_of(info, reply.payload());
    report.type = &layout;
    std::vector<std::uint8_t> record = attribute_of(reply, layout);
    record.resize(layout.bytes);
    const sa::RecordRows rows(record, record.size(), record.size(), 1);
    report.answer.bytes = sa::RecordBuffer(std::move(record), rows);
  }

  static std::vector<std::uint8_t> attribute_of(const mad::Reply& reply, const StructInfo& info) {
    const Bytes payload = reply.payload();
    return {payload.begin(), payload.begin() + std::min<std::ptrdiff_t>(std::ssize(payload), info.bytes)};
  }

  const mad::RpcName* rpc_{};
  const StructInfo* info_{};
  Target target_;
  std::uint32_t modifier_{};
  std::uint64_t sm_key_{};
  std::vector<std::string> fields_;
  std::optional<std::string> vs_keys_;
  bool zero_{};
};

}  // namespace

constinit const CommandInfo rooms::query{
    .name = "query",
    .group = HelpGroup::query,
    .summary = "Send any one request, and print the attribute that comes back.",
    .make = make_command<Query>,
    .changes = true,
};

}  // namespace ib::tools
