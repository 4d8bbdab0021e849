// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A line is read from both of its ends, since descriptions, which stand in the middle, may hold anything, quotes and '#' too.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/split.hpp"
#include "formats/line_file.hpp"
#include "formats/topology_text.hpp"
#include "iba/wire.hpp"

namespace ib::formats {

using namespace subnet;

namespace {

/// Takes `[NUMBER]`, and `[ext NUMBER]` if that follows.
std::optional<unsigned> take_port(Scanner& line) {
  if (!line.take("[")) return std::nullopt;
  const auto word = line.until("]");
  const auto number = word ? parse_digits(*word, 10) : std::nullopt;
  if (!number || *number > 255) return std::nullopt;
  if (line.take("[ext ") && !line.until("]")) return std::nullopt;
  return static_cast<unsigned>(*number);
}

/// The last of the words of `text` that `read` understands.
template <class Read>
auto last_word(std::string_view text, Read read) -> decltype(read(text)) {
  while (!text.empty()) {
    text = trim(text);
    const auto blank = text.find_last_of(" \t");
    const std::string_view word = blank == std::string_view::npos ? text : text.substr(blank + 1);
    if (const auto value = read(word)) return value;
    text.remove_suffix(word.size());
  }
  return std::nullopt;
}

/// "4xEDR", "??" where it was not known.
std::optional<LinkRate> rate_in(std::string_view word) {
  const auto x = word.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto width = parse_digits(word.substr(0, x), 10);
  if (!width) return std::nullopt;
  for (unsigned speed = 1; speed <= static_cast<unsigned>(Speed::xdr); ++speed) {
    if (name(static_cast<Speed>(speed)) == word.substr(x + 1)) return LinkRate{static_cast<unsigned>(*width), static_cast<Speed>(speed)};
  }
  return std::nullopt;
}

/// The number after `word`, if these two are the last words of `text`.
std::optional<unsigned> number_after(std::string_view text, std::string_view word) {
  const auto at = text.rfind(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + word.size());
  const auto number = parse_digits(rest.substr(0, rest.find_first_not_of("0123456789")), 10);
  return number && *number <= 0xffff ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

void set_rate(smp::PortInfo& info, std::uint8_t& fdr10, const LinkRate& rate) {
  for (unsigned code = 1; code <= 16; code *= 2) {
    if (lanes(code) == rate.lanes) info.link_width_active = static_cast<std::uint8_t>(code);
  }
  // QDR stands for faster speeds too, which are in the extended fields.
  info.link_speed_active = rate.speed == Speed::sdr ? 1 : rate.speed == Speed::ddr ? 2 : 4;
  if (rate.speed == Speed::fdr10) fdr10 = 1;
  const unsigned above_fdr = static_cast<unsigned>(rate.speed) - static_cast<unsigned>(Speed::fdr);
  if (rate.speed >= Speed::fdr && rate.speed <= Speed::ndr) info.link_speed_ext_active = static_cast<std::uint8_t>(1U << above_fdr);
  if (rate.speed == Speed::xdr) info.link_speed_ext_active2 = 1;
}

class TopologyParser {
 public:
  explicit TopologyParser(Subnet& subnet) : subnet_(subnet) {}

  void line(std::string_view text) {
    ++number_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (trim(text).empty()) {
      info_ = {};
      node_ = none;
    } else if (text.front() == '#' || text.starts_with("Chassis ")) {
      comment(text);
    } else if (text.front() == '[') {
      link(text);
    } else if (text.find('=') < text.find_first_of(" \t\"")) {
      value(text);
    } else {
      node(text);
    }
  }

  void finish() {
    std::ranges::stable_sort(pending_, {}, &Pending::port);
    for (const Pending& pending : pending_) {
      number_ = pending.line;
      const PortIndex there = other_end(pending);
      if (there == none) refuse(fmt::format("port {} of node {} is not in the listing", pending.peer_port, to_text(pending.peer)));
      if (subnet_.port(pending.port).peer == none) subnet_.link(pending.port, there);
    }
    if (subnet_.nodes().empty()) throw UsageError("no node is listed");
    subnet_.start = start();
    lay_routes(subnet_);
  }

 private:
  struct Pending {
    std::size_t line;
    PortIndex port;
    Guid peer;
    unsigned peer_port;
  };

  /// The port at the other end of a line. Of several nodes with one GUID it is the one whose own line leads back.
  PortIndex other_end(const Pending& pending) const {
    const NodeIndex first = subnet_.find_node(pending.peer);
    const Guid guid = subnet_.node(subnet_.port(pending.port).node).guid();
    const auto leads_back = [&](PortIndex there) {
      const auto line = std::ranges::lower_bound(pending_, there, {}, &Pending::port);
      return line != pending_.end() && line->port == there && line->peer == guid && line->peer_port == subnet_.port(pending.port).number;
    };
    PortIndex any = none;
    for (NodeIndex node = first; node != none; node = subnet_.node(node).twin) {
      const PortIndex there = subnet_.port_of(node, pending.peer_port);
      if (there == none) continue;
      const bool is_free = subnet_.port(there).peer == none || subnet_.port(there).peer == pending.port;
      if (is_free && (subnet_.node(first).twin == none || leads_back(there))) return there;
      if (any == none || is_free) any = there;
    }
    return any;
  }

  /// # Initiated from node 0000000000100000 port 0000000000100001
  void comment(std::string_view text) {
    constexpr std::string_view opening = "# Initiated from node ", between = " port ";
    if (!text.starts_with(opening)) return;
    text.remove_prefix(opening.size());
    if (const auto at = text.find(between); at != std::string_view::npos)
      started_at_ = {guid_in(text.substr(0, at)), guid_in(trim(text.substr(at + between.size())))};
  }

  /// The end port where the sweep began. If the listing does not say it, the first port of the first node.
  PortIndex start() const {
    const auto& [node_guid, port_guid] = started_at_;
    const NodeIndex node = node_guid ? subnet_.find_node(*node_guid) : none;
    const PortIndex port = port_guid ? subnet_.find_port(*port_guid) : none;
    if (port != none && subnet_.port(port).node == node) return port;
    const Node& first = subnet_.node(node == none ? 0 : node);
    return subnet_.end_port_of(first.first_port + (first.kind() == NodeKind::sw || first.slots < 2 ? 0U : 1U));
  }

  [[noreturn]] void refuse(const std::string& why) const { throw UsageError(fmt::format("line {}: {}", number_, why)); }

  /// vendid=0x2c9, switchguid=0x200000(200000)
  void value(std::string_view text) {
    const auto equals = text.find('=');
    const std::string_view key = text.substr(0, equals);
    constexpr std::size_t longest_key = 16;
    if (key.size() > longest_key || key.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string_view::npos)
      refuse("not a line of a listing");
    std::string_view word = text.substr(equals + 1);
    word = word.substr(0, word.find_first_of(" \t"));
    std::string_view inner;
    if (const auto open = word.find('('); open != std::string_view::npos && word.ends_with(')')) {
      inner = word.substr(open + 1, word.size() - open - 2);
      word = word.substr(0, open);
    }
    const std::optional<Guid> guid = guid_in(word);
    if (!guid) refuse(fmt::format("{} has no number", key));
    if (key == "vendid") info_.vendor_id = static_cast<std::uint32_t>(guid->value & 0xffffff);
    if (key == "devid") info_.device_id = static_cast<std::uint16_t>(guid->value);
    if (key == "sysimgguid") info_.system_image_guid = *guid;
    if (key == "switchguid") info_.port_guid = inner.empty() ? *guid : guid_in(inner).value_or(*guid);
  }

  /// Switch 8 "S-0000000000200000"  # "Switch1" base port 0 lid 2 lmc 0
  void node(std::string_view text) {
    Scanner scanner(text);
    const auto kind = scanner.until("\t");
    const auto count = kind ? scanner.until(" ") : std::nullopt;
    const auto ports = count ? parse_digits(*count, 10) : std::nullopt;
    if (!ports || *ports > 255 || !scanner.take("\"")) refuse("not a line of a listing");
    const bool is_escaped = scanner.rest().substr(0, scanner.rest().find('"')).find(':') != std::string_view::npos;  // ibtool's listing
    const auto guid = node_guid(scanner);
    if (!guid) refuse("a node without a GUID");
    info_.node_type = *kind == "Switch" ? smp::NodeType::switch_ : *kind == "Rt" ? smp::NodeType::router : smp::NodeType::channel_adapter;
    info_.num_ports = static_cast<std::uint8_t>(*ports);
    info_.node_guid = *guid;
    if (info_.port_guid == Guid{}) info_.port_guid = *guid;
    if (!subnet_.has_room_for(info_)) refuse(std::string(no_room_text));
    node_ = subnet_.add_node(info_);
    subnet_.node(node_).is_listed = true;
    describe(scanner.rest(), is_escaped);
    if (info_.node_type != smp::NodeType::switch_) return;
    const PortIndex port0 = subnet_.node(node_).first_port;
    subnet_.set_port_guid(port0, info_.port_guid);
    smp::SwitchInfo switch_info;
    switch_info.enhanced_port0 = scanner.rest().rfind("\" enhanced port 0") != std::string_view::npos ? 1 : 0;
    switch_info.pack(subnet_.node(node_).switch_info_bytes);
    set_port(port0, number_after(scanner.rest(), " lid "), number_after(scanner.rest(), " lmc "), std::nullopt);
  }

  /// Keeps the text in quotes behind the `#`, which is the description, or the name that the site has for the node.
  void describe(std::string_view rest, bool is_escaped) {
    constexpr std::string_view opening = "# \"";
    const auto begin = rest.find(opening);
    auto end = rest.rfind('"');
    for (const std::string_view behind : {"\" base port 0", "\" enhanced port 0"}) {
      if (const auto at = rest.rfind(behind); at != std::string_view::npos) end = at;
    }
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin + opening.size()) return;
    const std::string_view written = rest.substr(begin + opening.size(), end - begin - opening.size());
    const std::string text = is_escaped ? unescaped(written) : std::string(written);
    subnet_.node(node_).set_description(as_bytes(text));
    subnet_.node(node_).has_description = true;
  }

  /// [1](100001)  "S-0000000000200000"[1]  # lid 1 lmc 0 "Switch1" lid 2 4xSDR
  void link(std::string_view text) {
    Scanner scanner(text);
    const std::optional<unsigned> number = take_port(scanner);
    if (node_ == none || !number || subnet_.port_of(node_, *number) == none) refuse("not a port of the node above");
    const PortIndex port = subnet_.port_of(node_, *number);
    const bool is_switch = subnet_.node(node_).kind() == NodeKind::sw;
    if (scanner.take("(")) {
      const auto word = scanner.until(")");
      const auto guid = word ? guid_in(*word) : std::nullopt;
      if (!guid) refuse("not a port GUID");
      if (!is_switch) subnet_.set_port_guid(port, *guid);
    }
    scanner.skip_blanks();
    const auto peer = scanner.take("\"") ? node_guid(scanner) : std::nullopt;
    const auto peer_port = peer ? take_port(scanner) : std::nullopt;
    if (!peer_port) refuse("no node and port at the other end");
    pending_.push_back({number_, port, *peer, *peer_port});
    const std::string_view rest = scanner.rest();
    std::optional<unsigned> lid, lmc;
    if (!is_switch) {
      const std::string_view own = rest.substr(0, rest.find('"'));
      lid = number_after(own, " lid ");
      lmc = number_after(own, " lmc ");
    }
    set_port(port, lid, lmc, last_word(rest, rate_in));
  }

  /// S-0000000000200000"
  static std::optional<Guid> node_guid(Scanner& scanner) {
    const auto word = scanner.until("\"");
    if (!word || word->size() < 3 || (*word)[1] != '-') return std::nullopt;
    return guid_in(word->substr(2));
  }

  void set_port(PortIndex port, std::optional<unsigned> lid, std::optional<unsigned> lmc, const std::optional<LinkRate>& rate) {
    smp::PortInfo info;
    info.lid = Lid{static_cast<std::uint16_t>(lid.value_or(0))};
    info.lmc = static_cast<std::uint8_t>(lmc.value_or(0) & 7U);
    info.capability_mask = smp::capability_mask::is_extended_speeds_supported | smp::capability_mask::is_capability_mask2_supported;
    info.capability_mask2 = smp::capability_mask2::is_extended_speeds2_supported;
    if (rate) {
      info.port_physical_state = smp::PortPhysicalState::link_up;
      set_rate(info, subnet_.port(port).fdr10, *rate);
    }
    const PortIndex owner = subnet_.set_port_info(port, wire::packed(info));
    if (owner == none) return;
    const auto guid_of = [this](PortIndex at) { return subnet_.node(subnet_.port(at).node).guid(); };
    if (subnet_.port(owner).node != node_ && guid_of(owner) == guid_of(port)) refuse("a node that was listed before");
  }

  Subnet& subnet_;
  std::size_t number_{};
  smp::NodeInfo info_;  ///< of the node whose lines are being read
  NodeIndex node_ = none;
  std::vector<Pending> pending_;
  std::pair<std::optional<Guid>, std::optional<Guid>> started_at_;  ///< node and port
};

}  // namespace

bool is_topology_text(std::string_view text) {
  const auto first = text.find_first_not_of("\r\n");
  if (first == std::string_view::npos) return false;
  text.remove_prefix(first);
  return text.front() == '#' || text.starts_with("vendid=");
}

void read_topology_text(std::string_view text, Subnet& subnet) {
  TopologyParser reader(subnet);
  for (const std::string_view line : split(text, "\n")) reader.line(line);
  reader.finish();
}

}  // namespace ib::formats
