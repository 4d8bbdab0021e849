// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of a run besides Host, Stack and Targets. What differs by dialect is in ibtool_manners.cpp and diags_manners.cpp.
#include "tools/frame/session.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "mad/plain_text.hpp"
#include "mad/rpc/rpc.hpp"
#include "snapshot/snapshot.hpp"
#include "sys/umad_port.hpp"
#include "tools/frame/set_guard.hpp"

namespace ib::tools {

Session::Session(const World& world, MakeManners make_manners, std::string_view program, CommonOptions options,
                 std::vector<std::string> operands, async::Loop& loop)
    : program_(program),
      operands_(std::move(operands)),
      manners_(make_manners(*this)),
      host_(world, std::move(options), manners_->port_choice()),
      progress_(loop, world),
      stack_(host_, loop, stack_manners()),
      targets_(stack_, target_callbacks()) {}

Session::~Session() = default;

StackManners Session::stack_manners() {
  StackManners manners = manners_->stack();
  manners.warn = [&log = log()](std::string_view line) { log.warning(line); };
  manners.count_mads = [this](const mad::Stats* stats) { progress_.count_mads(stats); };
  return manners;
}

Targets::Callbacks Session::target_callbacks() {
  Targets::Callbacks callbacks;
  callbacks.names = [this]() -> const subnet::NodeNameMap& { return node_name_map(); };
  callbacks.swept = [this](const subnet::DiscoverStats& stats) { count_plan(stats); };
  callbacks.debug = [this](std::string_view line) { debug(1, line); };
  callbacks.warn = [&log = log()](std::string_view line) { log.warning(line); };
  return callbacks;
}

async::Task<> Session::pause(std::size_t done, std::size_t of, std::string_view unit) {
  progress_.count(done, of, unit);
  co_await loop().yield();
}

mad::Rpc& Session::rpc() {
  require_fabric(program_);
  return stack_.rpc();
}

PlannedSets Session::planned_sets() const { return stack_.planned_sets(); }

void Session::report_sets() {
  stack_.report_sets([this](const PlannedSet& set) { note(set.done()); });
}

void Session::use_cache(std::unique_ptr<snapshot::Snapshot> cache) { stack_.use_cache(std::move(cache)); }

void Session::save_cache() {
  const std::optional<std::string> file = stack_.save_cache();
  if (file && options().error_level() >= 1) log().debug(fmt::format("Saving discovery cache to {}", in_quotes(*file)));
}

const subnet::NodeNameMap& Session::node_name_map() {
  if (!node_name_map_) node_name_map_ = manners_->node_names();
  return *node_name_map_;
}

void Session::debug(int level, std::string_view text) const {
  if (options().debug >= level) log().debug(text);
}

void Session::note(std::string_view line) const {
  if (options().dry_run) return;
  log().print(harmless(line) + "\n");
}

void Session::report(const Error& error) const { print_error(log(), error, options().error_level(), options().keys); }

Destination Session::beyond(const Destination& node, std::uint8_t port) const {
  path::IbDrPath path;
  if (const path::IbDrPath* directed = node.path.directed()) {
    path = *directed;
  } else {
    static_cast<path::IbPath&>(path) = node.path.ib();
    path.dr_slid = host_.chosen_end_port()->lid;
  }
  const auto longer = path.advance(port);
  if (!longer) refuse(Error(fmt::format("{} is as far as a directed route goes", mad::target_text(node.path))), "Too many hops");
  return {*longer, name_of(*longer)};
}

std::string Session::diags_port() const { return fmt::format("{}:{}", diags_device(options()), diags_port_number(options())); }

/// Opens the channel as libibumad does. The only message of libibumad on a failure is that ib_umad of the kernel is missing.
std::optional<int> Session::open_failure() {
  if (stack_.is_open() || options().from || diags_channel_) return std::nullopt;
  int code = ENODEV;
  try {
    diags_channel_ = world().open_channel(end_port(), options().gmp);
    return std::nullopt;
  } catch (const SysError& error) {
    code = error.code();
  } catch (const Error&) {
    // There is no such port, or it cannot be used.
  }
  const int missing = sys::umad_abi_failure();
  if (missing == 0) return code;
  diags_warning("get_abi_version", fmt::format("can't read ABI version from /sys/class/infiniband_mad/abi_version ({}): is ib_umad module "
                                               "loaded?",
                                               std::strerror(missing)));
  return missing;
}

void Session::count_plan(const subnet::DiscoverStats& stats) {
  if (stack_.answers_from_file()) return;  // nothing is sent
  plan_.plan += stats.plan;
  plan_.requested += stats.requested;
  for (const auto& [reason, count] : stats.beyond) plan_.add(reason, count);
}

void Session::print_stats() const {
  if (!options().stats || !stack_.is_open()) return;
  static const mad::Stats nothing_sent;
  const mad::Stats* stats = stack_.stats() != nullptr ? stack_.stats() : &nothing_sent;
  const auto line = [this](std::string_view text) { log().print(text); };
  std::uint64_t requested = 0;
  for (const auto& [reason, count] : stats->first_tries) requested += reason == mad::requested ? count : 0;
  line(fmt::format("mads planned: {}\nmads sent: {}\n", plan_.plan + requested - plan_.requested, stats->sent()));
  for (const auto& [reason, count] : plan_.beyond) line(fmt::format("mads beyond plan: {} {}\n", reason, count));
  for (const auto& [reason, count] : stats->first_tries) {
    if (reason != mad::requested) line(fmt::format("mads beyond plan: {} {}\n", reason, count));
  }
  for (const auto& [what, count] : {std::pair{"no answer", stats->retries_lost},
                                    {"busy", stats->retries_busy},
                                    {"further segments of requests", stats->request_segments},
                                    {"acknowledgements of segments", stats->acks}}) {
    if (count != 0) line(fmt::format("mads beyond plan: {} {}\n", what, count));
  }
  for (const auto& [what, count] : {std::pair{"late", stats->late}, {"unexpected", stats->unexpected}, {"contradictory", stats->invalid}}) {
    if (count != 0) line(fmt::format("mads received: {} {}\n", what, count));
  }
}

void print_error(Log& log, const Error& error, int level, Keys keys, bool top) {
  std::string message;
  std::vector<std::string> packet;  // lines of a decoded packet belong to the line before
  const auto write = [&] {
    if (!message.empty()) log.error(message, packet);
    packet.clear();
  };
  for (const std::string& line : error.lines(level, keys)) {
    if (line.starts_with(' ')) {
      packet.push_back(line);
      continue;
    }
    write();
    message = (top || line.starts_with('+') ? "" : "+") + line;
    top = false;
  }
  write();
}

}  // namespace ib::tools
