// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// decode_mad: a MAD as hexadecimal digits (or a C or Python string literal), decoded.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/hex_dump.hpp"
#include "base/split.hpp"
#include "base/unique_fd.hpp"
#include "iba-gen/mad.hpp"
#include "iba/dump.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "mad/captured.hpp"
#include "mad/describe.hpp"
#include "report/structure.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t most_input = 1U << 20;

struct DecodeReport final : Report {
  std::vector<std::uint8_t> input;
  mad::CapturedPacket packet;
  int verbosity{};
  Keys keys = Keys::hidden;

  void visit(report::Sink& sink) const override {
    if (packet.umad.empty()) {
      sink.null("umad");
    } else {
      sink.begin_object("umad");
      for (const mad::UmadField& field : mad::umad_fields())
        field.is_gid() ? sink.value(field.name, gid(field)) : sink.value(field.name, field.number(packet.umad));
      sink.end_object();
    }
    sink.objects("headers", packet.headers, [&](const mad::CapturedPacket::Header& part) {
      sink.value("structure", part.info->iba_name);
      report::visit_fields(sink, "data", part.bytes, *part.info, keys);
    });
    sink.value("mad_description", mad::full_description(packet.mad));
    sink.text_or_null("format", packet.format != nullptr ? packet.format->iba_name : "");
    packet.format != nullptr ? report::visit_fields(sink, "mad", packet.mad, *packet.format, keys) : sink.null("mad");
  }
  void text(TextOut& out) const override {
    if (verbosity >= 1) {
      umad_text(out);
      for (const auto& [info, bytes] : packet.headers) print(out, *info, bytes);
    }
    if (verbosity >= 1 || packet.format == nullptr) print(out, mad::Header::info(), packet.mad);
    if (packet.format != nullptr)
      out.print("{} {}\n{}", packet.format->iba_name, mad::full_description(packet.mad), dump_words(packet.mad, *packet.format, keys));
  }

 private:
  Gid gid(const mad::UmadField& field) const {
    Gid value;
    std::ranges::copy(packet.umad.subspan(field.at, field.bytes), value.bytes.begin());
    return value;
  }
  void print(TextOut& out, const StructInfo& info, Bytes bytes) const { out.print("{}\n{}", info.iba_name, dump_words(bytes, info, keys)); }
  void umad_text(TextOut& out) const {
    if (packet.umad.empty()) return;
    std::string words[mad::umad_header_bytes / 4];
    for (const mad::UmadField& field : mad::umad_fields()) {
      const std::string value = field.is_gid() ? fmt::format("GID('{}')", to_text(gid(field))) : std::to_string(field.number(packet.umad));
      add_part(words[field.at / 4], fmt::format("{}={}", field.name, value), ",");
    }
    words[14] += ",reserved_58=<6 bytes>";
    out.write("UMADHdr\n");
    for (std::size_t i = 0; i < std::size(words); ++i)
      out.print("{:3} {:08X} {}\n", i * 4, load_be<std::uint32_t>(packet.umad.data() + i * 4), words[i]);
  }
};

class DecodeMad final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes(
        "HEX, or without it standard input, is hex digits, with blanks, 0x, offsets\n"
        "and text beside them as tcpdump, hexdump, xxd and -dd print them, or a\n"
        "string literal of C or Python in quotes.");
    set.optional_operands();
    set.words("HEX", hex_);
    set.number("-o --offset", offset_, "OFFSET", "How many bytes to skip at the beginning.", {0, most_input});
    set.flag("-l --lrh", lrh_, "The MAD is in a packet that begins with its LRH.");
    set.flag("--umad", umad_, "The header that umad puts in front comes first.");
    add_show_keys(set, common);
    add_common(set, common, group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const int verbosity = session.host().options().error_level();
    const bool is_from_input = hex_.empty() || (hex_.size() == 1 && hex_.front() == "-");
    const std::string text = is_from_input ? read_input(session.host().world().in, emit) : joined(hex_, " ");
    DecodeReport report;
    report.verbosity = verbosity;
    report.keys = session.host().options().keys;
    report.input = is_literal(text) ? literal_bytes(text) : hex_bytes(text);
    std::exception_ptr failure;
    try {
      report.packet.take_apart(report.input, offset_, umad_, lrh_);
    } catch (const UsageError&) {
      failure = std::current_exception();
    }
    if (verbosity >= 2) echo(report, text, emit);
    if (failure) std::rethrow_exception(failure);
    emit(report);
    if (report.packet.format == nullptr)
      throw UsageError("No MAD of this mgmtClass and classVersion is known: does it begin elsewhere (-o, -l, --umad)?");
    co_return;
  }

 private:
  static std::string read_input(std::FILE* in, Emit& emit) {
    emit.heading("Input the MAD in HEX followed by Ctrl-D");
    const UniqueFd input(dup(fileno(in)));
    if (isatty(input.get()) != 0) emit.flush();
    return read_all(input, "standard input", most_input);
  }

  /// The input as it was typed, and as bytes; with zeros in the place of keys, if any are hidden.
  void echo(const DecodeReport& report, const std::string& text, Emit& emit) const {
    const mad::CapturedPacket& packet = report.packet;
    std::vector<std::uint8_t> shown = report.input;
    const bool masked = report.keys == Keys::hidden && packet.format != nullptr && has_secrets(packet.mad, *packet.format);
    if (masked) std::ranges::copy(mad::without_keys(packet.mad), shown.begin() + (packet.mad.data() - report.input.data()));
    if (!is_literal(text)) {
      std::string digits = text;
      std::erase_if(digits, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
      emit.heading(fmt::format("Input HEX value is:\n   '{}'", masked ? hex_text(shown) : escaped(digits)));
    }
    if (offset_ <= shown.size()) emit.heading(hex_text(Bytes(shown).subspan(offset_)));
  }

  std::vector<std::string> hex_;
  std::uint32_t offset_{};
  bool lrh_{}, umad_{};
};

}  // namespace

constinit const CommandInfo rooms::decode_mad{
    .name = "decode_mad",
    .group = HelpGroup::query,
    .summary = "Print a MAD given in hex, field by field.",
    .make = make_command<DecodeMad>,
};

}  // namespace ib::tools
