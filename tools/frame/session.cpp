// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of a run besides Host, Stack and Targets. The dialect of infiniband-diags is in session_diags.cpp.
#include "tools/frame/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "formats/node_name_map.hpp"
#include "iba/text.hpp"
#include "mad/channel.hpp"
#include "mad/describe.hpp"
#include "mad/trace.hpp"
#include "snapshot/snapshot.hpp"
#include "tools/frame/node_names.hpp"
#include "tools/frame/set_guard.hpp"

namespace ib::tools {
namespace {

/// Reads the node name map as infiniband-diags does: `file`, or the default file. If it cannot be read, warns and returns an empty map.
subnet::NodeNameMap read_diags_node_names(const World& world, const std::optional<std::string>& file) {
  const std::string name = file ? *file : world.node_name_maps.empty() ? "" : world.node_name_maps.front();
  try {
    subnet::NodeNameMap map = formats::read_node_name_map_as_diags(name);
    if (map.bad_lines().empty()) return map;
    const std::string& line = map.bad_lines().front().text;
    tell(world, fmt::format("WARNING failed to parse node name map \"{}\"\nWARNING failed line: \"{}\"\n", name, line));
  } catch (const UsageError& error) {
    tell(world, fmt::format("WARNING failed to read node name map: {}\n", error.what()));
  } catch (const SysError& error) {
    if (file || error.code() != ENOENT)
      tell(world, fmt::format("WARNING failed to open node name map \"{}\" ({})\n", name, std::strerror(error.code())));
  }
  return {};
}

/// For -e: prints errors of single tries, also if a later try succeeds.
class ErrorTracer final : public mad::Tracer {
 public:
  explicit ErrorTracer(Log& log) : log_(log) {}
  void completed(Bytes, const path::Path&, Bytes) override {}
  void retried(Bytes request, const path::Path& path) override {
    log_.warning(fmt::format("no good answer to RPC {} from '{}', asking again", mad::describe(request), to_text(path)));
  }
  void unexpected(Bytes mad, const path::Path& path, bool late) override {
    log_.warning(fmt::format("{} {} on '{}'", late ? "late answer" : "unexpected MAD", mad::describe(mad), to_text(path)));
  }

 private:
  Log& log_;
};

}  // namespace

Session::Session(const World& world, Dialect dialect, std::string_view program, CommonOptions options, std::vector<std::string> operands,
                 async::Loop& loop)
    : program_(program),
      operands_(std::move(operands)),
      host_(world, dialect, std::move(options)),
      progress_(loop, world.err, *world.log),
      stack_(host_, loop, manners()),
      targets_(stack_, target_callbacks()) {}

Session::~Session() = default;

StackManners Session::manners() {
  StackManners manners;
  const bool as_diags = host_.dialect() == Dialect::diags;
  const CommonOptions& options = host_.options();
  if (as_diags) {
    manners.open_channel = [this] { return open_diags_channel(); };
    manners.stack_on = [this](mad::Transactor& below) { return diags_transactor(below); };
  } else {
    manners.open_channel = [this] {
      debug(1, fmt::format("Using end port {} {}", end_port().name(), to_text(end_port().default_gid())));
      return world().open_channel(end_port(), this->options().gmp);
    };
  }
  const auto warn = [&log = log()](std::string_view line) { log.warning(line); };
  const auto show = [&log = log()](std::string_view line) { log.debug(line); };
  // infiniband-diags has its own lines for the first -d. With a second -d, our lines show the packets.
  if (options.debug > (as_diags ? 1 : 0)) {
    manners.tracer = std::make_unique<mad::LineTracer>(options.debug, show, options.keys);
  } else if (options.show_errors && !as_diags) {
    manners.tracer = std::make_unique<ErrorTracer>(log());
  }
  manners.warn = warn;
  if (options.debug >= 1 && !as_diags) manners.debug = [this](int level, std::string_view line) { debug(level, line); };
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

mad::Rpc& Session::rpc() {
  require_fabric(program_);
  return stack_.rpc();
}

PlannedSets Session::planned_sets() const { return stack_.planned_sets(); }

void Session::use_cache(std::unique_ptr<snapshot::Snapshot> cache) { stack_.use_cache(std::move(cache)); }

void Session::save_cache() {
  const std::optional<std::string> file = stack_.save_cache();
  if (file && options().error_level() >= 1) log().debug(fmt::format("Saving discovery cache to {}", in_quotes(*file)));
}

const subnet::NodeNameMap& Session::node_name_map() {
  if (node_name_map_) return *node_name_map_;
  if (host_.dialect() == Dialect::diags) return node_name_map_.emplace(read_diags_node_names(world(), options().node_name_map));
  return node_name_map_.emplace(read_node_names(world(), options()));
}

void Session::debug(int level, std::string_view text) const {
  if (options().debug >= level) log().debug(text);
}

void Session::note(std::string_view line) const {
  if (options().dry_run) return;
  log().print(harmless(line) + "\n");
}

void Session::report(const Error& error) const { print_error(log(), error, options().error_level(), options().keys); }

async::Task<Destination> Session::smp_node(const Target& target) {
  if (host_.dialect() == Dialect::diags) return diags_node(target);
  return named(smp_path(target.path ? &*target.path : nullptr));
}

async::Task<Destination> Session::gmp_node(const Target& target) {
  if (host_.dialect() == Dialect::diags) return diags_gmp_node(target);
  return named(gmp_path(target.path ? &*target.path : nullptr));
}

async::Task<Destination> Session::named(async::Task<path::Path> found) const {
  const path::Path path = co_await std::move(found);
  co_return Destination{path, name_of(path)};
}

Destination Session::beyond(const Destination& node, std::uint8_t port) const {
  path::IbDrPath path;
  if (const path::IbDrPath* directed = node.path.directed()) {
    path = *directed;
  } else {
    static_cast<path::IbPath&>(path) = node.path.ib();
    path.dr_slid = host_.chosen_end_port()->lid;
  }
  const auto longer = path.advance(port);
  if (!longer) refuse(Error(fmt::format("{} is as far as a directed route goes", node.name)), {"main", "Too many hops"});
  return {*longer, name_of(*longer)};
}

std::string Session::name_of(const path::Path& path) const { return host_.dialect() == Dialect::diags ? diags_name(path) : to_text(path); }

void Session::give_up(const std::shared_ptr<const mad::MadError>& error, const DiagsWords& words) const {
  if (host_.dialect() == Dialect::ibtool) error->raise();
  tell_failure(*error);
  throw DiagsFailure(words);
}

void Session::count_plan(const subnet::DiscoverStats& stats) {
  if (stack_.answers_from_snapshot()) return;  // nothing is sent
  plan_.plan += stats.plan;
  plan_.asked += stats.asked;
  for (const auto& [reason, count] : stats.beyond) plan_.add(reason, count);
}

void Session::print_stats() const {
  if (!options().stats || !stack_.is_open()) return;
  static const mad::Stats nothing_sent;
  const mad::Stats* stats = stack_.stats() != nullptr ? stack_.stats() : &nothing_sent;
  const auto line = [this](std::string_view text) { log().print(text); };
  std::uint64_t asked = 0;
  for (const auto& [reason, count] : stats->first_tries) asked += reason == mad::asked ? count : 0;
  line(fmt::format("mads planned: {}\nmads sent: {}\n", plan_.plan + asked - plan_.asked, stats->sent()));
  for (const auto& [reason, count] : plan_.beyond) line(fmt::format("mads beyond plan: {} {}\n", reason, count));
  for (const auto& [reason, count] : stats->first_tries) {
    if (reason != mad::asked) line(fmt::format("mads beyond plan: {} {}\n", reason, count));
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
