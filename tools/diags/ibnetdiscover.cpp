// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibnetdiscover of infiniband-diags. The sweep is ours; the order of everything is computed from what it found.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "tools/diags/console.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/tools.hpp"
#include "tools/diags/topology.hpp"
#include "mad/error.hpp"
#include "subnet/discovery.hpp"

namespace ib::diags {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;

enum : int { opt_names = 1, opt_cache, opt_load_cache, opt_diff, opt_diffcheck };

constexpr Option options[]{
    {"full", 'f', nullptr, "show full information (ports' speed and width, vlcap)"},
    {"show", 's', nullptr, "show more information"},
    {"list", 'l', nullptr, "list of connected nodes"},
    {"grouping", 'g', nullptr, "show grouping"},
    {"Hca_list", 'H', nullptr, "list of connected CAs"},
    {"Switch_list", 'S', nullptr, "list of connected switches"},
    {"Router_list", 'R', nullptr, "list of connected routers"},
    {"node-name-map", opt_names, "<file>", "node name map file"},
    {"cache", opt_cache, "<file>", "filename to cache ibnetdiscover data to"},
    {"load-cache", opt_load_cache, "<file>", "filename of ibnetdiscover cache to load"},
    {"diff", opt_diff, "<file>", "filename of ibnetdiscover cache to diff"},
    {"diffcheck", opt_diffcheck, "<key(s)>", "specify checks to execute for --diff"},
    {"ports", 'p', nullptr, "obtain a ports report"},
    {"max_hops", 'm', nullptr, "report max hops discovered by the library"},
    {"outstanding_smps", 'o', "<val>", "specify the number of outstanding SMP's which should be issued during the scan"},
};
constexpr Tool ibnetdiscover_tool{"ibnetdiscover", "[topology-file]", "DGKLs", options, {}};

/// What the tool says of a request that failed: the request's route and attribute, and how it failed.
std::string failure_note(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  if (error == nullptr) return fmt::format("ibnetdiscover; {}\n", failure.why);
  std::string route = fmt::format("lid {}", error->path().ib().dlid.value);
  if (const auto* path = error->path().directed()) route = route_text({path->route.data() + 1, path->hops});
  const mad::HeaderView request(error->request());
  const std::string what = fmt::format("({} Attr 0x{:x}:{})", route, request.attribute_id(), request.attribute_modifier());
  if (failure.kind == subnet::Failure::Kind::no_answer) {
    return fmt::format("ibnetdiscover; umad {} bad status {}; {}\n", what, ETIMEDOUT, std::strerror(ETIMEDOUT));
  }
  return fmt::format("ibnetdiscover; mad {} bad status 0x{:x}\n", what, error->status());
}

class Ibnetdiscover : public Legacy {
 public:
  const Tool& tool() const override { return ibnetdiscover_tool; }

  void option(int letter, const char* value, Settings& settings) override {
    switch (letter) {
      case 'f':
        full_ = true;
        break;
      case 's':
        show_ = true;
        break;
      case 'l':
        list_ = every_kind;
        break;
      case 'g':
        grouping_ = true;
        break;
      case 'H':
        list_ = {NodeKind::ca};
        break;
      case 'S':
        list_ = {NodeKind::sw};
        break;
      case 'R':
        list_ = {NodeKind::router};
        break;
      case 'p':
        ports_ = true;
        break;
      case 'm':
        max_hops_ = true;
        break;
      case 'o':
        if (const unsigned long smps = std::strtoul(value, nullptr, 0); smps != 0)
          settings.outstanding_smps = smps < 4096 ? static_cast<unsigned>(smps) : 4096U;
        break;
      case opt_names:
        names_file_ = value;
        break;
      default:
        throw Failure("process_opt", "caches of ibnetdiscover are not supported in this version");
    }
  }

  async::Task<> run(Context& context) override {
    subnet::Subnet fabric;
    co_await sweep(context, fabric);
    const subnet::NodeNameMap names = read_node_names(names_file_);
    const subnet::LegacySweep order = subnet::legacy_sweep(fabric, show_, context.settings.mlnx_extended_port_info);
    const std::vector<NodeIndex> nodes = listing_order(fabric, order);
    Topology topology(fabric, names);
    topology.full = full_;
    if (max_hops_) topology.sweep = &order;
    print_steps(context.out, topology, order);
    if (context.arguments.empty()) {
      print(context.out, context.out, topology, fabric, nodes);
    } else {
      const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(context.arguments[0].c_str(), "w"), std::fclose);
      if (!file) throw Failure("main", fmt::format("can't open file {} for writing", context.arguments[0]));
      tools::TextOut out(file.get());
      print(out, context.out, topology, fabric, nodes);
      out.finish(context.arguments[0]);
    }
  }

 private:
  inline static const std::vector<NodeKind> every_kind{NodeKind::ca, NodeKind::sw, NodeKind::router};

  async::Task<> sweep(Context& context, subnet::Subnet& fabric) const {
    subnet::DiscoverOptions how;
    how.mlnx_extended_port_info = context.settings.mlnx_extended_port_info;
    path::Path start = co_await context.session.smp_path(nullptr);
    mad::Transactor& transactor = context.session.transactor();
    co_await subnet::discover(transactor, fabric, start, how);
    for (const subnet::Failure& failure : fabric.failures) tell(failure_note(failure));
  }

  /// Backwards, as the tool keeps its lists; what it would not have found stands at the end.
  static std::vector<NodeIndex> listing_order(const subnet::Subnet& fabric, const subnet::LegacySweep& order) {
    std::vector<bool> listed(fabric.nodes().size());
    std::vector<NodeIndex> nodes(order.found.rbegin(), order.found.rend());
    for (const NodeIndex at : nodes) listed[at] = true;
    for (const NodeIndex at : subnet::breadth_first(fabric)) {
      if (!listed[at]) nodes.push_back(at);
    }
    return nodes;
  }

  static void print_steps(tools::TextOut& out, const Topology& topology, const subnet::LegacySweep& order) {
    for (const subnet::LegacyStep& step : order.steps) {
      topology.step(out.buffer(), step);
      out.write({});
    }
  }

  void print(tools::TextOut& out, tools::TextOut& terminal, Topology& topology, const subnet::Subnet& fabric,
             const std::vector<NodeIndex>& nodes) const {
    const auto each = [&](NodeKind kind, auto use) {
      for (const NodeIndex at : nodes) {
        if (fabric.node(at).kind() == kind) use(at);
        out.write({});
      }
    };
    if (ports_) {  // the report on ports always goes to stdout
      for (const NodeIndex at : nodes) topology.ports(terminal.buffer(), at), terminal.write({});
    } else if (!list_.empty()) {
      for (const NodeKind kind : list_) each(kind, [&](NodeIndex at) { topology.listed(out.buffer(), at); });
    } else {
      print_topology(out, topology, fabric, nodes, each);
    }
  }

  template <class Each>
  void print_topology(tools::TextOut& out, Topology& topology, const subnet::Subnet& fabric, const std::vector<NodeIndex>& nodes,
                      Each each) const {
    topology.header(out.buffer(), std::time(nullptr));
    subnet::Grouping grouping;
    if (grouping_) {
      grouping = subnet::group(fabric, nodes);
      topology.grouping = &grouping;
      for (const subnet::Chassis& box : grouping.chassis) {
        if (box.number != 0) topology.chassis(out.buffer(), box);
      }
      out.write("\nNon-Chassis Nodes\n");
    }
    for (const NodeKind kind : {NodeKind::sw, NodeKind::ca, NodeKind::router}) {
      each(kind, [&](NodeIndex at) {
        if (!grouping_ || !grouping.grouped(at)) topology.block(out.buffer(), at);
      });
    }
  }

  bool full_{}, show_{}, grouping_{}, ports_{}, max_hops_{};
  std::vector<NodeKind> list_;
  std::string names_file_;
};

}  // namespace

int ibnetdiscover(std::span<char* const> words) { return run_legacy<Ibnetdiscover>(words); }

}  // namespace ib::diags
