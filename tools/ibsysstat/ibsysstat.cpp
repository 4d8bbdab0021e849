// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibsysstat: what a host says of itself through a vendor class, and the server that says it.
#include <fmt/format.h>

#include <array>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/ofa.hpp"
#include "iba/dump.hpp"
#include "mad/rpc.hpp"
#include "mad/sysstat.hpp"
#include "out/structure.hpp"
#include "sys/host.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/serving.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

struct Operation {
  std::string_view name;
  const StructInfo& (*info)();
};

constexpr std::array<Operation, 4> operations{{
    {"ping", ofa::SysStatPing::info},
    {"host", ofa::SysStatHostInfo::info},
    {"cpu", ofa::SysStatCpuInfo::info},
    {"cpi", mad::ClassPortInfo::info},
}};

const Operation& find_operation(std::string_view name) {
  for (const Operation& operation : operations)
    if (operation.name == name) return operation;
  throw UsageError(fmt::format("Invalid command line argument #2 {} - Not one of ping, host, cpi or cpu", quoted(name)));
}

struct SysstatReport final : Report {
  const Operation* operation{};
  std::string path;
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

  void visit(out::Sink& sink) const override {
    sink.value("operation", operation->name);
    sink.value("path", path);
    if (is_cpus()) {
      sink.begin_array("cpus");
      for (const std::string_view line : lines()) sink.value({}, line);
      sink.end_array();
    } else if (is_text()) {
      sink.value("host", fixed_text(bytes));
    } else {
      sink.begin_object("data");
      out::visit_structure(sink, bytes, operation->info());
      sink.end_object();
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
};

class Ibsysstat final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[TARGET ping|host|cpu|cpi]", 0, any_number);
    set.notes("This program must be running in server mode on the target end port.");
    set.flag("-S --Server", server_, "Run as a server");
    set.value("-o --oui", "OUI", "The OUI of the service, 0x001405 by default", [this](std::string_view text) { oui_ = parse_oui(text); });
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target, OperandKind::word}, 0);
    const std::size_t given = session.operands().size();
    if (server_ && given != 0) throw UsageError("Too many arguments.");
    if (server_) return serve(session);
    if (given != 2) throw UsageError("Expect 2 arguments.");
    return ask(session, emit, find_operation(session.operands()[1]));
  }

 private:
  async::Task<> serve(Session& session) {
    mad::Server server(session.rpc());
    report_refusals(server, session);
    const mad::HostText text{sys::host_name(), mad::cpu_text(sys::cpus())};
    mad::serve_sysstat(server, text, oui_);
    co_await server.run();
  }

  async::Task<> ask(Session& session, Emit& emit, const Operation& operation) {
    const path::Path path = co_await session.gmp_path(session.target(0));
    const mad::Request request{.path = path,
                               .mgmt_class = mad::mgmt_class::ofa_sysstat,
                               .attribute_id = static_cast<std::uint16_t>(operation.info().attribute_id),
                               .payload = {},
                               .oui = oui_};
    const mad::Reply reply = co_await session.transactor().call(request);
    SysstatReport report;
    report.operation = &operation;
    report.path = to_text(path);
    const Bytes payload = reply.payload();
    report.bytes.assign(payload.begin(), payload.end());
    report.words = session.options().error_level() >= 2;
    emit(report);
  }

  bool server_{};
  std::uint32_t oui_ = mad::openib_oui;
};

}  // namespace

constinit const CommandInfo rooms::ibsysstat{.name = "ibsysstat", .group = HelpGroup::query, .summary = "Ask a host for its name, processors and load by MADs, or answer such questions.", .make = make_command<Ibsysstat>, .diags = true, .legacy = diags::ibsysstat};

}  // namespace ib::tools
