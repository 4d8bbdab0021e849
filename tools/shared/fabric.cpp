// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery as the commands do it: mode, progress on a terminal, and afterwards the errors in an order of their own,
// so that a fabric with dead parts always reads the same.
#include "tools/shared/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "out/progress.hpp"
#include "subnet/sa_discovery.hpp"

namespace ib::tools {
namespace {

std::string node_text(const subnet::Subnet& subnet, subnet::NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  std::string text = to_text(node.guid());
  if (node.has_description) text += ' ' + quoted(node.description());
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
  if (failure.node == subnet::none) return failure.why;
  const std::string who = node_text(subnet, failure.node);
  if (failure.beyond) {
    const std::string where = fmt::format("port {} of {}", failure.port, who);
    if (failure.kind == Kind::no_answer) return fmt::format("No answer from beyond {}.", where);
    if (failure.kind == Kind::refused) return fmt::format("The node beyond {} does not say what it is.", where);
    if (failure.kind == Kind::no_record) return fmt::format("The SA does not know what is beyond {}.", where);
    return fmt::format("Beyond {}: {}", where, failure.why);
  }
  const std::string what =
      failure.port >= 0 && failure.attribute != "NodeInfo" ? failure.attribute + " of " + ports.text() : failure.attribute;
  switch (failure.kind) {
    case Kind::no_answer:
      if (failure.attribute == "NodeInfo") return fmt::format("{}: {}", who, failure.why);  // it fell silent
      return fmt::format("No answer from {} about {}.", who, what);
    case Kind::refused:
      return fmt::format("{} refuses to tell its {}.", who, what);
    case Kind::no_record:
      return fmt::format("The SA has no {} of {}.", what, who);
    default:
      return fmt::format("{}: {}", who, failure.why);
  }
}

bool alike(const subnet::Failure& a, const subnet::Failure& b) {
  const bool same_cause = (a.error && b.error) || a.kind == subnet::Failure::Kind::no_record;
  return same_cause && !a.beyond && !b.beyond && a.node == b.node && a.kind == b.kind && a.attribute == b.attribute && a.why == b.why;
}

enum class Mode { directed, lid, sa };

/// The mode that `options` come to on the session's end port.
Mode mode_of(Session& session, const DiscoveryOptions& options) {
  const bool use_sa = session.options().use_sa;
  if (use_sa && options.mode && options.mode != "SA") {
    throw UsageError(fmt::format("Can't combine --sa with discovery mode '{}'", *options.mode));
  }
  if (use_sa || options.mode == "SA") return Mode::sa;
  if (options.mode) return options.mode == "LID" ? Mode::lid : Mode::directed;
  constexpr unsigned active = 4;  // IBA 14.2.5.6: PortState
  const sys::EndPort& port = session.end_port();
  return port.state == active && port.lid.is_unicast() ? Mode::lid : Mode::directed;
}

}  // namespace

void add_discovery(OptionSet& set, DiscoveryOptions& options) {
  set.choice("--discovery", options.mode, {"LID", "DR", "SA"}, "Method to use for discovering the subnet");
  set.flag("--fdr10", options.fdr10, "Ask Mellanox devices whether a link at QDR is one at FDR10");
}

namespace {

/// Fills in what all ways of discovery have in common.
template <class Options>
void tell_progress(const Session& session, out::Progress& progress, Options& how) {
  how.progress = [&progress](std::size_t nodes) {
    if (progress.due()) progress.update(fmt::format("{} nodes found", nodes));
  };
  if (session.options().error_level() >= 1) how.tell = log::debug;
}

async::Task<> read_sa(Session& session, const path::Path* target, unsigned radius, Fabric& fabric) {
  subnet::SaDiscoverOptions how;
  how.radius = radius;
  out::Progress progress;
  tell_progress(session, progress, how);
  session.read_from_sa();
  co_await session.prepare_sa();
  mad::Transactor& transactor = session.transactor();
  if (target != nullptr) {
    const path::Path path = co_await session.smp_path(target);
    const auto port = co_await transactor.subn_get<smp::PortInfo>(path);
    how.start = port.lid;
  }
  fabric.stats = co_await subnet::discover_from_sa(transactor, fabric.subnet, how);
}

async::Task<> sweep(Session& session, const DiscoveryOptions& options, Mode mode, const path::Path* target, unsigned radius,
                    Fabric& fabric) {
  subnet::DiscoverOptions how;
  how.routing = mode == Mode::lid ? subnet::Routing::lid : subnet::Routing::directed;
  how.radius = radius;
  how.mlnx_extended_port_info = options.fdr10;
  out::Progress progress;
  tell_progress(session, progress, how);
  path::IbDrPath local;
  local.end_port = &session.end_port();
  local.sqpn = Qpn{0};
  path::Path start = local;
  session.apply_options(start);
  if (target != nullptr) start = co_await session.smp_path(target);
  mad::Transactor& transactor = session.transactor();
  fabric.stats = co_await subnet::discover(transactor, fabric.subnet, start, how);
}

/// One discovery; what it did not learn stays in the model.
async::Task<> read_fabric(Session& session, const DiscoveryOptions& options, const path::Path* target, unsigned radius, Fabric& fabric) {
  const Mode mode = mode_of(session, options);
  if (session.options().error_level() >= 1) {
    log::debug(fmt::format("Performing discovery using mode '{}'", mode == Mode::sa ? "SA" : mode == Mode::lid ? "LID" : "DR"));
  }
  if (mode == Mode::sa) {
    co_await read_sa(session, target, radius, fabric);
  } else {
    co_await sweep(session, options, mode, target, radius, fabric);
  }
}

void tell_outcome(const Session& session, const Fabric& fabric) {
  print_failures(fabric.subnet, session.options().error_level(), session.options().keys);
  if (!session.options().stats) return;
  std::fputs(fmt::format("mads planned: {}\n", fabric.stats.plan).c_str(), stderr);
  for (const auto& [reason, count] : fabric.stats.beyond)
    std::fputs(fmt::format("mads beyond plan: {} {}\n", reason, count).c_str(), stderr);
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
  co_await read_fabric(session, options, nullptr, ~0U, fabric);
  tell_outcome(session, fabric);
}

async::Task<subnet::NodeIndex> discover_around(Session& session, const DiscoveryOptions& options, const path::Path* target,
                                               Fabric& fabric) {
  fabric.names = session.node_name_map();
  co_await read_fabric(session, options, target, 1, fabric);
  subnet::NodeIndex node = fabric.subnet.port(fabric.subnet.start).node;
  if (target->directed() == nullptr && mode_of(session, options) != Mode::sa && is_cut_off(fabric.subnet)) {
    const Guid guid = fabric.subnet.node(node).guid();
    if (session.options().error_level() >= 1)
      log::debug("Directed routes that start at a LID are not answered: sweeping the fabric for the node.");
    Fabric whole;
    co_await read_fabric(session, options, nullptr, ~0U, whole);
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

void print_failures(const subnet::Subnet& subnet, int level, Keys keys) {
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
    if (failure.error) print_error(*failure.error, level, keys, false);
    at = end;
  }
}

}  // namespace ib::tools
