// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Keys: every structure that has one is filled with a pattern and goes through every generic printer, which must show the
// pattern where keys are asked for and nowhere else. Then the same by whole command lines.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/registry.hpp"
#include "iba/secrets.hpp"
#include "iba/wire.hpp"
#include "mad/describe.hpp"
#include "mad/error.hpp"
#include "mad/trace.hpp"
#include "report/json.hpp"
#include "report/structure.hpp"
#include "sa/records.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/sa_answer.hpp"

namespace tools_secrets_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

constexpr std::uint64_t pattern = 0xa1b2c3d4e5f61718;

/// Whether `text` holds the pattern or half of it, in any writing.
bool shows_pattern(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string& part : {std::string("a1b2c3d4"), std::string("e5f61718"), std::to_string(pattern)}) {
    if (letters.find(part) != std::string::npos) return true;
  }
  return false;
}

struct Sample {
  std::string name;
  const StructInfo* info;
  std::vector<std::uint8_t> bytes;
};

void fill(MutableBytes bytes, const StructInfo& info) {
  for (const FieldPlace& place : secret_places(info)) {
    for (std::size_t i = 0; i < place.size; ++i) bytes[place.offset + i] = static_cast<std::uint8_t>(pattern >> (56 - 8 * (i % 8)));
  }
}

/// The attribute in a MAD of each class that has it.
void add_mads(std::vector<Sample>& samples, const Sample& attribute) {
  for (const AttributeClass& in : classes_of(*attribute.info)) {
    const StructInfo* format = find_format(in.mgmt_class, in.class_version, 1, in.oui);
    if (format == nullptr) continue;
    const FieldInfo& data = *find_field(*format, "data");
    if (data.bits / 8 < attribute.bytes.size()) continue;
    Sample mad{attribute.name + " in " + std::string(format->iba_name), format, std::vector<std::uint8_t>(format->bytes)};
    mad.bytes[0] = 1;
    mad.bytes[1] = in.mgmt_class;
    mad.bytes[2] = in.class_version;
    mad.bytes[3] = mad::method::set;
    store_be(&mad.bytes[16], static_cast<std::uint16_t>(attribute.info->attribute_id));
    fill(mad.bytes, *format);
    std::ranges::copy(attribute.bytes, mad.bytes.begin() + data.bit_offset / 8);
    if (has_secrets(mad.bytes, *format)) samples.push_back(std::move(mad));
  }
}

/// Every structure that has a key, alone and in MADs; every MAD whose header has one; the notice of a wrong M_Key.
std::vector<Sample> make_samples() {
  std::vector<Sample> samples;
  for (const StructInfo& info : all_structs()) {
    Sample sample{std::string(info.iba_name), &info, std::vector<std::uint8_t>(info.bytes)};
    fill(sample.bytes, info);
    if (info.format) {
      sample.bytes[0] = 1;
      sample.bytes[1] = info.mgmt_class;
      sample.bytes[2] = info.class_version;
    }
    const FieldInfo* details = find_field(info, "data_details");
    if (details != nullptr) {
      constexpr std::uint16_t bad_m_key = 256;
      sample.bytes[0] |= 0x80;  // generic
      wire::set_bits(sample.bytes, 32, 16, bad_m_key);
      fill(MutableBytes(sample.bytes).subspan(details->bit_offset / 8), *find_trap(bad_m_key));
    }
    add_mads(samples, sample);
    if (has_secrets(sample.bytes, info)) samples.push_back(std::move(sample));
  }
  return samples;
}

using Print = std::function<std::string(const Sample&, Keys)>;

std::string json_text(const Sample& sample, Keys keys) {
  std::string text;
  report::JsonSink sink(text);
  report::visit_fields(sink, {}, sample.bytes, *sample.info, keys);
  return text;
}

std::string dotted_text(const Sample& sample, Keys keys, NameStyle names, bool reserved) {
  return dotted(sample.bytes, *sample.info, {.names = names, .reserved = reserved, .keys = keys});
}

const std::pair<const char*, Print> attribute_printers[]{
    {"words", [](const Sample& s, Keys keys) { return dump_words(s.bytes, *s.info, keys); }},
    {"dotted", [](const Sample& s, Keys keys) { return dotted_text(s, keys, NameStyle::iba, false); }},
    {"dotted, reserved too", [](const Sample& s, Keys keys) { return dotted_text(s, keys, NameStyle::saquery, true); }},
    {"json", json_text},
    {"record", [](const Sample& s, Keys keys) { return sa::record_text(s.bytes, *s.info, sa::RecordNames::saquery, keys); }},
};

const std::pair<const char*, Print> mad_printers[]{
    {"packet", [](const Sample& s, Keys keys) { return mad::dump_packet(s.bytes, keys); }},
    {"error",
     [](const Sample& s, Keys keys) {
       std::string text;
       const mad::MadError error("refused", s.bytes, s.bytes, path::IbPath());
       for (const std::string& line : error.lines(2, keys)) text += line + "\n";
       return text;
     }},
    {"trace",
     [](const Sample& s, Keys keys) {
       std::string text;
       mad::LineTracer tracer(
           2, [&text](std::string_view line) { text += line; }, keys);
       const path::Path path = path::IbPath();
       tracer.completed(s.bytes, path, s.bytes);
       tracer.retried(s.bytes, path);
       tracer.unexpected(s.bytes, path, true);
       tracer.segment(s.bytes, path, true);
       tracer.requested(s.bytes, path);
       tracer.replied(s.bytes, path);
       return text;
     }},
};

/// A host whose port 1 is linked to another host, which has an M_Key and refuses what is set.
struct Hosts {
  FakeFabric fabric;
  FakeFabric::NodeId here, other;

  Hosts() {
    here = fabric.add_ca(0x200, 1, "here");
    other = fabric.add_ca(0x300, 1, "other");
    fabric.link(here, 1, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.node(other).ports.at(1).info.m_key = pattern;
    fabric.node(other).faults.lie = [this](FakeFabric::Answer& answer) {
      if (!fabric.sets.empty()) answer[5] = 0x1c;
    };
  }
  /// Runs the command line without -K and then with it: the pattern must come out in the second run only.
  void check(std::vector<std::string> words) {
    for (const bool shown : {false, true}) {
      fabric.sets.clear();
      if (shown) words.insert(words.begin() + 1, "-K");
      const auto done = ibtool(fabric, words);
      INFO(fmt::format("{}\n{}{}", fmt::join(words, " "), done.out, done.err));
      CHECK(shows_pattern(done.out + done.err) == shown);
    }
  }
};

const std::string key_text = fmt::format("0x{:x}", pattern);

}  // namespace

TEST_CASE("no generic printer shows a key of any structure without -K") {
  std::set<std::string> marked;
  for (const Sample& sample : make_samples()) {
    marked.insert(sample.name);
    for (const auto& [name, print] : attribute_printers) {
      INFO(sample.name << " " << name);
      CHECK_FALSE(shows_pattern(print(sample, Keys::hidden)));
      CHECK(shows_pattern(print(sample, Keys::shown)));
    }
    CHECK_FALSE(shows_pattern(libibmad_listing(sample.bytes, *sample.info, Keys::hidden)));
    if (!sample.info->format) continue;
    for (const auto& [name, print] : mad_printers) {
      INFO(sample.name << " " << name);
      CHECK_FALSE(shows_pattern(print(sample, Keys::hidden)));
      CHECK(shows_pattern(print(sample, Keys::shown)));
    }
    CHECK_FALSE(shows_pattern(hex_text(mad::without_keys(sample.bytes))));
  }
  for (const char* name : {"SMPPortInfo",
                           "SMPSMInfo",
                           "SAPortInfoRecord",
                           "SASMInfoRecord",
                           "SAServiceRecord",
                           "SAServiceAssociationRecord",
                           "CCCongestionKeyInfo",
                           "MADNoticeTrap256",
                           "SMPNoticeTrap",
                           "SMPFormat",
                           "SMPFormatDirected",
                           "SAFormat",
                           "CCFormat",
                           "BMFormat",
                           "SMPPortInfo in SMPFormat",
                           "SMPPortInfo in SMPFormatDirected",
                           "SAServiceRecord in SAFormat",
                           "SMPNodeInfo in SMPFormat",
                           "CCCongestionKeyInfo in CCFormat",
                           "SMPNoticeTrap in SMPFormat"}) {
    INFO(name);
    CHECK(marked.contains(name));
  }
}

TEST_CASE("every field that is called a key is marked, or is known to be none") {
  const std::set<std::string_view> open{"p_key",      "q_key", "r_key",         "redirect_p_key", "redirect_q_key", "trap_p_key",
                                        "trap_q_key", "key",   "service_p_key", "local_q_key",    "local_cm_q_key", "magic_key"};
  for (const StructInfo& info : all_structs()) {
    for (const FieldInfo& field : info.fields) {
      if (field.name != "key" && !field.name.view().ends_with("_key")) continue;
      INFO(info.iba_name << " " << field.name.view());
      // A "key" of the vendor's attributes opens devices; that of the IBA's, of a service or a path, does not.
      const bool is_of_vendor = field.name == "key" && info.iba_name.starts_with("Mlx");
      CHECK(field.secret != (open.contains(field.name) && !is_of_vendor));
    }
  }
}

TEST_CASE("a key that is zero or well known is printed, and what is hidden is marked as such") {
  sa::Format format;
  format.mgmt_class = mad::mgmt_class::sa;
  std::vector<std::uint8_t> bytes(sa::Format::wire_size);
  for (const auto& [key, text] : {std::pair<std::uint64_t, const char*>{0, " 36 00000000 SMKey=0\n 40 00000000 \n"},
                                  {1, " 36 00000000 SMKey=1\n 40 00000001 \n"},
                                  {2, " 36 00000000 SMKey=<not displayed>\n 40 00000000 \n"}}) {
    format.sm_key = key;
    format.pack(bytes);
    CHECK_THAT(dump_words(bytes, sa::Format::info()), contains(text));
  }
  CHECK_THAT(dotted(bytes, sa::Format::info()), contains("SMKey............................<not displayed>\n"));
  CHECK_THAT(dump_words(bytes, sa::Format::info(), Keys::shown), contains(" 36 00000000 SMKey=2\n 40 00000002 \n"));
}

TEST_CASE_METHOD(Hosts, "a Set of a new M_Key that is refused, and its trace") {
  fabric.node(other).ports.at(1).info.m_key = 0;
  for (const char* level : {"-vv", "-d", "-dd", "-ddvv"}) {
    fabric.sets.clear();
    const auto hidden = ibtool(fabric, {"ibportstate", level, "2", "1", "mkey", key_text});
    INFO(level << hidden.out << hidden.err);
    REQUIRE(fabric.sets.size() == 1);
    CHECK(load_be<std::uint64_t>(&fabric.sets[0][64]) == pattern);  // it went out whole
    CHECK(hidden.status == 3);
    CHECK_FALSE(shows_pattern(hidden.out + hidden.err));
    if (std::string_view(level) != "-d") CHECK_THAT(hidden.err, contains("MKey=<not displayed>"));
    fabric.sets.clear();
    const auto shown = ibtool(fabric, {"ibportstate", level, "-K", "2", "1", "mkey", key_text});
    CHECK(shows_pattern(shown.err) == (std::string_view(level) != "-d"));
  }
}

TEST_CASE_METHOD(Hosts, "an M_Key that is sent or read") {
  for (const char* level : {"-v", "-vv", "-d", "-dd"}) {
    fabric.node(other).ports.at(1).info.m_key = 0;
    check({"ibportstate", level, "-y", key_text, "2", "1", "mkeylease", "5"});
  }
  fabric.node(other).ports.at(1).info.m_key = pattern;
  check({"smpquery", "PI", "2"});
  check({"smpquery", "-vv", "PI", "2"});
  check({"smpquery", "-dd", "PI", "2"});
  check({"smpquery", "--json", "PI", "2"});
  check({"query", "SubnGet", "SMPPortInfo", "2"});
  check({"query", "-vv", "SubnGet", "SMPPortInfo", "2"});
  check({"query", "--json", "SubnGet", "SMPPortInfo", "2"});
  check({"smpdump", "2", "0x15"});
  check({"smpdump", "-p", "2", "0x15"});
  check({"smpdump", "--json", "2", "0x15"});
  check({"ibportstate", "2", "1", "query"});
  const auto dump = ibtool(fabric, {"smpdump", "2", "0x15"});
  CHECK_THAT(dump.out, ibtest::starts_with("0000 0000 0000 0000 "));
  CHECK_THAT(dump.out, ibtest::ends_with("# A key is set but not displayed: -K shows it\n"));
  CHECK(json::parse(ibtool(fabric, {"smpdump", "--json", "2", "0x15"}).out)["mad"]["data"]["m_key"].is_null());
}

TEST_CASE_METHOD(Hosts, "keys in requests to the SA and in its answers") {
  sa::ServiceRecord service;
  sa::SMInfoRecord manager;
  manager.sm_info.sm_key = pattern;
  for (std::size_t i = 0; i < 16; ++i) service.service_key.bytes[i] = static_cast<std::uint8_t>(pattern >> (56 - 8 * (i % 8)));
  fabric.network.rmpp = true;
  fabric.network.gmp = [&](Bytes request, const path::Path&) -> std::optional<FakeFabric::Answer> {
    std::vector<std::uint8_t> whole(request.begin(), request.end());
    whole.resize(mad::packet_size);
    const bool services = load_be<std::uint16_t>(&whole[16]) == sa::ServiceRecord::attribute_id;
    if (whole[17] == 0x11) {  // NodeRecord: none
      whole[3] |= 0x80;
      whole[4] = 3;
      return whole;
    }
    return ibtest::sa_table(whole, {services ? ibtest::padded(service) : ibtest::padded(manager)});
  };
  for (const char* record : {"SR", "SMIR"}) {
    check({"saquery", record});
    check({"saquery", "--json", record});
    check({"saquery", "--int-names", record});
    check({"saquery", "-dd", record});
  }
  check({"query", "-vv", "SubnAdmGetTable", "ServiceRecord"});
  for (const char* level : {"-d", "-dd", "-v", "-vv"}) check({"smpquery", level, "--sa", "--smkey", key_text, "NI", "2"});
  const std::string service_key = "serviceKey=a1b2:c3d4:e5f6:1718::";
  service.service_key = {};
  check({"saquery", "-v", "ServiceRecord", service_key});
  check({"saquery", "--json", "ServiceRecord", service_key});
  // What is wrong is not repeated either, with or without -K.
  for (const char* keys : {"-d", "-K"}) {
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"saquery", keys, "ServiceRecord", "serviceKey=a1b2:c3d4:e5f6:1718:"},
                                               {"saquery", keys, "NR", "--smkey", key_text + "x"},
                                               {"query", keys, "SubnSet", "SMPPortInfo", "2", "-f", "MKey=" + key_text + "0"},
                                               {"smpquery", keys, "NI", "IBPath(MKey=" + key_text + "x)"},
                                               {"smpquery", keys, "NI", "IBPath(DLID=2, SMKey=" + key_text},
                                               {"smpquery", keys, "--sa-path", "IBPath(DLID=2, mkey=" + key_text + ")", "NI", "2"}}) {
      const auto wrong = ibtool(fabric, words);
      INFO(fmt::format("{}\n{}{}", fmt::join(words, " "), wrong.out, wrong.err));
      CHECK(wrong.status == 2);
      CHECK_FALSE(shows_pattern(wrong.out + wrong.err));
    }
  }
}

TEST_CASE("decode_mad hides keys, also in what it repeats of the input") {
  for (const Sample& sample : make_samples()) {
    if (!sample.info->format) continue;
    const std::string hex = hex_text(sample.bytes);
    for (const char* level : {"-v", "-vv", "--json"}) {
      INFO(sample.name << " " << level);
      for (const std::string& text : {"00" + hex, "'\\x00" + fmt::format("\\x{:02x}", fmt::join(sample.bytes, "\\x")) + "'"}) {
        const auto done = ibtool({"decode_mad", "-o", "1", level}, {.in = text});
        CHECK(done.status == 0);
        CHECK_FALSE(shows_pattern(done.out + done.err));
        CHECK(shows_pattern(ibtool({"decode_mad", "-o", "1", level, "-K"}, {.in = text}).out));
      }
    }
  }
  const auto wrong = ibtool({"decode_mad", "-vv"}, {.in = "0101"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.out, contains("Input HEX value is:\n   '0101'\n0101\n"));
}

}  // namespace tools_secrets_tests
