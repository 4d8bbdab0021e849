// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Links that went down, by LinkDowned of both ends. If both ends counted it, the cable is to blame. If one end alone did, the node at the
// other end has restarted, or where that is a switch, the driver or the firmware of the host took the link down. If the counter of one end
// shows nothing, or the link did not come back, a restart is not proved. And errors of which a good link has none.
#include <algorithm>
#include <string_view>
#include <utility>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"

namespace ib::health {
namespace {

using subnet::PortIndex;
constexpr std::string_view link_downed = "link_downed_counter";

/// The least number of times that the port has lost its link.
std::uint64_t downs_of(const Input& input, const PortChanges& counts) {
  const CounterChange* change = counts.find(link_downed);
  if (change == nullptr) return 0;
  const bool has_restarted = change->kind == CounterChange::Kind::reset && counts.began_anew;  // it began at zero then
  return has_restarted ? 0 : counted_of(input, counts, *change);
}

/// What the other end of a link did while LinkDowned moved at this one.
enum class OtherEnd { counted, restarted, stands_still, is_full, was_cleared, not_read };

OtherEnd other_end(const Input& input, PortIndex peer) {
  const PortChanges* counts = peer == subnet::none ? nullptr : input.counts.find(peer);
  if (counts == nullptr) return OtherEnd::not_read;
  if (downs_of(input, *counts) != 0) return OtherEnd::counted;
  if (counts->began_anew) return OtherEnd::restarted;
  const CounterChange* change = counts->find(link_downed);
  if (change == nullptr) return OtherEnd::stands_still;
  if (change->is_full) return OtherEnd::is_full;
  return change->kind == CounterChange::Kind::reset ? OtherEnd::was_cleared : OtherEnd::stands_still;
}

/// Whether the link of a port leads from a host to a switch.
bool is_host_at_switch(const subnet::Subnet& subnet, const subnet::Port& port) {
  const auto is_switch = [&subnet](const subnet::Port& of) { return subnet.node(of.node).kind() == subnet::NodeKind::sw; };
  return !is_switch(port) && is_switch(subnet.port(port.peer));
}

bool is_down(const subnet::Port& port) { return port.peer == subnet::none && !port.is_link_up(); }
bool is_disabled(const subnet::Port& port) { return port.physical_state() == smp::PortPhysicalState::disabled; }

/// A port whose LinkDowned has counted.
struct Downed {
  const PortChanges& counts;
  const CounterChange& change;
};

/// Calls use() with each port whose LinkDowned has counted.
template <class Use>
void each_downed(const Input& input, Use use) {
  for (const PortChanges& counts : input.counts.all()) {
    const std::uint64_t downs = downs_of(input, counts);
    if (downs == 0 || static_cast<double>(downs) < input.thresholds.events) continue;
    use(Downed{counts, *counts.find(link_downed)});
  }
}

Finding finding_of(const Input& input, const Downed& port) {
  Finding finding = on_cable(input.subnet, port.counts.port);
  finding.evidence.push_back(evidence_of(input, port.counts, port.change, 0, input.thresholds.events));
  return finding;
}

/// Weakens a finding that only the counter of one end shows, because that of the other end shows nothing.
void doubt(Finding& finding, std::string_view detail) {
  finding.level = Level::warning;
  finding.confidence = Confidence::possible;
  finding.detail = detail;
}

/// A link that went down and is still away, by the peer that its port had before.
Finding dead_link(const Input& input, const Downed& port) {
  Finding finding = finding_of(input, port);
  const PortIndex peer = former_peer(input, port.counts.port);
  if (peer != subnet::none) finding.ends.push_back(place_of(input.subnet, peer));
  finding.lost = finding.ends;
  if (peer == subnet::none) {
    doubt(finding, "It went down and did not come back. The node at its other end is switched off or gone, or it is not known.");
  } else if (other_end(input, peer) == OtherEnd::counted) {
    finding.detail = "Both ends counted it, and it did not come back.";
  } else {
    doubt(finding, "It went down and did not come back. The other end did not count it, or it is not known.");
  }
  const auto is_disabled_end = [&input](const Place& end) { return is_disabled(input.subnet.port(end.port)); };
  if (std::ranges::any_of(finding.ends, is_disabled_end)) {
    finding.level = Level::warning;
    finding.detail += " A port of it is disabled.";
  }
  return finding;
}

void find_flaps(const Input& input, Findings& findings) {
  each_downed(input, [&](const Downed& port) {
    const subnet::Port& of = input.subnet.port(port.counts.port);
    if (is_down(of)) {
      findings.push_back(dead_link(input, port));
      return;
    }
    Finding finding = finding_of(input, port);
    switch (other_end(input, of.peer)) {
      case OtherEnd::counted:
        hedge(finding, port.change);
        break;
      case OtherEnd::is_full:
        doubt(finding, "LinkDowned of the other end is saturated: it is not known whether that node restarted.");
        break;
      case OtherEnd::was_cleared:
        doubt(finding, "LinkDowned of the other end was set to zero: it is not known whether that node restarted.");
        break;
      case OtherEnd::not_read:
        doubt(finding, "The counters of the other end were not read: it may have been the restart of that node.");
        break;
      default:
        return;  // find_restarts()
    }
    findings.push_back(std::move(finding));
  });
}

void find_restarts(const Input& input, Findings& findings) {
  each_downed(input, [&](const Downed& port) {
    const subnet::Port& of = input.subnet.port(port.counts.port);
    if (is_down(of)) return;  // find_flaps()
    Finding finding = finding_of(input, port);
    switch (other_end(input, of.peer)) {
      case OtherEnd::restarted:
        finding.detail = "The counters of the other end started again from zero.";
        break;
      case OtherEnd::stands_still:
        finding.confidence = Confidence::likely;
        finding.detail = is_host_at_switch(input.subnet, of) ? "The switch did not count it: the driver or the firmware of this host."
                                                             : "The other end did not count it.";
        break;
      default:
        return;  // find_flaps()
    }
    findings.push_back(std::move(finding));
  });
}

}  // namespace

std::span<const Check> flap_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"link-flap", error, needs(window), "The link went down, and no restart of a node explains it: jobs that used it have failed.",
       "Check whether a node was switched off; if not, replace the cable; if the link goes down again, the transceiver or the port.",
       find_flaps},
      {"link-restart", info, needs(window), "The link went down at one end only: the cause was a node, not the cable.",
       "Nothing if this was intended; else look at the log of the host.", find_restarts},
      {"link-integrity", error, needs(window), "Symbol errors exceeded the port's own limit (LocalPhyErrors).", "Replace the cable.",
       [](const Input& input, Findings& findings) { find_events(input, findings, "local_link_integrity_errors"); }},
      {"buffer-overrun", error, needs(window), "Packets arrived for which no buffer was free: the sender ignores credits.",
       "Compare the VLs of both ends (ibtool smpquery PI); update the firmware of the sender, which is the other end.",
       [](const Input& input, Findings& findings) { find_events(input, findings, "excessive_buffer_overrun_errors"); }},
  };
  return checks;
}

}  // namespace ib::health
