// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// subnet_diff: the differences between a fabric and a stored fabric. Both fabrics may come from files.
#include "subnet/diff/difference.hpp"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "report/sink.hpp"
#include "subnet/diff/counterparts.hpp"
#include "tools/frame/command.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace {

using subnet::LinkEnds;
using subnet::SetDifference;
using subnet::SubnetDifference;

std::string link_text(const subnet::Subnet& of, subnet::PortIndex port) {
  const LinkEnds link = subnet::link_ends(of, port);
  return fmt::format("{}[{}] <=> {}[{}]", to_text(link.first.guid), link.first.port, to_text(link.second.guid), link.second.port);
}

std::string rate_text(const subnet::LinkRate& rate) { return fmt::format("{} {}x", subnet::name(rate.speed), rate.lanes); }

/// The line for `count` objects of the subnet `of` that may be beyond what did not answer in the subnet `in`. Nothing if there are none.
/// `many` is the name of their kind in the plural, which ends with s.
void print_not_compared(TextOut& out, std::string_view many, std::size_t count, std::string_view of, std::string_view in) {
  if (count == 0) return;
  const bool is_one = count == 1;
  out.print(" {} {} of the {} subnet {} not compared: no answer came from there in the {} subnet.\n", count,
            is_one ? many.substr(0, many.size() - 1) : many, of, is_one ? "is" : "are", in);
}

/// The text of an object of a model, by its index.
using TextOf = std::function<std::string(const subnet::Subnet&, std::uint32_t)>;

/// All objects of one kind. `many` is the name of the kind in the plural: "end ports".
void print_set(TextOut& out, std::string_view many, const SetDifference& set, const Fabric& current, const Fabric& reference,
               const TextOf& text) {
  out.print("Current subnet has {} {}, reference subnet has {} {}\n", set.current, many, set.reference, many);
  if (!set.added.empty()) {
    out.print(" Current subnet has {} more {} than the reference subnet:\n", set.added.size(), many);
    for (const std::uint32_t one : set.added) out.print("   {}\n", text(current.subnet, one));
  } else if (set.maybe_added == 0) {
    out.print(" All {} in the current subnet are in the reference subnet.\n", many);
  }
  print_not_compared(out, many, set.maybe_added, "current", "reference");
  if (!set.missing.empty()) {
    out.print("Reference subnet has {} more {} than the current subnet:\n", set.missing.size(), many);
    for (const std::uint32_t one : set.missing) out.print("   {}\n", text(reference.subnet, one));
  } else if (set.maybe_missing == 0) {
    out.print(" All {} in the reference subnet are in the current subnet.\n", many);
  }
  print_not_compared(out, many, set.maybe_missing, "reference", "current");
}

struct DiffReport final : FabricReport {
  DiffReport(const Fabric& now, const Fabric& before)
      : FabricReport(now), current(now), reference(before), found(subnet::difference(now, before)) {}

  Exit status() const override {
    if (!found.none()) return Exit::findings;
    return found.not_compared() > 0 ? Exit::incomplete : FabricReport::status();
  }

  void text(TextOut& out) const override {
    const auto port_guid = [](const subnet::Subnet& of, std::uint32_t port) { return to_text(of.end_port_guid(port)); };
    const auto node_guid = [](const subnet::Subnet& of, std::uint32_t node) { return to_text(of.node(node).guid()); };
    print_set(out, "end ports", found.end_ports, current, reference, port_guid);
    print_set(out, "nodes", found.nodes, current, reference, node_guid);
    print_set(out, "links", found.links, current, reference, link_text);
    print_rates(out);
    print_lids(out);
  }

  void visit(report::Sink& sink) const override {
    visit_counts(sink, "current", found.end_ports.current, found.nodes.current, found.links.current, found.current_lids);
    visit_counts(sink, "reference", found.end_ports.reference, found.nodes.reference, found.links.reference, found.reference_lids);
    visit_counts(sink, "not_compared", found.end_ports.not_compared(), found.nodes.not_compared(), found.links.not_compared(),
                 found.lids_not_compared);
    sink.begin_array("differences");
    report::announce(sink, [](report::Sink& to) { visit_difference(to, {}, std::nullopt, std::nullopt); });
    visit_set(sink, "end_port", found.end_ports,
              [](const subnet::Subnet& of, std::uint32_t port) { return Side{.port_guid = of.end_port_guid(port)}; });
    visit_set(sink, "node", found.nodes,
              [](const subnet::Subnet& of, std::uint32_t node) { return Side{.node_guid = of.node(node).guid()}; });
    visit_set(sink, "link", found.links,
              [](const subnet::Subnet& of, std::uint32_t port) { return Side{.link = subnet::link_ends(of, port)}; });
    for (const subnet::RateDifference& one : found.rates) {
      const LinkEnds link = subnet::link_ends(current.subnet, one.port);
      visit_difference(sink, "rate", Side{.link = link, .rate = one.reference}, Side{.link = link, .rate = one.current});
    }
    const auto owner = [](const std::optional<Guid>& guid) { return guid ? std::optional(Side{.port_guid = guid}) : std::nullopt; };
    for (const subnet::LidDifference& one : found.lids) visit_difference(sink, "lid", owner(one.reference), owner(one.current), one.lid);
    sink.end_array();
    visit_failures(sink);
  }

  const Fabric &current, &reference;
  SubnetDifference found;

 private:
  void print_rates(TextOut& out) const {
    if (found.rates.empty()) {
      out.print(" All links in the current subnet have the same rate in the reference subnet.\n");
      return;
    }
    out.print(" The subnets have {} different link rates (link: current, reference):\n", found.rates.size());
    for (const auto& one : found.rates) {
      out.print("   {}: {}  {}\n", link_text(current.subnet, one.port), rate_text(one.current), rate_text(one.reference));
    }
  }

  void print_lids(TextOut& out) const {
    out.print("Current subnet has {} LIDs, reference subnet has {} LIDs\n", found.current_lids, found.reference_lids);
    if (found.lids_not_compared > 0)
      out.print(" {} not compared: it is not known which port has {} in one of the subnets.\n",
                found.lids_not_compared == 1 ? "1 LID is" : fmt::format("{} LIDs are", found.lids_not_compared),
                found.lids_not_compared == 1 ? "it" : "them");
    if (found.lids.empty()) {
      if (found.lids_not_compared == 0) out.print(" All LIDs in the current subnet are the same as the reference subnet.\n");
      return;
    }
    out.print(" The subnets have {} different LID assignments (LID: Current portGUID, Reference portGUID):\n", found.lids.size());
    for (const auto& one : found.lids) {
      out.print("   {:5}: {:<19} {}\n", one.lid.value, one.current ? to_text(*one.current) : "      !Cur",
                one.reference ? to_text(*one.reference) : fmt::format("{:<19}", "      !Ref"));
    }
  }

  static void visit_counts(report::Sink& sink, std::string_view key, std::size_t ports, std::size_t nodes, std::size_t links,
                           std::size_t lids) {
    sink.begin_object(key);
    sink.value("end_port_count", ports);
    sink.value("node_count", nodes);
    sink.value("link_count", links);
    sink.value("lid_count", lids);
    sink.end_object();
  }

  /// What a subnet has where the other one differs.
  struct Side {
    std::optional<Guid> node_guid{}, port_guid{};
    std::optional<LinkEnds> link{};
    subnet::LinkRate rate{};  ///< of a link whose rate differs
  };

  static void visit_members(report::Sink& sink, const Side& side) {
    const LinkEnds link = side.link.value_or(LinkEnds());
    sink.value("node_guid", side.node_guid);
    sink.value("port_guid", side.link ? std::optional(link.first.guid) : side.port_guid);
    sink.value_or_null("port_num", side.link.has_value(), link.first.port);
    visit_object(sink, "peer", side.link.has_value(), [&](report::Sink& to) {
      to.value_or_null("port_guid", side.link.has_value(), link.second.guid);
      to.value_or_null("port_num", side.link.has_value(), link.second.port);
    });
    const auto& [lanes, speed] = std::pair(side.rate.lanes, side.rate.speed);
    lanes != 0 ? sink.symbol("width", lanes, fmt::format("{}x", lanes)) : sink.no_symbol("width");
    speed != subnet::Speed::unknown ? sink.symbol("speed", subnet::lane_mbps(speed), subnet::name(speed)) : sink.no_symbol("speed");
  }
  static void visit_object(report::Sink& sink, std::string_view key, bool is_there, const std::function<void(report::Sink&)>& members) {
    if (!is_there) return sink.null_object(key, members);
    sink.begin_object(key);
    members(sink);
    sink.end_object();
  }
  static void visit_difference(report::Sink& sink, std::string_view what, const std::optional<Side>& before,
                               const std::optional<Side>& after, std::optional<Lid> lid = {}) {
    sink.begin_object();
    sink.value("difference", what);
    sink.value("lid", lid);
    for (const auto& [key, side] : {std::pair("before", &before), std::pair("after", &after)})
      visit_object(sink, key, side->has_value(), [&](report::Sink& to) { visit_members(to, side->value_or(Side())); });
    sink.end_object();
  }

  void visit_set(report::Sink& sink, std::string_view what, const SetDifference& set,
                 const std::function<Side(const subnet::Subnet&, std::uint32_t)>& side_of) const {
    for (const std::uint32_t one : set.added) visit_difference(sink, what, std::nullopt, side_of(current.subnet, one));
    for (const std::uint32_t one : set.missing) visit_difference(sink, what, side_of(reference.subnet, one), std::nullopt);
  }
};

class SubnetDiff final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.word("REFERENCE", reference_);
    set.optional_operands();
    set.word("CURRENT", current_);
    add_discovery(set, discovery_);
    add_table_options(set, common, table_);
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override { return "differences"; }

  async::Task<> run(Session& session, Emit& emit) override {
    show_list(emit, table_, session.host(),
              "difference,lid,before.node_guid,before.port_guid,before.port_num,after.node_guid,after.port_guid,after.port_num");
    Fabric reference, current;
    load_fabric(reference_, reference);
    if (current_) {
      load_fabric(*current_, current);
    } else {
      discovery_.needs.switch_infos = false;
      current = co_await discover(session, discovery_);
    }
    const subnet::Counterparts pairs(current.subnet, reference.subnet);
    if (const std::string other = subnet::other_fabric(current.subnet, reference.subnet, pairs); !other.empty())
      throw UsageError(fmt::format("{} cannot be compared: {}", in_quotes(reference_), other));
    emit(DiffReport(current, reference));
    if (!current_) note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  std::string reference_;
  std::optional<std::string> current_;
  DiscoveryOptions discovery_;
  TableOptions table_;
};

}  // namespace

constinit const CommandInfo rooms::subnet_diff{
    .name = "subnet_diff",
    .group = HelpGroup::topology,
    .summary = "Print what is different from a fabric that was stored.",
    .make = make_command<SubnetDiff>,
    .alias = "ibdiscover.pl",
};

}  // namespace ib::tools
