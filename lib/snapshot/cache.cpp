// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/cache.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "snapshot/format.hpp"
#include "snapshot/parts.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::snapshot {
namespace {

constexpr unsigned link_up = 5;  // IBA 14.2.5.6: PortPhysicalState

/// The difference between the host's port now and `then`, the port when the file was made; empty if there is none.
std::string_view difference(const sys::EndPort& then, const sys::EndPort& now) {
  if (then.device->node_guid != now.device->node_guid) return "another device";
  if (then.default_gid().guid() != now.default_gid().guid()) return "another port";
  if (then.default_gid().prefix() != now.default_gid().prefix()) return "a subnet of another prefix";
  if (then.lid != now.lid) return "a port with another LID";
  if (then.sm_lid != now.sm_lid) return "a subnet manager at another LID";
  return {};
}

/// Whether the sweep found no node besides its first one.
bool sees_only_itself(const subnet::Subnet& subnet) {
  const subnet::Port& start = subnet.port(subnet.start);
  if (start.number != 0) return start.peer == subnet::none;
  const auto ports = subnet.ports_of(subnet.node(start.node));
  return std::ranges::all_of(ports, [](const subnet::Port& port) { return port.peer == subnet::none; });
}

/// The end of a path: the LID, and the directed route from there.
std::string place_of(const path::Path& path) {
  std::string place = to_text(path.ib().dlid);
  if (const path::IbDrPath* route = path.directed())
    place += fmt::format(" {} {}", fmt::join(std::span(route->route).first(route->hops + 1U), ","), route->dr_dlid.value);
  return place;
}

std::string nodes_text(std::size_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); }

/// Why a cache must not replace `file`, as a sentence; empty if `snapshot`, which is of this file and may be null, is a cache. `why`: the
/// reason why the fabric is not taken from it, if there is one.
std::string why_not_replaced(const std::string& file, Snapshot* snapshot, std::string_view why) {
  if (snapshot != nullptr && snapshot->is_cache()) return {};
  return fmt::format("{} was made by ibtool snapshot, and a cache does not replace it{}{}: only ibtool snapshot {} does", in_quotes(file),
                     why.empty() ? "" : "; ", why, escaped(file));
}

std::string kept_as(const std::string& file) { return fmt::format("it is kept as {}", in_quotes(file + '~')); }

/// The reason why `snapshot`, whose fabric is `fabric`, cannot be used under these conditions; empty if it can.
std::string why_unfit(Snapshot& snapshot, const subnet::SweptSubnet& fabric, const CacheTerms& terms) {
  const sys::EndPort& then = snapshot.end_port();
  if (const std::string_view other = difference(then, terms.port); !other.empty()) return fmt::format("it was read through {}", other);
  const std::optional<std::int64_t> ended = snapshot.number("ended");
  const std::int64_t age = stored_time(terms.now) - ended.value_or(0);
  if (!ended) return "it does not say how old it is";
  if (age < 0) return fmt::format("it is dated {}, in the future", time_of(snapshot));
  if (age > std::chrono::milliseconds(terms.age).count()) return fmt::format("it is dated {}", time_of(snapshot));
  if (then.phys_state != link_up || sees_only_itself(fabric.subnet)) return "it was read while this host had no link";
  if (terms.keys == Keys::shown && !snapshot.has_keys()) return "it was read without keys";
  if (terms.fdr10 && snapshot.fact("fdr10").empty() && !snapshot.has_part(name(Part::ports))) return "it was read without --fdr10";
  return {};
}

/// Whether all nodes that did not answer when a fabric was stored are still silent.
async::Task<bool> is_silent_as_then(const CacheTerms& terms, const subnet::SweptSubnet& stored) {
  const auto is_silence = [](const subnet::Failure& failure) { return failure.kind == subnet::Failure::Kind::no_answer; };
  if (std::ranges::none_of(stored.failures, is_silence)) co_return true;
  if (!terms.smps) co_return false;
  const bool silent = co_await subnet::are_still_silent(terms.smps(), stored.subnet, stored.failures, terms.start);
  co_return silent;
}

}  // namespace

Cache::Cache(mad::Transactor& below, std::string file, Keys keys, Lost lost, const async::Clock& clock)
    : Layer(below), file_(std::move(file)), keys_(keys), lost_(std::move(lost)), clock_(clock) {}

/// Runs `action`, which writes the file. After a failure nothing is written any more.
template <class Action>
void Cache::write(Action action) {
  if (!keeps_) return;
  try {
    action();
  } catch (const Error& error) {
    keeps_ = false;
    writer_.reset();
    lost_(error);
  }
}

void Cache::begin(const subnet::SweptSubnet& fabric, bool fdr10) {
  swept_ = fabric.subnet;
  write([&] {
    writer_.emplace(file_, keys_, nullptr, clock_);
    if (is_snapshot_file(file_)) {  // which may have come since the sweep began; from now on the writer keeps others away
      Snapshot old(file_);
      if (const std::string why = why_not_replaced(file_, &old, {}); !why.empty()) throw Error(why);
    }
    writer_->put_fact(kind_fact, kind_cache);  // without it no cache replaces the file
    writer_->put_origin(end_port());
    writer_->put_fabric(fabric);
    if (fdr10) writer_->put_fact("fdr10", "read");
    writer_->put_end();
  });
}

void Cache::use(std::unique_ptr<Snapshot> snapshot) {
  keeps_ = snapshot->is_cache();
  snapshot_ = std::move(snapshot);
  stored_.emplace(*snapshot_, end_port(), keys_);
}

void Cache::add(const mad::Request& request, const mad::Result<mad::Reply>& result) {
  if (!was_answered(result)) return;
  write([&] {
    if (stored_ && !writer_) {
      writer_.emplace(file_, keys_, snapshot_.get(), clock_);
      // A file that has taken the name meanwhile is newer than the content of this one.
      keeps_ = snapshot_->is_in_place();
      if (!keeps_) return writer_.reset();
    }
    writer_->put_result(stored_ ? stored_->subnet() : swept_, request, result);
  });
}

bool Cache::save() {
  if (!writer_) return false;
  write([&] { writer_->commit(); });
  writer_.reset();
  return keeps_;
}

/// As is_known_at(), by a request to the node.
mad::Task<bool> Cache::check_holder(const path::Path& path) {
  const path::Path to = subnet::smp_path_of(path);
  const mad::Result<smp::NodeInfo> answer = co_await below_.try_subn_get<smp::NodeInfo>(to);
  if (!answer) co_return false;
  const subnet::Subnet& subnet = stored_->subnet();
  const subnet::PathEnd place = subnet::end_of_path(subnet, to);
  std::string stored = "nobody";
  if (place.node != subnet::none) {
    const Guid guid = subnet.node(place.node).guid();
    const subnet::PortIndex port = to.directed() == nullptr ? subnet.find_lid(to.ib().dlid) : subnet::none;
    const Guid of_port = port == subnet::none ? Guid{} : subnet.port(port).guid;
    if (answer->node_guid == guid && (of_port == Guid{} || answer->port_guid == of_port)) co_return true;
    stored = to_text(guid);
  }
  throw Outdated(fmt::format("{} is at {}, where {} has {}: the fabric has changed", to_text(answer->node_guid), to_text(to),
                             in_quotes(file_), stored));
}

/// Whether the node at the end of `path` is the node that the file has there. False if it does not answer. Throws Outdated if another node
/// is there.
mad::Task<bool> Cache::is_known_at(const path::Path& path) {
  if (path.directed() != nullptr && path.directed()->hops == 0) co_return true;  // this node: CacheTerms
  std::string place = place_of(path);
  mad::Task<bool> check = check_holder(path);
  co_return co_await known_.get(std::move(place), std::move(check));
}

std::optional<mad::Result<mad::Reply>> Cache::known_answer(const mad::Request& request) try {
  return stored_->known_answer(request);
} catch (const UsageError& damaged) {
  throw Outdated(damaged.message());
}

/// The path by LID to the node at the end of a directed route, because the file has the answers of the node at that LID. Nothing
/// if the file does not have the node or its LID.
std::optional<path::Path> Cache::by_lid_of(const path::Path& path) {
  const subnet::PathEnd place = subnet::end_of_path(stored_->subnet(), path);
  if (place.node == subnet::none || path.directed()->hops == 0) return std::nullopt;
  return subnet::lid_path(stored_->subnet(), stored_->subnet().port_of(place.node, place.entry_port), path, Qpn{0});
}

mad::Task<mad::Result<mad::Reply>> Cache::try_call(const mad::Request& request) {
  const bool is_checked = stored_ && request.mgmt_class != mad::mgmt_class::sa;
  const bool by_route = request.path.directed() != nullptr;
  bool is_known = true;
  if (is_checked) {
    std::optional<path::Path> lid;
    if (by_route) lid = by_lid_of(request.path);
    is_known = co_await is_known_at(lid ? *lid : request.path);
  }
  bool is_kept = mad::is_smp(request.mgmt_class) && request.method == mad::method::get && is_known;
  if (is_kept && stored_) {
    if (auto stored = known_answer(request)) co_return std::move(*stored);
  }
  // The route may now lead to another node than the node at the LID.
  if (is_checked && by_route && is_kept) is_kept = co_await is_known_at(request.path);
  mad::Result<mad::Reply> live = co_await below_.try_call(request);
  if (is_kept) add(request, live);
  co_return live;
}

bool has_cache_file(const std::string& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return false;
  const bool is_link = S_ISLNK(status.st_mode), is_regular = S_ISREG(status.st_mode);
  const bool is_foreign = status.st_uid != ::geteuid() && status.st_uid != 0;
  const std::string_view why = is_link                                       ? "is a symbolic link"
                               : !is_regular                                 ? ""
                               : (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "may be written by other users"
                               : is_foreign                                  ? "belongs to another user"
                                                                             : "";
  if (!why.empty()) throw Error(fmt::format("{} {}", in_quotes(file), why));
  if (is_regular && status.st_size == 0) return false;
  if (!is_snapshot_file(file)) const Snapshot refused(file);  // throws: no other kind of file will do
  return true;
}

async::Task<CachedFabric> read_cache(std::string file, CacheTerms terms) {
  CachedFabric cache;
  std::string& why = cache.why_unfit;
  try {
    cache.snapshot = std::make_unique<Snapshot>(file);
    if (!terms.refresh) cache.fabric = cache.snapshot->read_fabric(&terms.port);
  } catch (const UsageError& error) {
    why = error.message();
    cache.is_damaged = true;
  }
  if (terms.refresh && !cache.is_damaged) why = "all is read again";
  if (why.empty()) why = why_unfit(*cache.snapshot, cache.fabric, terms);
  if (why.empty()) {
    const bool is_silent = co_await is_silent_as_then(terms, cache.fabric);
    if (!is_silent) why = "what did not answer when it was read may do so now";
  }
  if (!why.empty()) cache.why_kept = why_not_replaced(file, cache.snapshot.get(), why);
  co_return cache;
}

std::optional<std::string> why_old_is_kept(const std::string& file, const subnet::Subnet& seen) {
  if (!is_snapshot_file(file)) return std::nullopt;  // NewFile lets only an empty file, or none, be at this name then
  std::vector<Guid> old;
  try {
    old = Snapshot(file).node_guids();
  } catch (const UsageError& error) {
    return fmt::format("{}: {}", error.message(), kept_as(file));
  }
  const auto is_seen = [&seen](Guid guid) { return seen.find_node(guid) != subnet::none; };
  const auto common = static_cast<std::size_t>(std::ranges::count_if(old, is_seen));
  const std::string had = fmt::format("{} has {}", in_quotes(file), nodes_text(old.size()));
  const std::string seen_now = fmt::format("only {} of which {} seen now", common, common == 1 ? "was" : "were");
  constexpr std::string_view stays = "it is not replaced (--force replaces it)";
  if (!old.empty() && common == 0)
    throw Error(fmt::format("{}, none of which is among the {} of this fabric: {}", had, nodes_text(seen.nodes().size()), stays));
  if (common * 10 < old.size()) throw Error(fmt::format("{}, {}: {}", had, seen_now, stays));
  if (common * 2 < old.size()) return fmt::format("{}, {}: {}", had, seen_now, kept_as(file));
  return std::nullopt;
}

std::string time_of(Snapshot& snapshot) {
  constexpr std::int64_t a_second = 1000, last = 253402300799;  // the year 9999
  const auto seconds = static_cast<std::time_t>(std::clamp<std::int64_t>(snapshot.number("ended").value_or(0) / a_second, 0, last));
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &local)};
}

}  // namespace ib::snapshot
