// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_guid: an alias GUID for an end port, set through the subnet administrator (SubnAdmSet(GUIDInfoRecord), IBA 15.2.5.18).
#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/dump.hpp"
#include "iba/text.hpp"
#include "report/structure.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/set/set_guard.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools {
namespace {

constexpr unsigned guids_in_block = 8, last_slot = 255;  // IBA 14.2.5.5; GUIDCap has 8 bits

struct GuidReport final : Report {
  path::Path path = path::IbPath();
  std::vector<std::uint8_t> bytes;

  void visit(report::Sink& sink) const override {
    path::visit(sink, "path", path);
    report::visit_attribute(sink, bytes, sa::GuidInfoRecord::info());
  }
  void text(TextOut& out) const override {
    const StructInfo& info = sa::GuidInfoRecord::info();
    out.print("{}\n{}", info.iba_name, dump_words(bytes, info));
  }
};

class SetGuid final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target("TARGET", target_);
    set.integer("SLOT", slot_, {1, last_slot});
    set.operand("GUID", [this](std::string_view text) {
      const std::optional<Guid> guid = parse_guid(text);
      if (!guid) throw UsageError(fmt::format("{} is not a valid GUID", in_quotes(text)));
      guid_ = *guid;
    });
    set.notes("Sends a SubnAdmSet(GUIDInfoRecord). Slot 0 holds the port's own GUID.");
    add_common(set, common, group_target | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.stack().require_exact_targets();
    const Destination node = co_await session.manners().gmp_node(target_);
    sa::GuidInfoRecord::Query query;
    query.lid(node.path.ib().dlid).block_num(static_cast<std::uint8_t>(slot_ / guids_in_block));
    query.guid_block(slot_ % guids_in_block, guid_);
    session.stack().sets().node = node.path;  // the SA gets the request
    const sa::GuidInfoRecord record = co_await sa::subn_adm_set(session.stack().transactor(), query);
    if (session.host().options().dry_run) co_return;
    GuidReport report;
    report.path = node.path;
    report.bytes = wire::packed_vector(record);
    emit(report);
  }

 private:
  Target target_;
  unsigned slot_{};
  Guid guid_;
};

}  // namespace

constinit const CommandInfo rooms::set_guid{
    .name = "set_guid",
    .group = HelpGroup::config,
    .summary = "Give a port a further GUID, by the subnet administrator.",
    .make = make_command<SetGuid>,
    .changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
