// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The manners of both dialects; for infiniband-diags with the warnings of libibmad about failed requests.
#include "tools/frame/manners.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "formats/node_name_map.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/channel/channel.hpp"
#include "mad/describe.hpp"
#include "path/parse.hpp"
#include "sa/resolve.hpp"
#include "subnet/set/set_target.hpp"
#include "sys/umad_port.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {

DiagsPanic::DiagsPanic(std::string_view what, int code)
    : DiagsExit(diags_failed, fmt::format("ibpanic: [{}] main: {}: {}\n", getpid(), what, std::strerror(code))) {}

bool print_on_stderr(const World& world, std::string_view text) { return world.log->print(printable_words(text)); }

std::string verbose_line(std::string_view function, std::string_view text) {
  return fmt::format("[{}] {}: {}\n", getpid(), function, text);
}

void warn(const World& world, std::string_view function, std::string_view text) {
  print_on_stderr(world, fmt::format("ibwarn: [{}] {}: {}\n", getpid(), function, text));
}

std::string failure_line(std::string_view program, std::string_view what) {
  return fmt::format("{}: iberror: failed: {}\n", program, printable_words(what));
}

std::optional<path::IbDrPath> read_diags_route(std::string_view text) {
  const std::vector<std::string_view> numbers = split_list(text);
  if (numbers.empty() || numbers.size() > path::max_hops + 1U) return std::nullopt;
  path::IbDrPath path;
  path.hops = static_cast<std::uint8_t>(numbers.size() - 1);
  std::ranges::transform(numbers, path.route.begin(),
                         [](std::string_view number) { return static_cast<std::uint8_t>(std::atoi(std::string(number).c_str())); });
  return path;
}

std::string diags_name(const path::Path& path) {
  const path::IbDrPath* directed = path.directed();
  const Lid lid = path.ib().dlid;
  const bool has_lid = lid != permissive_lid && lid != Lid{};
  if (directed == nullptr || (directed->hops == 0 && has_lid)) return fmt::format("Lid {}", lid.value);
  const std::string start = has_lid ? fmt::format("Lid {} ", lid.value) : "";
  const auto* route = directed->route.data();
  return fmt::format("{}DR path slid {}; dlid {}; {}", start, directed->dr_slid.value, directed->dr_dlid.value,
                     fmt::join(route, route + directed->hops + 1, ","));
}

namespace {

/// Reads the node name map as infiniband-diags does: `file`, or the default file. If it cannot be read, warns and returns an empty map.
subnet::NodeNameMap read_diags_node_names(const World& world, const std::optional<std::string>& file) {
  const std::string name = file ? *file : world.node_name_maps.empty() ? "" : world.node_name_maps.front();
  try {
    subnet::NodeNameMap map = formats::read_node_name_map_as_diags(name);
    if (map.bad_lines().empty()) return map;
    const std::string& line = map.bad_lines().front().text;
    print_on_stderr(world, fmt::format("WARNING failed to parse node name map \"{}\"\nWARNING failed line: \"{}\"\n", name, line));
  } catch (const UsageError& error) {
    print_on_stderr(world, fmt::format("WARNING failed to read node name map: {}\n", error.what()));
  } catch (const SysError& error) {
    if (file || error.code() != ENOENT)
      print_on_stderr(world, fmt::format("WARNING failed to open node name map \"{}\" ({})\n", name, std::strerror(error.code())));
  }
  return {};
}

/// Reads a map and warns of wrong lines. A file that is not a map has many of them.
subnet::NodeNameMap read_file(Log& log, const std::string& file) {
  constexpr std::size_t most_warnings = 10;
  subnet::NodeNameMap map = formats::read_node_name_map(file);
  const auto& bad = map.bad_lines();
  for (std::size_t at = 0; at < std::min(bad.size(), most_warnings); ++at)
    log.warning(fmt::format("{}:{}: no GUID at the start of the line", file, bad[at].number));
  if (bad.size() > most_warnings) log.warning(fmt::format("{}: {} more lines without a GUID", file, bad.size() - most_warnings));
  return map;
}

/// For -e: prints errors of single tries, also if a later try succeeds.
class ErrorTracer final : public mad::Tracer {
 public:
  explicit ErrorTracer(Log& log) : log_(log) {}
  void completed(Bytes, const path::Path&, Bytes) override {}
  void retried(Bytes request, const path::Path& path) override {
    log_.warning(fmt::format("no good answer to RPC {} from '{}', trying again", mad::describe(request), to_text(path)));
  }
  void unexpected(Bytes mad, const path::Path& path, bool late) override {
    log_.warning(fmt::format("{} {} on '{}'", late ? "late answer" : "unexpected MAD", mad::describe(mad), to_text(path)));
  }

 private:
  Log& log_;
};

}  // namespace

Manners::Manners(Stack& stack, Dialect dialect) : stack_(stack), diags_(dialect == Dialect::diags) {}

Host& Manners::host() const { return stack_.host(); }

const sys::EndPort& Manners::choose_port(const sys::DeviceList& list, const CommonOptions& options) const {
  if (!diags_ || (options.device && options.port)) return list.select(options.device, options.port);
  const sys::Device* device = options.device ? &list.find_device(*options.device) : nullptr;
  return list.libibumad_port(device, static_cast<unsigned>(diags_port_number(options)));
}

// What infiniband-diags prints with -d, in its words and its order, is not imitated: this is the trace of ibtool's dialect.
std::unique_ptr<mad::Tracer> Manners::tracer() const {
  const CommonOptions& options = host().options();
  const auto show = [&log = host().log()](std::string_view line) { log.debug(line); };
  if (options.debug > 0) return std::make_unique<mad::LineTracer>(options.debug, show, options.keys);
  if (options.show_errors && !diags_) return std::make_unique<ErrorTracer>(host().log());
  return nullptr;
}

std::unique_ptr<mad::Channel> Manners::open_channel() {
  if (!diags_) {
    const sys::EndPort& port = host().end_port();
    host().debug(fmt::format("Using end port {} {}", port.name(), to_text(port.default_gid())));
    return host().world().open_channel(port, host().options().gmp);
  }
  const DiagsRelease& release = *host().world().diags_release;
  const std::optional<int> failure = open_failure(stack_);
  const auto is_down = [this] { return host().end_port().state == static_cast<unsigned>(smp::PortState::down); };
  if (!failure && (release.opens_down_ports || !is_down())) return std::move(stack_.ready_channel());
  warn(host().world(), release.open_function, fmt::format("can't open UMAD port ({})", diags_port(host().options())));
  throw DiagsFailure(fmt::format("Failed to open '{}' port '{}'", diags_device(host().options()), diags_port_number(host().options())));
}

async::Task<std::optional<path::Path>> Manners::path_of_guid(const std::string& text) {
  const Guid guid{c_number(text)};
  if (guid.value == 0) co_return std::nullopt;
  const Gid self = host().end_port().default_gid();
  const GidPrefix prefix = self.prefix().value != 0 ? self.prefix() : link_local_prefix;
  path::IbPath to;
  to.end_port = &host().end_port();
  to.dgid = Gid::from(prefix, guid);
  to.sgid = self;
  if (stack_.transactor().sa_path().ib().dlid == Lid{}) {  // no subnet manager was here yet
    remark("ib_path_query_via", "sa call path_query failed");
    co_return std::nullopt;
  }
  try {  // what it learns serves GMPs to the same port too
    const path::Path path = co_await stack_.resolver().resolve(to);
    std::optional<path::Path> by_lid = path_of_lid(path.ib().dlid.value);
    if (by_lid) by_lid->ib().expected_node_guid = guid;
    co_return by_lid;
  } catch (const mad::MadError&) {
    remark("ib_path_query_via", "sa call path_query failed");
  } catch (const SysError&) {
    throw;
  } catch (const Error&) {  // a path to no LID
  }
  co_return std::nullopt;
}

std::optional<path::Path> Manners::path_of_lid(long lid) const {
  if (lid < 1 || lid > last_unicast_lid) return std::nullopt;
  path::IbPath path;
  path.dlid = Lid{static_cast<std::uint16_t>(lid)};
  path.slid = host().end_port().lid;
  path.dqpn = path.sqpn = Qpn{0};
  return path;
}

/// "6 0,12": LID-routed to a switch and directed from there on (IBA 14.2.2).
std::optional<path::Path> Manners::path_of_combined(const std::string& text) const {
  char* end = nullptr;
  const auto lid = static_cast<int>(std::strtol(text.c_str(), &end, 0));
  std::optional<path::IbDrPath> path = read_diags_route(*end == '\0' ? "" : end + 1);
  if (!path || lid < 1 || lid > last_unicast_lid) return std::nullopt;
  path->dlid = Lid{static_cast<std::uint16_t>(lid)};
  path->slid = path->dr_slid = host().end_port().lid;
  return *path;
}

async::Task<std::optional<path::Path>> Manners::diags_path(const Target& target) {
  const CommonOptions& options = host().options();
  if (!target.given()) {
    const std::optional<path::Path> own = path_of_lid(host().end_port().lid.value);
    co_return own ? *own : path::Path(path::IbDrPath());
  }
  if (options.combined) co_return path_of_combined(target.text());
  if (options.address == path::Form::direct) co_return read_diags_route(target.text());
  if (options.address == path::Form::guid) co_return co_await path_of_guid(target.text());
  co_return path_of_lid(static_cast<int>(std::strtol(target.text().c_str(), nullptr, 0)));  // an int, in infiniband-diags too
}

async::Task<Destination> Manners::smp_node(const Target& target) {
  std::optional<path::Path> path;
  if (diags_) {
    std::ignore = stack_.transactor();  // a failure to open the transactor is reported first
    path = co_await diags_path(target);
    if (!path) throw DiagsFailure(fmt::format("can't resolve destination port {}", target.text()));
    path->ib().end_port = &host().end_port();
    stack_.apply_options(*path);
  } else {
    path = co_await stack_.smp_path(target.path ? &*target.path : nullptr);
  }
  co_return Destination{*path, name_of(*path)};
}

async::Task<Destination> Manners::gmp_node(const Target& target) {
  if (!diags_) {
    const path::Path to = co_await stack_.gmp_path(target.path ? &*target.path : nullptr);
    co_return Destination{to, name_of(to)};
  }
  Destination node = co_await smp_node(target);
  const path::IbDrPath* own = node.path.directed();
  if (own != nullptr && !target.given()) {
    // libibmad takes this port's LID for its address, even where no subnet manager gave it one. Nothing answers there.
    path::IbDrPath nobody = *own;
    nobody.dlid = nobody.dr_slid = nobody.dr_dlid = Lid{};
    node = {nobody, name_of(nobody)};
  }
  node.path.ib().use_qp(Qpn{1});
  stack_.set_pkey(node.path.ib());
  co_return node;
}

/// infiniband-diags sends no such request: nothing is printed of it, and if it fails, `node` is returned as it is. What the command
/// requests next fails, too, or the agent of SMPs is silent for the lack of its M_Key. SetGuard refuses a wrong node.
async::Task<Destination> Manners::identified(Destination node) {
  if (!subnet::takes_smps(node.path)) co_return node;
  mad::Transactor& transactor = diags_ ? stack_.lowest_transactor() : stack_.smp_transactor();
  const mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(transactor, node.path);
  if (!found && !diags_) found.error().raise();
  if (found) subnet::mean_node(node.path, *found);
  co_return node;
}

std::string Manners::name_of(const path::Path& path) const { return diags_ ? diags_name(path) : to_text(path); }

void Manners::remark(std::string_view function, std::string_view text) const {
  if (diags_) warn(host().world(), function, text);
}

void Manners::fail(std::string words) { throw DiagsFailure(std::move(words)); }

void Manners::give_up(const std::shared_ptr<const mad::MadError>& error, std::string_view words) const {
  if (!diags_) error->raise();
  report_failure(*error);
  throw DiagsFailure(std::string(words));
}

void Manners::report_failure(const mad::MadError& error) const {
  if (!diags_) {
    if (host().options().error_level() > 0) host().report(error);
    return;
  }
  const mad::HeaderView request(error.request());
  const std::uint8_t mgmt_class = request.mgmt_class();
  const bool single = mad::is_smp(mgmt_class) || mgmt_class == mad::mgmt_class::performance || mgmt_class == mad::mgmt_class::congestion;
  const std::string_view function = single ? "mad_rpc" : "mad_rpc_rmpp";
  const std::string port = diags_name(error.path());
  if (error.status() != 0) {
    if (host().options().show_errors)
      remark(function, fmt::format("MAD completed with error status 0x{:x}; dport ({})", error.status(), port));
    return;
  }
  if (dynamic_cast<const subnet::WrongNode*>(&error) != nullptr) return remark(function, error.message());
  remark(function, fmt::format("_do_madrpc failed; dport ({})", port));
}

long diags_port_number(const CommonOptions& options) { return std::strtol(options.port.value_or("").c_str(), nullptr, 0); }

std::string diags_device(const CommonOptions& options) { return options.device.value_or("(null)"); }

std::string diags_port(const CommonOptions& options) { return fmt::format("{}:{}", diags_device(options), diags_port_number(options)); }

/// Opens the channel as libibumad does. The only message of libibumad on a failure is that ib_umad of the kernel is missing.
std::optional<int> open_failure(Stack& stack) {
  Host& host = stack.host();
  if (stack.is_open() || host.options().from || stack.ready_channel() != nullptr) return std::nullopt;
  int code = ENODEV;
  try {
    stack.ready_channel() = host.world().open_channel(host.end_port(), host.options().gmp);
    return std::nullopt;
  } catch (const SysError& error) {
    code = error.code();
  } catch (const Error&) {
    // There is no such port, or it cannot be used.
  }
  const int missing = sys::umad_abi_failure();
  if (missing == 0) return code;
  warn(host.world(), "get_abi_version",
       fmt::format("can't read ABI version from /sys/class/infiniband_mad/abi_version ({}): is ib_umad module loaded?",
                   std::strerror(missing)));
  return missing;
}

subnet::NodeNameMap read_node_names(const World& world, const CommonOptions& options) {
  if (options.node_name_map) return read_file(*world.log, *options.node_name_map);
  for (const std::string& file : world.node_name_maps) {
    try {
      return read_file(*world.log, file);
    } catch (const SysError& error) {  // the default file need not exist or be readable
      if (error.code() != ENOENT && error.code() != EACCES) throw;
    }
  }
  return {};
}

const subnet::NodeNameMap& Manners::node_name_map() {
  const World& world = host().world();
  const CommonOptions& options = host().options();
  if (!node_name_map_) node_name_map_ = diags_ ? read_diags_node_names(world, options.node_name_map) : read_node_names(world, options);
  return *node_name_map_;
}

}  // namespace ib::tools
