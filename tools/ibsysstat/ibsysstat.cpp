// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibsysstat: requests information on a host through a vendor class. Also the server that gives it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/ofa.hpp"
#include "iba/dump.hpp"
#include "mad/sysstat.hpp"
#include "path/json.hpp"
#include "report/structure.hpp"
#include "sys/host.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/serving.hpp"

namespace ib::tools {
namespace {

struct SysstatOperation {
  std::string_view name;
  const StructInfo& (*info)();
  bool diags = true;  ///< infiniband-diags has it
};

constexpr std::array<SysstatOperation, 4> operations{{
    {"ping", ofa::SysStatPing::info},
    {"host", ofa::SysStatHostInfo::info},
    {"cpu", ofa::SysStatCpuInfo::info},
    {"cpi", mad::ClassPortInfo::info, false},
}};

const SysstatOperation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(operations, name, &SysstatOperation::name);
  return found != operations.end() ? found : nullptr;
}

const SysstatOperation* operation_named(std::string_view name) {
  if (const SysstatOperation* found = find_operation(name)) return found;
  std::vector<std::string_view> names;
  for (const SysstatOperation& operation : operations) names.push_back(operation.name);
  throw UsageError("Not one of ping, host, cpi or cpu" + did_you_mean(name, names));
}

struct SysstatReport final : Report {
  SysstatReport(const SysstatOperation& which, path::Path of) : operation(&which), path(std::move(of)) {}

  const SysstatOperation* operation;
  path::Path path;
  std::vector<std::uint8_t> bytes;  ///< of the attribute; a text of several packets is longer than its structure
  bool words{};

  bool is_cpus() const { return operation->name == "cpu"; }
  bool is_text() const { return is_cpus() || operation->name == "host"; }
  std::vector<std::string_view> lines() const {
    std::vector<std::string_view> lines;
    std::string_view text = fixed_text(bytes);
    while (!text.empty()) {
      lines.push_back(text.substr(0, text.find('\n')));
      text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
    }
    return lines;
  }

  void visit(report::Sink& sink) const override {
    sink.value("operation", operation->name);
    path::visit(sink, "path", path);
    if (is_cpus()) {
      sink.values("cpus", lines());
    } else if (is_text()) {
      sink.value("host", fixed_text(bytes));
    } else {
      report::visit_attribute(sink, bytes, operation->info());
    }
  }
  void text(TextOut& out) const override {
    const Bytes attribute = Bytes(bytes).first(std::min<std::size_t>(bytes.size(), operation->info().bytes));
    if (words) {
      out.print("{}\n{}", operation->info().iba_name, dump_words(attribute, operation->info()));
    } else if (is_cpus()) {
      for (const std::string_view line : lines()) out.print("{}\n", escaped(line));
    } else {
      DottedOptions style;
      style.names = NameStyle::iba;
      out.write(dotted(attribute, operation->info(), style));
    }
  }
  void diags_text(TextOut& out) const override {
    if (is_text()) {
      out.print("{}\n", printable_lines(fixed_text(bytes)));
    } else {
      out.write("sysstat ping succeeded\n");
    }
  }
};

class Ibsysstat final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    set.operand("ping|host|cpu|cpi", [this](std::string_view word) { operation_ = operation_named(word); });
    set.offer(operations, &SysstatOperation::name);
    set.instead_of_operands("-S");
    set.notes(
        "Requests the cookie of a ping, the name of the host, its processors, or the\n"
        "ClassPortInfo of the service.");
    set.flag("-S --Server", server_, "Answer such requests until ended. TARGET needs that.");
    add_oui(set, oui_);
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.target("TARGET", target_);
    set.optional_operands();
    set.operand("ping|host|cpu", [this](const std::string& word) {
      operation_ = find_operation(word);
      if (operation_ == nullptr || !operation_->diags) throw DiagsUsage();
    });
    set.instead_of_operands("-S");
    set.without("DKy");
    add_oui(set, oui_);
    set.flag("-S --Server", server_, "Answer such requests until ended.");
    any_answer_ = true;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (server_)
      return serve(
          session.stack(), [this](mad::Server& server) { offer(server); }, "can't serve class 51");
    return request_once(session.stack(), emit);
  }

 private:
  void offer(mad::Server& server) const {
    const mad::HostText text{sys::host_name(), mad::cpu_text(sys::cpus())};
    mad::serve_sysstat(server, text, oui_);
  }

  async::Task<> request_once(Stack& stack, Emit& emit) const {
    Destination node = co_await stack.manners().gmp_node(target_);
    if (any_answer_) node.path.ib().retries = 0;
    // No typed call: the OUI is the user's, and a text of several packets is longer than its structure.
    const mad::Request request{.path = node.path,
                               .mgmt_class = mad::mgmt_class::ofa_sysstat,
                               .attribute_id = static_cast<std::uint16_t>(operation_->info().attribute_id),
                               .payload = {},
                               .oui = oui_};
    const mad::Result<mad::Reply> reply = co_await stack.transactor().try_call(request);
    if (!reply && !any_answer_) reply.error().raise();
    const auto* unanswered = reply ? nullptr : dynamic_cast<const mad::MadTimeout*>(&reply.error());
    if (unanswered != nullptr && !unanswered->reported()) throw DiagsPanic("umad_recv failed.", ETIMEDOUT);
    if (!reply && reply.error().reply().empty()) throw DiagsFailure(fmt::format("ibsystat to {}: {}", node.name, std::strerror(ETIMEDOUT)));
    SysstatReport report(*operation_, node.path);
    const Bytes payload = reply ? reply->payload() : Bytes();
    report.bytes.assign(payload.begin(), payload.end());
    report.words = stack.host().options().error_level() >= 2;
    emit(report);
  }

  Target target_;
  const SysstatOperation* operation_ = operations.data();
  bool server_{};
  bool any_answer_{};  ///< send one request, and treat a refusal as an answer without text
  std::uint32_t oui_ = mad::openib_oui;
};

}  // namespace

constinit const CommandInfo rooms::ibsysstat{
    .name = "ibsysstat",
    .group = HelpGroup::query,
    .summary = "Print the name or the processors of a host, read over the fabric; or answer such requests.",
    .make = make_command<Ibsysstat>,
    .make_diags = make_command<Ibsysstat>,
    .needs_fabric = true,
};

}  // namespace ib::tools
