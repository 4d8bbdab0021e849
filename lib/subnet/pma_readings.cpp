// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Two surveys: the first asks each node, at one of its ports, what its PMA can and what all its ports have counted together; the second
// asks the ports about which more is to be known. A third clears those nodes at once that have told of errors.
#include "subnet/pma_readings.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "iba-gen/mad.hpp"
#include "iba/generic.hpp"
#include "iba/wire.hpp"

namespace ib::subnet {
namespace {

using BytesResult = mad::Result<std::vector<std::uint8_t>>;

bool has_additional(const PmaSupport& support) {
  return (support.capability_mask2 & pm::capability_mask2::is_additional_port_counters_extended_supported) != 0;
}

CounterValue value_of(Bytes attribute, const FieldInfo* field) {
  if (field == nullptr || attribute.empty()) return {};
  return {read_number(attribute, *field), static_cast<std::uint8_t>(field->bits)};
}

/// The data area of the answer, cut to the attribute.
async::Task<BytesResult> ask(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute, std::uint8_t select) {
  const std::array<std::uint8_t, 2> port_select{0, select};  // byte 1 of all attributes of a port
  BytesResult answer = co_await transactor.try_get(pma, attribute, 0, port_select);
  if (answer) answer->resize(attribute.bytes);
  co_return answer;
}

std::uint16_t id_of(const StructInfo& attribute) { return static_cast<std::uint16_t>(attribute.attribute_id); }

/// The readings of a fabric, while they are made.
class Reader {
 public:
  Reader(mad::Transactor& transactor, const Subnet& subnet, const PmaWanted& wanted, const SurveyOptions& options)
      : transactor_(transactor), subnet_(subnet), wanted_(wanted), options_(options) {}

  async::Task<PmaReadings> read(std::vector<NodeIndex> nodes) {
    for (const NodeIndex node : nodes) add(node);
    co_await read_heads();
    co_await read_ports();
    co_await clear_nodes();
    co_return std::move(readings_);
  }

 private:
  /// What a node tells at once: what it can, and what all its ports have counted.
  struct Head {
    PmaSupport support;
    std::optional<PmaReading> all;
    std::vector<PmaProblem> clear_problems;
  };

  void add(NodeIndex at) {
    PmaNode node;
    node.node = at;
    const Node& of = subnet_.node(at);
    const std::vector<PortIndex> ports = countable_ports(subnet_, at);
    node.first = of.kind() == NodeKind::sw ? of.first_port : ports.empty() ? none : ports.front();
    if (node.first == none) return;
    by_node_[at] = readings_.nodes.size();
    readings_.nodes.push_back(std::move(node));
  }

  template <class Row>
  PmaProblem problem_of(const Row& row, const std::vector<Failure>& failures, std::uint16_t attribute) const {
    const auto error = std::dynamic_pointer_cast<const mad::MadError>(failures.at(row.failure).error);
    if (error && error->request().size() >= mad::header_size) attribute = mad::HeaderView(error->request()).attribute_id();
    return {attribute, false, error};
  }

  void keep(std::vector<Failure> failures) { std::ranges::move(failures, std::back_inserter(readings_.failures)); }

  async::Task<> read_heads() {
    std::vector<PortIndex> firsts;
    for (const PmaNode& node : readings_.nodes) firsts.push_back(node.first);
    const SurveyQuestion<Head> question = [this](SurveyPort port) { return head(port); };
    Surveyed<Head> heads = co_await survey(transactor_, subnet_, std::move(firsts), options_, question);
    for (std::size_t i = 0; i < heads.rows.size(); ++i) {
      PmaNode& node = readings_.nodes[i];
      if (auto& head = heads.rows[i].value) {
        node.support = head->support;
        node.all = std::move(head->all);
        node.clear_problems = std::move(head->clear_problems);
      } else {
        node.problem = problem_of(heads.rows[i], heads.failures, mad::ClassPortInfo::attribute_id);
        if (!node.problem->error || mad::tries_in_vain(*node.problem->error)) silent_[subnet_.end_port_of(node.first)] = *node.problem;
      }
    }
    keep(std::move(heads.failures));
  }

  /// ClassPortInfo, the counters of all ports together where they can be had so, and if these tell nothing all that is to be done
  /// afterwards.
  async::Task<mad::Result<Head>> head(SurveyPort port) {
    std::optional<PmaSupport> support;
    if (wanted_.known_support) support = wanted_.known_support(subnet_.port(port.index).node);
    if (!support) {
      const mad::Result<PmaSupport> answer = co_await read_pma_support(port.transactor, port.path);
      if (!answer) co_return answer.shared_error();
      support = *answer;
    }
    Head found;
    found.support = *support;
    const bool has_all = (support->capability_mask & pm::capability_mask::all_port_select) != 0;
    if (!has_all || is_read_by_port(port.index)) co_return found;
    PmaReading reading = start(port.index, all_ports, *support);
    co_await fill(reading, port);
    const bool tells = wanted_.tells && reading.known() && wanted_.tells(reading);
    found.all = std::move(reading);
    if (!tells) found.clear_problems = co_await clear(port, all_ports, *support);
    co_return found;
  }

  bool is_read_by_port(PortIndex port) const {
    return wanted_.each_port || (wanted_.each_host_port && subnet_.node(subnet_.port(port).node).kind() != NodeKind::sw);
  }

  static PmaReading start(PortIndex port, std::uint8_t select, const PmaSupport& support) {
    PmaReading reading;
    reading.port = port;
    reading.select = select;
    reading.support = support;
    return reading;
  }

  /// Reads into `reading` what is wanted of its PortSelect. What fails is the last of its problems, and nothing is known then.
  async::Task<> fill(PmaReading& reading, SurveyPort port) {
    const bool additional = has_additional(reading.support) && reading.support.extended();
    const bool extended = reading.support.extended() && (additional || wanted_.traffic || wanted_.traffic_only);
    const bool basic = !extended || (!additional && !wanted_.traffic_only);
    if (basic) co_await take(reading, port, pm::PortCounters::info(), reading.counters);
    if (extended && reading.problems.empty()) co_await take(reading, port, pm::PortCountersExt::info(), reading.extended);
    if (!reading.problems.empty()) {
      reading.counters.clear();
      reading.extended.clear();
      co_return;
    }
    clear_uncounted(reading);
    if (!wanted_.tells || !wanted_.tells(reading)) co_return;
    if (wanted_.wants_discard_details && wanted_.wants_discard_details(reading))
      co_await take(reading, port, pm::PortXmitDiscardDetails::info(), reading.discard_details);
    if (wanted_.wants_error_details && wanted_.wants_error_details(reading))
      co_await take(reading, port, pm::PortRcvErrorDetails::info(), reading.error_details);
  }

  static async::Task<> take(PmaReading& reading, SurveyPort port, const StructInfo& attribute, std::vector<std::uint8_t>& to) {
    BytesResult answer = co_await ask(port.transactor, port.path, attribute, reading.select);
    if (answer) {
      to = std::move(*answer);
    } else {
      reading.problems.push_back({id_of(attribute), false, answer.shared_error()});
    }
  }

  /// A counter that the PMA says not to count holds nothing (IBA 16.1.3.5).
  static void clear_uncounted(PmaReading& reading) {
    for (const CounterInfo& counter : counter_infos()) {
      if (counter.narrow != nullptr && !reading.counters.empty() && !reading.support.narrow(counter))
        wire::set_bits(reading.counters, counter.narrow->bit_offset, counter.narrow->bits, 0);
    }
  }

  bool ports_are_wanted(const PmaNode& node) const {
    if (!node.all) return true;
    return node.all->known() && wanted_.tells && wanted_.tells(*node.all);
  }

  async::Task<> read_ports() {
    std::vector<PortIndex> asked;
    std::vector<PmaReading*> to;
    for (PmaNode& node : readings_.nodes) {
      if (!ports_are_wanted(node)) continue;
      for (const PortIndex port : countable_ports(subnet_, node.node)) {
        node.ports.push_back(start(port, subnet_.port(port).number, node.support));
      }
      for (PmaReading& reading : node.ports) {
        // One that was silent about itself is not asked again for each of its ports.
        if (const auto silent = silent_.find(subnet_.end_port_of(reading.port)); silent != silent_.end()) {
          reading.problems.push_back({counters_attribute(reading.support), false, silent->second.error});
        } else {
          asked.push_back(reading.port);
          to.push_back(&reading);
        }
      }
    }
    if (asked.empty()) co_return;
    const SurveyQuestion<PmaReading> question = [this](SurveyPort port) { return read_port(port); };
    Surveyed<PmaReading> found = co_await survey(transactor_, subnet_, std::move(asked), options_, question);
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
      if (auto& value = found.rows[i].value) {
        *to[i] = std::move(*value);
      } else {
        to[i]->problems.push_back(problem_of(found.rows[i], found.failures, counters_attribute(to[i]->support)));
      }
    }
    keep(std::move(found.failures));
  }

  /// What is asked for first.
  std::uint16_t counters_attribute(const PmaSupport& support) const {
    return support.extended() && wanted_.traffic_only ? pm::PortCountersExt::attribute_id : pm::PortCounters::attribute_id;
  }

  PmaNode& node_of(PortIndex port) { return readings_.nodes[by_node_.at(subnet_.port(port).node)]; }

  async::Task<mad::Result<PmaReading>> read_port(SurveyPort port) {
    const PmaNode& node = node_of(port.index);
    PmaReading reading = start(port.index, port.number, node.support);
    co_await fill(reading, port);
    if (!reading.known()) co_return reading.problems.back().error;
    if (!node.all_port_select()) {
      std::vector<PmaProblem> problems = co_await clear(port, port.number, reading.support);
      std::ranges::move(problems, std::back_inserter(reading.problems));
    }
    co_return reading;
  }

  /// Sets to zero what is to be cleared of a port, or of all. Returns what failed.
  async::Task<std::vector<PmaProblem>> clear(SurveyPort port, std::uint8_t select, PmaSupport support) {
    std::vector<PmaProblem> problems;
    if (!wanted_.clear) co_return problems;
    const CounterClear masks = clear_of(support, wanted_.clear);
    constexpr std::uint64_t discard_details = 0xf, error_details = 0x3f;  // all of their counters (IBA 16.1.4.2, 16.1.4.1)
    struct Part {
      const StructInfo& attribute;
      std::uint64_t mask;
      bool is_told;  // PMAs need not have details
    };
    const std::array parts{Part{pm::PortCounters::info(), masks.port_counters, true},
                           Part{pm::PortXmitDiscardDetails::info(), wanted_.clear_details ? discard_details : 0, false},
                           Part{pm::PortRcvErrorDetails::info(), wanted_.clear_details ? error_details : 0, false},
                           Part{pm::PortCountersExt::info(), masks.port_counters_extended, true}};
    for (const Part& part : parts) {
      if (part.mask == 0) continue;
      const BytesResult done = co_await reset_counters(port.transactor, port.path, part.attribute, select, part.mask);
      if (!done && part.is_told) problems.push_back({id_of(part.attribute), true, done.shared_error()});
    }
    co_return problems;
  }

  /// The nodes whose ports were read one by one, though they can be cleared together.
  async::Task<> clear_nodes() {
    std::vector<PortIndex> firsts;
    for (const PmaNode& node : readings_.nodes) {
      if (wanted_.clear && node.all_port_select() && !node.ports.empty()) firsts.push_back(node.first);
    }
    if (firsts.empty()) co_return;
    using Problems = std::vector<PmaProblem>;
    const SurveyQuestion<Problems> question = [this](SurveyPort port) { return clear_node(port); };
    Surveyed<Problems> found = co_await survey(transactor_, subnet_, std::move(firsts), options_, question);
    for (auto& row : found.rows) {
      PmaNode& node = node_of(row.port);
      if (row.value) {
        node.clear_problems = std::move(*row.value);
      } else {
        node.clear_problems = {{pm::PortCounters::attribute_id, true, problem_of(row, found.failures, 0).error}};
      }
    }
    keep(std::move(found.failures));
  }

  async::Task<mad::Result<std::vector<PmaProblem>>> clear_node(SurveyPort port) {
    std::vector<PmaProblem> problems = co_await clear(port, all_ports, node_of(port.index).support);
    const bool silent = !problems.empty() && mad::tries_in_vain(*problems.back().error);
    if (silent) co_return problems.back().error;
    co_return problems;
  }

  mad::Transactor& transactor_;
  const Subnet& subnet_;
  const PmaWanted& wanted_;
  const SurveyOptions& options_;
  PmaReadings readings_;
  std::map<NodeIndex, std::size_t> by_node_;  // of readings_.nodes
  std::map<PortIndex, PmaProblem> silent_;    // PMAs, by end port
};

}  // namespace

CounterValue PmaReading::error_count(const CounterInfo& counter) const {
  if (has_additional(support) && !extended.empty()) return value_of(extended, counter.wide);
  return value_of(counters, counter.narrow);
}

CounterValue PmaReading::traffic_count(const CounterInfo& counter) const {
  if (extended.empty()) return value_of(counters, counter.narrow);
  return support.wide(counter) ? value_of(extended, counter.wide) : CounterValue{};
}

std::vector<PortIndex> countable_ports(const Subnet& subnet, NodeIndex at) {
  const Node& node = subnet.node(at);
  const bool has_port0 = node.kind() == NodeKind::sw && node.has_switch_info && node.switch_info().enhanced_port0 != 0;
  std::vector<PortIndex> ports;
  for (unsigned number = has_port0 ? 0 : 1; number < node.slots; ++number) {
    const Port& port = subnet.port(node.first_port + number);
    if (port.has_info || port.guid != Guid{} || port.peer != none) ports.push_back(node.first_port + number);
  }
  return ports;
}

async::Task<PmaReadings> read_pmas(mad::Transactor& transactor, const Subnet& subnet, std::vector<NodeIndex> nodes, PmaWanted wanted,
                                   SurveyOptions options) {
  Reader reader(transactor, subnet, wanted, options);
  PmaReadings readings = co_await reader.read(std::move(nodes));
  co_return readings;
}

}  // namespace ib::subnet
