// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/record_types.hpp"

#include <fmt/format.h>

#include <array>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"

namespace ib::sa {
namespace {

constexpr RecordType table[] = {
    {"ClassPortInfo", "CPI", mad::ClassPortInfo::info, "", ""},
    {"GUIDInfoRecord", "GIR", GuidInfoRecord::info, "[LID]/[BLOCK]", "LID/blockNum"},
    {"InformInfoRecord", "IIR", InformInfoRecord::info, "SUBSCRIBER_GID", "subscriberGID"},
    {"LFTRecord", "LFTR", LinearForwardingTableRecord::info, "[lid]/[block]", "LID/blockNum"},
    {"LinkRecord", "LR", LinkRecord::info, "[from_lid]/[from_port] [to_lid]/[to_port]", "fromLID/fromPort toLID/toPort"},
    {"MCMemberRecord", "MCMR", MCMemberRecord::info, "MLID", "MLID"},
    {"MFTRecord", "MFTR", MulticastForwardingTableRecord::info, "[lid]/[block]", "LID/blockNum"},
    {"NodeRecord", "NR", NodeRecord::info, "LID", "LID"},
    {"PKeyTableRecord", "PKTR", PKeyTableRecord::info, "[lid]/[port]/[block]", "LID/portNum/blockNum"},
    {"PathRecord", "PR", PathRecord::info, "", ""},
    {"PortInfoRecord", "PIR", PortInfoRecord::info, "[LID]/[PORT]", "endportLID/portNum"},
    {"RFTRecord", "", RandomForwardingTableRecord::info, "", ""},
    {"SL2VLTableRecord", "SL2VL", SLToVLMappingTableRecord::info, "[lid]/[in_port]/[out_port]", "LID/inputPortNum/outputPortNum"},
    {"SMInfo", "", SMInfoRecord::info, "", ""},
    {"ServiceAssociationRecord", "", ServiceAssociationRecord::info, "", ""},
    {"ServiceRecord", "SR", ServiceRecord::info, "", ""},
    {"SwitchInfo", "SWI", SwitchInfoRecord::info, "", ""},
    {"VLArbitrationTableRecord", "VLAR", VLArbitrationTableRecord::info, "[lid]/[port]/[block]", "LID/outputPortNum/blockNum"},
    // Names of infiniband-diags, and records that neither program names.
    {"SMInfoRecord", "SMIR", SMInfoRecord::info, "LID", "LID", false},
    {"SwitchInfoRecord", "SWIR", SwitchInfoRecord::info, "LID", "LID", false},
    {"MultiPathRecord", "MPR", MultiPathRecord::info, "", "", false},
    {"TraceRecord", "TR", TraceRecord::info, "", "", false},
    {"PortInfoExtendedRecord", "PIER", PortInfoExtendedRecord::info, "[LID]/[PORT]", "LID/portNum", false},
};

/// The parts of "LID/PORT/BLOCK". A name in the place of the LID may have slashes in it: parts that are not numbers belong to the name.
std::vector<std::string_view> parts_of(std::string_view word) {
  std::vector<std::string_view> parts = split(word, "/");
  if (parts.front().empty() || parse_number(parts.front())) return parts;
  std::size_t name_end = parts.front().size(), joined = 1;
  for (std::size_t at = 1, end = name_end; at < parts.size(); ++at) {
    end += 1 + parts[at].size();
    if (parts[at].empty() || parse_number(parts[at])) continue;
    name_end = end;
    joined = at + 1;
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(joined));
  parts.insert(parts.begin(), word.substr(0, name_end));
  return parts;
}

}  // namespace

std::span<const RecordType> record_types() { return table; }

const RecordType& find_record_type(std::string_view word) {
  const auto names = [](const RecordType& type) { return std::array<std::string_view, 3>{type.name, type.alias, type.info().iba_name}; };
  return find_by_prefix(word, record_types(), &RecordType::classic, names);
}

std::vector<std::pair<std::string_view, std::string>> take_argument(const RecordType& type, std::vector<std::string>& words) {
  std::vector<std::pair<std::string_view, std::string>> result;
  if (type.members.empty()) return result;
  for (const std::string_view form : split(type.members, " ")) {
    if (words.empty()) break;
    const std::vector<std::string_view> members = split(form, "/");
    const std::vector<std::string_view> parts = members.size() == 1 ? std::vector<std::string_view>{words[0]} : parts_of(words[0]);
    if (parts.size() > members.size()) throw UsageError(fmt::format("Argument {} did not match {}", in_quotes(words[0]), type.argument));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].empty()) result.emplace_back(members[i], parts[i]);
    }
    words.erase(words.begin());
  }
  return result;
}

}  // namespace ib::sa
