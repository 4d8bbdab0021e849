// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dialect of infiniband-diags in a Session: how it names a node, and the warnings of libibmad about failed requests.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/split.hpp"
#include "iba-gen/sa.hpp"
#include "mad/channel.hpp"
#include "mad/rpc.hpp"
#include "mad/transactor.hpp"
#include "path/parse.hpp"
#include "sa/resolve.hpp"
#include "subnet/set_target.hpp"
#include "sys/umad_port.hpp"
#include "tools/frame/diags_route.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

std::optional<std::vector<std::uint8_t>> read_diags_route(std::string_view text) {
  std::vector<std::uint8_t> route;
  for (const std::string_view number : split_list(text)) route.push_back(static_cast<std::uint8_t>(std::atoi(std::string(number).c_str())));
  if (route.empty() || route.size() > path::max_hops + 1U) return std::nullopt;
  return route;
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

/// Prints what libibmad prints about requests with the first -d.
class Session::DiagsTransactor final : public mad::Transactor {
 public:
  DiagsTransactor(const Session& session, mad::Transactor& below) : Transactor(below.end_port()), session_(session), below_(below) {
    sa_path() = below.sa_path();
  }

  async::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    const bool sets = request.method == mad::method::set;
    if (mad::is_smp(request.mgmt_class)) {
      tell_attribute(sets ? "smp_set_status_via" : "smp_query_status_via", request);
    } else if (request.mgmt_class == mad::mgmt_class::congestion) {
      tell_attribute(sets ? "cc_config_status_via" : "cc_query_status_via", request);
    } else if (mad::is_vendor(request.mgmt_class) && request.mgmt_class != mad::mgmt_class::ofa_sysstat) {
      tell_vendor(request);
    }
    return below_.try_call(request);
  }

 private:
  void tell_attribute(std::string_view function, const mad::Request& request) const {
    session_.diags_debug(function, fmt::format("attr 0x{:x} mod 0x{:x} route {}", request.attribute_id, request.attribute_modifier,
                                               session_.diags_route(request.path)));
  }

  /// As libibmad: the class is printed with its version in the upper bits, and memory addresses of the request are printed.
  void tell_vendor(const mad::Request& request) const {
    const void* const data = &request;
    const mad::DataArea area = mad::data_area(request.mgmt_class);
    session_.diags_debug("ib_vendor_call_via", fmt::format("route {} data {}", diags_name(request.path), fmt::ptr(data)));
    session_.diags_debug("ib_vendor_call_via",
                         fmt::format("class 0x1{:02x} method 0x{:x} attr 0x{:x} mod 0x{:x} datasz {} off {} res_ex 1", request.mgmt_class,
                                     request.method, request.attribute_id, request.attribute_modifier, area.size, area.offset));
    session_.diags_debug("mad_rpc_rmpp", fmt::format("rmpp (nil) data {}", fmt::ptr(data)));
  }

  const Session& session_;
  mad::Transactor& below_;
};

std::unique_ptr<mad::Transactor> Session::diags_transactor(mad::Transactor& below) {
  return std::make_unique<DiagsTransactor>(*this, below);
}

std::string Session::diags_route(const path::Path& path) const {
  const path::IbDrPath* const directed = path.directed();
  if (!routes_of_libibnetdisc_ || directed == nullptr) return diags_name(path);
  path::IbDrPath found = *directed;
  found.dr_slid = found.dr_dlid = Lid{};
  return diags_name(found);
}

std::string Session::diags_port() const { return fmt::format("{}:{}", diags_device(), diags_port_number()); }

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

std::unique_ptr<mad::Channel> Session::open_diags_channel() {
  const std::optional<int> failure = open_failure();
  if (!failure) return std::move(diags_channel_);
  diags_warning("mad_rpc_open_port", fmt::format("can't open UMAD port ({})", diags_port()));
  throw DiagsFailure({"main", fmt::format("Failed to open '{}' port '{}'", diags_device(), diags_port_number())});
}

async::Task<std::optional<path::Path>> Session::path_of_guid(const std::string& text) {
  const Guid guid{c_number(text)};
  if (guid.value == 0) co_return std::nullopt;
  const Gid self = end_port().default_gid();
  const GidPrefix prefix = self.prefix().value != 0 ? self.prefix() : link_local_prefix;
  path::IbPath to;
  to.end_port = &end_port();
  to.dgid = Gid::from(prefix, guid);
  to.sgid = self;
  diags_debug("sa_rpc_call", fmt::format("attr 0x{:x} mod 0x0 route {}", sa::PathRecord::attribute_id, diags_name(transactor().sa_path())));
  if (transactor().sa_path().ib().dlid == Lid{}) {  // no subnet manager was here yet
    diags_warning("sa_rpc_call", "only lid routes are supported");
    diags_warning("ib_path_query_via", "sa call path_query failed");
    co_return std::nullopt;
  }
  diags_debug("mad_rpc_rmpp", fmt::format("rmpp (nil) data {}", fmt::ptr(&to)));
  try {  // what it learns serves GMPs to the same port too
    const path::Path path = co_await stack_.resolver().resolve(to);
    std::optional<path::Path> by_lid = path_of_lid(path.ib().dlid.value);
    if (by_lid) by_lid->ib().meant = guid;
    co_return by_lid;
  } catch (const mad::MadError& error) {
    tell_failure(error);
    diags_warning("ib_path_query_via", "sa call path_query failed");
  } catch (const SysError&) {
    throw;
  } catch (const Error&) {  // a path to no LID
  }
  co_return std::nullopt;
}

std::optional<path::Path> Session::path_of_lid(long lid) {
  if (lid < 1 || lid > last_unicast_lid) return std::nullopt;
  path::IbPath path;
  path.dlid = Lid{static_cast<std::uint16_t>(lid)};
  path.slid = end_port().lid;
  path.dqpn = path.sqpn = Qpn{0};
  return path;
}

std::optional<path::Path> Session::path_of_route(const std::string& text) {
  diags_debug("str2drpath", fmt::format("DR str: {}", text));
  const auto route = read_diags_route(text);
  if (!route) return std::nullopt;
  path::IbDrPath path;
  std::copy(route->begin(), route->end(), path.route.begin());
  path.hops = static_cast<std::uint8_t>(route->size() - 1);
  return path;
}

/// "6 0,12": LID-routed to a switch and directed from there on (IBA 14.2.2).
std::optional<path::Path> Session::path_of_combined(const std::string& text) {
  char* end = nullptr;
  const auto lid = static_cast<int>(std::strtol(text.c_str(), &end, 0));
  const std::optional<path::Path> rest = path_of_route(*end == '\0' ? "" : end + 1);
  if (!rest || lid < 1 || lid > last_unicast_lid) return std::nullopt;
  path::IbDrPath path = *rest->directed();
  path.dlid = Lid{static_cast<std::uint16_t>(lid)};
  path.slid = path.dr_slid = end_port().lid;
  return path;
}

async::Task<Destination> Session::diags_node(const Target& target) {
  std::ignore = transactor();  // a failure to open the transactor is reported first
  std::optional<path::Path> path;
  if (!target.given()) {
    path = path_of_lid(end_port().lid.value);
    if (!path) path = path::IbDrPath();
  } else if (options().combined) {
    path = path_of_combined(target.text());
  } else if (options().address == path::Form::direct) {
    path = path_of_route(target.text());
  } else if (options().address == path::Form::guid) {
    path = co_await path_of_guid(target.text());
  } else {
    path = path_of_lid(static_cast<int>(std::strtol(target.text().c_str(), nullptr, 0)));  // an int, in infiniband-diags too
  }
  if (!path) throw DiagsFailure({"main", fmt::format("can't resolve destination port {}", target.text())});
  path->ib().end_port = &end_port();
  apply_options(*path);
  co_return Destination{*path, diags_name(*path)};
}

async::Task<Destination> Session::diags_gmp_node(const Target& target) {
  Destination node = co_await diags_node(target);
  const path::IbDrPath* own = node.path.directed();
  if (own != nullptr && !target.given()) {
    // libibmad takes this port's LID for its address, even where no subnet manager gave it one. Nothing answers there.
    path::IbDrPath nobody = *own;
    nobody.dlid = nobody.dr_slid = nobody.dr_dlid = Lid{};
    node = {nobody, diags_name(nobody)};
  }
  path::IbPath& path = node.path.ib();
  path.dqpn = path.sqpn = Qpn{1};
  path.qkey = path::qp1_qkey;
  stack_.set_diags_pkey(path);
  co_return node;
}

void Session::tell_failure(const mad::MadError& error) const {
  if (host_.dialect() == Dialect::ibtool) {
    if (options().error_level() > 0) report(error);
    return;
  }
  const mad::HeaderView request(error.request());
  const std::uint8_t mgmt_class = request.mgmt_class();
  const bool single = mad::is_smp(mgmt_class) || mgmt_class == mad::mgmt_class::performance || mgmt_class == mad::mgmt_class::congestion;
  const std::string_view function = single ? "mad_rpc" : "mad_rpc_rmpp";
  const std::string port = diags_name(error.path());
  if (error.status() != 0) {
    if (options().show_errors)
      diags_warning(function, fmt::format("MAD completed with error status 0x{:x}; dport ({})", error.status(), port));
    return;
  }
  if (dynamic_cast<const subnet::WrongNode*>(&error) != nullptr) return diags_warning(function, error.message());
  const auto* unanswered = dynamic_cast<const mad::MadTimeout*>(&error);
  if (unanswered != nullptr && unanswered->tries() > 0 && !unanswered->reported()) {
    // The wait of libibmad for an answer has then ended by itself, and libibmad does not try again.
    diags_warning("_do_madrpc", fmt::format("recv failed: {}", std::strerror(ETIMEDOUT)));
  } else if (options().show_errors) {
    const std::chrono::nanoseconds otherwise = options().timeout.value_or(std::chrono::milliseconds(0));
    const std::chrono::nanoseconds waited = error.path().ib().timeout.value_or(otherwise);  // ibroute has one of its own for destinations
    const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
    const unsigned tries = options().retries.value_or(0) + 1;
    for (unsigned i = 1; i < tries; ++i) diags_warning("_do_madrpc", fmt::format("retry {} (timeout {} ms)", i, timeout));
    diags_warning("_do_madrpc", fmt::format("timeout after {} retries, {} ms", tries, timeout * tries));
  }
  diags_warning(function, fmt::format("_do_madrpc failed; dport ({})", port));
}

void Session::diags_warning(std::string_view function, std::string_view text) const {
  if (host_.dialect() == Dialect::diags) warn(world(), function, text);
}

void Session::diags_debug(std::string_view function, std::string_view text) const {
  if (options().debug > 0) diags_warning(function, text);
}

void Session::diags_debug(TextOut& out, std::string_view function, std::string_view text) const {
  if (host_.dialect() == Dialect::diags && options().debug > 0) out.write(debug_line(function, text));
}

}  // namespace ib::tools
