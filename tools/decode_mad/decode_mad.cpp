// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// decode_mad: a MAD as hexadecimal digits (or a C or Python string literal), decoded.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <vector>

#include "base/escape.hpp"
#include "iba-gen/hdr.hpp"
#include "iba-gen/mad.hpp"
#include "iba/describe.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "mad/describe.hpp"
#include "report/structure.hpp"
#include "tools/decode_mad/hex_input.hpp"
#include "tools/frame/commands.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t mad_bytes = 256, umad_bytes = 64, most_input = 1U << 20;

std::string read_all(int file) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SysError(errno, "read", "standard input");
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > most_input) throw UsageError("The input is longer than any MAD");
  }
}

/// The header that the kernel puts before a MAD that it passes through /dev/infiniband/umadN (struct ib_user_mad_hdr).
/// The first numbers of the header are in host order, the addresses in network order.
struct UmadHeader {
  Bytes bytes;

  template <class T>
  T host(std::size_t at) const {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  std::uint32_t network32(std::size_t at) const { return load_be<std::uint32_t>(bytes.data() + at); }
  unsigned byte(std::size_t at) const { return bytes[at]; }
  Gid gid() const {
    Gid value;
    std::copy_n(bytes.begin() + 36, 16, value.bytes.begin());
    return value;
  }

  void visit(report::Sink& sink) const {
    for (const auto& [name, at] : {std::pair{"agent_id", 0U}, {"status", 4U}, {"timeout_ms", 8U}, {"retries", 12U}, {"length", 16U}})
      sink.value(name, host<std::uint32_t>(at));
    sink.value("qpn", network32(20));
    sink.value("qkey", network32(24));
    sink.value("lid", load_be<std::uint16_t>(bytes.data() + 28));
    for (const auto& [name, at] :
         {std::pair{"sl", 30U}, {"path_bits", 31U}, {"grh_present", 32U}, {"gid_index", 33U}, {"hop_limit", 34U}, {"traffic_class", 35U}})
      sink.value(name, byte(at));
    sink.value("gid", gid());
    sink.value("flow_label", network32(52));
    sink.value("pkey_index", host<std::uint16_t>(56));
  }

  void text(TextOut& out) const {
    std::string words[umad_bytes / 4];
    for (const auto& [name, at] : {std::pair{"agent_id", 0U}, {"status", 4U}, {"timeout_ms", 8U}, {"retries", 12U}, {"length", 16U}})
      words[at / 4] = fmt::format("{}={}", name, host<std::uint32_t>(at));
    words[5] = fmt::format("qpn={}", network32(20));
    words[6] = fmt::format("qkey={}", network32(24));
    words[7] = fmt::format("lid={},sl={},path_bits={}", load_be<std::uint16_t>(bytes.data() + 28), byte(30), byte(31));
    words[8] = fmt::format("grh_present={},gid_index={},hop_limit={},traffic_class={}", byte(32), byte(33), byte(34), byte(35));
    words[9] = fmt::format("gid=GID('{}')", to_text(gid()));
    words[13] = fmt::format("flow_label={}", network32(52));
    words[14] = fmt::format("pkey_index={},reserved_58=<6 bytes>", host<std::uint16_t>(56));
    out.write("UMADHdr\n");
    for (unsigned i = 0; i < umad_bytes / 4; ++i) out.print("{:3} {:08X} {}\n", i * 4, network32(i * 4), words[i]);
  }
};

struct DecodedPart {
  const StructInfo* info;
  Bytes bytes;
};

struct DecodeReport final : Report {
  std::vector<std::uint8_t> input;
  std::optional<UmadHeader> umad;
  std::vector<DecodedPart> headers;
  Bytes mad;
  const StructInfo* format{};  ///< of the MAD; null: not known
  int verbosity{};
  Keys keys = Keys::hidden;

  void visit(report::Sink& sink) const override {
    if (umad) {
      sink.begin_object("umad");
      umad->visit(sink);
      sink.end_object();
    } else {
      sink.null("umad");
    }
    sink.objects("headers", headers, [&](const DecodedPart& part) {
      sink.value("structure", part.info->iba_name);
      report::visit_fields(sink, "data", part.bytes, *part.info, keys);
    });
    sink.value("mad_description", mad_description(mad));
    sink.text_or_null("format", format != nullptr ? format->iba_name : "");
    format != nullptr ? report::visit_fields(sink, "mad", mad, *format, keys) : sink.null("mad");
  }
  void print(TextOut& out, const DecodedPart& part) const {
    out.print("{}\n{}", part.info->iba_name, dump_words(part.bytes, *part.info, keys));
  }
  void text(TextOut& out) const override {
    if (umad && verbosity >= 1) umad->text(out);
    if (verbosity >= 1) {
      for (const DecodedPart& part : headers) print(out, part);
    }
    if (verbosity >= 1 || format == nullptr) print(out, {&mad::Header::info(), mad});
    if (format != nullptr) out.print("{} {}\n{}", format->iba_name, mad_description(mad), dump_words(mad, *format, keys));
  }
};

/// Takes `size` bytes off the front of `rest`. Throws UsageError if there are fewer.
Bytes take(Bytes& rest, std::size_t size, std::string_view what) {
  if (rest.size() < size) throw UsageError(fmt::format("The input ends within {}: {} of {} bytes", what, rest.size(), size));
  const Bytes taken = rest.first(size);
  rest = rest.subspan(size);
  return taken;
}
template <class T>
T take(Bytes& rest, std::vector<DecodedPart>& parts) {
  parts.push_back({&T::info(), take(rest, T::wire_size, T::info().iba_name)});
  return T::unpack(parts.back().bytes);
}

/// The headers of an unreliable datagram before its MAD (IBA 7.7, 8.3, 9.2, 9.3.2).
void take_link_headers(Bytes& rest, std::vector<DecodedPart>& parts) {
  const auto lrh = take<hdr::Lrh>(rest, parts);
  if ((lrh.lnh & 2) == 0) throw UsageError("The packet is a raw packet: it has no BTH and no MAD");
  if ((lrh.lnh & 1) != 0) take<hdr::Grh>(rest, parts);
  const auto bth = take<hdr::Bth>(rest, parts);
  if (bth.service != 3 || (bth.function != 4 && bth.function != 5))
    throw UsageError(fmt::format("The packet is not a datagram: its BTH names service {}, function {}", bth.service, bth.function));
  take<hdr::Deth>(rest, parts);
  if (bth.function == 5) take<hdr::ImmDt>(rest, parts);
}

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
    const std::string text = is_from_input ? read_input(session.host(), emit) : fmt::format("{}", fmt::join(hex_, " "));
    DecodeReport report;
    report.verbosity = verbosity;
    report.keys = session.host().options().keys;
    report.input = is_literal(text) ? literal_bytes(text) : hex_bytes(text);
    std::exception_ptr failure;
    try {
      take_apart(report);
    } catch (const UsageError&) {
      failure = std::current_exception();
    }
    if (verbosity >= 2) echo(report, text, emit);
    if (failure) std::rethrow_exception(failure);
    emit(report);
    if (report.format == nullptr)
      throw UsageError("No MAD of this mgmtClass and classVersion is known: does it begin elsewhere (-o, -l, --umad)?");
    co_return;
  }

 private:
  static std::string read_input(Host& host, Emit& emit) {
    emit.heading("Input the MAD in HEX followed by Ctrl-D");
    const int input = fileno(host.world().in);
    if (isatty(input) != 0) emit.flush();
    return read_all(input);
  }

  void take_apart(DecodeReport& report) const {
    Bytes rest = report.input;
    take(rest, offset_, "the offset");
    if (umad_) report.umad = UmadHeader{take(rest, umad_bytes, "the umad header")};
    if (lrh_) take_link_headers(rest, report.headers);
    report.mad = rest.first(std::min(rest.size(), mad_bytes));
    take(rest, mad::Header::wire_size, "the MAD header");
    const auto header = mad::Header::unpack(report.mad);
    report.format = ib::find_format(header.mgmt_class, header.class_version, header.base_version, mad_oui(report.mad));
  }

  /// The input as it was typed, and as bytes; with zeros in the place of keys, if any are hidden.
  void echo(const DecodeReport& report, const std::string& text, Emit& emit) const {
    std::vector<std::uint8_t> shown = report.input;
    const bool masked = report.keys == Keys::hidden && report.format != nullptr && has_secrets(report.mad, *report.format);
    if (masked) {
      const std::vector<std::uint8_t> mad = mad::without_keys(report.mad);
      std::ranges::copy(mad, shown.begin() + (report.mad.data() - report.input.data()));
    }
    if (!is_literal(text))
      emit.heading(fmt::format("Input HEX value is:\n   '{}'", masked ? hex_text(shown) : escaped(without_blanks(text))));
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
