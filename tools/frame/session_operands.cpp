// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Operands are read in their order, and each target may fix the end port for those after it: a scoped GID or a
// GID of this host's subnet prefix names the port that reaches it.
#include <fmt/format.h>

#include "base/escape.hpp"
#include "path/parse.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

/// The end port of targets that name none. Null on a host without an end port if the targets are those of a stored fabric.
const sys::EndPort* Session::default_end_port() {
  const bool must_be = !read_stored_ || options_.device || options_.port;
  try {
    return &end_port();
  } catch (const Error&) {
    if (must_be) throw;
    return nullptr;
  }
}

path::Path Session::parse_as(std::string_view text, path::Form form) {
  path::ParseOptions how;
  how.devices = &devices();
  how.default_end_port = default_end_port();
  how.require_end_port = end_port_fixed_ ? end_port_ : nullptr;
  how.require_device = !end_port_fixed_ && options_.device ? how.default_end_port->device : nullptr;
  how.form = form;
  path::Path path = path::parse_target(text, how);
  if (path.ib().end_port != nullptr) {
    end_port_ = path.ib().end_port;
    end_port_fixed_ = true;
  }
  return path;
}

/// "6 0,12": LID-routed to a switch and directed from there on (IBA 14.2.2).
path::Path Session::parse_combined(std::string_view text) {
  const std::size_t blank = text.find(' ');
  const path::Path first = parse_as(text.substr(0, blank), path::Form::lid);
  const path::Path rest = parse_as(text.substr(blank + 1), path::Form::direct);
  path::IbDrPath path = *rest.directed();
  path.dlid = first.ib().dlid;
  path.slid = path.dr_slid = end_port().lid;
  return path;
}

void Session::bind_operands(const OptionSet& set) {
  read_stored_ = set.stored_fabric_reader();
  set.bind(operands_, options_.combined, [this](std::string_view text) { return parse_target(text); });
  parse_sa_path();
}

void Session::parse_sa_path() {
  if (!options_.sa_path || sa_path_parsed_) return;
  sa_path_parsed_ = true;
  try {
    sa_target_ = parse_as(*options_.sa_path, path::Form::any);
    if (sa_target_->directed() != nullptr) throw UsageError("a directed route does not lead to a subnet administrator");
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("Invalid --sa-path {} - {}", quoted(path::without_secrets(*options_.sa_path)), e.message()));
  }
}

}  // namespace ib::tools
