// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "iba/dialects.hpp"

namespace ib::metrics {
namespace {

constexpr std::string_view total = "_total";
constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::span<const Device> devices_of(const SweptFabric& fabric, Items items) {
  return items == Items::switches ? fabric.switches() : items == Items::hcas ? fabric.hcas() : std::span(fabric.devices);
}

std::span<const GoneDevice> gone_of(const SweptFabric& fabric, const FamilyGroup& group) {
  if (!group.has_gone) return {};
  const auto hcas = std::ranges::find(fabric.gone, false, &GoneDevice::is_switch);
  return group.items == Items::switches ? std::span(fabric.gone.begin(), hcas) : std::span(hcas, fabric.gone.end());
}

/// " 1764000000.250": what stands behind the value of a sample. Seconds since 1970.
std::string timestamp(const View& view) {
  constexpr int per_second = 1000;
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(view.reading->time.time_since_epoch()).count();
  return fmt::format(" {}.{:03}", time / per_second, time % per_second);
}

}  // namespace

std::string_view content_type(Format format) {
  return format == Format::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                       : "text/plain; version=0.0.4; charset=utf-8";
}

void append_label_value(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = decode_utf8(text);
    const char first = text.front();
    if (first == '\\' || first == '"') {
      (out += '\\') += first;
    } else if (first == '\n') {
      out += "\\n";
    } else if (!next.valid || (is_hostile(next.code) && first != '\t')) {
      out += replacement;
    } else {
      out += text.substr(0, next.size);
    }
    text.remove_prefix(next.size);
  }
}

bool is_label_name(std::string_view name) {
  if (name.empty() || !is_letter(name.front()) || name.starts_with("__")) return false;
  return std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string constant_labels(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += name + "=\"";
    append_label_value(text, value);
    text += "\",";
  }
  return text;
}

void Sample::begin_label(std::string_view name) {
  out_ += name;
  out_ += "=\"";
}

Sample& Sample::label(std::string_view name, std::string_view text) {
  begin_label(name);
  append_label_value(out_, text);
  out_ += "\",";
  return *this;
}

Sample& Sample::label(std::string_view name, Guid guid) {
  begin_label(name);
  fmt::format_to(std::back_inserter(out_), "0x{:016x}\",", guid.value);
  return *this;
}

Sample& Sample::label(std::string_view name, unsigned number) {
  begin_label(name);
  const fmt::format_int digits(number);
  out_.append(digits.data(), digits.size());
  out_ += "\",";
  return *this;
}

void Sample::value_text(std::string_view text) {
  // Each label ends with a comma. After the last one stands the brace instead; a sample without labels has no braces.
  const bool has_labels = out_.back() != '{';
  out_.back() = has_labels ? '}' : ' ';
  fmt::format_to(std::back_inserter(out_), "{}{}\n", has_labels ? " " : "", text);
}

void Sample::value(double value) { value_text(fmt::format("{}", value)); }

void Exposition::begin(const FamilyHead& head) {
  head_ = &head;
  has_comments_ = false;
}

/// OpenMetrics names a family of counters without the ending of its samples.
void Exposition::write_comments() {
  std::string_view name = head_->name;
  const bool is_counter = head_->measure.kind == report::Measure::Kind::counter;
  if (format_ == Format::openmetrics && is_counter && name.ends_with(total)) name.remove_suffix(total.size());
  const std::string_view type = report::name(head_->measure.kind), unit = head_->measure.unit;
  fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, head_->help, name, type);
  const bool has_unit = !unit.empty() && name.ends_with(unit) && name.substr(0, name.size() - unit.size()).ends_with('_');
  if (format_ == Format::openmetrics && has_unit) fmt::format_to(std::back_inserter(out_), "# UNIT {} {}\n", name, unit);
  has_comments_ = true;
}

Sample Exposition::sample() {
  if (!has_comments_) write_comments();
  out_ += head_->name;
  out_ += '{';
  out_ += labels_;
  return Sample(out_);
}

void Exposition::end() {
  if (format_ == Format::openmetrics) out_ += "# EOF\n";
}

std::vector<Family> families(const Exported& exported) {
  std::vector<Family> all;
  if (exported.names == Names::treydock) {
    add_treydock_families(all, exported);
  } else {
    add_guilbaults_families(all, exported);
  }
  add_own_families(all, exported);
  add_phy_families(all, exported);
  return all;
}

FamilyGroup group_of(Items items, std::string_view part, std::uint8_t further, bool is_live) {
  const bool is_switch = items == Items::switches;
  const auto by = static_cast<std::uint8_t>((is_switch ? select_switch : select_hca) | further);
  return {(is_switch ? "infiniband_switch_" : "infiniband_hca_") + std::string(part), items, by, is_live};
}

Family::Family(FamilyGroup of, const FamilyColumn& as)
    : FamilyHead{of.prefix + std::string(as.key), as.measure, std::string(as.meaning)}, group(std::move(of)), write(as.write) {
  if (measure.kind == report::Measure::Kind::counter) name += "_total";
}

Family::Family(FamilyGroup of, std::string_view key, std::size_t counter, WriteItem writer)
    : Family(std::move(of), {key, report::counter(counters::columns[counter].meaning == counters::Meaning::data ? "bytes" : ""),
                             counters::columns[counter].help, writer}) {
  if (counters::columns[counter].source != counters::Source::fec)
    help = fmt::format("{}: {}.", dialects_of(counters::CounterRow().named_field(counter)).libibmad, help);
  column = counter;
}

void add_families(std::vector<Family>& to, const FamilyGroup& group, std::span<const FamilyColumn> columns) {
  for (const FamilyColumn& column : columns) to.emplace_back(group, column);
}

std::size_t count(const View& view, const Family& family) {
  if (family.group.items == Items::exporter) return 1;
  if (family.group.items == Items::findings) return view.shown_findings() != nullptr ? view.findings->list.size() : 0;
  if (!view.reading) return 0;
  const SweptFabric& fabric = *view.reading->fabric;
  return devices_of(fabric, family.group.items).size() + gone_of(fabric, family.group).size();
}

ItemWriter::ItemWriter(const View& of, const Exported& what, const Family& by, std::size_t number, Exposition& to)
    : view(of), exported(what), family(by), out(to) {
  if (family.group.items == Items::exporter) return;
  if (family.group.items == Items::findings) {
    finding = &view.findings->list[number];
    return;
  }
  const std::span<const Device> devices = devices_of(fabric(), family.group.items);
  if (number < devices.size()) {
    device_ = &devices[number];
  } else {
    gone = &gone_of(fabric(), family.group)[number - devices.size()];
  }
}

Guid ItemWriter::guid() const {
  if (finding != nullptr) return finding->end ? finding->end->guid : Guid{};
  return gone != nullptr ? gone->guid : device().guid;
}

const DeviceReading* ItemWriter::reading() const {
  const auto at = static_cast<std::size_t>(device_ - fabric().devices.data());
  return at < view.reading->devices.size() ? &view.reading->devices[at] : nullptr;
}

void write_reading_duration(const ItemWriter& to) {
  if (to.view.reading) to.out.sample().value(seconds(to.view.reading->took));
}

void write_port_counter(const ItemWriter& to) {
  constexpr std::uint64_t octets = 4;
  to.each_linked_row([&](const counters::CounterRow& row, PortIndex) {
    if (!row.is_known(to.family.column)) return;
    const std::uint64_t value = row.value(to.family.column);
    Sample sample = to.port_sample(row.port);
    if (counters::columns[to.family.column].meaning != counters::Meaning::data) return sample.value(value);
    if (value <= std::numeric_limits<std::uint64_t>::max() / octets) return sample.value(value * octets);
    sample.value(static_cast<double>(value) * octets);  // what does not fit 64 bits is written as Prometheus keeps it
  });
}

Guid device_guid(const subnet::Subnet& subnet, PortIndex port) {
  const subnet::Node& node = subnet.node(subnet.port(port).node);
  return node.kind() == subnet::NodeKind::sw ? node.info.port_guid : subnet.port_guid(port);
}

bool is_in_shard(Guid guid, std::uint32_t shards, std::uint32_t shard) {
  // GUIDs of one maker differ in few bits. This spreads them (the finalizer of splitmix64).
  std::uint64_t hash = guid.value;
  hash = (hash ^ hash >> 30U) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27U) * 0x94d049bb133111eb;
  return (hash ^ hash >> 31U) % shards == shard;
}

Page::Page(const PageRules& rules, View view, PagePart part)
    : rules_(rules), view_(std::move(view)), part_(part), exposition_(part.format, rules.labels) {}

bool Page::is_selected(const Family& family) const {
  if (family.group.items == Items::exporter && part_.shard != 0) return false;
  return family.group.selected_by == 0 || (family.group.selected_by & part_.selected) != 0;
}

bool Page::next(std::string& out, std::size_t size) {
  std::string& text = exposition_.buffer();
  while (text.size() < size && family_ < rules_.families.size()) {
    const Family& family = rules_.families[family_];
    if (!is_selected(family) || item_ == count(view_, family)) {
      ++family_, item_ = 0, has_begun_ = false;
      continue;
    }
    if (!std::exchange(has_begun_, true)) exposition_.begin(family);
    const ItemWriter item(view_, rules_.exported, family, item_++, exposition_);
    if (family.group.items == Items::exporter || is_in_shard(item.guid(), part_.shards, part_.shard)) family.write(item);
  }
  if (text.size() < size && !std::exchange(has_ended_, true)) exposition_.end();
  out.clear();
  out.swap(text);
  return !out.empty();
}

void write_history(std::span<const View> views, const Exported& exported, const std::string& labels, bool timestamps,
                   const std::function<void(std::string_view)>& write) {
  for (const Family& family : families(exported)) {
    if (family.group.items == Items::exporter || family.group.is_live) continue;  // a snapshot does not have their data
    std::string comments;
    std::vector<std::string> texts;  // of each series, in the order in which the series appear
    std::unordered_map<std::string, std::size_t> places;
    for (const View& view : views) {
      Exposition page(Format::openmetrics, labels);
      page.begin(family);
      for (std::size_t number = 0; number < count(view, family); ++number) family.write({view, exported, family, number, page});
      for (const std::string_view line : split_list(page.buffer(), "\n")) {
        if (line.starts_with('#')) {
          if (texts.empty()) (comments += line) += '\n';
          continue;
        }
        const auto [found, is_new] = places.try_emplace(std::string(line.substr(0, line.rfind(' '))), texts.size());
        if (is_new) texts.emplace_back();
        texts[found->second].append(line).append(timestamps ? timestamp(view) : "") += '\n';
      }
    }
    write(comments);
    for (const std::string& text : texts) write(text);
  }
  Exposition end(Format::openmetrics, labels);
  end.end();
  write(end.buffer());
}

}  // namespace ib::metrics
