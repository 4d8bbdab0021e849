// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is printed of parts that did not answer: a line a cause, however many nodes it has.
#include "subnet/model/failures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/mad.hpp"
#include "mad/request.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"

namespace tools_failure_lines_tests {

using namespace ib;
using ibtest::contains;
using ibtest::ibtool;
using subnet::Failure;
using Lines = std::vector<std::string>;

namespace {

struct Bench {
  subnet::Subnet subnet;

  subnet::NodeIndex add(unsigned at) {
    smp::NodeInfo info;
    info.node_type = smp::NodeType::switch_;
    info.num_ports = 4;
    info.node_guid = info.port_guid = Guid{0x100U + at};
    return subnet.add_node(info);
  }
  Lines failure_lines(const subnet::Failures& failures) const {
    Lines lines;
    for (const auto& [line, error] : subnet::failure_lines(subnet, failures, false)) lines.push_back(line);
    return lines;
  }
  static Failure silent(subnet::NodeIndex node, const StructInfo& attribute, int port) {
    const path::Path path = path::IbPath();
    const std::uint8_t pma = mad::mgmt_class::performance;
    const mad::Request request = mad::attribute_request(path, attribute, mad::method::get, 0, {}, pma);
    Failure failure{Failure::Kind::no_answer, node, port, false, std::string(attribute.title), 0, "silence", {}};
    failure.error = std::make_shared<mad::MadTimeout>(mad::to_mad(request), path, 3, std::chrono::seconds(1));
    return failure;
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "failure_lines: silent PMAs are one line, with their number and the first names") {
  subnet::Failures failures;
  for (unsigned at = 0; at < 50; ++at) failures.push_back(silent(add(at), mad::ClassPortInfo::info(), -1));
  CHECK(failure_lines(failures) ==
        Lines{"No answer about counters from 50 nodes: 0000:0000:0000:0100, 0000:0000:0000:0101, 0000:0000:0000:0102 and 47 more."});
  failures.resize(1);
  failures.push_back(silent(0, pm::PortCounters::info(), 2));
  CHECK(failure_lines(failures) == Lines{"No answer from 0000:0000:0000:0100 about ClassPortInfo."});
}

TEST_CASE_METHOD(Bench, "failure_lines: each cause has its line, in the order of the first of it") {
  subnet::Failures failures;
  for (unsigned at = 0; at < 4; ++at) {
    const subnet::NodeIndex node = add(at);
    failures.push_back({Failure::Kind::no_answer, node, 1, true, "NodeInfo", 0, "silence", {}});
    failures.push_back({Failure::Kind::refused, node, 3, false, "PortInfo", 3, "refused", {}});
  }
  failures.push_back({Failure::Kind::no_answer, subnet::none, -1, false, {}, 0, "the SA is away", {}});
  failures.push_back(failures.back());
  const Lines lines = failure_lines(failures);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] ==
        "No answer from beyond 4 ports: port 1 of 0000:0000:0000:0100, port 1 of 0000:0000:0000:0101, port 1 of 0000:0000:0000:0102 and 1 "
        "more.");
  CHECK_THAT(lines[1], contains("PortInfo") && contains("4 nodes: ") && contains(" and 1 more"));
  CHECK(lines[2] == "the SA is away (2 times)");
}

TEST_CASE_METHOD(Bench, "failure_lines: nodes that stopped answering are one line, whatever each of them has not sent") {
  subnet::Failures failures;
  for (unsigned at = 0; at < 2; ++at) {
    const std::string why = fmt::format("It answered at first and then stopped answering; {} of its attributes are not known.", at + 2);
    failures.push_back({Failure::Kind::no_answer, add(at), -1, false, "NodeInfo", 0, why, {}});
  }
  CHECK(failure_lines(failures) == Lines{"2 nodes: 0000:0000:0000:0100, 0000:0000:0000:0101: They answered at first and then "
                                         "stopped answering; not all of their attributes are known."});
  failures.pop_back();
  CHECK(failure_lines(failures) == Lines{"0000:0000:0000:0100: " + failures.front().why});
}

TEST_CASE("ibqueryerrors and health: silent PMAs are one line on stderr, whatever was requested of them and how often") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"ibqueryerrors"}, {"ibdatacounters"}, {"health", "--interval", "1"}}) {
    ibtest::CountingFabric f;
    for (ibtest::FakePma* pma : {&f.pma, &f.other_pma}) pma->service().faults.silent = true;
    const ibtest::Outcome seen = ibtool(f.fabric, words);
    INFO(words.front() << seen.err);
    std::size_t lines = 0;
    for (std::size_t at = seen.err.find("No answer"); at != std::string::npos; at = seen.err.find("No answer", at + 1)) ++lines;
    CHECK(lines == 1);
    CHECK_THAT(seen.err, contains("No answer about counters from 2 nodes: 0000:0000:0000:0100 'leaf', 0000:0000:0000:0300 'other'."));
  }
}

}  // namespace tools_failure_lines_tests
