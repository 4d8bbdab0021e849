// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace ib::tools::exporter {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

constexpr std::size_t most_marks = 40;  // of a tier
constexpr std::size_t most_tiers = 8;   // the last one has all that are farther away
constexpr unsigned width = 960, tier_height = 90, margin = 40, radius = 5, stub = 22;

/// Calls `use` with the node at the other end of each link of a switch.
template <class Use>
void each_peer(const metrics::SweptFabric& fabric, const metrics::PortStates& states, NodeIndex node, Use use) {
  const subnet::Node& of = fabric.subnet.node(node);
  for (PortIndex port = of.first_port + 1; port < of.first_port + of.slots; ++port) {
    if (const PortIndex peer = metrics::linked_peer(fabric.subnet, states, port); peer != subnet::none) use(fabric.subnet.port(peer).node);
  }
}

/// How many links a switch is away from a host, by node; a switch without a way to a host is in the first tier.
std::vector<std::size_t> tiers_of(const metrics::SweptFabric& fabric, const metrics::PortStates& states) {
  constexpr std::size_t unknown = most_tiers;
  std::vector<std::size_t> tiers(fabric.subnet.nodes().size(), unknown);
  std::deque<NodeIndex> next;
  const auto is_switch = [&fabric](NodeIndex node) { return fabric.subnet.node(node).kind() == subnet::NodeKind::sw; };
  for (const metrics::Device& device : fabric.switches()) {
    each_peer(fabric, states, device.node, [&](NodeIndex peer) {
      if (is_switch(peer) || std::exchange(tiers[device.node], 0) == 0) return;
      next.push_back(device.node);
    });
  }
  for (; !next.empty(); next.pop_front()) {
    each_peer(fabric, states, next.front(), [&](NodeIndex peer) {
      if (tiers[peer] != unknown || !is_switch(peer)) return;
      tiers[peer] = std::min(tiers[next.front()] + 1, most_tiers - 1);
      next.push_back(peer);
    });
  }
  std::ranges::replace(tiers, unknown, std::size_t{0});
  return tiers;
}

/// A mark of the picture, which stands for one switch or several side by side.
struct Mark {
  std::size_t tier{}, at{};
  auto operator<=>(const Mark&) const = default;
};

class Picture {
 public:
  Picture(const metrics::SweptFabric& fabric, const metrics::PortStates& states) : fabric_(fabric), states_(states) {
    const std::vector<std::size_t> tiers = tiers_of(fabric, states);
    for (const metrics::Device& device : fabric.switches()) switches_.at(tiers[device.node]).push_back(device.node);
    while (tiers_ < most_tiers && !switches_.at(tiers_).empty()) ++tiers_;
    for (std::size_t tier = 0; tier < tiers_; ++tier) {
      for (std::size_t at = 0; at < switches_.at(tier).size(); ++at) marks_[switches_.at(tier)[at]] = {tier, at / share(tier)};
    }
  }

  std::string draw(const metrics::Findings* findings) {
    if (findings != nullptr) {
      for (const metrics::Findings::Row& finding : findings->list) mark(finding);
    }
    std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Tiers of switches\">\n", width, height());
    draw_links(out);
    draw_bad(out);
    draw_marks(out);
    return out + "</svg>\n";
  }

 private:
  /// How many switches one mark of a tier stands for.
  std::size_t share(std::size_t tier) const { return (switches_.at(tier).size() + most_marks - 1) / most_marks; }
  std::size_t mark_count(std::size_t tier) const { return (switches_.at(tier).size() + share(tier) - 1) / share(tier); }
  std::size_t height() const { return tiers_ * tier_height + stub; }
  double x(const Mark& mark) const {
    return margin + (static_cast<double>(mark.at) + 0.5) * (width - 2 * margin) / static_cast<double>(mark_count(mark.tier));
  }
  std::size_t y(const Mark& mark) const { return (tiers_ - 1 - mark.tier) * tier_height + tier_height / 2; }

  /// Notes where a finding is: on a link between switches, on one to a host, or on a switch.
  void mark(const metrics::Findings::Row& finding) {
    const auto mark_of = [&](const std::optional<metrics::Findings::End>& end) {
      const metrics::Device* device = end && !fabric_.has_twins(end->guid) ? fabric_.find(true, end->guid) : nullptr;
      return device != nullptr ? marks_.find(device->node) : marks_.end();
    };
    const auto one = mark_of(finding.end), other = mark_of(finding.other_end);
    const auto worst = [&](std::uint8_t& level) { level = std::max(level, finding.level); };
    if (one != marks_.end() && other != marks_.end()) {
      worst(bad_links_[std::minmax(one->second, other->second)]);
    } else if (one != marks_.end()) {
      worst((finding.other_end ? bad_stubs_ : bad_marks_)[one->second]);
    } else if (other != marks_.end()) {
      worst(bad_stubs_[other->second]);
    }
  }

  void draw_links(std::string& out) const {
    std::set<std::pair<Mark, Mark>> links;
    for (const auto& [node, mark] : marks_) {
      each_peer(fabric_, states_, node, [&, &from = mark](NodeIndex peer) {
        const auto far = marks_.find(peer);
        if (far != marks_.end() && far->second != from) links.insert(std::minmax(from, far->second));
      });
    }
    out += "<path class=\"link\" d=\"";
    for (const auto& [one, other] : links) add_line(out, one, other);
    out += "\"/>\n";
  }

  void add_line(std::string& out, const Mark& one, const Mark& other) const {
    if (one.tier != other.tier) {
      fmt::format_to(std::back_inserter(out), "M{:.0f} {}L{:.0f} {}", x(one), y(one), x(other), y(other));
    } else {  // a bow, for a straight line would run through the marks between
      fmt::format_to(std::back_inserter(out), "M{:.0f} {}Q{:.0f} {} {:.0f} {}", x(one), y(one), (x(one) + x(other)) / 2,
                     y(one) - tier_height / 3, x(other), y(other));
    }
  }

  void draw_bad(std::string& out) const {
    for (const auto& [link, level] : bad_links_) {
      fmt::format_to(std::back_inserter(out), "<path class=\"{}\" d=\"", metrics::Findings::levels.at(level));
      add_line(out, link.first, link.second);
      out += "\"/>\n";
    }
    for (const auto& [mark, level] : bad_stubs_) {
      fmt::format_to(std::back_inserter(out), "<path class=\"{}\" d=\"M{:.0f} {}v{}\"/>\n", metrics::Findings::levels.at(level), x(mark),
                     y(mark), stub);
    }
  }

  void draw_marks(std::string& out) const {
    for (std::size_t tier = 0; tier < tiers_; ++tier) {
      const Mark first{tier, 0};
      fmt::format_to(std::back_inserter(out), "<text x=\"0\" y=\"{}\">{} switches</text>\n", y(first) - 2 * radius,
                     switches_.at(tier).size());
      for (std::size_t at = 0; at < mark_count(tier); ++at) {
        const Mark mark{tier, at};
        const auto bad = bad_marks_.find(mark);
        const std::string_view look = bad == bad_marks_.end() ? "switch" : metrics::Findings::levels.at(bad->second);
        fmt::format_to(std::back_inserter(out), "<circle class=\"{}\" cx=\"{:.0f}\" cy=\"{}\" r=\"{}\"><title>{}</title></circle>\n", look,
                       x(mark), y(mark), radius, html(title(mark)));
      }
    }
  }

  std::string title(const Mark& mark) const {
    const std::vector<NodeIndex>& all = switches_.at(mark.tier);
    const std::size_t first = mark.at * share(mark.tier), count = std::min(share(mark.tier), all.size() - first);
    const std::string_view name = fabric_.name(all[first]);
    return count == 1 ? std::string(name) : fmt::format("{} and {} more", name, count - 1);
  }

  const metrics::SweptFabric& fabric_;
  const metrics::PortStates& states_;
  std::array<std::vector<NodeIndex>, most_tiers> switches_;  ///< by tier
  std::size_t tiers_{};
  std::map<NodeIndex, Mark> marks_;
  std::map<std::pair<Mark, Mark>, std::uint8_t> bad_links_;  ///< the worst level
  std::map<Mark, std::uint8_t> bad_stubs_, bad_marks_;       ///< of links to hosts, and of switches
};

}  // namespace

std::string tier_picture(const metrics::SweptFabric& fabric, const metrics::PortStates& states, const metrics::Findings* findings) {
  return fabric.switch_count == 0 ? std::string() : Picture(fabric, states).draw(findings);
}

}  // namespace ib::tools::exporter
