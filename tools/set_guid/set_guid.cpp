// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_guid: an alias GUID for an end port, set through the subnet administrator (SubnAdmSet(GUIDInfoRecord), IBA 15.2.5.18).
#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/dump.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "out/structure.hpp"
#include "sa/subn_adm.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

constexpr unsigned guids_in_block = 8, last_slot = 255;  // IBA 14.2.5.5; GUIDCap has 8 bits

struct GuidReport final : Report {
  std::vector<std::uint8_t> bytes;

  void visit(out::Sink& sink) const override {
    sink.begin_object("data");
    out::visit_structure(sink, bytes, sa::GuidInfoRecord::info());
    sink.end_object();
  }
  void text(TextOut& out) const override {
    const StructInfo& info = sa::GuidInfoRecord::info();
    out.print("{}\n{}", info.iba_name, dump_words(bytes, info));
  }
};

class SetGuid final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("TARGET SLOT GUID", 0, any_number);
    set.notes("This uses a SubnAdmSet(GUIDInfo) to program an alias GUID on the end port.");
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target, OperandKind::integer, OperandKind::word}, 0);
    if (session.operands().size() >= 3 && !parse_guid(session.operands()[2])) {
      const std::string text = quoted(session.operands()[2]);
      throw UsageError(fmt::format("Invalid command line argument #3 {} - {} is not a valid GUID", text, text));
    }
    if (session.operands().size() < 3) throw UsageError("Not enough arguments");
    const std::int64_t slot = *session.integer(1);
    if (slot < 1 || slot > last_slot)
      throw UsageError(fmt::format("The slot {} is not one of 1 to {} (0 holds the port's own GUID)", slot, last_slot));
    const path::Path path = co_await session.gmp_path(session.target(0));
    const auto number = static_cast<unsigned>(slot);
    sa::GuidInfoRecord::Query query;
    query.lid(path.ib().dlid).block_num(static_cast<std::uint8_t>(number / guids_in_block));
    query.guid_block(number % guids_in_block, *parse_guid(session.operands()[2]));
    const sa::GuidInfoRecord record = co_await sa::subn_adm_set(session.transactor(), query);
    GuidReport report;
    report.bytes.resize(sa::GuidInfoRecord::wire_size);
    record.pack(report.bytes);
    emit(report);
  }
};

}  // namespace

constinit const CommandInfo rooms::set_guid{.name = "set_guid",
                                            .group = HelpGroup::config,
                                            .summary = "Give a port a further GUID, by the subnet administrator.",
                                            .make = make_command<SetGuid>,
                                            .changes = true};

}  // namespace ib::tools
