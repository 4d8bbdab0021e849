// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibcacheedit: replaces GUIDs in a cache file of libibnetdisc, so that a comparison with the fabric ignores replaced hardware. It edits the
// GUIDs by which libibnetdisc finds nodes and ports. NodeInfo stays as the node sent it, except for SystemImageGUID.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "tools/frame/commands.hpp"

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
  std::optional<GuidEdit> edit{};
  bool of_node{};  ///< the first of three GUIDs is the GUID of a node
};

GuidEdit edit_of(const GuidOption& option, std::span<const Guid> guids) {
  const std::size_t first = option.of_node ? 1 : 0;
  return {option.name, option.of_node ? guids[0] : Guid{}, guids[first], guids[first + 1]};
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
  void text(TextOut& /*out*/) const override {}
};

/// What both command lines share.
class CacheEdit : public Command {
 protected:
  void add_edits(OptionSet& set, GuidEdit (*read)(const GuidOption&, const std::string&)) {
    set.word("ORIGINAL", original_);
    set.word("NEW", changed_);
    for (GuidOption& option : options_)
      set.value("--" + std::string(option.name), option.form, option.help,
                [&option, read](const std::string& text) { option.edit = read(option, text); });
  }

  /// The fabric of ORIGINAL with the new GUIDs.
  NetdiscCache edited(const Manners& manners) const {
    NetdiscCache cache = load(manners);
    for (const GuidOption& option : options_) {
      if (!option.edit) continue;
      bool has_node = !option.of_node, is_edited = false;
      for (CachedNode& node : cache.nodes) {
        if (option.of_node && node.guid != option.edit->node) continue;
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

  void write(const Manners& manners, Bytes file) const {
    try {
      replace_file(*changed_, file);
    } catch (const Error& error) {
      manners.refuse(error, "caching new cache data failed");
    }
  }

  std::array<GuidOption, 4> options_{{
      {"switchguid", "BEFORE:AFTER", "Give the switch with node GUID BEFORE, and its ports, the GUID AFTER.", edit_node<switch_type>},
      {"caguid", "BEFORE:AFTER", "Give the channel adapter with node GUID BEFORE the GUID AFTER.", edit_node<adapter_type>},
      {"sysimgguid", "BEFORE:AFTER", "Give all nodes with system image GUID BEFORE the GUID AFTER.", edit_system_image},
      {.name = "portguid",
       .form = "NODE:BEFORE:AFTER",
       .help = "Give the port BEFORE of the node with GUID NODE the GUID AFTER.",
       .apply = edit_port,
       .of_node = true},
  }};
  std::optional<std::string> original_, changed_;

 private:
  NetdiscCache load(const Manners& manners) const {
    try {
      if (const auto cache = snapshot::open_fabric(*original_)->netdisc()) return *cache;
      throw UsageError(fmt::format("{} is not a cache of libibnetdisc", in_quotes(*original_)));
    } catch (const UsageError& error) {
      manners.refuse(error, "loading original cached fabric failed");
    }
  }
};

class Ibcacheedit final : public CacheEdit {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    add_edits(set, read);
    add_common(set, common, group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (changed_->empty()) throw UsageError("NEW: the name of the file is empty");
    const std::vector<std::uint8_t> file = formats::netdisc_cache_file(edited(session.manners()));
    try {
      formats::read_netdisc_cache(file);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{} would not be a stored fabric: {}", in_quotes(*changed_), error.message()));
    }
    write(session.manners(), file);
    EditReport report;
    for (const GuidOption& option : options_) {
      if (option.edit) report.edits.push_back(*option.edit);
    }
    emit(report);
    co_return;
  }

 private:
  /// GUIDs between colons. A GUID in three-colon form has three of its own.
  static GuidEdit read(const GuidOption& option, const std::string& text) {
    const std::vector<std::string_view> parts = split(text, ":");
    const std::size_t wanted = option.of_node ? 3 : 2, groups = 4;
    std::vector<Guid> guids;
    for (std::size_t i = 0; i < wanted && (parts.size() == wanted || parts.size() == wanted * groups); ++i) {
      const std::size_t each = parts.size() / wanted;
      const std::string word = fmt::format("{}", fmt::join(std::span(parts).subspan(i * each, each), ":"));
      const auto guid = parse_guid(word);
      const auto number = each == 1 && !guid ? parse_number(word) : std::nullopt;
      if (guid || number) guids.push_back(guid ? *guid : Guid{*number});
    }
    if (std::ranges::find(guids, Guid{}) != guids.end()) throw OptionError(fmt::format("option '--{}': no GUID is 0", option.name));
    if (guids.size() != wanted) throw OptionError(fmt::format("option '--{}': {} is not {}", option.name, in_quotes(text), option.form));
    return edit_of(option, guids);
  }
};

class IbcacheeditDiags final : public CacheEdit {
 public:
  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.without("CDdeGKLPstvy");
    set.optional_operands();
    add_edits(set, read);
  }

  /// Writes anything, also a file that cannot be read.
  async::Task<> run(Session& session, Emit& /*emit*/) override {
    if (!original_) throw DiagsFailure("original cache file not specified");
    if (!changed_) throw DiagsFailure("new cache file not specified");
    write(session.manners(), formats::netdisc_cache_file(edited(session.manners())));
    co_return;
  }

 private:
  /// Each GUID is a number as strtoull() reads it, and colons separate them.
  static GuidEdit read(const GuidOption& option, const std::string& text) {
    std::vector<Guid> guids;
    std::size_t at = 0;
    for (std::size_t left = option.of_node ? 2 : 1; left > 0; --left) {
      const std::size_t colon = text.find(':', at);
      if (colon == std::string::npos || colon + 1 == text.size()) throw DiagsUsage(fmt::format("invalid input '{}'\n", text));
      guids.push_back(Guid{c_number(text.substr(at, colon - at))});
      at = colon + 1;
    }
    guids.push_back(Guid{c_number(text.substr(at))});
    return edit_of(option, guids);
  }
};

}  // namespace

constinit const CommandInfo rooms::ibcacheedit{
    .name = "ibcacheedit",
    .group = HelpGroup::other,
    .summary = "Put other GUIDs into a fabric that ibnetdiscover --cache stored.",
    .make = make_command<Ibcacheedit>,
    .make_diags = make_command<IbcacheeditDiags>,
};

}  // namespace ib::tools
