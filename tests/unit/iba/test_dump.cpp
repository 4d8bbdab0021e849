// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Dumps and listings against recordings of python-rdma. A recorded word dump carries its bytes, so each test
// reads them back from the text; listings are refilled from their own values.
#include "iba/dump.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "iba/dialects.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "mad/describe.hpp"
#include "support/catch.hpp"

namespace iba_test_dump_tests {

using namespace ib;

namespace {

std::string file_text(const std::string& name) {
  std::ifstream in(std::string(IBA_TEST_DATA) + '/' + name);
  REQUIRE(in);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Recording {
  std::string title, text;
  std::vector<std::uint8_t> bytes;
  const StructInfo* info = nullptr;
};

Recording recorded_dump(const std::string& name) {
  Recording r;
  const std::string all = file_text(name);
  r.title = all.substr(0, all.find('\n'));
  r.text = all.substr(all.find('\n') + 1);
  r.info = find_struct(r.title.substr(0, r.title.find(' ')));
  REQUIRE(r.info != nullptr);
  r.bytes.resize(r.info->bytes);
  std::istringstream lines(r.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 3, "   ") == 0) continue;  // begin or end of a nested structure
    const std::size_t at = std::stoul(line.substr(0, 3));
    const auto word = static_cast<std::uint32_t>(std::stoul(line.substr(4, 8), nullptr, 16));
    store_bytes<4>(&r.bytes.at(at), word);
  }
  return r;
}

/// The values of a listing, in its order: what stands behind the dots.
std::vector<std::string> listed_values(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto dots = line.find_last_of('.');
    auto at = dots == std::string::npos ? std::string::npos : dots + 1;
    if (line.find("Enabled:") != std::string::npos && dots == std::string::npos) at = line.find(':') + 1;
    if (at == std::string::npos) at = line.find_first_of("0123456789");
    out.push_back(line.substr(at));
  }
  return out;
}

std::vector<std::uint8_t> refill(const StructInfo& info, const std::vector<std::string>& values) {
  std::vector<std::uint8_t> bytes(info.bytes);
  auto value = values.begin();
  for (const FieldInfo& f : info.fields) {
    if (f.reserved || !dialects_of(f).was.empty()) continue;
    REQUIRE(value != values.end());
    set_field(bytes, info, f.iba_name, *value++);
  }
  CHECK(value == values.end());
  return bytes;
}

}  // namespace

TEST_CASE("other programs' words belong to a field of a descriptor, not to a copy of it") {
  const StructInfo& info = smp::NodeInfo::info();
  const FieldInfo& field = *find_field(info, "node_guid");
  CHECK(dialects_of(field).smpquery == "Guid");
  CHECK(dialects_of(field).libibmad == "Guid");
  CHECK(dialects_of(field).libibmad_text == LibibmadText::hex);
  CHECK(find_field(info, "guid") == &field);
  const FieldInfo copy = field;
  CHECK(dialects_of(copy).smpquery.empty());
  CHECK(dialects_of(copy).libibmad_text == LibibmadText::none);
}

TEST_CASE("word dumps equal the recorded ones") {
  for (const char* name : {"dump_dr_nodeinfo.txt", "dump_portinfo.txt", "dump_smp_nodeinfo.txt", "dump_dr_portinfo_get.txt",
                           "dump_pm_counters.txt", "dump_sa_pathrecord.txt", "dump_sa_err.txt", "dump_guidinfo.txt"}) {
    const auto r = recorded_dump(name);
    INFO(name);
    CHECK(dump_words(r.bytes, *r.info) == r.text);
  }
}

TEST_CASE("a MAD is described as recorded") {
  for (const char* name :
       {"dump_smp_nodeinfo.txt", "dump_dr_portinfo_get.txt", "dump_pm_counters.txt", "dump_sa_pathrecord.txt", "dump_sa_err.txt"}) {
    const auto r = recorded_dump(name);
    CHECK(std::string(r.info->iba_name) + " " + mad::full_description(r.bytes) == r.title);
  }
  CHECK(mad::full_description(Bytes{}) == "MAD_METHOD_?\?(0) ?\?(0.0) ?\?(0)");
}

TEST_CASE("the offset is added to the offsets of a dump") {
  const std::array<std::uint8_t, 4> led{0x80, 0, 0, 0};
  CHECK(dump_words(led, *find_struct("SMPLedInfo"), Keys::hidden, 64) == " 64 80000000 ledMask=1,reserved_1=0\n");
}

TEST_CASE("fields that were reserved once show as soon as they are set") {
  const StructInfo& info = *find_struct("SMPPortInfo");
  std::vector<std::uint8_t> bytes(info.bytes);
  CHECK_THAT(dump_words(bytes, info), ibtest::contains(" 56 00000000 reserved_448=0,linkRoundTripLatency=0\n"));
  CHECK(dotted(bytes, info).find("Ext2") == std::string::npos);
  set_field(bytes, info, "linkSpeedExtActive2", "XDR");
  CHECK_THAT(dump_words(bytes, info), ibtest::contains(" 56 20000000 reserved_448=0,linkSpeedExtActive2=1,linkRoundTripLatency=0\n"));
  CHECK_THAT(dotted(bytes, info), ibtest::contains("LinkSpeedExtActive2..............1\n"));
}

TEST_CASE("dotted listings equal the recorded ones") {
  struct Case {
    const char *file, *structure;
    DottedOptions options;
  };
  const Case cases[] = {
      {"dotted_smpquery_pi.txt", "SMPPortInfo", {.names = NameStyle::smpquery, .colon = true}},
      {"dotted_smpquery_pi_int.txt", "SMPPortInfo", {}},
      {"dotted_perfquery.txt", "PMPortCounters", {.names = NameStyle::perfquery, .colon = true}},
  };
  for (const auto& c : cases) {
    INFO(c.file);
    const auto text = file_text(c.file);
    const StructInfo& info = *find_struct(c.structure);
    CHECK(dotted(refill(info, listed_values(text)), info, c.options) == text);
  }
}

TEST_CASE("arrays and text list as recorded") {
  const StructInfo& table = *find_struct("SMPLinearForwardingTable");
  std::vector<std::uint8_t> ports(64, 255);
  const std::array<std::uint8_t, 5> first{255, 1, 0, 3, 2};
  std::copy(first.begin(), first.end(), ports.begin());
  CHECK(dotted(ports, table) == file_text("dotted_query_lft.txt"));

  std::vector<std::uint8_t> name(64);
  set_field(name, *find_struct("SMPNodeDescription"), "nodeString", "Switch1");
  CHECK(dotted(name, *find_struct("SMPNodeDescription")) == file_text("dotted_query_nd.txt"));

  const StructInfo& guids = *find_struct("SAGUIDInfoRecord");
  std::vector<std::uint8_t> record(guids.bytes);
  set_field(record, guids, "LID", "1");
  set_field(record, guids, "GUIDBlock[0]", "0000:0000:0010:0001");
  const DottedOptions options{.names = NameStyle::saquery, .column = 25, .reserved = true, .indent = "\t\t"};
  const auto text = file_text("dotted_saquery_guidinfo.txt");
  CHECK(dotted(record, guids, options) == text);
}

TEST_CASE("a multicast LID lists in hex, others in decimal") {
  const StructInfo& info = *find_struct("SAMCMemberRecord");
  std::vector<std::uint8_t> bytes(info.bytes);
  set_field(bytes, info, "MLID", "0xc000");
  CHECK_THAT(dotted(bytes, info), ibtest::contains("MLID.............................0xc000\n"));
  CHECK_THAT(dump_words(bytes, info), ibtest::contains("MLID=49152"));
}

TEST_CASE("the details of a generic notice list as its trap's") {
  const StructInfo& info = *find_struct("SMPNoticeTrap");
  std::vector<std::uint8_t> bytes(info.bytes);
  set_field(bytes, info, "trapNumber", "128");
  bytes[11] = 7;                                                                               // the LID of the details
  CHECK_THAT(dotted(bytes, info), ibtest::contains("DataDetails......................0007"));  // not generic: unknown
  set_field(bytes, info, "isGeneric", "1");
  CHECK_THAT(dotted(bytes, info), ibtest::contains("dataDetails.LidAddr..............7\n"));
  set_field(bytes, info, "trapNumber", "9999");
  CHECK_THAT(dotted(bytes, info), ibtest::contains("DataDetails......................0007"));
}

TEST_CASE("hostile text is escaped") {
  const StructInfo& info = *find_struct("SMPNodeDescription");
  std::vector<std::uint8_t> bytes(info.bytes);
  std::ranges::copy(std::string_view("it's\x1b[31m"), bytes.begin());
  CHECK_THAT(dotted(bytes, info), ibtest::ends_with("\"it's\\x1b[31m\"\n"));
}

TEST_CASE("libibmad's listing has its names and words") {
  const StructInfo& info = *find_struct("SMPNodeInfo");
  std::vector<std::uint8_t> bytes(info.bytes);
  set_field(bytes, info, "nodeType", "Switch");
  set_field(bytes, info, "nodeGUID", "0x200000");
  const auto text = libibmad_listing(bytes, info);
  CHECK_THAT(text, ibtest::contains("NodeType:........................Switch\n"));
  CHECK_THAT(text, ibtest::contains("Guid:............................0x0000000000200000\n"));
}

TEST_CASE("libibmad's listing of chosen fields, of hidden ones, and of what is younger than libibmad") {
  const StructInfo& info = smp::PortInfo::info();
  std::vector<std::uint8_t> bytes(info.bytes);
  CHECK_THAT(libibmad_listing(bytes, info), ibtest::starts_with("Mkey:............................<not displayed>\nGidPrefix:"));
  CHECK_THAT(libibmad_listing(bytes, info), !ibtest::contains("LinkSpeedExtActive2"));
  CHECK_THAT(libibmad_listing(bytes, info, Keys::hidden, NewFields::always),
             ibtest::ends_with("LinkSpeedExtActive2:.............No Extended Speed 2\nLinkSpeedExtSupported2:..........0\n"
                               "LinkSpeedExtEnabled2:............0\n"));
  constexpr std::string_view fields[]{"lmc", "lid"};
  CHECK(libibmad_listing(bytes, info, fields) == "LMC:.............................0\nLid:.............................0\n");
  constexpr std::string_view unknown[]{"lmd"};
  CHECK_THROWS_AS(libibmad_listing(bytes, info, unknown), std::logic_error);
  bytes[56] = 0b0'00'01'011;
  CHECK_THAT(libibmad_listing(bytes, info), ibtest::ends_with("LinkSpeedExtActive2:.............No Extended Speed 2\n"
                                                              "LinkSpeedExtSupported2:..........212.5 Gbps\n"
                                                              "LinkSpeedExtEnabled2:............212.5 Gbps or undefined (3)\n"));
}

}  // namespace iba_test_dump_tests
