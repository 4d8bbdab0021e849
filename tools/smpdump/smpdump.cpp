// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpdump: any SMP attribute, as it came.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/escape.hpp"
#include "iba/describe.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "out/structure.hpp"
#include "subnet/smp_tables.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/secrets.hpp"

namespace ib::tools {
namespace {

enum class Form { words, decoded, string };

struct SmpdumpReport final : Report {
  Form form = Form::words;
  std::string path;
  mad::Reply reply;
  Keys keys = Keys::hidden;

  Bytes raw_data() const {
    const Bytes payload = reply.payload();
    return payload.first(std::min(payload.size(), subnet::smp_block_bytes));
  }
  /// The data, with zeros in the place of keys that are hidden.
  std::vector<std::uint8_t> data() const {
    const StructInfo* info = keys == Keys::hidden ? attribute() : nullptr;
    return info != nullptr ? without_secrets(raw_data(), *info) : std::vector<std::uint8_t>(raw_data().begin(), raw_data().end());
  }
  const StructInfo* attribute() const {
    const mad::HeaderView header = reply.header();
    return find_attribute(header.mgmt_class(), header.class_version(), header.attribute_id());
  }
  const StructInfo* format() const { return find_format(reply.header().mgmt_class(), reply.header().class_version()); }

  void visit(out::Sink& sink) const override {
    sink.value("path", path);
    sink.value("description", mad_description(reply.bytes));
    sink.value("status", reply.header().raw_status());
    std::string hex;
    for (const std::uint8_t byte : data()) hex += fmt::format("{:02x}", byte);
    sink.value("data", hex);
    if (const StructInfo* info = format()) {
      sink.begin_object("mad");
      out::visit_structure(sink, reply.bytes, *info, keys);
      sink.end_object();
    }
  }
  void text(TextOut& out) const override {
    if (form == Form::decoded) {
      const StructInfo* info = format();
      out.print("{}\n{}", info->iba_name, dump_words(reply.bytes, *info, keys));
      return;
    }
    const std::vector<std::uint8_t> bytes = data();
    if (form == Form::string) {
      out.print("{}\n", escaped(fixed_text(bytes)));
      return;
    }
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
      out.print("{:02x}{:02x}{}", bytes[i], bytes[i + 1], (i + 2) % 16 == 0 ? "\n" : " ");
    }
    out.print("SMP status: {}\n", to_hex(reply.header().raw_status(), 4));
    if (const StructInfo* info = attribute()) out.write(secrets_note(raw_data(), *info, keys));
  }
};

class Smpdump final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("TARGET ATTR [ATTR_MOD]", 0, any_number);
    set.notes("ATTR is the attribute ID and ATTR_MOD is an optional modifier.");
    set.flag("-p --decode", decode_, "Pretty print the entire reply.");
    set.flag("-s --string", string_, "Print the data as text.");
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target, OperandKind::integer, OperandKind::integer}, 2);
    const std::int64_t attribute = *session.integer(1), modifier = session.integer(2).value_or(0);
    if (attribute < 0 || attribute > std::numeric_limits<std::uint16_t>::max())
      throw UsageError(fmt::format("The attribute ID {} does not fit 16 bits", attribute));
    if (modifier < 0 || modifier > std::numeric_limits<std::uint32_t>::max())
      throw UsageError(fmt::format("The attribute modifier {} does not fit 32 bits", modifier));
    const path::Path path = co_await session.smp_path(session.target(0));
    const mad::Request request{.path = path,
                               .mgmt_class = mad::smp_class(path),
                               .attribute_id = static_cast<std::uint16_t>(attribute),
                               .attribute_modifier = static_cast<std::uint32_t>(modifier),
                               .payload = {}};
    SmpdumpReport report;
    report.form = decode_ ? Form::decoded : string_ ? Form::string : Form::words;
    report.path = to_text(path);
    report.keys = session.options().keys;
    report.reply = co_await session.transactor().call(request);
    emit(report);
  }

 private:
  bool decode_{}, string_{};
};

}  // namespace

constinit const CommandInfo rooms::smpdump{.name = "smpdump",
                                           .group = HelpGroup::query,
                                           .summary = "Print the bytes of an attribute that is read by SMP.",
                                           .make = make_command<Smpdump>,
                                           .diags = true,
                                           .legacy = diags::smpdump};

}  // namespace ib::tools
