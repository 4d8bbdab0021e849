// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/register_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ibtest {
namespace {

namespace smp = ib::smp;

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// The line without what follows a `#` outside quotation marks.
std::string_view without_comment(std::string_view line) {
  bool is_quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '"') is_quoted = !is_quoted;
    if (line[at] == '#' && !is_quoted) return line.substr(0, at);
  }
  return line;
}

/// A number, decimal or hexadecimal, or two with `*` between them; a negative one in two's complement.
std::uint64_t number_of(const std::string& text) {
  std::size_t used = 0;
  if (text.starts_with("0x")) {
    const std::uint64_t number = std::stoull(text, &used, 16);
    if (used != text.size()) throw std::invalid_argument(text + " is no number");
    return number;
  }
  if (const auto times = text.find('*'); times != std::string::npos) {
    const double product = std::stod(text.substr(0, times)) * std::stod(text.substr(times + 1));
    return static_cast<std::uint64_t>(std::llround(product));
  }
  const std::uint64_t number = text.starts_with("-") ? static_cast<std::uint64_t>(std::stoll(text, &used)) : std::stoull(text, &used);
  if (used != text.size()) throw std::invalid_argument(text + " is no number");
  return number;
}

const ib::StructInfo& layout_named(const std::string& name) {
  const ib::StructInfo* layout = ib::find_struct(name);
  if (layout == nullptr) throw std::invalid_argument("there is no register " + name);
  return *layout;
}

/// The speed of a link, as in the brackets of a file; empty if there is none.
std::string_view speed_of(const smp::PortInfo& port) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 4> extended{{{8, "ndr"}, {4, "hdr"}, {2, "edr"}, {1, "fdr"}}};
  constexpr std::array<std::pair<unsigned, std::string_view>, 3> first{{{4, "qdr"}, {2, "ddr"}, {1, "sdr"}}};
  if ((port.link_speed_ext_active2 & 1U) != 0) return "xdr";
  for (const auto& [bit, name] : extended)
    if ((port.link_speed_ext_active & bit) != 0) return name;
  for (const auto& [bit, name] : first)
    if ((port.link_speed_active & bit) != 0) return name;
  return {};
}

bool is_up(const smp::PortInfo& port) { return port.port_physical_state == smp::PortPhysicalState::link_up; }

std::string expanded(const std::string& text, std::uint64_t guid, unsigned port) {
  std::string out;
  std::array<char, 8> digits{};
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char next = text[at] == '%' && at + 1 < text.size() ? text[++at] : '\0';
    if (next == 'g') {
      std::snprintf(digits.data(), digits.size(), "%06x", static_cast<unsigned>(guid & 0xffffffU));
      out += digits.data();
    } else if (next == 'p') {
      std::snprintf(digits.data(), digits.size(), "%02u", port % 1000);
      out += digits.data();
    } else {
      out += next != '\0' ? next : text[at];
    }
  }
  return out;
}

}  // namespace

void RegisterFile::read(std::string_view text) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = trimmed(without_comment(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    try {
      lines_.push_back(parse(line));
    } catch (const std::exception& error) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
    }
  }
}

RegisterFile::Line RegisterFile::parse(std::string_view text) {
  Line line;
  const std::size_t blank = std::min(text.find_first_of(" \t"), text.size());
  const std::string whose(text.substr(0, blank));
  const std::string rest = trimmed(text.substr(blank));
  constexpr std::array<std::pair<std::string_view, Whose>, 4> kinds{
      {{"any", Whose::any}, {"ca", Whose::channel_adapter}, {"switch", Whose::switch_}, {"router", Whose::router}}};
  const auto* const kind = std::ranges::find(kinds, std::string_view(whose), &std::pair<std::string_view, Whose>::first);
  line.whose = kind != kinds.end() ? kind->second : Whose::node;
  if (line.whose == Whose::node) line.guid = number_of(whose);
  if (const auto equals = rest.find('='); equals != std::string::npos) {
    parse_value(line, trimmed(std::string_view(rest).substr(0, equals)), trimmed(std::string_view(rest).substr(equals + 1)));
  } else {
    std::istringstream stream(rest);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    parse_fault(line, words);
  }
  return line;
}

/// Reads `[INDEX]`, if that is there, and returns what follows it.
std::string_view RegisterFile::parse_index(Line& line, std::string_view place) {
  if (!place.starts_with("[")) return place;
  const std::size_t end = place.find(']');
  if (end == std::string_view::npos) throw std::invalid_argument("] is missing");
  const std::string index(place.substr(1, end - 1));
  if (index == "up" || index == "down") {
    line.which = index == "up" ? Which::up : Which::down;
  } else if (index.ends_with("dr")) {
    line.which = Which::speed;
    line.speed = index;
  } else if (index != "*") {
    line.which = Which::range;
    const auto dash = index.find('-');
    line.first = static_cast<unsigned>(number_of(index.substr(0, dash)));
    line.last = dash == std::string::npos ? line.first : static_cast<unsigned>(number_of(index.substr(dash + 1)));
  }
  return place.substr(end + 1);
}

void RegisterFile::parse_value(Line& line, std::string_view place, std::string_view value) {
  const std::size_t name_end = place.find_first_of(".[");
  if (name_end == std::string_view::npos) throw std::invalid_argument("a value is of REGISTER[INDEX].FIELD");
  line.layout = &layout_named(std::string(place.substr(0, name_end)));
  place = parse_index(line, place.substr(name_end));
  if (std::istringstream stream{std::string(value)}; place.empty() && value.starts_with("random ")) {
    Random random;
    if (std::string word; !(stream >> word >> random.seed >> random.from)) throw std::invalid_argument("random has a seed and a byte");
    line.value = random;
    return;
  }
  if (!place.starts_with(".")) throw std::invalid_argument("a value is of REGISTER[INDEX].FIELD");
  line.field = place.substr(1);
  if (!ib::find_path(*line.layout, line.field)) throw std::invalid_argument("there is no field " + line.field);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    line.value = std::string(value.substr(1, value.size() - 2));
    return;
  }
  std::vector<std::uint64_t> numbers;
  std::istringstream stream{std::string(value)};
  for (std::string each; std::getline(stream, each, ',');) numbers.push_back(number_of(trimmed(each)));
  line.value = std::move(numbers);
}

void RegisterFile::parse_fault(Line& line, const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 8> faults{"silent",         "unsupported", "short",           "busy",
                                                   "wrong_register", "wrong_port",  "no_general_info", "vs_key"};
  if (words.empty() || std::ranges::find(faults, words[0]) == faults.end())
    throw std::invalid_argument("this is neither a value nor a fault");
  line.fault = words[0];
  const bool counts = line.fault == "busy" || line.fault == "vs_key";
  for (std::size_t at = 1; at < words.size(); ++at)
    line.numbers.push_back(counts ? number_of(words[at]) : static_cast<std::uint64_t>(layout_named(words[at]).register_id));
  if ((counts || line.fault == "wrong_register") && line.numbers.size() != 1) throw std::invalid_argument(line.fault + " has one word");
}

bool RegisterFile::is_of(const Line& line, const smp::NodeInfo& node) {
  switch (line.whose) {
    case Whose::any:
      return true;
    case Whose::channel_adapter:
      return node.node_type == smp::NodeType::channel_adapter;
    case Whose::switch_:
      return node.node_type == smp::NodeType::switch_;
    case Whose::router:
      return node.node_type == smp::NodeType::router;
    case Whose::node:
      return node.node_guid.value == line.guid;
  }
  return false;
}

bool RegisterFile::is_of(const Line& line, unsigned index, const smp::PortInfo* port) {
  switch (line.which) {
    case Which::any:
      return true;
    case Which::range:
      return index >= line.first && index <= line.last;
    case Which::up:
      return port != nullptr && is_up(*port);
    case Which::down:
      return port != nullptr && !is_up(*port);
    case Which::speed:
      return port != nullptr && is_up(*port) && speed_of(*port) == line.speed;
  }
  return false;
}

void RegisterFile::apply_fault(VendorAgent& agent, const Line& line) {
  const auto add_to = [&](std::set<std::uint32_t>& registers) {
    for (const std::uint64_t id : line.numbers) registers.insert(static_cast<std::uint32_t>(id));
  };
  if (line.fault == "silent") {
    if (line.numbers.empty()) agent.is_silent = true;
    add_to(agent.silent_about);
  } else if (line.fault == "unsupported") {
    add_to(agent.unsupported);
  } else if (line.fault == "short") {
    add_to(agent.short_about);
  } else if (line.fault == "busy") {
    agent.busy_next = static_cast<unsigned>(line.numbers[0]);
  } else if (line.fault == "wrong_register") {
    agent.answers_instead = static_cast<std::uint32_t>(line.numbers[0]);
  } else if (line.fault == "wrong_port") {
    agent.wrong_port = true;
  } else if (line.fault == "no_general_info") {
    agent.has_general = false;
  } else {
    agent.vs_key = line.numbers[0];
  }
}

VendorAgent RegisterFile::agent(const smp::NodeInfo& node) const {
  using General = ib::mlx::Is4GeneralInfo;
  VendorAgent values;  // which takes the fields of GeneralInfo by their names
  VendorAgent found;
  fill(values, General::info(), 0, node, nullptr);
  found.general = General::unpack(values.bytes(General::info(), 0));
  for (const Line& line : lines_)
    if (!line.fault.empty() && is_of(line, node)) apply_fault(found, line);
  return found;
}

void RegisterFile::fill(VendorAgent& agent, const ib::StructInfo& layout, unsigned index, const smp::NodeInfo& node,
                        const smp::PortInfo* port) const {
  agent.remove(layout, index);
  for (const Line& line : lines_) {
    if (line.layout != &layout || !is_of(line, node) || !is_of(line, index, port)) continue;
    if (const auto* text = std::get_if<std::string>(&line.value)) {
      agent.set(layout, index, line.field, expanded(*text, node.node_guid.value, index));
      continue;
    }
    if (const auto* random = std::get_if<Random>(&line.value)) {
      constexpr std::size_t register_at = 12;  // behind the VS_Key and the block number
      std::mt19937 engine(random->seed);
      const ib::MutableBytes bytes = agent.bytes(layout, index);
      for (std::size_t at = register_at + random->from; at < bytes.size(); ++at) bytes[at] = static_cast<std::uint8_t>(engine() >> 24U);
      continue;
    }
    const auto& numbers = std::get<std::vector<std::uint64_t>>(line.value);
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      const std::string element = numbers.size() == 1 ? line.field : line.field + "[" + std::to_string(at) + "]";
      agent.set(layout, index, element, numbers[at]);
    }
  }
}

}  // namespace ibtest
