// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "health/checks/common.hpp"
#include "iba/text.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::health {
namespace {

/// Identifies a cable, whichever end a finding names first: the ports that it names, each with its peer. A cable that is gone has two ports
/// without a peer.
using CableKey = std::pair<bool, PortIndex>;
std::vector<CableKey> keys_of(const Finding& finding, const Input& input) {
  std::vector<CableKey> keys;
  for (const Place& end : finding.ends) {
    if (end.port == subnet::none) continue;
    PortIndex peer = input.subnet_of(end).port(end.port).peer;
    if (peer == subnet::none && !end.is_before) peer = former_peer(input, end.port);
    keys.emplace_back(end.is_before, peer == subnet::none ? end.port : std::min(end.port, peer));
  }
  return keys;
}

/// Whether the fault that is found can cause many other findings: without a subnet manager no port leaves Initialize, and of two
/// nodes with one GUID one is lost. A finding of several cables comes before the findings of each of them, which become part of it.
bool is_cause(const Finding& finding) {
  const std::string_view id = finding.check->id;
  return id.starts_with("sm-") || id.starts_with("sa-") || id == "duplicate-guid" || finding.subject == Finding::Subject::cables;
}

/// The order of findings: the worst level first, and causes first within it. It does not use indexes of the model, which depend on the
/// order of replies.
auto rank(const Finding& finding, const Input& input) {
  const Place first = finding.ends.empty() ? Place{} : finding.ends.front();
  const Subnet& subnet = input.subnet_of(first);
  const Guid guid = first.node == subnet::none ? Guid{} : subnet.node(first.node).guid();
  const unsigned number = first.port == subnet::none ? 0 : subnet.port(first.port).number;
  return std::tuple(-static_cast<int>(*finding.level), !is_cause(finding), -static_cast<int>(finding.confidence),
                    finding.check - all_checks().data(), guid, number);
}

using Symptom = Finding::Symptom;

/// Whether a finding says that a node of the fabric, as it is now, lost a link.
bool is_lost_at(const Finding& finding, NodeIndex node) {
  return std::ranges::any_of(finding.lost, [node](const Place& place) { return !place.is_before && place.node == node; });
}

/// Whether nothing answers at the other end of the port that the finding names.
bool is_silence(const Finding& finding) {
  return finding.subject == Finding::Subject::cable && finding.ends.size() == 2 && finding.ends[1].node == subnet::none;
}

class Explainer {
 public:
  Explainer(Findings findings, const Input& input) : findings_(std::move(findings)), gone_(findings_.size()), input_(input) {
    if (input.baseline == nullptr) return;
    machines_.emplace(input.subnet, input.host_names);
    machines_before_.emplace(input.baseline->subnet, input.host_names);
  }

  Findings run() && {
    for (const auto& [of, explain] : {std::pair{Symptom::lost_link, &Explainer::explain_lost_link},
                                      {Symptom::fewer_links, &Explainer::explain_fewer_links},
                                      {Symptom::no_gmps, &Explainer::explain_silent_agent}}) {
      for (std::size_t at = 0; at < findings_.size(); ++at) {
        if (findings_[at].symptom == of && !gone_[at]) (this->*explain)(at);
      }
    }
    index_cables();
    for (std::size_t at = 0; at < findings_.size(); ++at) {
      if (findings_[at].subject == Finding::Subject::group && !findings_[at].evidence.empty()) share_out(at);
    }
    Findings left;
    for (std::size_t at = 0; at < findings_.size(); ++at) {
      if (!gone_[at]) left.push_back(std::move(findings_[at]));
    }
    return left;
  }

 private:
  void explain_fewer_links(std::size_t at) {
    put_into(first([&](const Finding& of) { return takes_links(of, findings_[at]); }), at);
  }

  void explain_lost_link(std::size_t at) {
    const NodeIndex a = findings_[at].ends[0].node, b = findings_[at].ends[1].node;
    const std::size_t whole = first([&](const Finding& of) { return is_lost_at(of, a) && is_lost_at(of, b); });
    if (whole != none) {
      put_into(whole, at);
      return;
    }
    const auto is_silent_at = [](NodeIndex node) { return [node](const Finding& of) { return is_silence(of) && is_lost_at(of, node); }; };
    const std::size_t here = only(is_silent_at(a)), there = only(is_silent_at(b));
    if (here == none || there == none) return;
    const std::size_t to = std::min(here, there);
    findings_[to].confidence = Confidence::likely;
    put_into(to, std::max(here, there));
    put_into(to, at);
  }

  bool is_switch(const Place& place) const {
    return !place.is_before && place.node != subnet::none && input_.subnet.node(place.node).kind() == NodeKind::sw;
  }

  /// Whether all links that a finding reports as lost are between switches of the current fabric.
  bool is_between_switches(const Finding& of) const {
    return of.lost.size() >= 2 && std::ranges::all_of(of.lost, [this](const Place& place) { return is_switch(place); });
  }

  /// Whether a finding explains why one of the nodes lost links: it is at that node, or at another adapter of the same host. Siblings of a
  /// switch are compared by their links to other switches, so a link to a host explains nothing there.
  bool takes_links(const Finding& of, const Finding& symptom) const {
    const bool is_of_node = std::ranges::any_of(symptom.ends, [&](const Place& end) { return is_lost_at(of, end.node); });
    if (is_switch(symptom.ends.front())) return is_of_node && is_between_switches(of);
    if (is_of_node) return true;
    if (of.lost.empty() || !of.ends.front().is_before || of.ends.front().port != subnet::none) return false;
    const Machine& host = machines_before_->of(of.ends.front().node);
    return !host.name.empty() && host == machines_->of(symptom.ends.front().node);
  }

  /// Whether a finding is of a cable that is up and passes only SMPs: one of its ports is in Initialize or Armed.
  bool passes_only_smps(const Finding& of) const {
    return of.subject == Finding::Subject::cable && std::ranges::any_of(of.ends, [this](const Place& end) {
             if (end.is_before || end.port == subnet::none) return false;
             const subnet::Port& port = input_.subnet.port(end.port);
             return port.is_link_up() && !subnet::is_link_active(port);
           });
  }

  /// Requests that are routed by LID get lost at a link of the node that passes only SMPs. They may also have taken such a link between
  /// switches, or one that is gone, until the subnet manager sweeps.
  void explain_silent_agent(std::size_t at) {
    const NodeIndex silent = findings_[at].ends[0].node;
    const auto is_of_node = [silent](const Place& end) { return !end.is_before && end.node == silent; };
    const auto is_at_switch = [this](const Place& end) { return is_switch(end); };
    std::size_t to = first([&](const Finding& of) { return passes_only_smps(of) && std::ranges::any_of(of.ends, is_of_node); });
    if (to == none) {
      to = first([&](const Finding& of) {
        return of.subject == Finding::Subject::cable &&
               (is_between_switches(of) || (passes_only_smps(of) && std::ranges::all_of(of.ends, is_at_switch)));
      });
    }
    if (to == none) return;
    const subnet::Node& node = input_.subnet.node(silent);
    findings_[at].detail = fmt::format("Requests to {} {} may have gone over it ({}).", in_quotes(node.description()), to_text(node.guid()),
                                       findings_[at].detail.substr(0, findings_[at].detail.size() - 1));
    put_into(to, at);
  }

  /// Removes from a group the ports whose cables have findings of their own. Their evidence moves to these findings.
  void share_out(std::size_t at) {
    Finding& group = findings_[at];
    std::vector<std::size_t> to;
    for (const Place& end : group.ends) to.push_back(finding_of_cable(end));
    if (std::ranges::all_of(to, [](std::size_t index) { return index == none; })) return;
    const std::vector<Place> ends = std::exchange(group.ends, {});
    std::vector<std::vector<Evidence>> evidence_of(ends.size());
    for (const Evidence& evidence : std::exchange(group.evidence, {})) evidence_of.at(evidence.end).push_back(evidence);
    Finding empty = group;
    empty.detail.clear();
    for (std::size_t end = 0; end < ends.size(); ++end) {
      Finding part = empty;
      Finding& target = to[end] == none ? group : part;
      for (Evidence& evidence : evidence_of[end]) {
        evidence.end = target.ends.size();
        target.evidence.push_back(evidence);
      }
      target.ends.push_back(ends[end]);
      if (to[end] != none) fold(findings_[to[end]], std::move(part));
    }
    gone_[at] = group.ends.empty();
  }

  void index_cables() {
    for (std::size_t at = 0; at < findings_.size(); ++at) {
      if (gone_[at] || !findings_[at].is_of_cables()) continue;
      for (const Place& end : findings_[at].ends) {
        if (!end.is_before && end.port != subnet::none) by_port_.try_emplace(end.port, at);
      }
    }
  }

  /// The first finding of the cable at a port, by either of its ends; none if there is none.
  std::size_t finding_of_cable(const Place& port) const {
    if (port.port == subnet::none) return none;
    std::size_t found = none;
    for (const PortIndex at : {port.port, input_.subnet.port(port.port).peer}) {
      if (const auto known = by_port_.find(at); known != by_port_.end()) found = std::min(found, known->second);
    }
    return found;
  }

  std::size_t first(const std::function<bool(const Finding&)>& is_meant) const {
    for (std::size_t at = 0; at < findings_.size(); ++at) {
      if (!gone_[at] && is_meant(findings_[at])) return at;
    }
    return none;
  }

  /// Like first(), but none if several findings are meant.
  std::size_t only(const std::function<bool(const Finding&)>& is_meant) const {
    const std::size_t found = first(is_meant);
    for (std::size_t at = found; found != none && at < findings_.size(); ++at) {
      if (at != found && !gone_[at] && is_meant(findings_[at])) return none;
    }
    return found;
  }

  void put_into(std::size_t to, std::size_t from) {
    if (to == none || to == from) return;
    fold(findings_[to], std::move(findings_[from]));
    gone_[from] = true;
  }

  static constexpr std::size_t none = ~std::size_t{0};
  Findings findings_;
  std::vector<bool> gone_;
  std::unordered_map<PortIndex, std::size_t> by_port_;  // the first finding of a cable that names the port
  const Input& input_;
  std::optional<Machines> machines_, machines_before_;  // of the fabric and its baseline, if there is one
};

using phy::Part;
using phy::PortRow;

constexpr std::size_t most_ports = 4;  // of a finding

std::string trouble_phrase(const PortRow& row) {
  if (!row.has(Part::troubleshooting) || !phy::is_trouble(row.trouble)) return {};
  const std::string_view known = phy::trouble_text(row.trouble);
  if (!known.empty()) return fmt::format("{} (code {})", known, row.trouble);
  const std::string device = row.trouble_text.empty() ? std::string() : ": " + in_quotes(row.trouble_text);
  return fmt::format("trouble code {}{}", row.trouble, device);
}

std::string last_down_phrase(const PortRow& row) {
  if (!row.has(Part::link_down) || row.down_reason == reg::DownReason::none || row.down_reason == reg::DownReason::unknown) return {};
  const std::string_view known = to_text(row.down_reason);
  const std::string reason = known.empty() ? fmt::format("code {}", static_cast<unsigned>(row.down_reason)) : std::string(known);
  const bool has_initiator = row.down_initiator != reg::DownInitiator::unknown && !to_text(row.down_initiator).empty();
  return fmt::format("went down last for: {}{}", reason, has_initiator ? fmt::format(" (by {})", to_text(row.down_initiator)) : "");
}

std::string ratio_phrase(const PortRow& row) {
  std::string text;
  const auto add = [&text](std::string_view name, std::optional<double> ratio) {
    if (ratio) text += fmt::format("{}{} {:g}", text.empty() ? "BER " : ", ", name, *ratio);
  };
  add("raw", phy::raw_ber(row));
  add("effective", phy::effective_ber(row));
  add("symbol", phy::symbol_ber(row));
  const std::optional<double> seconds = phy::seconds_since_clear(row);
  return text.empty() || !seconds ? text : fmt::format("{} in {}", text, duration_text(*seconds));
}

std::string module_phrase(const PortRow& row, bool is_up) {
  if (!row.has(Part::module)) return {};
  if (!row.has_module()) return is_up ? "" : "no module";
  std::string text = "module";
  for (const auto& bytes : {row.module.vendor, row.module.part_number, row.module.serial_number}) {
    if (const std::string of = phy::padded_text(bytes); !of.empty()) text += " " + in_quotes(of);
  }
  if (const auto celsius = phy::module_temperature(row)) text += fmt::format(", {:.0f} C", *celsius);
  return text;
}

/// The ports that a finding names for themselves: not as examples of many, nor as the place of something else.
std::vector<PortIndex> ports_in_finding(const Finding& finding, const Input& input) {
  std::vector<PortIndex> ports;
  if (finding.subject == Finding::Subject::manager || finding.subject == Finding::Subject::group) return ports;
  const auto take = [&](const Place& place) {
    if (place.is_before || place.port == subnet::none || input.subnet.port(place.port).number == 0 || ports.size() == most_ports) return;
    if (std::ranges::find(ports, place.port) == ports.end()) ports.push_back(place.port);
  };
  for (const Place& end : finding.ends) take(end);
  for (const Place& place : finding.lost) take(place);
  return ports;
}

std::string end_name(const Finding& finding, std::size_t at, PortIndex port, const Input& input) {
  const bool is_cable = finding.subject == Finding::Subject::cable && finding.ends.size() <= 2 && at < 2;
  if (is_cable && finding.ends.front().port == port) return "This end";
  return is_cable && finding.ends.back().port == port ? "The other end" : port_text(input.subnet, port);
}

}  // namespace

void fold(Finding& to, Finding from) {
  const auto is_known = [&to](const Evidence& of) {
    return std::ranges::any_of(
        to.evidence, [&of](const Evidence& known) { return of.counter != nullptr && of.counter == known.counter && of.end == known.end; });
  };
  const bool is_other_end = to.subject == Finding::Subject::cable && from.subject == Finding::Subject::cable && to.ends.size() == 2 &&
                            to.ends[1] == Place{} && from.ends[0] != to.ends[0];
  if (is_other_end) {
    to.ends[1] = from.ends[0];
    if (to.detail == from.detail) to.detail = from.detail = "Both of its ports report the link as up, but nothing passes it.";
  }
  for (Evidence& evidence : from.evidence) {
    evidence.end = to.end_of(from.ends.at(evidence.end));
    if (!is_known(evidence)) to.evidence.push_back(evidence);
  }
  if (to.detail.find(from.detail) == std::string::npos) to.add_sentence(from.detail);
  from.also.push_back(from.check);
  for (const Check* check : from.also) {
    if (check != to.check && std::ranges::find(to.also, check) == to.also.end()) to.also.push_back(check);
  }
  std::ranges::sort(to.also);  // in the order of the table
  for (const Place& place : from.lost) {
    if (std::ranges::find(to.lost, place) == to.lost.end()) to.lost.push_back(place);
  }
}

Findings merge(Findings findings, const Input& input) {
  std::ranges::stable_sort(findings, {}, [&input](const Finding& finding) { return rank(finding, input); });
  Findings merged;
  std::map<CableKey, std::size_t> cables;
  for (Finding& finding : findings) {
    if (finding.is_of_cables()) {
      const std::vector<CableKey> keys = keys_of(finding, input);
      const auto known = std::ranges::find_if(keys, [&cables](const CableKey& key) { return cables.contains(key); });
      if (known != keys.end()) {
        fold(merged[cables.at(*known)], std::move(finding));
        continue;
      }
      for (const CableKey& key : keys) cables.emplace(key, merged.size());
    }
    merged.push_back(std::move(finding));
  }
  return merged;
}

Findings explain(Findings findings, const Input& input) { return Explainer(std::move(findings), input).run(); }

std::string layer_text(const PortRow& row, bool is_up) {
  std::string text;
  for (const std::string& phrase : {trouble_phrase(row), last_down_phrase(row), ratio_phrase(row), module_phrase(row, is_up)}) {
    if (!phrase.empty()) add_part(text, phrase, "; ");
  }
  return text;
}

void add_layer(Findings& findings, const Input& input) {
  for (Finding& finding : findings) {
    const std::vector<PortIndex> ports = ports_in_finding(finding, input);
    for (std::size_t at = 0; at < ports.size(); ++at) {
      const PortRow* row = input.phy.find(ports[at]);
      if (row == nullptr) continue;
      const bool is_up = input.subnet.port(ports[at]).is_link_up();
      const std::string text = layer_text(*row, is_up);
      if (!text.empty()) finding.add_sentence(fmt::format("{}: {}.", end_name(finding, at, ports[at], input), text));
      if (!is_up && finding.remedy.empty() && row->has(Part::troubleshooting)) finding.remedy = phy::remedy(row->trouble);
    }
  }
}

std::vector<PortIndex> ports_of(const Findings& findings, const Input& input) {
  std::vector<PortIndex> ports;
  std::vector<bool> is_known(input.subnet.ports().size());
  for (const Finding& finding : findings) {
    for (const PortIndex port : ports_in_finding(finding, input)) {
      if (!is_known[port]) ports.push_back(port);
      is_known[port] = true;
    }
  }
  return ports;
}

}  // namespace ib::health
