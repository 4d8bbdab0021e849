// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// vendstat: reads and sets values of Mellanox devices by vendor MADs: general information, PortXmitWait of InfiniScale III, counter
// groups of InfiniScale IV, and words of the configuration space.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "report/field_columns.hpp"
#include "report/structure.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/shared/table_options.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace {

// The vendor class (0x0a) of Mellanox devices has no public specification. The layouts come from infiniband-diags' vendstat.c.

constexpr std::size_t most_records = 18;  // in one ConfigSpaceAccess

std::string version_text(std::uint32_t major, std::uint32_t minor, std::uint32_t sub_minor) {
  return fmt::format("{:02}.{:02}.{:02}", major, minor, sub_minor);
}

/// "Port 4: PortXmitWait 0x1f", a line for each counter that is not zero.
std::string wait_lines(unsigned request, const mlx::ConfigSpaceAccess& answer) {
  std::string text;
  for (std::size_t i = 0; i < subnet::wait_records(request); ++i) {
    if (const std::uint32_t count = answer.record.at(i).data; count != 0)
      text += fmt::format("Port {}: PortXmitWait 0x{:x}\n", subnet::wait_port(request, i), count);
  }
  return text;
}

/// "Config space record at 0x10013c: 0x0" for the first `records`.
std::string config_space_lines(const mlx::ConfigSpaceAccess& answer, std::size_t records) {
  std::string text;
  for (std::size_t i = 0; i < std::min(records, answer.record.size()); ++i) {
    const mlx::ConfigRecord& record = answer.record.at(i);
    text += fmt::format("Config space record at 0x{:x}: 0x{:x}\n", record.address, record.data & record.mask);
  }
  return text;
}

/// The text for the counter groups of an InfiniScale IV switch, from the data of the answer.
std::string counter_group_lines(Bytes answer) {
  constexpr std::size_t masks = 12;  // the offset of the masks
  const auto info = wire::unpack_short<mlx::CounterGroupInfo>(answer);
  std::string text = fmt::format("counter_group_info:\n{} counter groups\n", info.num_counter_groups);
  for (std::size_t i = 0; i < info.num_counter_groups && masks + 4 * i + 4 <= answer.size(); ++i) {
    const auto mask = load_be<std::uint32_t>(answer.data() + masks + 4 * i);
    text += fmt::format("group{} mask {}{:x}\n", i, mask == 0 ? "" : "0x", mask);  // as %#x of C
  }
  return text;
}

/// The text of infiniband-diags for GeneralInfo, from the data of the answer.
std::string general_info_lines(Bytes answer) {
  const auto is3 = wire::unpack_short<mlx::GeneralInfo>(answer);
  const auto is4 = wire::unpack_short<mlx::Is4GeneralInfo>(answer);
  const bool extended = &subnet::general_info_layout(is3.device_id) == &mlx::Is4GeneralInfo::info();
  return fmt::format(
      "hw_dev_rev:  0x{:04x}\nhw_dev_id:   0x{:04x}\nhw_uptime:   0x{:08x}\nfw_version:  {}\nfw_build_id: 0x{:04x}\n"
      "fw_date:     {:02x}/{:02x}/{:04x}\nfw_psid:     '{}'\nfw_ini_ver:  {}\nsw_version:  {}\n",
      is3.hw_revision, is3.device_id, is3.uptime,
      extended ? version_text(is4.ext_major, is4.ext_minor, is4.ext_sub_minor) : version_text(is3.fw_major, is3.fw_minor, is3.fw_sub_minor),
      is3.fw_build_id, is3.fw_month, is3.fw_day, is3.fw_year, printable(fixed_text(is3.fw_psid)),
      static_cast<std::int32_t>(is3.fw_init_file_version),
      extended ? version_text(is4.sw_major, is4.sw_minor, is4.sw_sub_minor) : version_text(is3.hw_major, is3.hw_minor, is3.hw_sub_minor));
}

using AnswerData = std::optional<std::vector<std::uint8_t>>;  ///< nothing if the request failed

/// An answer that is printed as an attribute, or answers that have a text of their own.
struct VendorReport final : Report {
  explicit VendorReport(path::Path end) : path(std::move(end)) {}

  path::Path path;
  std::optional<AttributeText> attribute;
  const StructInfo* info{};  ///< of the records
  std::vector<std::vector<std::uint8_t>> records;
  std::string lines, diags_lines;

  template <class T>
  void add(const T& answer, const std::string& shown) {
    info = &T::info();
    records.push_back(wire::packed_vector(answer));
    lines += shown;
    diags_lines += shown;
  }
  void visit(report::Sink& sink) const override {
    path::visit(sink, "path", path);
    if (attribute) return attribute->visit_attribute(sink);
    sink.value("attribute", info->iba_name);
    sink.array("records", records, [&](const auto& record) { report::visit_fields(sink, {}, record, *info); });
  }
  void text(TextOut& out) const override { attribute ? attribute->text(out, plain_listing) : out.write(lines); }
  void diags_text(TextOut& out) const override { out.write(diags_lines); }
};

/// Reads "a,b,c" as a list of `least` to `most` numbers.
std::vector<std::uint32_t> numbers(std::string_view text, std::string_view option, std::size_t least, std::size_t most, int base) {
  std::vector<std::uint32_t> values;
  for (const std::string_view part : split(text)) {
    std::string word(part);
    if (base == 16 && !word.starts_with("0x")) word.insert(0, "0x");
    values.push_back(static_cast<std::uint32_t>(parse_unsigned(word, option, 0, std::numeric_limits<std::uint32_t>::max())));
  }
  if (values.size() < least || values.size() > most)
    throw OptionError(fmt::format("option '{}': {} is not {} to {} numbers between commas", option, in_quotes(text), least, most));
  return values;
}

/// The agent of the device that gets the requests.
struct VendorAgent {
  Stack& stack;
  const path::Path& path;
  bool pardons;            ///< after a failed request, a message is printed and the next request is sent
  std::uint64_t vs_key{};  ///< of --vskey

  /// The data of the answer. Nothing if the request failed and `pardons` is set; then `complaint` is printed too.
  async::Task<AnswerData> send(std::uint8_t method, const StructInfo& info, std::uint32_t modifier = 0, Bytes data = {},
                               std::string_view complaint = {}) const {
    mad::Transactor& transactor = stack.transactor();
    std::vector<std::uint8_t> keyed;
    if (vs_key != 0) {  // all data of the class begins with it
      keyed.assign(data.begin(), data.end());
      keyed.resize(info.bytes);
      store_be(keyed.data(), vs_key);
      data = keyed;
    }
    auto sending =
        method == mad::method::set ? transactor.try_set(path, info, modifier, data) : transactor.try_get(path, info, modifier, data);
    mad::Result<std::vector<std::uint8_t>> answer = co_await std::move(sending);
    if (answer) co_return std::move(*answer);
    if (!pardons) answer.error().raise();
    stack.manners().report_failure(answer.error());
    print_on_stderr(stack.host().world(),
                    fmt::format("vendstat: method {}, attribute {} failure\n{}", method, info.attribute_id, complaint));
    co_return std::nullopt;
  }
};

/// A node of a table, with what it answered.
struct InfoRow {
  std::string target;  ///< the word or name that stands for the node
  Lid lid;
  AttributeText attribute{};
};
using InfoColumn = report::Column<InfoRow>;

std::vector<InfoColumn> info_columns(std::vector<const StructInfo*> layouts, Keys keys) {
  constexpr std::size_t usual_fields = 6;  // beside the node and its LID
  std::vector<InfoColumn> columns{
      {{.key = "target", .heading = "TARGET", .usual = true}, [](const InfoRow& row) { return report::Cell(row.target); }},
      {{.key = "lid", .heading = "LID", .usual = true}, [](const InfoRow& row) { return report::Cell(std::uint64_t{row.lid.value}); }},
      {{.key = "attribute", .heading = "ATTRIBUTE"},
       [](const InfoRow& row) { return report::Cell(std::string(row.attribute.info->iba_name)); }}};
  const auto structure_of = [](const InfoRow& row) { return report::LaidOut{row.attribute.info, row.attribute.bytes}; };
  std::ranges::move(report::field_columns<InfoRow>({std::move(layouts), keys, "data", usual_fields}, structure_of),
                    std::back_inserter(columns));
  return columns;
}

class Vendstat final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    set.optional_operands();
    set.integer("PORT", port_, {.high = 255});
    set.is_port();
    set.flag("-N", general_, "General information: device, firmware, uptime.");
    set.flag("--cpi", class_port_info_, "The ClassPortInfo of the vendor class.");
    add_switch_options(set);
    set.one_of({"-N", "--cpi", "-w", "-i", "-c", "-R -W"}, true);
    add_table_options(set, common, table_, [this] { return keys_of(columns(Keys::hidden)); });
    add_vs_keys(set, vs_keys_);
    set.one_of({"--cpi", "--vskey"});
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.integer("PORT", port_);
    set.without("DKy");
    set.flag("-N --N", general_, "General information of InfiniScale III and IV.");
    as_diags_ = true;
    add_switch_options(set);
  }

  /// What is one attribute is a table of one row.
  std::string_view table_rows() const override { return !has_columns() ? "" : table_.given() ? "nodes" : "data"; }

  bool gathers_rows() const override { return table_.given(); }
  void emit_rows(const Host& host, Emit& emit) override {
    emit(ListReport<InfoRow>("nodes", report::Table<InfoRow>(columns(host.options().keys), table_), std::move(rows_)));
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (table_.given() && !has_columns())
      throw UsageError("--format table and wide, --columns, --sort and --top are for the tables of -N and --cpi");
    if (sets_groups_ || !writes_.empty()) session.stack().require_exact_targets();
    if (!as_diags_) session.stack().require_infiniband();
    Destination node = co_await session.manners().gmp_node(target_);
    std::uint64_t vs_key = 0;
    if (vs_keys_) {
      const phy::VsKeys keys = read_vs_keys(session.host(), vs_keys_);
      vs_key = co_await phy::identify_for_key(session.stack().smp_transactor(), keys, node.path);
    } else if (sets_groups_ || !writes_.empty()) {
      node = co_await session.manners().identified(std::move(node));
    }
    is_of_several_ = session.targets().has_pattern();
    const VendorAgent device{session.stack(), node.path, as_diags_, vs_key};
    if (!as_diags_) co_await check_capability(device);
    const std::uint32_t port = target_.given() ? port_ : session.host().end_port().number;
    if (groups_) co_return co_await groups(device, emit, port);
    if (sets_groups_) co_return co_await set_groups(device, emit, port);
    if (!reads_.empty() || !writes_.empty()) co_return co_await space(device, emit);
    if (class_port_info_) {
      const AnswerData answer = co_await device.send(mad::method::get, mlx::ClassPortInfo::info());
      co_return emit_attribute(device, emit, mlx::ClassPortInfo::info(), answer.value());
    }
    if (!general_ && !wait_) throw DiagsFailure("at least one of -N and -w must be specified");
    co_await information(device, emit);
  }

 private:
  /// What both command lines have, which read the values in different ways.
  void add_switch_options(OptionSet& set) {
    constexpr std::string_view numbers_help = "Numbers are hexadecimal. May be given 18 times, for as many words.";
    set.flag({"-w", "-w --w"}, wait_, "PortXmitWait of every port of an InfiniScale III switch where it is not zero.");
    set.flag({"-i", "-i --i"}, groups_, "The counter groups of PORT of an InfiniScale IV switch.");
    set.value({"-c --config-groups", "-c --c"}, "NUM,NUM", "Have PORT of an InfiniScale IV switch count these two counter groups.",
              [this](const std::string& text) { take_groups(text); });
    set.value("-R --Read --read", "ADDR[,MASK]", fmt::format("Read a word of the configuration space. {}", numbers_help),
              [this](const std::string& text) { take_record(reads_, text, false); });
    set.value("-W --Write --write", "ADDR,VALUE[,MASK]", fmt::format("Write a word of the configuration space. {}", numbers_help),
              [this](const std::string& text) { take_record(writes_, text, true); });
  }
  void take_groups(const std::string& text) {
    sets_groups_ = true;
    if (as_diags_) {
      if (std::sscanf(text.c_str(), "%d,%d", &group_selects_[0], &group_selects_[1]) != 2) throw DiagsUsage();
      return;
    }
    const auto values = numbers(text, "-c", 2, 2, 10);
    for (std::size_t i = 0; i < group_selects_.size(); ++i) {
      if (values[i] > 255) throw OptionError(fmt::format("option '-c': group {} does not fit 8 bits", values[i]));
      group_selects_.at(i) = static_cast<int>(values[i]);
    }
  }
  /// A word to read, "ADDR[,MASK]", or to write, "ADDR,VALUE[,MASK]".
  void take_record(std::vector<mlx::ConfigRecord>& records, const std::string& text, bool write) const {
    const bool is_full = records.size() == most_records;
    mlx::ConfigRecord record{0, 0, ~0U};
    if (as_diags_) {
      if (is_full) return;
      const int got = write ? std::sscanf(text.c_str(), "%x,%x,%x", &record.address, &record.data, &record.mask)
                            : std::sscanf(text.c_str(), "%x,%x", &record.address, &record.mask);
      if (got < (write ? 2 : 1)) throw DiagsUsage();
    } else {
      const std::size_t least = write ? 2 : 1;
      const auto values = numbers(text, write ? "-W" : "-R", least, least + 1, 16);
      if (is_full) throw OptionError(fmt::format("At most {} words at once", most_records));
      record = {values[0], write ? values[1] : 0, values.size() > least ? values[least] : ~0U};
    }
    records.push_back(record);
  }

  static async::Task<> check_capability(const VendorAgent& device) {
    const path::Path path = subnet::smp_path_of(device.path);
    const auto info = co_await device.stack.transactor().subn_get<smp::PortInfo>(path);
    if ((info.capability_mask & smp::capability_mask::is_vendor_class_supported) != 0) co_return;
    const std::string whom = co_await named_node(device.stack, path);
    throw Error(fmt::format("{} does not support vendor MADs", whom));
  }

  /// Whether the result is an attribute with columns.
  bool has_columns() const { return general_ || class_port_info_; }
  std::vector<InfoColumn> columns(Keys keys) const {
    if (!has_columns()) return {};
    if (class_port_info_) return info_columns({&mlx::ClassPortInfo::info()}, keys);
    return info_columns({&mlx::Is4GeneralInfo::info(), &mlx::GeneralInfo::info()}, keys);
  }

  /// Emits the attribute, or a table with it; of several nodes it keeps the row.
  void emit_attribute(const VendorAgent& device, Emit& emit, const StructInfo& layout, Bytes answer, std::string diags_lines = {}) {
    const Host& host = device.stack.host();
    VendorReport report(device.path);
    report.attribute.emplace(host.options(), layout, answer);
    report.diags_lines = std::move(diags_lines);
    if (!table_.given()) return emit(report);
    rows_.push_back({target_.text(), report.path.ib().dlid, *report.attribute});
    if (!is_of_several_) emit_rows(host, emit);
  }

  /// -N and -w begin with this request: its answer gives the kind of the device.
  async::Task<> information(const VendorAgent& device, Emit& emit) {
    if (as_diags_) {
      const AnswerData known = co_await device.send(mad::method::get, mlx::ClassPortInfo::info());
      if (!known) throw DiagsFailure("classportinfo query");
    }
    const AnswerData answer = co_await device.send(mad::method::get, mlx::GeneralInfo::info());
    if (!answer) throw DiagsFailure("generalinfo query");
    const std::uint16_t id = mlx::GeneralInfo::unpack(*answer).device_id;
    if (general_) {
      emit_attribute(device, emit, subnet::general_info_layout(id), *answer, general_info_lines(*answer));
    }
    if (!wait_) co_return;
    const std::string unsupported = fmt::format("Unsupported device ID 0x{:x}", id);
    if (id != subnet::infini_scale3) device.stack.manners().refuse(Error(unsupported), unsupported);
    co_await xmit_wait(device, emit);
  }

  static async::Task<> xmit_wait(const VendorAgent& device, Emit& emit) {
    VendorReport report(device.path);
    for (unsigned request = 0; request < subnet::wait_requests; ++request) {
      const auto wanted = wire::packed(subnet::wait_request(request));
      const std::uint32_t modifier = subnet::config_space_modifier(subnet::wait_records(request));
      const AnswerData answer = co_await device.send(mad::method::get, mlx::ConfigSpaceAccess::info(), modifier, wanted);
      if (!answer) {
        emit.so_far(report);
        throw DiagsFailure("vendstat");
      }
      const auto counters = mlx::ConfigSpaceAccess::unpack(*answer);
      report.add(counters, wait_lines(request, counters));
    }
    emit(report);
  }

  static async::Task<> groups(const VendorAgent& device, Emit& emit, std::uint32_t port) {
    const AnswerData answer =
        co_await device.send(mad::method::get, mlx::CounterGroupInfo::info(), port, {}, "counter group info query failure\n");
    if (!answer) co_return;
    VendorReport report(device.path);
    report.add(mlx::CounterGroupInfo::unpack(*answer), counter_group_lines(*answer));
    emit(report);
  }

  async::Task<> set_groups(const VendorAgent& device, Emit& emit, std::uint32_t port) const {
    const StructInfo& info = mlx::ConfigCounterGroups::info();
    mlx::ConfigCounterGroups selects;
    for (std::size_t i = 0; i < group_selects_.size(); ++i)
      selects.group_selects.at(i).group_select = static_cast<std::uint8_t>(group_selects_.at(i));
    const auto wanted = wire::packed(selects);
    AnswerData answer = co_await device.send(mad::method::set, info, port, wanted, "config counter group set failure\n");
    if (device.stack.host().options().dry_run) co_return;
    if (answer) answer = co_await device.send(mad::method::get, info, port, {}, "config counter group query failure\n");
    VendorReport report(device.path);
    if (answer) {
      const auto now = mlx::ConfigCounterGroups::unpack(*answer);
      report.add(now, fmt::format("counter_groups_config: configured group0 {} group1 {}\n", now.group_selects[0].group_select,
                                  now.group_selects[1].group_select));
    }
    report.diags_lines = fmt::format("counter_groups_config: configuring group0 {} group1 {}\n", group_selects_[0], group_selects_[1]);
    emit(report);
  }

  async::Task<> space(const VendorAgent& device, Emit& emit) const {
    VendorReport report(device.path);
    for (const std::vector<mlx::ConfigRecord>* records : {&reads_, &writes_}) {
      if (records->empty()) continue;
      mlx::ConfigSpaceAccess words;
      std::copy(records->begin(), records->end(), words.record.begin());
      const auto wanted = wire::packed(words);
      const bool write = records == &writes_;
      const AnswerData answer = co_await device.send(write ? mad::method::set : mad::method::get, mlx::ConfigSpaceAccess::info(),
                                                     subnet::config_space_modifier(records->size()), wanted,
                                                     write ? "cannot set config space records\n" : "cannot get config space records\n");
      if (!answer || (write && device.stack.host().options().dry_run)) continue;
      const auto now = mlx::ConfigSpaceAccess::unpack(*answer);
      report.add(now, config_space_lines(now, records->size()));
    }
    if (device.stack.host().options().dry_run && report.records.empty()) co_return;
    emit(report);
  }

  Target target_;
  std::uint32_t port_{};
  bool general_{}, class_port_info_{}, wait_{}, groups_{}, sets_groups_{};
  std::array<int, 2> group_selects_{};
  std::vector<mlx::ConfigRecord> reads_, writes_;
  std::optional<std::string> vs_keys_;
  TableOptions table_;
  std::vector<InfoRow> rows_;  ///< of the nodes so far
  bool is_of_several_{};       ///< the nodes of a pattern: the rows are emitted together
  /// infiniband-diags goes on after a failed request, and reads ClassPortInfo before -N and -w; ibtool looks first whether PortInfo says
  /// that the port has the class.
  bool as_diags_{};
};

}  // namespace

constinit const CommandInfo rooms::vendstat{
    .name = "vendstat",
    .group = HelpGroup::query,
    .summary = "Print what a Mellanox device reports by vendor MADs: its firmware, counters, words of its configuration space.",
    .make = make_command<Vendstat>,
    .make_diags = make_command<Vendstat>,
    .changes = true,
};

}  // namespace ib::tools
