// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibcacheedit: replaces GUIDs in a cache file of libibnetdisc, so that a comparison with the fabric ignores replaced hardware. It edits the
// GUIDs by which libibnetdisc finds nodes and ports. NodeInfo stays as the node sent it, except for SystemImageGUID.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "snapshot/stored_fabric.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"

namespace ib::tools {
namespace {

using formats::CachedNode;
using formats::CachedPort;
using formats::NetdiscCache;

constexpr auto adapter_type = static_cast<std::uint8_t>(smp::NodeType::channel_adapter);
constexpr auto switch_type = static_cast<std::uint8_t>(smp::NodeType::switch_);

/// One option: a GUID and what takes its place.
struct GuidEdit {
  std::string_view option;  ///< "switchguid"
  Guid node;                ///< of portguid: the node that has the port
  Guid before, after;
};

/// Edits a node of a type. The ports of a switch have the GUID of the switch. This and the following functions return whether the node has
/// the GUID of the edit.
template <std::uint8_t type>
bool edit_node(NetdiscCache& cache, CachedNode& node, const GuidEdit& edit) {
  if (node.type != type || node.guid != edit.before) return false;
  node.guid = edit.after;
  for (const std::uint32_t port : node.ports) {
    if (type == switch_type) cache.ports[port].guid = edit.after;
  }
  return true;
}

bool edit_system_image(NetdiscCache& /*cache*/, CachedNode& node, const GuidEdit& edit) {
  constexpr std::size_t offset = 4;  // IBA 14.2.5.3: NodeInfo.SystemImageGUID
  if (load_be<std::uint64_t>(&node.info[offset]) != edit.before.value) return false;
  store_be(&node.info[offset], edit.after.value);
  return true;
}

bool edit_port(NetdiscCache& cache, CachedNode& node, const GuidEdit& edit) {
  if (node.type == switch_type) return edit_node<switch_type>(cache, node, edit);
  const auto found = std::ranges::find_if(
      node.ports, [&](std::uint32_t at) { return cache.ports[at].number != 0 && cache.ports[at].guid == edit.before; });
  if (found == node.ports.end()) return false;
  cache.ports[*found].guid = edit.after;
  return true;
}

/// An option, and what it was given.
struct GuidOption {
  std::string_view name, form, help;
  bool (*apply)(NetdiscCache&, CachedNode&, const GuidEdit&);
  std::size_t guids = 2;  ///< of three, the first is the GUID of a node
  std::optional<GuidEdit> edit{};
};

/// GUIDs between colons. A GUID in three-colon form has three of its own.
std::vector<Guid> guids_of(const GuidOption& option, const std::string& text) {
  const std::vector<std::string_view> parts = split(text, ":");
  const std::size_t groups = 4;
  std::vector<Guid> guids;
  for (std::size_t i = 0; i < option.guids && (parts.size() == option.guids || parts.size() == option.guids * groups); ++i) {
    const std::size_t each = parts.size() / option.guids;
    const std::string word = joined(std::span(parts).subspan(i * each, each), ":");
    const auto guid = parse_guid(word);
    const auto number = each == 1 && !guid ? parse_number(word) : std::nullopt;
    if (guid || number) guids.push_back(guid ? *guid : Guid{*number});
  }
  if (std::ranges::find(guids, Guid{}) != guids.end()) throw OptionError(fmt::format("option '--{}': no GUID is 0", option.name));
  if (guids.size() != option.guids)
    throw OptionError(fmt::format("option '--{}': {} is not {}", option.name, in_quotes(text), option.form));
  return guids;
}

/// Each GUID is a number as strtoull() reads it, and colons separate them.
std::vector<Guid> diags_guids_of(const GuidOption& option, const std::string& text) {
  std::vector<Guid> guids;
  std::size_t at = 0;
  while (guids.size() + 1 < option.guids) {
    const std::size_t colon = text.find(':', at);
    if (colon == std::string::npos || colon + 1 == text.size()) throw DiagsUsage(fmt::format("invalid input '{}'\n", text));
    guids.push_back(Guid{c_number(text.substr(at, colon - at))});
    at = colon + 1;
  }
  guids.push_back(Guid{c_number(text.substr(at))});
  return guids;
}

struct EditReport final : Report {
  std::vector<GuidEdit> edits;

  void visit(report::Sink& sink) const override {
    sink.objects("edits", edits, [&](const GuidEdit& edit) {
      sink.value("field", edit.option);
      sink.value_or_null("node_guid", edit.node != Guid{}, edit.node);
      sink.value("old_guid", edit.before);
      sink.value("new_guid", edit.after);
    });
  }
};

class Ibcacheedit final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    add_edits(set);
    add_common(set, common, group_output);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    as_diags_ = true;
    set.without("CDdeGKLPstvy");
    set.optional_operands();
    add_edits(set);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (!original_) throw DiagsFailure("original cache file not specified");
    if (!changed_) throw DiagsFailure("new cache file not specified");
    if (!as_diags_ && changed_->empty()) throw UsageError("NEW: the name of the file is empty");
    const Manners& manners = session.manners();
    const std::vector<std::uint8_t> file = formats::netdisc_cache_file(edited(manners));
    try {
      if (!as_diags_) formats::read_netdisc_cache(file);  // infiniband-diags writes anything
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{} would not be a stored fabric: {}", in_quotes(*changed_), error.message()));
    }
    try {
      replace_file(*changed_, file);
    } catch (const Error& error) {
      manners.refuse(error, "caching new cache data failed");
    }
    EditReport report;
    for (const GuidOption& option : options_) {
      if (option.edit) report.edits.push_back(*option.edit);
    }
    emit(report);
    co_return;
  }

 private:
  void add_edits(OptionSet& set) {
    set.word("ORIGINAL", original_);
    set.word("NEW", changed_);
    for (GuidOption& option : options_)
      set.value("--" + std::string(option.name), option.form, option.help, [this, &option](const std::string& text) {
        const std::vector<Guid> guids = as_diags_ ? diags_guids_of(option, text) : guids_of(option, text);
        option.edit = {option.name, guids.size() > 2 ? guids[0] : Guid{}, guids[guids.size() - 2], guids.back()};
      });
  }

  /// The fabric of ORIGINAL with the new GUIDs.
  NetdiscCache edited(const Manners& manners) const {
    NetdiscCache cache = load(manners);
    for (const GuidOption& option : options_) {
      if (!option.edit) continue;
      const bool of_node = option.guids > 2;
      bool has_node = !of_node, is_edited = false;
      for (CachedNode& node : cache.nodes) {
        if (of_node && node.guid != option.edit->node) continue;
        has_node = true;
        is_edited = option.apply(cache, node, *option.edit) || is_edited;
      }
      if (is_edited) continue;
      const std::string_view what = has_node ? option.name : "nodeguid";
      const Guid guid = has_node ? option.edit->before : option.edit->node;
      manners.refuse(UsageError(fmt::format("{} has no {} {}", in_quotes(*original_), what, to_text(guid))),
                     fmt::format("{} = {:x} not found", what, guid.value));
    }
    return cache;
  }

  NetdiscCache load(const Manners& manners) const {
    try {
      if (const auto cache = snapshot::open_fabric(*original_)->netdisc()) return *cache;
      throw UsageError(fmt::format("{} is not a cache of libibnetdisc", in_quotes(*original_)));
    } catch (const UsageError& error) {
      manners.refuse(error, "loading original cached fabric failed");
    }
  }

  std::array<GuidOption, 4> options_{{
      {"switchguid", "BEFORE:AFTER", "Give the switch with node GUID BEFORE, and its ports, the GUID AFTER.", edit_node<switch_type>},
      {"caguid", "BEFORE:AFTER", "Give the channel adapter with node GUID BEFORE the GUID AFTER.", edit_node<adapter_type>},
      {"sysimgguid", "BEFORE:AFTER", "Give all nodes with system image GUID BEFORE the GUID AFTER.", edit_system_image},
      {"portguid", "NODE:BEFORE:AFTER", "Give the port BEFORE of the node with GUID NODE the GUID AFTER.", edit_port, 3},
  }};
  std::optional<std::string> original_, changed_;
  bool as_diags_{};
};

}  // namespace

constinit const CommandInfo rooms::ibcacheedit{
    .name = "ibcacheedit",
    .group = HelpGroup::other,
    .summary = "Put other GUIDs into a fabric that ibnetdiscover --cache stored.",
    .make = make_command<Ibcacheedit>,
    .make_diags = make_command<Ibcacheedit>,
};

}  // namespace ib::tools
