// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of metrics as data: the name, the type, the items that have samples, and the function that writes the samples of one item.
// The families of treydock's infiniband_exporter and of guilbaults' infiniband-exporter have exactly the names and labels of these, so that
// dashboards continue to work. Our own families are added to either.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba/types.hpp"
#include "metrics/fabric.hpp"
#include "report/sink.hpp"

namespace ib::metrics {

// Samples as Prometheus reads them: its text format 0.0.4, and OpenMetrics 1.0. A family of metrics is begun, then its samples follow; the
// comments of a family are written with its first sample, so that an empty family leaves no trace. Text is appended to a buffer, which
// its owner empties from time to time: no page is ever whole in memory.
//
//   Exposition page(Format::text, constant_labels({}));
//   page.begin(family);
//   page.sample().label("guid", guid).label("switch", name).value(1);
//   page.end();

enum class Format : std::uint8_t { text, openmetrics };

/// The value of the header Content-Type.
std::string_view content_type(Format format);

/// What all samples of one name have in common.
struct FamilyHead {
  std::string name;         ///< as it stands in samples: the name of a counter ends with "_total"
  report::Measure measure;  ///< a counter or a gauge. OpenMetrics has the unit where the name (without "_total") ends with it
  std::string help;         ///< one line without backslashes and quotes
};

/// Appends `text` as the value of a label, without its quotes. What is not UTF-8 becomes U+FFFD: Prometheus would drop the whole page.
/// Backslash, quote and newline are escaped. Other control characters except tabs become U+FFFD too: some readers fail on CR and NUL, and
/// terminals obey them.
void append_label_value(std::string& out, std::string_view text);

/// Whether `name` may be the name of a label that a user adds: [a-zA-Z_][a-zA-Z0-9_]*, and not reserved by two leading underscores.
bool is_label_name(std::string_view name);

/// Names and values.
using Labels = std::vector<std::pair<std::string, std::string>>;
/// The text of labels that all samples bear: `fabric="hpc1",`, empty where there are none.
std::string constant_labels(const Labels& labels);

class Exposition;

/// One sample while it is written: labels, then the value, which ends it.
class Sample {
 public:
  Sample& label(std::string_view name, std::string_view text);
  /// As "0x" and 16 digits.
  Sample& label(std::string_view name, Guid guid);
  Sample& label(std::string_view name, unsigned number);
  template <std::integral T>
  void value(T number) {
    value_text(std::to_string(number));
  }
  void value(double value);

 private:
  friend class Exposition;
  explicit Sample(std::string& out) : out_(out) {}
  void begin_label(std::string_view name);
  void value_text(std::string_view text);

  std::string& out_;
};

/// The text of a page, piece by piece.
class Exposition {
 public:
  /// `labels` as constant_labels() makes them.
  Exposition(Format format, std::string labels) : format_(format), labels_(std::move(labels)) {}

  /// Begins a family. `head` must outlive its samples.
  void begin(const FamilyHead& head);
  Sample sample();
  void end();

  /// What was written and not taken yet.
  std::string& buffer() { return out_; }

 private:
  void write_comments();

  Format format_;
  std::string labels_;
  std::string out_;
  const FamilyHead* head_{};
  bool has_comments_{};  ///< of head_
};

/// The exporter whose names are used.
enum class Names : std::uint8_t { treydock, guilbaults };

/// What an exporter exports, for as long as it runs.
struct Exported {
  Names names = Names::treydock;
  bool hcas{};      ///< HCAs too
  bool details{};   ///< PortRcvErrorDetails and PortXmitDiscardDetails too
  bool phy{};       ///< the physical layer too
  bool run_once{};  ///< a run that ends: collectors are called "switch-runonce", …
};

/// What a request may select: a family that has one of these bits.
enum Selection : std::uint8_t {
  select_switch = 1U << 0,  ///< all of switches
  select_hca = 1U << 1,     ///< all of HCAs
  select_errors = 1U << 2,  ///< counters of errors
  select_data = 1U << 3,    ///< counters of data and packets
  select_all = 0xf,
};

/// The items of which a family has samples: the exporter, which is one item, the devices of a view, or its findings.
enum class Items : std::uint8_t { exporter, switches, hcas, switches_and_hcas, findings };

/// Times as Prometheus has them: in seconds.
inline double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
inline double seconds(WallTime time) { return seconds(time.time_since_epoch()); }

struct ItemWriter;
using WriteItem = void (*)(const ItemWriter& to);

/// What some families have in common.
struct FamilyGroup {
  std::string prefix;  ///< what their names begin with
  Items items{};
  std::uint8_t selected_by{};  ///< Selection; 0: in each page
  /// They say what a snapshot does not hold: how the reading of a device went, what was between two readings, or what is read with the FEC
  /// modes. So does every family of Items::exporter.
  bool is_live{};
  bool has_gone{};  ///< also samples of devices that are gone
};
/// A family as a column over items.
struct FamilyColumn {
  std::string_view key;     ///< the name behind the prefix; a counter gets "_total"
  report::Measure measure;  ///< a counter or a gauge, and its unit
  std::string_view meaning;
  WriteItem write{};
};
/// A group of families of switches, or of HCAs: their names begin with "infiniband_switch_" or "infiniband_hca_", and then `part`.
/// `further`: of Selection, beside the kind of the devices.
FamilyGroup group_of(Items items, std::string_view part = {}, std::uint8_t further = 0, bool is_live = false);

struct Family : FamilyHead {
  Family(FamilyGroup of, const FamilyColumn& as);
  /// The family of a counter of counters::columns. Its key and `writer` depend on the exporter.
  Family(FamilyGroup of, std::string_view key, std::size_t counter, WriteItem writer);

  FamilyGroup group;
  WriteItem write{};
  std::size_t column{};  ///< of counters: which
};
void add_families(std::vector<Family>& to, const FamilyGroup& group, std::span<const FamilyColumn> columns);

/// All families of a page, in their order.
std::vector<Family> families(const Exported& exported);

void add_treydock_families(std::vector<Family>& to, const Exported& exported);
void add_guilbaults_families(std::vector<Family>& to, const Exported& exported);
void add_own_families(std::vector<Family>& to, const Exported& exported);
void add_phy_families(std::vector<Family>& to, const Exported& exported);

std::size_t count(const View& view, const Family& family);
/// The GUID that `guid` stands for in metrics: of a switch the one in its NodeInfo, of another node's port Subnet::port_guid(), which falls
/// back to the GUID of another port of its node: no series has an empty label.
Guid device_guid(const subnet::Subnet& subnet, PortIndex port);

/// One item of a family, and where its samples go. A view that has devices has a reading.
struct ItemWriter {
  ItemWriter(const View& of, const Exported& what, const Family& by, std::size_t number, Exposition& to);

  const View& view;
  const Exported& exported;
  const Family& family;
  Exposition& out;
  const GoneDevice* gone{};        ///< null unless the item is a device that is gone
  const Findings::Row* finding{};  ///< null unless the item is a finding

  const SweptFabric& fabric() const { return *view.reading->fabric; }
  bool is_switch() const { return gone != nullptr ? gone->is_switch : device_->is_switch; }
  /// The GUID of a device, also of one that is gone; of a finding the GUID of the device at its first end.
  Guid guid() const;
  /// A device that is not gone.
  const Device& device() const { return *device_; }
  /// How a device was read; null: its counters are not wanted.
  const DeviceReading* reading() const;
  /// Begins a sample with the label `guid` of the device, also of one that is gone.
  Sample device_sample() const { return out.sample().label("guid", guid()); }
  /// Begins a sample with the labels `guid` and `port` of a port of the device.
  Sample port_sample(PortIndex port) const { return device_sample().label("port", fabric().subnet.port(port).number); }
  /// The port at the other end of the link of a port, or none.
  PortIndex linked_peer(PortIndex port) const { return metrics::linked_peer(fabric().subnet, *view.states, port); }
  /// Whether a link still runs at the rate that the sweep found.
  bool has_swept_rate(PortIndex port, PortIndex peer) const {
    return !view.states->changed().contains(port) && !view.states->changed().contains(peer);
  }

  /// Calls `use` with each port of a device that has a link, and its peer.
  template <class Use>
  void each_linked_port(Use use) const {
    fabric().each_port(device(), [&](PortIndex port) {
      if (const PortIndex peer = linked_peer(port); peer != subnet::none) use(port, peer);
    });
  }
  /// Calls `use` with each row of a device whose port has a link, and its peer.
  template <class Use>
  void each_linked_row(Use use) const {
    const DeviceReading* of = reading();
    if (of == nullptr) return;
    for (std::uint32_t at = of->first_row; at < of->first_row + of->rows; ++at) {
      const counters::CounterRow& row = view.reading->rows[at];
      if (const PortIndex peer = linked_peer(row.port); peer != subnet::none) use(row, peer);
    }
  }

 private:
  const Device* device_{};  ///< null unless the item is a device that is not gone
};

// Functions of several families.
/// Writes the counter Family::column of each linked port by the GUID of its device; words of 32 bits as bytes.
void write_port_counter(const ItemWriter& to);
void write_reading_duration(const ItemWriter& to);

struct PagePart {
  Format format{};
  std::uint8_t selected = select_all;   ///< Selection
  std::uint32_t shards = 1, shard = 0;  ///< devices are parted by their GUIDs; what has no device is in shard 0
};

/// Whether the device with that GUID is in shard `shard` of `shards`. A GUID is always in the same one.
bool is_in_shard(Guid guid, std::uint32_t shards, std::uint32_t shard);

/// What all pages have in common, for as long as an exporter runs.
struct PageRules {
  Exported exported;
  std::vector<Family> families;  ///< of `exported`
  std::string labels;            ///< constant_labels()

  PageRules(const Exported& of, std::string constant) : exported(of), families(metrics::families(of)), labels(std::move(constant)) {}
};

class Page {
 public:
  /// `rules` must outlive this object; `view` must not change.
  Page(const PageRules& rules, View view, PagePart part);

  /// Makes text until `out`, which is emptied, has about `size` bytes, or a little more. False: the page has ended, and `out` is empty.
  bool next(std::string& out, std::size_t size);

 private:
  bool is_selected(const Family& family) const;

  const PageRules& rules_;
  View view_;
  PagePart part_;
  Exposition exposition_;
  std::size_t family_{}, item_{};
  bool has_begun_{}, has_ended_{};
};

/// Writes a history in OpenMetrics from readings of a fabric, which are sorted by their times: one family after another, the samples of a
/// series together, as the format requires, without the families that a snapshot does not hold. With `timestamps` each sample has the time
/// of its reading. `labels` are constant_labels(). `write` gets the text in pieces.
void write_history(std::span<const View> views, const Exported& exported, const std::string& labels, bool timestamps,
                   const std::function<void(std::string_view)>& write);

}  // namespace ib::metrics
