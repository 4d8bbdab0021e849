// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "sa/records.hpp"
#include "sa/resolve.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {
namespace {

constexpr std::string_view no_manager_text = "no subnet manager runs there (ibtool sminfo --all lists them)";

/// A node that answers.
struct Witness {
  smp::NodeInfo info;
  std::string description;  ///< empty if it was not read
};

class Explanation {
 public:
  Explanation(Stack& stack, const mad::MadError& error) : stack_(stack), error_(error), header_(error.request()), path_(error.path()) {}

  /// The first line; empty if the words of the error say all that is known.
  async::Task<std::string> text() {
    if (error_.request().size() < mad::header_size) co_return "";
    if (const auto* const missing = dynamic_cast<const sa::PathNotFound*>(&error_)) co_return co_await no_path(*missing);
    const bool is_silent = dynamic_cast<const mad::MadTimeout*>(&error_) != nullptr;
    if (is_silent && (header_.mgmt_class() == mad::mgmt_class::sa || is_about_manager())) co_return co_await silent_manager();
    if (is_silent && path_.directed() != nullptr) co_return co_await broken_route();
    if (is_silent) co_return co_await silent_lid();
    if (dynamic_cast<const mad::MadStatusError*>(&error_) == nullptr || header_.mgmt_class() == mad::mgmt_class::sa) co_return "";
    co_return co_await refusal();
  }

 private:
  bool is_about_manager() const { return mad::is_about_manager(error_.request()); }

  /// The path of SMPs to the node at the end of `path`, with few tries.
  async::Task<path::Path> smps_to(path::Path path) {
    path::Path to = path;
    if (path.directed() == nullptr) {
      path::IbPath by_lid;
      by_lid.dlid = path.ib().dlid;
      to = by_lid;
    }
    path::Path smps = co_await stack_.smp_path(&to);
    smps.ib().retries = 1;
    co_return smps;
  }

  async::Task<mad::Result<Witness>> witness_at(path::Path path) {
    const path::Path smps = co_await smps_to(std::move(path));
    const mad::Result<smp::NodeInfo> info = co_await stack_.transactor().try_subn_get<smp::NodeInfo>(smps);
    if (!info) co_return info.shared_error();
    Witness found{*info, {}};
    found.description = co_await description_at(stack_.transactor(), smps);
    co_return found;
  }

  /// The first line for an SM or SA that is silent. Its node may answer all the same.
  async::Task<std::string> silent_manager() {
    if (stack_.host().options().use_sa && !is_about_manager())
      co_return fmt::format("{}: without --sa the nodes themselves are read", error_.message());
    const mad::Result<Witness> node = co_await witness_at(path_);
    const std::string whom = called(node ? node->description : "", path_);
    std::string words = mad::plain_text(error_, node && !node->description.empty() ? address_first(node->description) : whom);
    if (node && !is_about_manager()) {
      const path::Path smps = co_await smps_to(path_);
      const mad::Result<smp::SMInfo> info = co_await stack_.transactor().try_subn_get<smp::SMInfo>(smps);
      if (info)
        co_return fmt::format("{} does not answer {}, though its subnet manager answers SMInfo: does its SA serve that?",
                              address_first(node->description), mad::attribute_text(error_.request()));
      if (!mad::is_timeout(info.error())) co_return fmt::format("{}: {}", words, no_manager_text);
      words += fmt::format(", and no subnet manager ({})", effort_of(info.error()));
    }
    const bool is_ours = path_.ib().dlid == stack_.host().end_port().sm_lid;
    if (!node)
      co_return fmt::format("{}: its node does not answer either ({}); ibtool health looks for other managers", words,
                            effort_of(node.error()));
    if (is_ours) co_return fmt::format("{}: if it hangs there, restart it (ibtool health looks for other managers)", words);
    co_return fmt::format("{}: ibtool sminfo --all lists the subnet managers", words);
  }

  /// "SMInfo: 2 tries in 2.5 s".
  static std::string effort_of(const mad::MadError& error) {
    const auto* silence = dynamic_cast<const mad::MadTimeout*>(&error);
    const std::string what = mad::attribute_text(error.request());
    return silence == nullptr ? what : fmt::format("{}: {}", what, mad::effort_text(silence->tries(), silence->waited()));
  }

  std::string address_first(std::string_view description) const {
    return fmt::format("{}, {}", mad::target_text(path_), in_quotes(description));
  }

  /// "LID 23: WHAT; the subnet manager's list (LIDs 1 to 22) does not have it", or nothing and in `description` the description of the node
  /// that has the LID.
  async::Task<std::string> unknown_lid(Lid lid, std::string_view what, std::string& description) {
    sa::Pattern at_lid(sa::NodeRecord::info());
    at_lid.match("LID", std::uint64_t{lid.value});
    const std::vector<sa::NodeRecord> found = co_await records(at_lid);
    if (!found.empty()) description = fixed_text(found.front().node_description.node_string);
    if (!found.empty()) co_return "";
    const sa::Pattern every(sa::NodeRecord::info());
    const std::vector<sa::NodeRecord> all = co_await records(every);
    const auto [low, high] = std::ranges::minmax_element(all, {}, [](const sa::NodeRecord& node) { return node.lid.value; });
    const std::string list = all.empty() ? ", which is empty," : fmt::format(" (LIDs {} to {})", low->lid.value, high->lid.value);
    co_return fmt::format("LID {}: {}; the subnet manager's list{} does not have it", lid.value, what, list);
  }

  /// The records of the SA, with few tries. Throws where none answers.
  async::Task<std::vector<sa::NodeRecord>> records(const sa::Pattern& pattern) {
    mad::Transactor& transactor = stack_.transactor();
    path::Path sa = transactor.sa_path();
    if (!stack_.transactor().knows_sa()) throw Error("no SA is known");
    sa.ib().retries = 1;
    mad::Result<sa::Records> answer = co_await sa::try_records(transactor, sa, pattern, mad::method::get_table);
    if (!answer && !sa::is_no_records(answer.error())) answer.error().raise();
    std::vector<sa::NodeRecord> nodes;
    if (!answer) co_return nodes;
    for (const Bytes record : answer->bytes) nodes.push_back(wire::unpack_short<sa::NodeRecord>(record));
    co_return nodes;
  }

  /// A node that has a LID and is silent, or a LID that no node has.
  async::Task<std::string> silent_lid() {
    const Lid lid = path_.ib().dlid;
    std::string description;
    std::string words = co_await unknown_lid(lid, "no answer", description);
    if (!words.empty()) co_return words;
    words = mad::plain_text(error_, called(description, path_));
    if (!mad::is_smp(header_.mgmt_class())) co_return words;
    if (header_.attribute_id() != smp::NodeInfo::attribute_id) {
      const mad::Result<Witness> node = co_await witness_at(path_);
      if (node) co_return fmt::format("{}, though it answers NodeInfo", words);
    }
    co_return fmt::format("{}: the SA knows it; how far does ibtool ibtracert {} come?", words, lid.value);
  }

  /// The SA gives no path: to a LID that no port has, or to a port that the SA cannot reach.
  async::Task<std::string> no_path(const sa::PathNotFound& missing) {
    const Bytes data = missing.request().subspan(mad::data_area(mad::mgmt_class::sa).offset);
    const sa::PathRecord wanted = sa::PathRecord::unpack(data);
    if (wanted.dlid == Lid{}) co_return fmt::format("No port has the GID {} (the SA gives no path to it)", to_text(wanted.dgid));
    std::string description;
    const std::string words = co_await unknown_lid(wanted.dlid, "the SA gives no path to it", description);
    if (!words.empty()) co_return words;
    path::IbPath to;
    to.dlid = wanted.dlid;
    co_return fmt::format("The SA knows {} and gives no path to it from here: is it cut off, or in another partition?",
                          called(description, to));
  }

  /// Where a directed route ends: its nodes are read one after the other.
  async::Task<std::string> broken_route() {
    const path::IbDrPath& route = *path_.directed();
    if (route.dr_slid != permissive_lid || route.dr_dlid != permissive_lid) co_return "";
    path::IbDrPath at(&stack_.host().end_port());
    for (unsigned hop = 1;; ++hop) {
      const mad::Result<Witness> node = co_await witness_at(at);
      if (!node || hop > route.hops) co_return "";
      const std::uint8_t out = route.route[hop];
      const std::string whom = called(node->description, at);
      if (hop > 1 && node->info.node_type != smp::NodeType::switch_)
        co_return fmt::format("{} is {}: no route leads through it", whom, kind_text(node->info.node_type));
      if (hop > 1 && out > node->info.num_ports) co_return no_such_port_text(whom, node->info, out);
      const path::Path smps = co_await smps_to(at);
      const mad::Result<smp::PortInfo> port = co_await stack_.transactor().try_subn_get<smp::PortInfo>(smps, hop == 1 ? 0U : out);
      if (!port) co_return "";
      if (port->port_state == smp::PortState::down) co_return fmt::format("Port {} of {} is Down: nothing is behind it", out, whom);
      const std::optional<path::IbDrPath> next = at.advance(out);
      if (!next) co_return "";
      const mad::Result<Witness> beyond = co_await witness_at(*next);
      if (!beyond) co_return fmt::format("{}; the last node that answers is {}, at its port {} nothing does", error_.message(), whom, out);
      at = *next;
    }
  }

  /// A node that answered with a status.
  async::Task<std::string> refusal() {
    const mad::Result<Witness> node = co_await witness_at(path_);
    if (!node) co_return "";
    const std::string whom = called(node->description, path_);
    std::optional<unsigned> port = mad::port_of_request(error_.request());
    constexpr unsigned all_ports = 255;
    const bool is_counters =
        header_.mgmt_class() == mad::mgmt_class::performance && header_.attribute_id() != mad::ClassPortInfo::attribute_id;
    if (!port && is_counters && node->info.node_type != smp::NodeType::switch_) port = 0;
    if (port && *port != all_ports && (*port == 0 || *port > node->info.num_ports)) co_return no_such_port_text(whom, node->info, *port);
    if (node->info.node_type != smp::NodeType::switch_ && is_about_table()) co_return no_table_text(whom, node->info.node_type);
    const std::string words = mad::plain_text(error_, whom);
    if (!is_about_manager() || header_.method() != mad::method::get) co_return words;
    co_return fmt::format("{}: {}", words, no_manager_text);
  }

  bool is_about_table() const {
    constexpr std::array tables{smp::SwitchInfo::attribute_id, smp::LinearForwardingTable::attribute_id,
                                smp::RandomForwardingTable::attribute_id, smp::MulticastForwardingTable::attribute_id};
    return mad::is_smp(header_.mgmt_class()) && std::ranges::find(tables, header_.attribute_id()) != tables.end();
  }

  Stack& stack_;
  const mad::MadError& error_;
  mad::HeaderView header_;
  path::Path path_;
};

/// An error under a first line that explains it.
class Explained final : public Error {
 public:
  /// `cause` holds `error`.
  Explained(std::string words, std::exception_ptr cause, const mad::MadError& error)
      : Error(std::move(words), error.exit_status()), cause_(std::move(cause)), error_(&error) {}
  using Error::lines;
  std::vector<std::string> lines(int verbosity, Keys keys) const override {
    std::vector<std::string> lines{message()};
    if (verbosity < 1) return lines;
    for (std::string& line : error_->lines(verbosity, keys)) lines.push_back(std::move(line));
    return lines;
  }

 private:
  std::exception_ptr cause_;  ///< keeps *error_
  const mad::MadError* error_;
};

}  // namespace

async::Task<> explained(Stack& stack, async::Task<> work) {
  std::exception_ptr cause;
  const mad::MadError* error = nullptr;
  try {
    co_await std::move(work);
    co_return;
  } catch (const mad::MadError& caught) {
    cause = std::current_exception();
    error = &caught;
  }
  std::string words;
  try {
    Explanation explanation(stack, *error);
    words = co_await explanation.text();
  } catch (const Error&) {  // a request for the explanation failed, too
    words.clear();
  }
  if (words.empty()) std::rethrow_exception(cause);
  throw Explained(std::move(words), cause, *error);
}

async::Task<std::string> named_node(Stack& stack, path::Path path) {
  const std::string description = co_await description_at(stack.transactor(), path);
  co_return called(description, path);
}

std::string kind_text(smp::NodeType type) {
  switch (type) {
    case smp::NodeType::channel_adapter:
      return "a channel adapter";
    case smp::NodeType::switch_:
      return "a switch";
    case smp::NodeType::router:
      return "a router";
    default:
      return fmt::format("a node of unknown type {}", static_cast<unsigned>(type));
  }
}

std::string called(std::string_view description, const path::Path& path) {
  const std::string address = mad::target_text(path);
  return description.empty() ? address : fmt::format("{} ({})", in_quotes(description), address);
}

std::string no_such_port_text(std::string_view whom, const smp::NodeInfo& info, unsigned port) {
  const unsigned first = info.node_type == smp::NodeType::switch_ ? 0 : 1, last = info.num_ports;
  if (first == last) return fmt::format("{} has one port, {}, and no port {}", whom, last, port);
  return fmt::format("{} has ports {} to {}, and no port {}", whom, first, last, port);
}

std::string no_table_text(std::string_view whom, smp::NodeType type) {
  return fmt::format("{} is {}: it has no forwarding table", whom, kind_text(type));
}

}  // namespace ib::tools
