// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What checks look at. A check sends nothing: it sees a model, what its sweep could not read, and what was read beside it. Each of these is
// a source; a check names those that it needs (health/checks.hpp), and is not run where one of them is not there.
//
// To add a source: a row in Source, and a member here.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "health/finding.hpp"
#include "health/port_counts.hpp"
#include "health/thresholds.hpp"
#include "iba-gen/smp.hpp"
#include "subnet/changes.hpp"
#include "subnet/failures.hpp"
#include "subnet/model.hpp"

namespace ib::health {

enum class Source : std::uint8_t {
  topology,  ///< the model
  counters,  ///< one reading of the counters of ports
  window,    ///< two of them
  fec,       ///< PortInfoExtended: FEC modes
  baseline,  ///< a stored model of the fabric
};
inline constexpr std::size_t source_count = 5;

/// A set of sources.
using Sources = std::bitset<source_count>;
template <class... T>
constexpr Sources needs(T... source) {
  return Sources(((1ULL << static_cast<unsigned>(source)) | ... | 0ULL));
}

/// Whether a check, or a source, was done.
enum class CheckState : std::uint8_t {
  done,
  not_read,  ///< it was asked for, and did not answer
  skipped,   ///< what the user, the mode or the devices rule out
};
/// "done", "not_read", "skipped".
std::string_view name(CheckState state);

struct SourceState {
  CheckState state = CheckState::done;
  std::string reason{};  ///< a phrase for people, where it is not done
};

/// A fabric as it was, and what has changed since.
struct Baseline {
  const subnet::Subnet& subnet;
  subnet::Changes changes;
};

struct Input {
  Input(const subnet::Subnet& of, const subnet::Failures& met, const Thresholds& limits)
      : subnet(of), failures(met), thresholds(limits), counts(of.ports().size()) {
    source(Source::baseline) = {CheckState::skipped, "no --baseline is given"};
  }
  /// Fills Source::baseline. `before` must outlive this object.
  void compare_with(const Baseline& before) {
    baseline = &before;
    source(Source::baseline) = {};
  }

  const subnet::Subnet& subnet;
  const subnet::Failures& failures;  ///< of the sweep, and of all that was read after it
  const Thresholds& thresholds;
  CounterTable counts;                                  ///< Source::counters, Source::window
  std::map<subnet::PortIndex, smp::FecMode> fec_modes;  ///< Source::fec, of ports that tell
  const Baseline* baseline{};                           ///< Source::baseline
  std::array<SourceState, source_count> sources{};      ///< by Source
  SourceState& source(Source of) { return sources.at(static_cast<std::size_t>(of)); }
  /// The model that a place is of.
  const subnet::Subnet& subnet_of(const Place& place) const { return place.is_before ? baseline->subnet : subnet; }
  const SourceState& source(Source of) const { return sources.at(static_cast<std::size_t>(of)); }
};

/// The number of links of a model.
std::size_t link_count(const subnet::Subnet& subnet);

}  // namespace ib::health
