// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Mistakes in the files of a site and in numbers on the command line are reported, and have no other effect.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "formats/node_name_map.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "unit/tools/sample_lines.hpp"

namespace tools_site_files_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;

namespace {

/// A switch (LID 1) with the host of the test (LID 2) at port 1, and a file to be filled.
struct Site {
  FakeFabric fabric;
  ibtest::FakeSysfs directory;
  std::string file = directory.root() / "file";

  Site() {
    const auto leaf = fabric.add_switch(0x100, 4, "leaf 1");
    const auto here = fabric.add_ca(0x200, 1, "here");
    fabric.link(leaf, 1, here, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }
  void write(const std::string& text) const { std::ofstream(file) << text; }
};

}  // namespace

TEST_CASE_METHOD(Site, "a mistake in the file of -z is a warning with file and line") {
  write("Port=1\ntiemout=5\ntimeout=soon\nm_key=0xsecret\n");
  const auto done = ibtool(fabric, {"smpquery", "-z", file, "ND", "1"});
  CHECK(done.status == 0);
  CHECK(done.out == "Node Description: 'leaf 1'\n");
  CHECK(done.err == "W: " + file + ":2: no option is called 'tiemout'\nW: " + file + ":3: timeout: 'soon' is not within 1…2147483647\n" +
                        "W: " + file + ":4: m_key: not an unsigned integer of 64 bits\n");
}

TEST_CASE_METHOD(Site, "a file of -z that is missing is an error, and by legacy names none") {
  const auto done = ibtool(fabric, {"smpquery", "-z", file, "ND", "1"});
  CHECK(done.status == 2);
  CHECK(done.out.empty());
  CHECK(done.err == "E: smpquery: --config: open " + file + ": No such file or directory (see ibtool help smpquery)\n");
  CHECK_THAT(ibtest::diags({"smpquery", "-z", file}).err, contains("Usage: smpquery"));
}

TEST_CASE_METHOD(Site, "a file of -z that is not a regular file is refused, not read for ever") {
  const auto done = ibtool(fabric, {"smpquery", "-z", "/dev/zero", "ND", "1"});
  CHECK(done.status == 2);
  CHECK_THAT(done.err, contains("/dev/zero"));
  CHECK(ibtest::diags({"smpquery", "-z", "/dev/zero"}).status != 0);
}

TEST_CASE_METHOD(Site, "the name of a file makes no further line of complaint") {
  const std::string name = file + "\nE: forged";
  for (const auto& [arguments, words] : ibtest::sample_lines("reads-file", {{"file", name}})) {
    const auto done = ibtool(fabric, words);
    CAPTURE(words, done.out, done.err);
    CHECK(done.status != 0);
    CHECK_THAT(done.err, contains("E: ") && !contains("\nE: forged"));
    CHECK_THAT(done.out, !contains("forged"));
  }
  write("leaf\nx");
  std::filesystem::copy_file(file, name);
  CHECK_THAT(ibtool(fabric, {"iblinkinfo", "--node-name-map", name}).err, contains("W: ") && !contains("\nE: forged"));
}

TEST_CASE_METHOD(Site, "a device or port that is the default of a file is reported with the file") {
  write("CA=nosuch\n");
  const auto device = ibtool(fabric, {"smpquery", "-z", file, "ND", "1"});
  CHECK(device.status == 2);
  CHECK_THAT(device.err, contains("RDMA device 'nosuch' not found (here: fake0/1) (CA=nosuch stands in " + file + ")"));
  CHECK_THAT(ibtool(fabric, {"set_nodedesc", "-z", file}).err, contains(file));
  CHECK(ibtool(fabric, {"smpquery", "-z", file, "-C", "fake0", "ND", "1"}).status == 0);
  CHECK(ibtool(fabric, {"smpquery", "-z", file, "-C", "nosuch", "ND", "1"}).err.find(file) == std::string::npos);
  write("Port=7\n");
  CHECK_THAT(ibtool(fabric, {"smpquery", "-z", file, "ND", "1"}).err, contains("(Port=7 stands in " + file + ")"));
}

TEST_CASE_METHOD(Site, "keys are prompted for, and not repeated") {
  const std::vector<std::string> words{"query", "SubnAdmGet", "NodeRecord", "--smkey", "?", "-vv", "--retries", "0", "-t", "1", "-K"};
  const auto asked = ibtool(fabric, words, {.in = "0x1234\n"});
  CHECK_THAT(asked.err, contains("SMKey=4660"));
  const auto refused = ibtool(fabric, {"smpquery", "--smkey", "hush-hush", "ND", "1"}, {.in = "hush-hush\n"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, contains("--smkey: not an unsigned integer of 64 bits"));
  CHECK(refused.err.find("hush") == std::string::npos);
}

TEST_CASE_METHOD(Site, "a bad line of a name map is a warning, and the others hold") {
  write("leaf 1\n0000:0000:0000:0100 \"rack 7\"\n");
  const auto done = ibtool(fabric, {"smpquery", "--node-name-map", file, "ND", "1"});
  CHECK(done.status == 0);
  CHECK_THAT(done.out, contains("'rack 7'"));
  CHECK(done.err == "W: " + file + ":1: no GUID at the start of the line\n");

  std::string text;
  for (int i = 0; i < 15; ++i) text += "no map\n";
  write(text);
  const auto many = ibtool(fabric, {"smpquery", "--node-name-map", file, "ND", "1"});
  CHECK(many.status == 0);
  CHECK_THAT(many.err, contains(":10: no GUID") && contains("W: " + file + ": 5 more lines without a GUID\n"));
  CHECK(many.err.find(":11: ") == std::string::npos);
}

TEST_CASE_METHOD(Site, "the site's names come from the first file that exists, by legacy names only from the first place") {
  const std::string missing = directory.root() / "missing";
  write("0x100 \"rack 7\"\n");
  const std::vector<std::string> words{"smpquery", "ND", "1"};
  CHECK_THAT(ibtool(fabric, words, {.node_name_maps = {missing, file}}).out, contains("'rack 7'"));
  CHECK_THAT(ibtool(fabric, words, {.node_name_maps = {file, missing}}).out, contains("'rack 7'"));
  CHECK_THAT(ibtool(fabric, words, {.node_name_maps = {missing, missing}}).out, contains("'leaf 1'"));
  const std::vector<std::string> legacy{"ibswitches"};
  const auto first_place = ibtest::diags(fabric, legacy, {.node_name_maps = {file, missing}});
  CHECK_THAT(first_place.out, contains("\"rack 7\""));
  const auto old_place = ibtest::diags(fabric, legacy, {.node_name_maps = {missing, file}});
  CHECK_THAT(old_place.out, contains("\"leaf 1\""));
  CHECK(old_place.err == first_place.err);
  CHECK(std::string(formats::node_name_map_files.front()) == "/etc/rdma/ib-node-name-map");
}

TEST_CASE_METHOD(Site, "a device that can not be opened: infiniband-diags' words, each on its stream") {
  const ibtest::Outside closed{.open_failure = EACCES};
  const auto query = ibtest::diags(fabric, {"saquery"}, closed);
  CHECK(query.status == 255);
  CHECK(query.out.empty());
  CHECK_THAT(query.err, contains("sa_get_handle: umad_open_port on port (null):0 failed\n") &&
                            contains("main: Failed to bind to the SA: Permission denied\n") && !contains("abi_version"));
  const auto dump = ibtest::diags(fabric, {"smpdump", "1", "0x11"}, closed);
  CHECK(dump.out.empty());
  CHECK_THAT(dump.err, contains("main: can't open UMAD port ((null):0): Permission denied\n"));
  const auto tables = ibtest::diags(fabric, {"dump_lfts"}, closed);
  CHECK_THAT(tables.err, contains("can't open UMAD port ((null):0)\nFailed to discover fabric\n"));
  const auto ports = ibtest::diags(fabric, {"ibaddr"}, closed);
  CHECK_THAT(ports.out, contains("Failed to open '(null)' port '0'"));
  CHECK_THAT(ports.err, contains("mad_rpc_open_port: can't open UMAD port ((null):0)\n"));
}

TEST_CASE_METHOD(Site, "numbers have ranges, and complaints name them") {
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"-o", "0"}, "--outstanding_smps: 0 is not within 1…4096"},  // would wait for ever
      {{"-o", "4097"}, "--outstanding_smps: 4097 is not within 1…4096"},
      {{"-o", "-1"}, "--outstanding_smps: -1 is not within 1…4096"},
      {{"--retries", "4294967295"}, "--retries: 4294967295 is not within 0…255"},  // and one more would be none
      {{"--retries", "-1"}, "--retries: -1 is not within 0…255"},
      {{"-t", "0"}, "--timeout: 0 is not within 1…2147483647"},
      {{"-Y", "65536"}, "--pkey-idx: 65536 is not within 0…65535"}};
  for (const auto& [words, complaint] : wrong) {
    CAPTURE(complaint);
    std::vector<std::string> line{"ibnetdiscover"};
    line.insert(line.end(), words.begin(), words.end());
    const auto done = ibtool(fabric, line);
    CHECK(done.status == 2);
    CHECK(done.out.empty());
    CHECK_THAT(done.err, contains(complaint));
  }
  CHECK_THAT(ibtool(fabric, {"sminfo", "-s", "16"}).err, contains("--state: 16 is not within 0…15"));
  CHECK_THAT(ibtool(fabric, {"sminfo", "-p", "300"}).err, contains("--priority: 300 is not within 0…15"));
  CHECK(ibtool(fabric, {"ibnetdiscover", "-o", "1", "--retries", "255"}).status == 0);
}

}  // namespace tools_site_files_tests
