// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/health/fetch.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/letter_case.hpp"
#include "routing/tables.hpp"
#include "subnet/model/find_port.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/name_match.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::health {
namespace {

using subnet::NodeIndex;

constexpr std::size_t longest_list = std::size_t{1} << 22;  // bytes

bool is_file(const std::string& name) {
  struct stat status {};
  return name.find('/') != std::string::npos || (::stat(name.c_str(), &status) == 0 && S_ISREG(status.st_mode));
}

/// The channel adapters of hosts, and the hosts that have none.
struct HostsFound {
  std::set<NodeIndex> nodes;
  std::set<std::string> missing;
};

/// Finds the word of --nodes that means a host: its name, in any case, with or without its domain, or a pattern that fits.
class HostWords {
 public:
  explicit HostWords(const std::set<std::string>& words) {
    for (const std::string& word : words) {
      const std::string lower = to_lower(word);
      whole_.emplace(lower, word);
      if (lower.find('.') != std::string::npos) by_host_.emplace(lower.substr(0, lower.find('.')), word);
      if (NameWord pattern(word); pattern.is_pattern()) patterns_.emplace_back(std::move(pattern), word);
    }
  }
  std::string find(const std::string& host) const {
    const std::string lower = to_lower(host), label = lower.substr(0, lower.find('.'));
    if (const auto same = whole_.find(lower); same != whole_.end()) return same->second;
    const auto& shorter = label == lower ? by_host_ : whole_;
    if (const auto same = shorter.find(label); same != shorter.end()) return same->second;
    const auto fits = [&host](const auto& pattern) { return pattern.first.match(host) != NameMatch::none; };
    const auto pattern = std::ranges::find_if(patterns_, fits);
    return pattern == patterns_.end() ? std::string() : pattern->second;
  }

 private:
  std::map<std::string, std::string> whole_, by_host_;  ///< in lower case; the host names of words with a domain
  std::vector<std::pair<NameWord, std::string>> patterns_;
};

HostsFound find_hosts(const subnet::Subnet& subnet, const HealthRequest& wanted) {
  HostsFound found{{}, wanted.hosts};
  const HostWords words(wanted.hosts);
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const std::string host = wanted.host_names.host_of(subnet.node(at));
    const std::string word = host.empty() ? std::string() : words.find(host);
    if (word.empty()) continue;
    found.nodes.insert(at);
    found.missing.erase(word);
  }
  return found;
}

subnet::Failure missing_host(const std::string& host) {
  return {.kind = subnet::Failure::Kind::no_record,
          .attribute = "NodeDescription",
          .why = fmt::format("the host {} is not in the fabric", in_quotes(host)),
          .error = {}};
}

/// Warns of names that several machines have, all of which are looked at.
void report_shared_names(const Host& host, const subnet::Subnet& subnet, const HealthRequest& wanted, const std::set<NodeIndex>& nodes) {
  const Machines machines(subnet, wanted.host_names);
  std::map<std::string, std::set<Guid>> systems;
  for (const NodeIndex at : nodes) systems[machines.of(at).name].insert(machines.of(at).system);
  for (const auto& [name, guids] : systems) {
    if (guids.size() == 1) continue;
    host.log().warning(fmt::format("--nodes: {} machines are called {} (by SystemImageGUID), and all of them are looked at", guids.size(),
                                   in_quotes(name)));
  }
}

async::Task<Scope> scope_of_hosts(Stack& stack, Fabric& fabric, const HealthRequest& wanted) {
  const HostsFound found = find_hosts(fabric.subnet, wanted);
  if (found.nodes.empty()) throw UsageError("--nodes: none of these hosts is in the fabric (see --host-regex)");
  report_shared_names(stack.host(), fabric.subnet, wanted, found.nodes);
  subnet::Failures failures;
  for (const std::string& host : found.missing) failures.push_back(missing_host(host));

  const routing::Network network(fabric.subnet);
  routing::LinearTables tables(network.switches().size(), network.last_lid());
  const subnet::SurveyOptions options(stack.here(), subnet::SurveyWay::smp);
  const routing::TablesToRead to{.linear = &tables};
  std::vector<routing::SwitchIndex> switches = routing::all_switches(network);
  subnet::Failures unread = co_await routing::read_tables(stack.transactor(), network, std::move(switches), to, options);
  std::ranges::move(unread, std::back_inserter(failures));
  add_failures(stack.host(), fabric, std::move(failures));
  co_return scope_between(network, tables, found.nodes);
}

}  // namespace

std::set<std::string> read_hosts(const std::string& text) {
  std::set<std::string> hosts = expand_hosts(is_file(text) ? read_regular_file(text, longest_list) : text);
  if (hosts.empty()) throw UsageError("--nodes: no host is named");
  return hosts;
}

async::Task<Scope> find_scope(Stack& stack, Fabric& fabric, const HealthRequest& wanted) {
  if (!wanted.hosts.empty()) co_return co_await scope_of_hosts(stack, fabric, wanted);
  if (wanted.target.given()) co_return scope_around(fabric.subnet, target_node(fabric, wanted));
  co_return Scope();
}

subnet::NodeIndex target_node(const Fabric& fabric, const HealthRequest& wanted) {
  return fabric.subnet.port(subnet::get_port(fabric, *wanted.target.path)).node;
}

}  // namespace ib::tools::health
