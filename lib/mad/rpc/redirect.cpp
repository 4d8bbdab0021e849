// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Redirects as values, and the part of Rpc that follows them.

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "mad/describe.hpp"
#include "mad/rpc/call.hpp"
#include "mad/rpc_names.hpp"
#include "path/path.hpp"

namespace ib::mad {

namespace {

bool same_agent(const path::Path& a, const path::Path& b) {
  const bool same_gid = !a.ib().dgid || !b.ib().dgid || a.ib().dgid == b.ib().dgid;
  return a.ib().dlid == b.ib().dlid && a.ib().dqpn == b.ib().dqpn && same_gid;
}

Result<Reply> redirect_error(const Request& request, const MadError& answer, std::string text) {
  auto error = std::make_shared<MadError>(std::move(text), answer.request(), answer.reply(), request.path);
  error->note(fmt::format("RPC {} was redirected by '{}'", describe(answer.request()), path::to_text(answer.path())));
  return std::shared_ptr<const MadError>(std::move(error));
}

bool is_redirect(const Result<Reply>& result) {
  return !result && result.error().reply().size() >= packet_size && is_redirect(HeaderView(result.error().reply()));
}

/// The path to the agent that a redirect names. `from` is the path of the request. A DLID of 0 in the result means that the path to the
/// DGID must be queried from the SA. Throws Error if the redirect makes no sense.
path::Path redirected(const path::Path& from, Bytes answer) {
  const auto info = ClassPortInfo::unpack(answer.subspan(data_area(answer[1]).offset));
  const Gid none;
  const Lid lid = info.redirect_lid;
  if (lid != Lid{} && !lid.is_unicast()) throw Error(fmt::format("LID {} is not a unicast LID", lid.value));
  if (lid == Lid{} && info.redirect_gid == none) throw Error("it has neither a LID nor a GID");
  if (info.redirect_qp == 0) throw Error("QP 0 serves SMPs only");
  if ((info.redirect_p_key & 0x7fffU) == 0) throw Error(fmt::format("P_Key 0x{:04x} is invalid", info.redirect_p_key));
  path::Path path = from;
  path::IbPath& ib = path.ib();
  ib.dlid = lid;
  ib.sl = info.redirect_sl;
  ib.pkey = Pkey{info.redirect_p_key};
  static_cast<void>(path::pkey_index(ib));  // throws if this port is not a member of the partition
  ib.dqpn = Qpn{info.redirect_qp};
  ib.qkey = info.redirect_q_key != 0 ? info.redirect_q_key : path::qp1_qkey;
  const Gid self = ib.end_port->carrier(false).default_gid();
  // Within a subnet LIDs are enough. A destination beyond a router needs the GID.
  const bool beyond = info.redirect_gid != none && info.redirect_gid.prefix() != self.prefix();
  ib.dgid = info.redirect_gid != none ? std::optional(info.redirect_gid) : std::nullopt;
  ib.has_grh = ib.dgid && (from.ib().has_grh || beyond);
  if (ib.has_grh) {
    if (!ib.sgid) ib.sgid = self;
    ib.traffic_class = info.redirect_tc;
    ib.flow_label = info.redirect_fl;
    ib.hop_limit = 0xff;
  }
  return path;
}

/// The error of a change that was answered with `redirect`. It says where the change would have gone.
Result<Reply> not_followed(const Request& request, const MadError& redirect) {
  std::string where;
  try {
    const path::IbPath to = redirected(request.path, redirect.reply()).ib();
    where = to.dlid == Lid{} ? to_text(*to.dgid) : fmt::format("LID {}", to.dlid.value);
    where += fmt::format(" QP {}", to.dqpn->value);
  } catch (const Error& error) {
    where = fmt::format("nowhere ({})", error.message());
  }
  return redirect_error(request, redirect,
                        fmt::format("The agent redirects to {}: a change goes to no other node, and nothing was changed", where));
}

std::tuple<std::uint8_t, Lid, Gid> key_of(const Request& request) {
  const path::IbPath& path = request.path.ib();
  return {request.mgmt_class, path.dlid, path.has_grh ? path.dgid.value_or(Gid{}) : Gid{}};
}

}  // namespace

bool is_redirect(const HeaderView& answer) {
  return !is_smp(answer.mgmt_class()) && answer.is_response() && (answer.status() & 0x1fU) == status::redirect;
}

Task<Result<Reply>> Rpc::try_call(const Request& request) {
  const auto known = changes_something(request) ? redirects_.end() : redirects_.find(key_of(request));  // a change is never redirected
  return known != redirects_.end() ? call_redirected(request, known->second) : call_agent(request);
}

/// Sends a request to the agent that it names. Every request has this frame: what only redirects need is in frames of their own.
Task<Result<Reply>> Rpc::call_agent(const Request& request) {
  if (broken_) std::rethrow_exception(broken_);
  if (request.mgmt_class == mgmt_class::sa && request.path.ib().dlid == Lid{} && !request.path.ib().has_grh) {
    throw Error(fmt::format("No subnet administrator is known: the SM LID of {} is 0", end_port().name()));
  }
  if (request.responder != nullptr && request.responder->is_silent())
    co_return std::shared_ptr<const MadError>(std::make_shared<MadTimeout>(to_mad(request), request.path, 0, Duration::zero()));
  RpcCall call(*this, request);
  co_await call;  // two statements: g++ 11 compiles no declaration with this co_await
  Result<Reply> result = call.take_result();
  if (!is_redirect(result)) co_return result;
  if (changes_something(request)) co_return not_followed(request, result.error());
  co_await follow(request, result);
  co_return result;
}

/// Sends `request` to the agent that an earlier redirect named.
Task<Result<Reply>> Rpc::call_elsewhere(const Request& request, path::Path path) {
  // Timeout, retries and keys come from `request`.
  path.ib().timeout = request.path.ib().timeout;
  path.ib().retries = request.path.ib().retries;
  path.ib().sm_key = request.path.ib().sm_key;
  path.ib().cc_key = request.path.ib().cc_key;
  const Request elsewhere = on_path(request, path);
  RpcCall call(*this, elsewhere);
  co_await call;
  co_return call.take_result();
}

/// Sends `request` where an earlier redirect led. If the agent has moved, sends it to the original agent again.
Task<Result<Reply>> Rpc::call_redirected(const Request& request, path::Path elsewhere) {
  if (broken_) std::rethrow_exception(broken_);
  if (request.responder == nullptr || !request.responder->is_silent()) {
    Result<Reply> result = co_await call_elsewhere(request, elsewhere);
    if (result || (!result.error().reply().empty() && !is_redirect(result))) co_return result;
    redirects_.erase(key_of(request));
  }
  co_return co_await call_agent(request);
}

/// Follows redirects from agent to agent until one answers. `result` is the first redirect, and then what came of it.
Task<> Rpc::follow(const Request& request, Result<Reply>& result) {
  std::vector<path::Path> seen{request.path};
  while (is_redirect(result)) {
    std::string why;
    path::Path next = request.path;
    try {
      next = redirected(request.path, result.error().reply());
    } catch (const Error& error) {
      why = error.message();
    }
    if (why.empty() && next.ib().dlid == Lid{} && request.mgmt_class == mgmt_class::sa) why = "it concerns the path to the SA itself";
    if (seen.size() > most_redirects) why = "there are too many, one after the other";
    if (why.empty() && next.ib().dlid == Lid{}) {
      sa::PathRecord::Query query;
      query.dgid(*next.ib().dgid).sgid(end_port().default_gid());
      const auto bytes = wire::packed(query.record);
      Request to_sa = attribute_request(sa_path(), sa::PathRecord::info(), method::get, 0, bytes);
      to_sa.component_mask = query.component_mask;
      const Result<Reply> reply = co_await try_call(to_sa);
      const auto record = reply ? sa::PathRecord::unpack(reply->payload()) : sa::PathRecord();
      if (!reply) {
        why = reply.error().message();
      } else if (record.dgid.guid() != next.ib().dgid->guid() || !record.dlid.is_unicast()) {
        why = fmt::format("the SA answered with a path to {} at LID {}", to_text(record.dgid), record.dlid.value);
      }
      next.ib().dlid = record.dlid;
      next.ib().sl = record.sl;
    }
    if (why.empty() && std::ranges::any_of(seen, [&](const path::Path& path) { return same_agent(path, next); })) why = "it leads back";
    if (!why.empty()) {
      result = redirect_error(request, result.error(), fmt::format("The redirect leads nowhere: {}", why));
      co_return;
    }
    seen.push_back(next);
    result = co_await call_elsewhere(request, next);
  }
  if (result || !result.error().reply().empty()) redirects_.insert_or_assign(key_of(request), seen.back());
}

}  // namespace ib::mad
