// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpdump: any SMP attribute, as it came. infiniband-diags' smpdump sends one request and prints what the kernel returns, also a refusal.
// Without an answer it prints no data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "mad/describe.hpp"
#include "mad/transactor.hpp"
#include "path/parse.hpp"
#include "report/structure.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools {
namespace {

/// Bytes in lines of eight words of two, lower-case; a blank ends the last line where it is not full.
std::string hex_words(Bytes bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    text += fmt::format("{:02x}", bytes[at]);
    if (at % 2 == 1) text += (at + 1) % 16 == 0 ? '\n' : ' ';
  }
  if (bytes.size() % 16 != 0) text += '\n';
  return text;
}

struct SmpdumpReport final : Report {
  bool is_decoded{}, is_string{};  ///< neither: words of hexadecimal digits
  path::Path path = path::IbPath{};
  std::vector<std::uint8_t> mad;  ///< the answer; empty where none came
  Keys keys = Keys::hidden;

  mad::HeaderView header() const { return mad::HeaderView(mad); }
  Bytes raw_data() const {
    const Bytes payload = Bytes(mad).subspan(mad::data_area(header().mgmt_class()).offset);
    return payload.first(std::min(payload.size(), subnet::smp_block_bytes));
  }
  /// The data, with zeros in the place of keys that are hidden.
  std::vector<std::uint8_t> data() const {
    const StructInfo* info = keys == Keys::hidden ? attribute() : nullptr;
    return info != nullptr ? without_secrets(raw_data(), *info) : std::vector<std::uint8_t>(raw_data().begin(), raw_data().end());
  }
  const StructInfo* attribute() const {
    return ib::find_attribute(header().mgmt_class(), header().class_version(), header().attribute_id());
  }
  const StructInfo* format() const { return ib::find_format(header().mgmt_class(), header().class_version()); }

  void visit(report::Sink& sink) const override {
    path::visit(sink, "path", path);
    sink.value("mad_description", mad::full_description(mad));
    sink.value("mad_status", header().raw_status());
    sink.value("hex", hex_text(data()));
    if (const StructInfo* info = format()) {
      sink.value("format", info->iba_name);
      report::visit_fields(sink, "mad", mad, *info, keys);
    } else {
      sink.null("format");
      sink.null("mad");
    }
  }
  void text(TextOut& out) const override {
    if (is_decoded) return out.print("{}\n{}", format()->iba_name, dump_words(mad, *format(), keys));
    const std::vector<std::uint8_t> bytes = data();
    if (is_string) return out.print("{}\n", escaped(fixed_text(bytes)));
    out.write(hex_words(bytes));
    out.print("SMP status: {}\n", to_hex(header().raw_status(), 4));
    if (const StructInfo* info = attribute()) out.write(secrets_note(raw_data(), *info, keys));
  }
  void diags_text(TextOut& out) const override {
    std::array<std::uint8_t, subnet::smp_block_bytes> shown{};
    if (!mad.empty()) std::copy(raw_data().begin(), raw_data().end(), shown.begin());
    out.write(is_string ? printable(fixed_text(shown)) + '\n' : hex_words(shown));
    if (!mad.empty() && header().raw_status() != 0) out.print("SMP status: 0x{:x}\n", header().raw_status());
  }
};

class Smpdump final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    set.integer("ATTR", attribute_);
    set.optional_operands();
    set.integer("ATTR_MOD", modifier_);
    set.notes("ATTR is the number of an attribute, ATTR_MOD its modifier, which is 0 where it is left out.");
    set.flag("-p --decode", decode_, "Print the whole answer, field by field.");
    set.flag("-s --string", string_, "Print the data as text.");
    set.one_of({"--decode", "--string"});
    add_common(set, common, group_target);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.target("TARGET", target_);
    set.integer("ATTR", attribute_);
    set.optional_operands();
    set.integer("MOD", modifier_);
    set.flag("-s --string", string_, "Print the data as text.");
    set.without("GKs");
    as_it_comes_ = true;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    SmpdumpReport report;
    if (as_it_comes_) {
      report.path = given_path(session.stack());
    } else {
      const Destination node = co_await session.manners().smp_node(target_);
      report.path = node.path;
    }
    const mad::Request request{.path = report.path,
                               .mgmt_class = mad::smp_class(report.path),
                               .attribute_id = attribute_,
                               .attribute_modifier = modifier_,
                               .payload = {}};
    mad::Result<mad::Reply> reply = co_await session.stack().transactor().try_call(request);
    if (reply) {
      report.mad = reply->bytes;
    } else if (as_it_comes_) {
      const Bytes bytes = reply.error().reply();
      report.mad.assign(bytes.begin(), bytes.end());
      if (bytes.empty()) warn(session.host().world(), "main", "nothing answered");
    } else {
      session.manners().give_up(reply.shared_error(), {});
    }
    report.is_decoded = decode_;
    report.is_string = string_;
    report.keys = session.host().options().keys;
    emit(report);
  }

 private:
  /// The path as infiniband-diags' smpdump takes it from the words, without any check. One try.
  path::Path given_path(Stack& stack) const {
    path::Path path = path::IbPath{};
    if (stack.host().options().address == path::Form::direct) {
      std::optional<path::IbDrPath> route = read_diags_route(target_.text());
      if (!route) throw DiagsPanic(fmt::format("bad path str '{}'", target_.text()), 0);
      route->route[0] = 0;
      path = *route;
    } else {
      path.ib().dlid = Lid{static_cast<std::uint16_t>(c_number(target_.text()))};
      path.ib().dqpn = path.ib().sqpn = Qpn{0};
    }
    if (const std::optional<int> failure = open_failure(stack))
      throw DiagsPanic(fmt::format("can't open UMAD port ({})", diags_port(stack.host().options())),
                       *failure == ENODEV ? ENOENT : *failure);  // no such port
    path.ib().end_port = &stack.host().end_port();
    if (path.directed() == nullptr) path.ib().slid = stack.host().end_port().lid;
    stack.apply_options(path);
    path.ib().retries = 0;
    return path;
  }

  Target target_;
  std::uint16_t attribute_{};
  std::uint32_t modifier_{};
  bool decode_{}, string_{};
  bool as_it_comes_{};  ///< show what comes, whatever its status; send to addresses that make no sense
};

}  // namespace

constinit const CommandInfo rooms::smpdump{
    .name = "smpdump",
    .group = HelpGroup::query,
    .summary = "Print the bytes of an attribute that is read by SMP.",
    .make = make_command<Smpdump>,
    .make_diags = make_command<Smpdump>,
};

}  // namespace ib::tools
