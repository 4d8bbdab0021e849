// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Transactor that keeps what passes, and the reading of a fake fabric through it.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "iba/queries.hpp"
#include "mad/rpc/rpc.hpp"
#include "snapshot/fabric_survey.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/discovery.hpp"
#include "support/counting_fabric.hpp"
#include "support/fake_clock.hpp"

namespace ibtest {

/// A request that passed, and what came of it.
struct Passed {
  std::string to;  ///< "0,1" of a directed route, "3" of a LID
  std::uint8_t mgmt_class;
  std::uint16_t attribute;
  std::uint32_t modifier;
  std::vector<std::uint8_t> content;  ///< of the request, without zeros at the end
  std::optional<std::uint16_t> status{};
  std::vector<std::uint8_t> answer{};  ///< its data

  auto key() const { return std::tie(to, mgmt_class, attribute, modifier, content); }
  /// PortSelect.
  unsigned select() const { return content.size() < 2 ? 0 : content[1]; }
};

class Recorder final : public ib::mad::Transactor {
 public:
  explicit Recorder(ib::mad::Transactor& below) : Transactor(below.end_port()), below_(below) { sa_path() = below.sa_path(); }

  ib::async::Task<ib::mad::Result<ib::mad::Reply>> try_call(const ib::mad::Request& request) override {
    Passed one{target(request.path),
               request.mgmt_class,
               request.attribute_id,
               request.attribute_modifier,
               {request.payload.begin(), request.payload.end()}};
    while (!one.content.empty() && one.content.back() == 0) one.content.pop_back();
    ib::mad::Result<ib::mad::Reply> reply = co_await below_.try_call(request);
    const bool was_sent = reply || ib::mad::unanswered_tries(reply.error()) != 0U;
    if (reply) {
      one.status = 0;
      one.answer.assign(reply->payload().begin(), reply->payload().end());
    } else if (!ib::mad::is_timeout(reply.error())) {
      one.status = reply.error().status();
    }
    if (was_sent) passed.push_back(std::move(one));
    co_return reply;
  }

  std::vector<Passed> passed;

 private:
  static std::string target(const ib::path::Path& path) {
    const ib::path::IbDrPath* directed = path.directed();
    if (directed == nullptr) return fmt::to_string(path.ib().dlid.value);
    std::string text = "0";
    for (unsigned hop = 1; hop <= directed->hops; ++hop) text += fmt::format(",{}", directed->route[hop]);
    return text;
  }

  ib::mad::Transactor& below_;
};

/// A fabric that is swept, and then read, through a Recorder.
struct ReadFabric : ib::subnet::SweptSubnet {
  explicit ReadFabric(FakeFabric& of, unsigned retries = 3) : fabric(of) {
    rpc = std::make_unique<ib::mad::Rpc>(loop, fabric.open());
    recorder = std::make_unique<Recorder>(*rpc);
    start.end_port = &fabric.end_port();
    start.sqpn = ib::Qpn{0};
    start.retries = retries;
    loop.run(sweep(*this));
    swept = recorder->passed.size();
    reading = std::make_unique<ib::snapshot::FabricSurvey>(*recorder, *this, options());
  }
  static ib::async::Task<> sweep(ReadFabric& self) {
    ib::subnet::Discovered discovered = co_await ib::subnet::discover(*self.recorder, self.subnet, self.start, {});
    self.failures = std::move(discovered.failures);
  }
  ib::snapshot::FabricSurveyOptions options() {
    ib::snapshot::FabricSurveyOptions how{ib::path::Path(start)};
    how.progress = [this](ib::snapshot::Part, std::uint64_t done, std::uint64_t of) { progress = {done, of}; };
    how.ended = [this](ib::snapshot::Part part, ib::snapshot::SurveyedPart reading_of) { ended.emplace_back(part, std::move(reading_of)); };
    return how;
  }
  /// Reads a part; `of_part` is then what passed.
  ib::snapshot::SurveyedPart read(ib::snapshot::Part part) {
    const std::size_t before = recorder->passed.size();
    ended.clear();
    std::vector<ib::snapshot::Part> parts{part};
    loop.run(reading->read(std::move(parts)));
    ib::snapshot::SurveyedPart result;
    if (!ended.empty()) result = std::move(ended.back().second);
    of_part.assign(recorder->passed.begin() + static_cast<std::ptrdiff_t>(before), recorder->passed.end());
    return result;
  }
  /// "to:modifier …" of the requests for an attribute, sorted.
  std::string modifiers(std::uint16_t attribute) const {
    std::vector<std::string> all;
    for (const Passed& one : of_part)
      if (one.attribute == attribute) all.push_back(fmt::format("{}:{:x}", one.to, one.modifier));
    std::ranges::sort(all);
    return fmt::format("{}", fmt::join(all, " "));
  }
  /// "to:PortSelect …".
  std::string selects(std::uint16_t attribute) const {
    std::vector<std::string> all;
    for (const Passed& one : of_part)
      if (one.attribute == attribute) all.push_back(fmt::format("{}:{}", one.to, one.select()));
    std::ranges::sort(all);
    return fmt::format("{}", fmt::join(all, " "));
  }
  std::size_t times(std::uint16_t attribute) const {
    return static_cast<std::size_t>(std::ranges::count(of_part, attribute, &Passed::attribute));
  }

  FakeFabric& fabric;
  FakeClock clock;
  ib::async::Loop loop{clock};
  std::unique_ptr<ib::mad::Rpc> rpc;
  std::unique_ptr<Recorder> recorder;
  ib::path::IbDrPath start;
  std::unique_ptr<ib::snapshot::FabricSurvey> reading;
  std::size_t swept{};
  std::vector<Passed> of_part;
  std::vector<std::pair<ib::snapshot::Part, ib::snapshot::SurveyedPart>> ended;
  std::pair<std::uint64_t, std::uint64_t> progress;
};

/// The attributes of Part::details, all counters of ports.
inline std::vector<const ib::StructInfo*> detail_attributes() {
  std::vector<const ib::StructInfo*> attributes;
  for (const ib::QueryInfo& query : ib::all_queries()) {
    if (query.part == "details") attributes.push_back(query.info);
  }
  return attributes;
}

}  // namespace ibtest
