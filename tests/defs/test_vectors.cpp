// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Vectors that python-rdma packed: every field must read and write the same, through the typed code and
// through the generic view. Where our layout differs on purpose, the exceptions say so.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "defs/files.hpp"
#include "defs/typed.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "support/catch.hpp"

using namespace ib;
using ibtest::Plain;
using nlohmann::json;

namespace {

/// Fields that python-rdma lays out otherwise. "*" means the whole structure.
const std::map<std::string, std::map<std::string, std::string>> moved = {
    {"SAMulticastForwardingTableRecord",
     {{"reserved_16", "Position comes first (saquery, OpenSM)"}, {"position", "same"}, {"blockNum", "9 bits (saquery, OpenSM)"}}},
    {"CMSIDR_REP", {{"*", "Linux CM: Status, QPN, ServiceID, Q_Key stand elsewhere"}}},
    {"CMMRA", {{"reserved_80", "PrivateData begins here (Linux CM)"}, {"privateData", "same"}}},
    {"SMPVendorDiag", {{"reserved_16", "DiagData begins here"}, {"diagData", "same"}}},
    {"SMPNoticeTrap", {{"dataDetails", "54 bytes in one field"}, {"dataDetails2", "same"}}},
    {"OFASysStatPing", {{"*", "only the cookie is defined"}}},
};

/// Reserved by python-rdma, defined here: the bits are compared through the fields that took their place.
const std::set<std::string> defined_since = {"CMREQ.reserved_412",
                                             "CMREP.reserved_219",
                                             "CMSIDR_REQ.reserved_32",
                                             "SMPPortInfo.reserved_448",
                                             "MlxGeneralInfo.reserved_0",
                                             "SAPortInfoRecord.reserved_24",
                                             "PMPortCounters.reserved_160",
                                             "PMPortCountersExt.reserved_32",
                                             "SAMultiPathRecord.reserved_64",
                                             "SAMultiPathRecord.reserved_104",
                                             "SAMultiPathRecord.reserved_136",
                                             "SAMultiPathRecord.reserved_160",
                                             "SAPortInfoRecord.portInfo.reserved_448"};

const std::map<std::string, std::string>& exceptions(const std::string& name) {
  static const std::map<std::string, std::string> none;
  const auto found = moved.find(name);
  return found == moved.end() ? none : found->second;
}

bool is_skipped(const std::string& name, const std::string& path) {
  return exceptions(name).contains(path.substr(0, path.find_first_of(".["))) || defined_since.contains(name + "." + path);
}

std::vector<std::uint8_t> as_vector(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

/// What the vector says, as the kind of the field wants it.
Plain expected(const FieldInfo& f, const json& value) {
  if (value.is_number()) return value.get<std::uint64_t>();
  const auto text = value.get<std::string>();
  if (f.kind == FieldKind::gid) return as_vector(parse_gid(text).value().bytes);
  if (f.kind == FieldKind::guid) return parse_guid(text).value().value;
  return ibtest::from_hex(text);
}

Plain actual(Bytes bytes, const FieldRef& ref) {
  const Value v = read_path(bytes, ref);
  if (const auto* raw = std::get_if<Bytes>(&v)) return as_vector(*raw);
  if (const auto* gid = std::get_if<Gid>(&v)) return as_vector(gid->bytes);
  return read_number(bytes, *ref.field, 0, ref.bit_offset - ref.field->bit_offset);
}

/// The text that set_field takes for a value.
std::string text_for(const FieldInfo& f, const json& value) {
  if (value.is_number()) return std::to_string(value.get<std::uint64_t>());
  if (f.kind != FieldKind::text) return value.get<std::string>();
  const auto raw = ibtest::from_hex(value.get<std::string>());
  return {raw.begin(), raw.end()};
}

/// One vector: what it holds, and what our code made of it.
struct Run {
  const StructInfo& info;
  const std::string& name;
  Bytes bytes;
  std::vector<std::uint8_t> written;
  std::map<std::string, Plain> typed;
  int fields = 0;

  void leaf(const std::string& path, const json& value) {
    INFO(name << "." << path);
    const auto ref = find_path(info, path);
    REQUIRE(ref);
    const Plain want = expected(*ref->field, value);
    CHECK(actual(bytes, *ref) == want);
    REQUIRE(typed.contains(path));
    CHECK(typed.at(path) == want);
    set_field(written, info, path, text_for(*ref->field, value));
    ++fields;
  }

  void walk(const std::string& path, const json& value) {
    if (is_skipped(name, path)) return;
    const auto ref = find_path(info, path);
    INFO(name << "." << path);
    REQUIRE(ref);
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) walk(path + "." + key, inner);
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) walk(path + "[" + std::to_string(i) + "]", value[i]);
    } else if (value.is_string() && ref->field->kind == FieldKind::uint) {  // an array of bytes, as hex
      const auto raw = ibtest::from_hex(value.get<std::string>());
      for (std::size_t i = 0; i < raw.size(); ++i) leaf(path + "[" + std::to_string(i) + "]", raw[i]);
    } else if (ref->field->count > 1 && ref->whole) {  // python-rdma knows only the first element
      leaf(path + "[0]", value);
    } else {
      leaf(path, value);
    }
  }
};

const ibtest::Entry& entry(const std::string& name) {
  for (const auto& e : ibtest::entries()) {
    if (name == e.name) return e;
  }
  FAIL("no structure " << name);
  throw std::logic_error(name);
}

int check_vector(const json& vector) {
  const auto name = vector["struct"].get<std::string>();
  INFO(name << " instance " << vector["instance"]);
  const StructInfo* info = find_struct(name);
  REQUIRE(info != nullptr);
  if (exceptions(name).contains("*")) return 0;
  auto bytes = ibtest::from_hex(vector["hex"].get<std::string>());
  const auto original = bytes;
  bytes.resize(info->bytes);
  const auto typed = entry(name).make(original);  // shorter vectors must unpack as if followed by zeros
  CHECK(typed.bytes == bytes);
  CHECK(typed.same);
  Run run{*info, name, bytes, std::vector<std::uint8_t>(info->bytes), {typed.values.begin(), typed.values.end()}};
  for (const auto& [key, value] : vector["fields"].items()) run.walk(key, value);
  if (exceptions(name).empty() && vector["instance"] != 3) CHECK(run.written == bytes);
  return run.fields;
}

int check_file(const char* file) {
  auto in = ibtest::open_data(file);
  int fields = 0;
  for (std::string line; std::getline(in, line);) fields += check_vector(json::parse(line));
  return fields;
}

}  // namespace

TEST_CASE("python-rdma's vectors read and write the same") { CHECK(check_file("vectors.jsonl") > 5000); }

TEST_CASE("python-rdma's vectors with reserved bits set read and write the same") { CHECK(check_file("vectors-reserved.jsonl") > 1900); }
