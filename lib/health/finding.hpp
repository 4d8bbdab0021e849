// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The result of a check: the place, the level, the confidence, and the numbers that show it. Findings are flat data. Their reason and
// remedy are in the table of checks (health/diagnosis.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "iba/struct_info.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"

namespace ib::health {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::PortIndex;
using subnet::Subnet;

struct Check;

enum class Level : std::uint8_t { info, warning, error };
/// The confidence that the finding is true, and that its place is to blame.
enum class Confidence : std::uint8_t { possible, likely, sure };

std::string_view name(Level level);
std::string_view name(Confidence confidence);
std::optional<Level> find_level(std::string_view name);

struct Place {
  NodeIndex node = subnet::none;  ///< none: a node that did not answer
  PortIndex port = subnet::none;  ///< none: the node as a whole
  bool is_before{};               ///< both are of the baseline's model: they do not exist any more
  bool operator==(const Place&) const = default;
};

/// The value of a counter or of a field. A field whose number is a code has its word too: 25781.25 Mb/s is "EDR".
struct Value {
  std::variant<std::monostate, std::uint64_t, double> number;
  std::string_view word;
  bool known() const { return number.index() != 0; }
};

/// A value that shows why there is a finding.
struct Evidence {
  const FieldInfo* counter{};              ///< null: it is a field
  std::string_view field{};                ///< by its name in the IBA: `linkSpeedActive`
  std::size_t end{};                       ///< index in Finding::ends
  Value before{}, after{};                 ///< of a field only `after`
  std::optional<std::uint64_t> delta{};    ///< of a counter: what it counted in between
  std::optional<double> seconds{};         ///< in which it counted this
  std::optional<double> limit{};           ///< which the value, or what was counted, is beyond
  bool is_beyond_limit{};                  ///< of a field: the value is greater or less than `limit`, not merely another one
  bool is_rate_limit{};                    ///< of a counter: `limit` is of what it counts in a second, not of `delta`
  std::string_view limit_word{};           ///< of a limit that is a code
  std::optional<double> provable_ratio{};  ///< the error ratio that `seconds` can prove on this link (health/checks/common.hpp)
  const Check* check{};                    ///< the check that made it; examine() sets it
  /// Absent if not known.
  std::optional<double> per_second() const {
    return delta && seconds ? std::optional(static_cast<double>(*delta) / *seconds) : std::nullopt;
  }
};

struct Finding {
  enum class Subject : std::uint8_t {
    cable,    ///< `ends` are the two ends of a link, or one port without a link. Findings of one cable become one (merge())
    cables,   ///< `ends` are the two ends of a link, then of the next one. Findings of each of these cables become part of this one
    place,    ///< `ends` are a node or port, and others that are involved
    manager,  ///< `ends` are the ports of subnet managers
    group,    ///< `ends` are all ports or nodes for which the same is true
  };
  /// The kinds of findings that a finding of a cable that carries nothing can explain (merge()).
  enum class Symptom : std::uint8_t {
    none,
    fewer_links,  ///< links are missing at the nodes in `ends`, and nothing else is different
    lost_link,    ///< a link is missing between the two nodes in `ends`
    no_gmps,      ///< the node in `ends` answers SMPs, and requests that are routed by LID do not reach it
  };
  bool is_of_cables() const { return subject == Subject::cable || subject == Subject::cables; }
  /// What to do: `remedy`, or the check's. An action that a program has a name for stands in braces: "Clear them: {clear_counters}."
  std::string_view what_to_do() const;
  /// Adds a sentence to `detail`; nothing if it is empty.
  void add_sentence(std::string_view sentence);
  /// The index of `place` in `ends`. Adds it if it is not there yet.
  std::size_t end_of(const Place& place);

  Subject subject = Subject::cable;
  Symptom symptom = Symptom::none;
  std::optional<Level> level{};  ///< absent: the level of the check, which examine() sets
  Confidence confidence = Confidence::sure;
  std::vector<Place> ends{};
  std::vector<Place> lost{};  ///< places where a link is missing, as this finding says: it explains symptoms there
  std::vector<Evidence> evidence{};
  std::string detail{};              ///< sentences on what no evidence shows; text from the fabric in them is escaped
  std::string_view remedy{};         ///< what to do here, in the place of the check's remedy; empty: that one
  const Check* check{};              ///< the check that found it, of a merged finding the worst; examine() sets it
  std::vector<const Check*> also{};  ///< the checks whose findings were put into this one, as they were; without `check`
};

using Findings = std::vector<Finding>;

/// A finding of the cable at `port`, which is its first end.
Finding on_cable(const Subnet& subnet, PortIndex port, std::vector<Evidence> evidence = {});
/// The first end of each link, by GUID and port number: for checks of what both ends have in common. In the order of these.
std::vector<PortIndex> first_ends(const Subnet& subnet);
/// The end ports to which packets can be sent: Active ones whose PortInfo was read, and port 0 of switches with an Active port. By GUID and
/// number.
std::vector<PortIndex> end_ports_in_use(const Subnet& subnet);
/// A finding of the cable at the port of `place`, or of that place.
Finding on_place(const Subnet& subnet, const Place& place, bool is_cable);
Finding on_port(const Subnet& subnet, PortIndex port, std::vector<Evidence> evidence = {},
                Finding::Subject subject = Finding::Subject::place);
/// A finding of ports, whatever their links.
Finding on_ports(const Subnet& subnet, std::span<const PortIndex> ports, Finding::Subject subject = Finding::Subject::place);
Finding on_nodes(std::span<const NodeIndex> nodes, Finding::Subject subject = Finding::Subject::place);
inline Finding on_node(NodeIndex node) { return on_nodes({&node, 1}); }
inline Place place_of(const Subnet& subnet, PortIndex port) { return {subnet.port(port).node, port}; }
/// The order of ports by GUID and number, which does not depend on the order of replies.
std::tuple<Guid, unsigned, PortIndex> place_order(const Subnet& subnet, PortIndex port);

// Findings in words. Text from the fabric in them is escaped (base/escape.hpp).

/// Writes findings. `before` is the baseline's model, for places of it.
struct FindingText {
  const Subnet& subnet;
  const subnet::NodeNameMap& names;
  const Subnet* before{};

  const Subnet& subnet_of(const Place& place) const { return place.is_before ? *before : subnet; }
  /// The node of a place: its name and GUID, or only one of them.
  std::string node(const Place& place, bool has_guid) const;
  std::string place(const Place& place) const;
  /// A port or node as place(), without the GUID, for a line below one that has the GUID.
  std::string short_place(const Place& place) const;
  /// The ends of a finding: both of a cable, of several cables or of a group the first ones, at most `most` of them.
  std::string ends(const Finding& finding, std::size_t most = 3) const;
  std::string evidence(const Finding& finding, const Evidence& evidence) const;
  /// The description of the fault, as sentences.
  std::string seen(const Finding& finding) const;
  /// A finding in one line: one end of a group, and the description.
  std::string brief(const Finding& finding) const;
};

std::string count_text(std::size_t count, std::string_view one, std::string_view many);
/// A time for people: "30 s", "5 min", "2.5 h".
std::string duration_text(double seconds);

}  // namespace ib::health
