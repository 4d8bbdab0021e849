// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The linear forwarding tables of all switches of a network in one array. A table that was not read, or a block of it, is not the same
// as one without entries.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "mad/transactor.hpp"
#include "routing/network.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::routing {

enum class EntryKind : std::uint8_t {
  not_read,
  no_entry,  ///< dropped: the switch has no entry for the LID, or one that is 255 or a port that the switch does not have
  own_port,  ///< for the switch itself: port 0
  port,      ///< sent out by a port
};
/// Judges the output port of an entry of a switch with `num_ports` ports besides port 0. `port` is absent if the entry was not read, and
/// no_out_port if the switch has no entry for the LID.
constexpr EntryKind entry_kind(std::optional<std::uint8_t> port, unsigned num_ports) {
  if (!port) return EntryKind::not_read;
  if (*port == subnet::no_out_port || *port > num_ports) return EntryKind::no_entry;
  return *port == 0 ? EntryKind::own_port : EntryKind::port;
}

/// Calls use(n) for each bit n that is set.
template <class F>
void each_bit(std::uint64_t bits, F&& use) {
  for (; bits != 0; bits &= bits - 1) use(static_cast<unsigned>(std::countr_zero(bits)));
}

class LinearTables {
 public:
  static constexpr std::uint8_t no_entry = subnet::no_out_port;
  static constexpr unsigned per_block = 64;

  /// Tables of which nothing is read yet, for `switches` switches and the LIDs up to `last`.
  LinearTables(std::size_t switches, Lid last)
      : last_(last), blocks_(last.value / per_block + 1U), ports_(switches * blocks_ * per_block, no_entry), known_(switches * blocks_) {}

  Lid last() const { return last_; }
  /// The output port of `lid`; no_entry if the switch does not forward it. May exceed the switch's last port.
  std::uint8_t out_port(SwitchIndex at, Lid lid) const { return ports_[at * blocks_ * per_block + lid.value]; }
  /// Whether the entry of `lid` was read, or is known not to exist.
  bool is_known(SwitchIndex at, Lid lid) const { return (known_[at * blocks_ + lid.value / per_block] >> lid.value % per_block & 1) != 0; }

  EntryKind kind(SwitchIndex at, Lid lid, unsigned num_ports) const {
    return entry_kind(is_known(at, lid) ? std::optional(out_port(at, lid)) : std::nullopt, num_ports);
  }

  bool is_known(SwitchIndex at) const {
    const auto row = known_.begin() + static_cast<std::ptrdiff_t>(at * blocks_);
    return std::all_of(row, row + static_cast<std::ptrdiff_t>(blocks_), [](std::uint64_t bits) { return ~bits == 0; });
  }

  /// Stores the table as it was read from the switch. Blocks that were not read stay so.
  void set(SwitchIndex at, const subnet::LinearTable& table);
  void clear(SwitchIndex at) { clear(at, Lid{0}, permissive_lid); }
  /// Declares the entries from `first` to `last` known and empty. LIDs beyond the last one are ignored.
  void clear(SwitchIndex at, Lid first, Lid last);
  /// Stores one entry; LIDs beyond the last one are ignored.
  void set_entry(SwitchIndex at, Lid lid, std::uint8_t port);

 private:
  Lid last_;
  std::size_t blocks_;
  std::vector<std::uint8_t> ports_;
  std::vector<std::uint64_t> known_;  // by switch and block: a bit for each entry
};

/// An entry of a switch for a LID that a port of the model has.
struct ForwardingEntry {
  Lid lid;
  subnet::PortIndex owner{};  ///< of the LID
  std::uint8_t port{};        ///< the output port
};
/// The entries of a switch that were read and name one of its ports, by ascending LID, whether packets come to them or not. No switch
/// (routing::none) has none.
std::vector<ForwardingEntry> entries_of(const Network& network, const LinearTables& tables, SwitchIndex at);
/// Whether a switch sends on packets to LIDs that no port of the model has.
bool has_unknown_lids(const Network& network, const LinearTables& tables, SwitchIndex at);

// The multicast forwarding tables of a network by MLID: for each group in use the switches that have an entry, and their ports.

struct PortSet {
  std::array<std::uint64_t, 4> words{};
  bool has(unsigned port) const { return port < 256 && (words[port / 64] >> port % 64 & 1) != 0; }
  void add(unsigned port) { words[port / 64] |= std::uint64_t{1} << port % 64; }
  template <class F>
  void each(F&& use) const {
    for (unsigned word = 0; word < words.size(); ++word) each_bit(words[word], [&](unsigned bit) { use(word * 64 + bit); });
  }
};

struct MulticastEntry {
  Lid mlid;
  SwitchIndex at{};
  PortSet ports;
};

/// Calls use(port, wire) for each port of an entry that the switch has, besides port 0.
template <class F>
void each_wire(const Network& network, const MulticastEntry& entry, F&& use) {
  const Switch& at = network.switches()[entry.at];
  entry.ports.each([&](unsigned port) {
    if (port != 0 && port < at.slots) use(port, network.wire(at.first_port_id + port));
  });
}

class MulticastTables {
 public:
  explicit MulticastTables(std::size_t switches) : known_(switches) {}

  /// Adds the table of a switch. Each switch once.
  void add(SwitchIndex at, const subnet::MulticastTable& table);
  /// Adds an entry from a file. It replaces an earlier entry of the same switch and group. The table of the switch counts as read.
  void add(SwitchIndex at, Lid mlid, const PortSet& ports) {
    known_[at] = true;
    entries_.push_back({mlid, at, ports});
  }
  /// Declares whether the whole table of the switch was read, whatever was added.
  void set_known(SwitchIndex at, bool known = true) { known_[at] = known; }
  void finish();

  bool is_known(SwitchIndex at) const { return known_[at]; }
  std::size_t unread_count() const { return static_cast<std::size_t>(std::ranges::count(known_, false)); }
  std::vector<Lid> groups() const;
  /// The entries of a group by ascending switch; no empty ones.
  std::span<const MulticastEntry> entries(Lid mlid) const {
    const auto [begin, end] = std::ranges::equal_range(entries_, mlid, {}, &MulticastEntry::mlid);
    return {begin, end};
  }

 private:
  std::vector<bool> known_;
  std::vector<MulticastEntry> entries_;
};

// The service levels that pairs use, as far as they are known.

/// A set of SLs: bit n is SL n. Bit 16 is any_sl.
using SlSet = std::uint32_t;
inline constexpr SlSet all_sls = 0xffff;

enum class UnknownSl : std::uint8_t {
  certain,   ///< what it holds with every SL: where a table maps all SLs to one VL
  possible,  ///< what it may hold with some SL
};

/// Five bits a pair: there are a hundred million pairs and more.
class ServiceLevels {
 public:
  ServiceLevels() = default;
  explicit ServiceLevels(SlSet sls) : of_all_(sls) {}
  /// set() gives the SLs of pairs of `senders` senders and the destinations by their number.
  ServiceLevels(std::size_t senders, std::size_t destinations)
      : senders_(senders), sls_((senders * destinations + 1) / 2), known_(senders * destinations) {}

  bool is_by_pair() const { return senders_ != 0; }
  bool covers_all() const { return of_all_ != 0; }
  void set(std::size_t sender, std::size_t destination, unsigned sl);
  bool is_known(std::size_t sender, std::size_t destination) const {
    return of_all_ != 0 || (is_by_pair() && known_[destination * senders_ + sender]);
  }
  SlSet of(std::size_t sender, std::size_t destination, UnknownSl rest) const {
    const std::size_t pair = destination * senders_ + sender;
    return is_by_pair() && known_[pair] ? SlSet{1} << (sls_[pair / 2] >> pair % 2 * 4 & 0xfU) : of_rest(rest);
  }
  /// The SLs of a pair whose own SL is not known.
  SlSet of_rest(UnknownSl rest) const {
    if (of_all_ != 0) return of_all_;
    return rest == UnknownSl::possible ? all_sls : all_sls + 1;
  }

 private:
  SlSet of_all_ = 0;
  std::size_t senders_ = 0;
  std::vector<std::uint8_t> sls_;  // two pairs in each
  std::vector<bool> known_;        // by pair
};

// The SLtoVL mapping tables of switches (IBA 14.2.5.8), as far as they were read: one for each input and output port. Equal ones are kept
// once.

inline constexpr unsigned sl_count = 16;
/// Stands for "whatever the SL": its VL is that to which all SLs are mapped.
inline constexpr unsigned any_sl = sl_count;
/// A packet on this VL is not sent: VL 15 is for SMPs only.
inline constexpr std::uint8_t dropped_vl = 15;

/// The VLs by SL. At any_sl: the VL of all SLs, dropped_vl if they differ.
using LaneRow = std::array<std::uint8_t, sl_count + 1>;

class SlToVlTables {
 public:
  explicit SlToVlTables(std::size_t switches) : rows_of_(switches) {}

  /// `slots` is the number of ports of the switch, port 0 included.
  void set(SwitchIndex at, unsigned slots, unsigned in, unsigned out, const std::array<std::uint8_t, sl_count>& vls);
  /// One more than the highest VL on which packets are sent.
  unsigned vl_count() const { return vl_count_; }
  /// Null if the table was not read. Valid until the next set().
  const LaneRow* find(SwitchIndex at, unsigned in, unsigned out) const;

 private:
  struct OfSwitch {
    unsigned slots{};
    std::vector<std::uint32_t> rows;  // index: input · slots + output; one more than the index in rows_; 0: not read
  };
  unsigned vl_count_ = 0;
  std::vector<OfSwitch> rows_of_;
  std::vector<LaneRow> rows_;
  std::map<std::array<std::uint8_t, sl_count>, std::uint32_t> known_;
};

// Adaptive routing: a switch that has it on chooses among several output ports by their load, so that packets also go routes that its
// linear table does not have. No attribute of the IBA reports it; switches of Mellanox do, by AdaptiveRoutingInfo.

enum class Adaptive : std::uint8_t {
  off,       ///< also where the switch has no adaptive routing that can be read
  on,        ///< for all SLs or for some
  not_read,  ///< the switch did not answer, or the attribute was not requested
};

/// By switch. Before anything is read: not_read for switches that may have the attribute.
using AdaptiveRouting = std::vector<Adaptive>;
AdaptiveRouting unread_adaptive_routing(const Network& network);

// Reads the forwarding tables of switches into the arrays of this layer, all switches side by side.

/// The tables to read into. Null: not wanted.
struct TablesToRead {
  LinearTables* linear{};
  MulticastTables* multicast{};                                      ///< MulticastTables::finish() is the caller's
  AdaptiveRouting* adaptive{};                                       ///< as unread_adaptive_routing() makes it
  std::optional<std::vector<SwitchIndex>> only{};                    ///< of these switches; absent: of all
  std::function<void(std::size_t done, std::size_t of)> progress{};  ///< in switches; may be null
};

/// Reads the tables. `start` is the path from which the model was swept. Returns a failure for each switch with a table that is not
/// completely known; the blocks that came are kept. An unanswered request for the state of adaptive routing is not a failure. `network` and
/// the tables must outlive the task.
async::Task<subnet::Failures> read_tables(mad::Transactor& transactor, const Network& network, TablesToRead to, path::Path start);

std::vector<SwitchIndex> all_switches(const Network& network);

}  // namespace ib::routing
