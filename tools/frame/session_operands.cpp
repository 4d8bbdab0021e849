// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Operands are read in their order, and each target may fix the end port for those after it: a scoped GID or a
// GID of this host's subnet prefix names the port that reaches it.
#include <fmt/format.h>

#include <cstdint>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

namespace {

std::int64_t parse_operand_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto value = parse_number(negative ? text.substr(1) : text);
  if (!value || *value > INT64_MAX) throw UsageError(fmt::format("{} is not an integer", quoted(text)));
  return negative ? -static_cast<std::int64_t>(*value) : static_cast<std::int64_t>(*value);
}

}  // namespace

path::Path Session::parse_as(std::string_view text, path::Form form) {
  path::ParseOptions how;
  how.devices = &devices();
  how.default_end_port = &end_port();
  how.require_end_port = end_port_fixed_ ? end_port_ : nullptr;
  how.require_device = !end_port_fixed_ && options_.device ? end_port_->device : nullptr;
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

path::Path Session::parse_target(std::string_view text) {
  return options_.combined ? parse_combined(text) : parse_as(text, options_.address);
}

void Session::bind_operands(const OptionSet& set) {
  set.bind(operands_, options_.combined, [this](std::string_view text) { return parse_target(text); });
  parse_sa_path();
}

void Session::parse_sa_path() {
  if (!options_.sa_path) return;
  try {
    sa_target_ = parse_as(*options_.sa_path, path::Form::any);
    if (sa_target_->directed() != nullptr) throw UsageError("a directed route does not lead to a subnet administrator");
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("Invalid --sa-path {} - {}", quoted(path::without_secrets(*options_.sa_path)), e.message()));
  }
}

void Session::read_operand(std::string_view text, OperandKind kind) {
  targets_.emplace_back();
  integers_.emplace_back();
  switch (kind) {
    case OperandKind::word:
      break;
    case OperandKind::target:
      targets_.back() = parse_target(text);
      break;
    case OperandKind::integer:
      integers_.back() = parse_operand_integer(text);
      break;
    case OperandKind::target_port: {
      const std::size_t at = text.rfind('@');
      if (at != std::string_view::npos) integers_.back() = parse_operand_integer(text.substr(at + 1));
      targets_.back() = parse_target(text.substr(0, at));
      break;
    }
  }
}

void Session::read_operands(std::initializer_list<OperandKind> kinds, std::size_t least, std::optional<OperandKind> rest) {
  end_port();
  if (operands_.size() > kinds.size() && !rest)
    throw UsageError(fmt::format("Too many arguments, expected no more than {}.", kinds.size()));
  for (std::size_t at = 0; at < operands_.size(); ++at) {
    try {
      read_operand(operands_[at], at < kinds.size() ? kinds.begin()[at] : *rest);
    } catch (const UsageError& e) {
      throw UsageError(
          fmt::format("Invalid command line argument #{} {} - {}", at + 1, quoted(path::without_secrets(operands_[at])), e.message()));
    }
  }
  if (operands_.size() < least) throw UsageError("Too few arguments");
  parse_sa_path();
}

}  // namespace ib::tools
