// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery as the commands do it: mode, progress on a terminal, and afterwards the errors in an order of their own,
// so that a fabric with dead parts always reads the same.
#include "tools/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/log.hpp"
#include "iba/text.hpp"
#include "out/escape.hpp"
#include "out/progress.hpp"

namespace ib::tools {
namespace {

std::string node_text(const subnet::Subnet& subnet, subnet::NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  std::string text = to_text(node.guid());
  if (node.has_description) text += ' ' + out::quoted(node.description());
  return text;
}

/// Port numbers as ranges: "1-8, 12".
class Ranges {
 public:
  void add(unsigned number) {
    if (!text_.empty() && number == last_ + 1) {
      last_ = number;
      return;
    }
    close();
    text_ += (text_.empty() ? "" : ", ") + std::to_string(number);
    first_ = last_ = number;
    ++runs_;
  }
  std::string text() {
    close();
    return (runs_ > 1 || last_ != first_ ? "ports " : "port ") + text_;
  }

 private:
  void close() {
    if (last_ != first_) text_ += '-' + std::to_string(last_);
    first_ = last_;
  }
  std::string text_;
  unsigned first_{}, last_{}, runs_{};
};

std::string sentence(const subnet::Subnet& subnet, const subnet::Failure& failure, Ranges& ports) {
  using Kind = subnet::Failure::Kind;
  const std::string who = node_text(subnet, failure.node);
  if (failure.beyond) {
    const std::string where = fmt::format("port {} of {}", failure.port, who);
    if (failure.kind == Kind::no_answer) return fmt::format("No answer from beyond {}.", where);
    if (failure.kind == Kind::refused) return fmt::format("The node beyond {} does not say what it is.", where);
    return fmt::format("Beyond {}: {}", where, failure.why);
  }
  const std::string what =
      failure.port >= 0 && failure.attribute != "NodeInfo" ? failure.attribute + " of " + ports.text() : failure.attribute;
  switch (failure.kind) {
    case Kind::no_answer:
      return fmt::format("No answer from {} about {}.", who, what);
    case Kind::refused:
      return fmt::format("{} refuses to tell its {}.", who, what);
    default:
      return fmt::format("{}: {}", who, failure.why);
  }
}

bool alike(const subnet::Failure& a, const subnet::Failure& b) {
  return a.error && b.error && !a.beyond && !b.beyond && a.node == b.node && a.kind == b.kind && a.attribute == b.attribute &&
         a.why == b.why;
}

void note_mode(subnet::Routing routing) {
  log::debug(fmt::format("Performing discovery using mode '{}'", routing == subnet::Routing::lid ? "LID" : "DR"));
}

}  // namespace

void add_discovery(OptionSet& set, DiscoveryOptions& options) {
  set.choice("--discovery", options.mode, {"LID", "DR", "SA"}, "Method to use for discovering the subnet");
  set.flag("--fdr10", options.fdr10, "Ask Mellanox devices whether a link at QDR is one at FDR10");
}

subnet::Routing routing_of(Session& session, const DiscoveryOptions& options) {
  const bool from_sa = options.mode == "SA" || session.options().use_sa;
  if (session.options().use_sa && options.mode && options.mode != "SA") {
    throw UsageError(fmt::format("Can't combine --sa with discovery mode '{}'", *options.mode));
  }
  if (from_sa) throw UsageError("Discovery from the SA is not available in this version: use --discovery=LID or DR.");
  if (options.mode) return options.mode == "LID" ? subnet::Routing::lid : subnet::Routing::directed;
  constexpr unsigned active = 4;  // IBA 14.2.5.6: PortState
  const sys::EndPort& port = session.end_port();
  return port.state == active && port.lid.is_unicast() ? subnet::Routing::lid : subnet::Routing::directed;
}

namespace {

/// One sweep; what it did not learn stays in the model.
async::Task<> sweep(Session& session, const DiscoveryOptions& options, const path::Path* target, unsigned radius, Fabric& fabric) {
  const int level = session.options().error_level();
  subnet::DiscoverOptions how;
  how.routing = routing_of(session, options);
  how.radius = radius;
  how.mlnx_extended_port_info = options.fdr10;
  out::Progress progress;
  how.progress = [&progress](std::size_t nodes) {
    if (progress.due()) progress.update(fmt::format("{} nodes found", nodes));
  };
  if (level >= 1) {
    how.tell = log::debug;
    note_mode(how.routing);
  }
  path::IbDrPath local;
  local.end_port = &session.end_port();
  local.sqpn = Qpn{0};
  path::Path start = local;
  session.apply_options(start);
  if (target != nullptr) start = co_await session.smp_path(target);
  mad::Transactor& transactor = session.transactor();
  fabric.stats = co_await subnet::discover(transactor, fabric.subnet, start, how);
}

void tell_outcome(const Session& session, const Fabric& fabric) {
  print_failures(fabric.subnet, session.options().error_level());
  if (!session.options().stats) return;
  fmt::print(stderr, "mads planned: {}\n", fabric.stats.plan);
  for (const auto& [reason, count] : fabric.stats.beyond) fmt::print(stderr, "mads beyond plan: {} {}\n", reason, count);
}

/// True if the start of a sweep is a switch and nothing was found beyond any of its ports, though something should.
bool is_cut_off(const subnet::Subnet& subnet) {
  const subnet::Node& node = subnet.node(subnet.port(subnet.start).node);
  const auto linked = [](const subnet::Port& port) { return port.peer != subnet::none; };
  const auto ports = subnet.ports_of(node);
  return node.kind() == subnet::NodeKind::sw && std::none_of(ports.begin(), ports.end(), linked) &&
         std::any_of(subnet.failures.begin(), subnet.failures.end(), [](const subnet::Failure& f) { return f.beyond; });
}

bool concerns(const subnet::Subnet& subnet, const subnet::Failure& failure, subnet::NodeIndex node) {
  const auto ports = subnet.ports_of(subnet.node(node));
  return failure.node == node || std::any_of(ports.begin(), ports.end(), [&](const subnet::Port& port) {
           return port.peer != subnet::none && subnet.port(port.peer).node == failure.node && !failure.beyond;
         });
}

}  // namespace

async::Task<> discover(Session& session, const DiscoveryOptions& options, Fabric& fabric) {
  fabric.names = session.node_name_map();
  co_await sweep(session, options, nullptr, ~0U, fabric);
  tell_outcome(session, fabric);
}

async::Task<subnet::NodeIndex> discover_around(Session& session, const DiscoveryOptions& options, const path::Path* target,
                                               Fabric& fabric) {
  fabric.names = session.node_name_map();
  co_await sweep(session, options, target, 1, fabric);
  subnet::NodeIndex node = fabric.subnet.port(fabric.subnet.start).node;
  if (target->directed() == nullptr && is_cut_off(fabric.subnet)) {
    const Guid guid = fabric.subnet.node(node).guid();
    if (session.options().error_level() >= 1)
      log::debug("Directed routes that start at a LID are not answered: sweeping the fabric for the node.");
    Fabric whole;
    co_await sweep(session, options, nullptr, ~0U, whole);
    const subnet::NodeIndex found = whole.subnet.find_node(guid);
    if (found != subnet::none) {
      node = found;
      std::erase_if(whole.subnet.failures, [&](const subnet::Failure& f) { return !concerns(whole.subnet, f, found); });
      fabric.subnet = std::move(whole.subnet);
      fabric.stats = std::move(whole.stats);
    }
  }
  tell_outcome(session, fabric);
  co_return node;
}

void note_discovered(const Session& session, std::string_view what) {
  if (session.options().error_level() >= 1) log::debug(fmt::format("Discovered: '{}'", what));
}

void print_failures(const subnet::Subnet& subnet, int level) {
  const auto& failures = subnet.failures;
  for (std::size_t at = 0; at < failures.size();) {
    const subnet::Failure& failure = failures[at];
    Ranges ports;
    std::size_t end = at;
    do {
      if (failures[end].port >= 0) ports.add(static_cast<unsigned>(failures[end].port));
      ++end;
    } while (end < failures.size() && alike(failure, failures[end]));
    log::error(sentence(subnet, failure, ports));
    if (failure.error) print_error(*failure.error, level, false);
    at = end;
  }
}

}  // namespace ib::tools
