// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A view of a fabric in memory, in which every counter of every linked port was read, and pages of it.
#pragma once

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "metrics/families.hpp"
#include "support/fake_fabric.hpp"
#include "unit/subnet/swept.hpp"

namespace ibtest {

/// A sample of a page.
struct PageSample {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string value;
};

/// A fabric, swept. Counter n of port p holds 1000 p + n.
struct MadeView {
  explicit MadeView(FakeFabric& of) {
    Swept swept(of);
    fabric->subnet = std::move(swept.subnet);
    fabric->failures = std::move(swept.failures);
    fabric->list_devices();
    fabric->time = reading->time = swept.clock.wall_time();
    states = std::make_shared<ib::metrics::PortStates>(fabric->subnet);
    reading->fabric = fabric;
    for (const auto& device : fabric->devices) reading->devices.push_back(read(device));
  }

  ib::metrics::View view() const {
    ib::metrics::View view;
    view.reading = reading;
    view.states = states;
    view.waits = std::make_shared<std::vector<float>>(reading->rows.size(), 0.25F);
    view.exporter.version = "1.2.3";
    return view;
  }
  /// The text of a page, made in pieces of about `piece` bytes.
  std::string page(const ib::metrics::PageRules& rules, ib::metrics::PagePart part = {}, std::size_t piece = 1000) const {
    ib::metrics::Page page(rules, view(), part);
    std::string all, text;
    while (page.next(text, piece)) all += text;
    return all;
  }
  std::vector<PageSample> samples(const ib::metrics::Exported& exported, ib::metrics::PagePart part = {}) const {
    return parse(page(ib::metrics::PageRules(exported, {}), part));
  }
  /// The samples of a page whose labels hold no quotes, commas or braces.
  static std::vector<PageSample> parse(const std::string& text);

  std::shared_ptr<ib::metrics::SweptFabric> fabric = std::make_shared<ib::metrics::SweptFabric>();
  std::shared_ptr<ib::metrics::PortStates> states;
  std::shared_ptr<ib::metrics::Reading> reading = std::make_shared<ib::metrics::Reading>();

 private:
  ib::metrics::DeviceReading read(const ib::metrics::Device& of) {
    ib::metrics::DeviceReading device;
    device.outcome = ib::metrics::DeviceReading::Outcome::read;
    device.first_row = static_cast<std::uint32_t>(reading->rows.size());
    fabric->each_port(of, [&](ib::subnet::PortIndex port) {
      if (fabric->subnet.port(port).peer == ib::subnet::none) return;
      reading->rows.push_back(row(port));
      ++device.rows;
    });
    return device;
  }
  ib::counters::CounterRow row(ib::subnet::PortIndex port) const {
    ib::counters::CounterRow row;
    row.port = port;
    row.known = ~std::uint64_t{0};
    const std::uint64_t base = 1000U * fabric->subnet.port(port).number;
    for (std::size_t at = 0; at < row.counters.size(); ++at) row.counters[at] = base + at;
    for (std::size_t at = 0; at < row.details.size(); ++at) row.details[at] = static_cast<std::uint16_t>(base + row.counters.size() + at);
    for (std::size_t at = 0; at < row.fec.size(); ++at) row.fec[at] = 100 * base + at;
    return row;
  }
};

inline std::vector<PageSample> MadeView::parse(const std::string& text) {
  std::vector<PageSample> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    PageSample sample;
    sample.value = line.substr(line.rfind(' ') + 1);
    sample.name = line.substr(0, line.find_first_of("{ "));
    for (std::size_t at = line.find('{'); at != std::string::npos && line[at] != '}';) {
      const std::size_t equals = line.find("=\"", at), end = line.find('"', equals + 2);
      sample.labels[line.substr(at + 1, equals - at - 1)] = line.substr(equals + 2, end - equals - 2);
      at = end + 1;
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace ibtest
