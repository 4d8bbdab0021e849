// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// vendstat: what Mellanox devices tell and take by vendor MADs: general information, PortXmitWait of InfiniScale III, counter
// groups of InfiniScale IV, words of the configuration space.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "out/structure.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/vendstat/mlnx_vendor.hpp"

namespace ib::tools {
namespace {

/// An answer in the words of the attribute printer.
struct AttributeReport final : Report {
  AttributeText attribute;
  void visit(out::Sink& sink) const override {
    sink.value("attribute", attribute.info->iba_name);
    sink.begin_object("data");
    attribute.visit(sink);
    sink.end_object();
  }
  void text(TextOut& out) const override { attribute.text(out, plain_listing); }
};

/// Answers in words of their own.
struct LinesReport final : Report {
  const StructInfo* info{};
  std::vector<std::vector<std::uint8_t>> answers;
  std::string lines;

  template <class T>
  void add(const T& answer) {
    info = &T::info();
    answers.emplace_back(T::wire_size);
    answer.pack(answers.back());
  }
  void visit(out::Sink& sink) const override {
    sink.value("attribute", info->iba_name);
    sink.begin_array("answers");
    for (const auto& answer : answers) {
      sink.begin_object();
      out::visit_structure(sink, answer, *info);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override { out.write(lines); }
};

enum class Kind { none, general, class_port_info, xmit_wait, groups, set_groups, read_space, write_space };

/// "a,b,c" as numbers, between `least` and three of them.
std::vector<std::uint32_t> numbers(std::string_view text, std::string_view option, std::size_t least, std::size_t most, int base) {
  std::vector<std::uint32_t> values;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    std::string word(rest.substr(0, comma));
    if (base == 16 && !word.starts_with("0x")) word.insert(0, "0x");
    values.push_back(static_cast<std::uint32_t>(parse_unsigned(word, option, 0, std::numeric_limits<std::uint32_t>::max())));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (values.size() < least || values.size() > most)
    throw OptionError(fmt::format("option '{}': {} is not {} to {} numbers between commas", option, quoted(text), least, most));
  return values;
}

class Vendstat final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("TARGET [PORT]", 1, 2);
    set.action("-N", "Show general Mellanox information", [this] { kind_ = Kind::general; });
    set.action("--cpi", "Show the Mellanox vendor class port info.", [this] { kind_ = Kind::class_port_info; });
    set.action("-w", "Show the PortXmitWait counters of an InfiniScale III switch.", [this] { kind_ = Kind::xmit_wait; });
    set.action("-i", "Show the counter groups of PORT of an InfiniScale IV switch.", [this] { kind_ = Kind::groups; });
    set.value("-c --config-groups", "NUM,NUM", "Configure the counter groups of PORT of an InfiniScale IV switch.",
              [this](std::string_view text) { take_groups(text); });
    set.value("-R --Read --read", "ADDR[,MASK]", "Read a word of the configuration space; numbers are hexadecimal.",
              [this](std::string_view text) { take_read(text); });
    set.value("-W --Write --write", "ADDR,VALUE[,MASK]", "Write a word of the configuration space; numbers are hexadecimal.",
              [this](std::string_view text) { take_write(text); });
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({OperandKind::target, OperandKind::integer}, 1);
    if (kind_ == Kind::none) throw UsageError("-N must be specified.");
    const std::int64_t port = session.integer(1).value_or(0);
    if (port < 0 || port > 255) throw UsageError(fmt::format("The port number {} is not one of 0 to 255", port));
    port_ = static_cast<std::uint32_t>(port);
    const path::Path path = co_await session.gmp_path(session.target(0));
    path::IbPath smp = path.ib();
    smp.dqpn = smp.sqpn = Qpn{0};
    smp.qkey = 0;
    const path::Path smp_path = smp;
    const auto info = co_await session.transactor().subn_get<smp::PortInfo>(smp_path);
    if ((info.capability_mask & smp::capability_mask::is_vendor_class_supported) == 0) throw Error("Port does not support vendor MADs");
    co_await ask(session, emit, path);
  }

 private:
  void take_groups(std::string_view text) {
    kind_ = Kind::set_groups;
    const auto values = numbers(text, "-c", 2, 2, 10);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (values[i] > 255) throw OptionError(fmt::format("option '-c': group {} does not fit 8 bits", values[i]));
      groups_.at(i) = static_cast<std::uint8_t>(values[i]);
    }
  }
  void take_read(std::string_view text) {
    kind_ = Kind::read_space;
    const auto values = numbers(text, "-R", 1, 2, 16);
    add_record(reads_, {values[0], 0, values.size() > 1 ? values[1] : ~0U});
  }
  void take_write(std::string_view text) {
    kind_ = Kind::write_space;
    const auto values = numbers(text, "-W", 2, 3, 16);
    add_record(writes_, {values[0], values[1], values.size() > 2 ? values[2] : ~0U});
  }
  static void add_record(std::vector<mlx::ConfigRecord>& records, mlx::ConfigRecord record) {
    if (records.size() == mlnx::most_records) throw OptionError(fmt::format("At most {} words at once", mlnx::most_records));
    records.push_back(record);
  }

  async::Task<> ask(Session& session, Emit& emit, const path::Path& path) {
    mad::Transactor& transactor = session.transactor();
    switch (kind_) {
      case Kind::general:
        co_return co_await general(session, emit, path);
      case Kind::class_port_info:
        co_return co_await class_port_info(session, emit, path);
      case Kind::xmit_wait:
        co_return co_await xmit_wait(transactor, emit, path);
      case Kind::groups:
        co_return co_await groups(transactor, emit, path);
      case Kind::set_groups:
        co_return co_await set_groups(transactor, emit, path);
      case Kind::read_space:
      case Kind::write_space:
        if (!reads_.empty()) co_await space(transactor, emit, path, reads_, false);
        if (!writes_.empty()) co_await space(transactor, emit, path, writes_, true);
        co_return;
      case Kind::none:
        break;
    }
  }

  static async::Task<> general(Session& session, Emit& emit, const path::Path& path) {
    const auto bytes = co_await session.transactor().get(path, mlx::GeneralInfo::info());
    const std::uint16_t device = mlx::GeneralInfo::unpack(bytes).device_id;
    AttributeReport report;
    report.attribute = AttributeText(
        session.options(), mlnx::has_ext_firmware_version(device) ? mlx::Is4GeneralInfo::info() : mlx::GeneralInfo::info(), bytes);
    emit(report);
  }

  static async::Task<> class_port_info(Session& session, Emit& emit, const path::Path& path) {
    const auto bytes = co_await session.transactor().get(path, mlx::ClassPortInfo::info());
    AttributeReport report;
    report.attribute = AttributeText(session.options(), mlx::ClassPortInfo::info(), bytes);
    emit(report);
  }

  static async::Task<> xmit_wait(mad::Transactor& transactor, Emit& emit, const path::Path& path) {
    const auto device = co_await transactor.vend_get<mlx::GeneralInfo>(path);
    if (device.device_id != mlnx::infini_scale3) throw Error(fmt::format("Unsupported device ID 0x{:x}", device.device_id));
    LinesReport report;
    for (unsigned request = 0; request < mlnx::wait_requests; ++request) {
      const mlx::ConfigSpaceAccess wanted = mlnx::wait_request(request);
      const std::uint32_t modifier = mlnx::config_space_modifier(mlnx::wait_records(request));
      const mlx::ConfigSpaceAccess access = co_await transactor.vend_get(path, modifier, wanted);
      report.add(access);
      report.lines += mlnx::wait_lines(request, access);
    }
    emit(report);
  }

  async::Task<> groups(mad::Transactor& transactor, Emit& emit, const path::Path& path) const {
    const auto bytes = co_await transactor.get(path, mlx::CounterGroupInfo::info(), port_);
    LinesReport report;
    report.add(mlx::CounterGroupInfo::unpack(bytes));
    report.lines = mlnx::counter_group_lines(bytes);
    emit(report);
  }

  async::Task<> set_groups(mad::Transactor& transactor, Emit& emit, const path::Path& path) const {
    mlx::ConfigCounterGroups wanted;
    for (std::size_t i = 0; i < groups_.size(); ++i) wanted.group_selects.at(i).group_select = groups_.at(i);
    co_await transactor.vend_set(path, port_, wanted);
    const auto now = co_await transactor.vend_get<mlx::ConfigCounterGroups>(path, port_);
    LinesReport report;
    report.add(now);
    report.lines = fmt::format("counter_groups_config: configured group0 {} group1 {}\n", now.group_selects[0].group_select,
                               now.group_selects[1].group_select);
    emit(report);
  }

  static async::Task<> space(mad::Transactor& transactor, Emit& emit, const path::Path& path, const std::vector<mlx::ConfigRecord>& records,
                             bool write) {
    mlx::ConfigSpaceAccess wanted;
    std::copy(records.begin(), records.end(), wanted.record.begin());
    const std::uint32_t modifier = mlnx::config_space_modifier(records.size());
    mlx::ConfigSpaceAccess answer;
    if (write) {
      answer = co_await transactor.vend_set(path, modifier, wanted);
    } else {
      answer = co_await transactor.vend_get(path, modifier, wanted);
    }
    LinesReport report;
    report.add(answer);
    report.lines = mlnx::config_space_lines(answer, records.size());
    emit(report);
  }

  Kind kind_ = Kind::none;
  std::uint32_t port_{};
  std::array<std::uint8_t, 2> groups_{};
  std::vector<mlx::ConfigRecord> reads_, writes_;
};

}  // namespace

constinit const CommandInfo rooms::vendstat{
    .name = "vendstat",
    .group = HelpGroup::query,
    .summary = "Print what Mellanox devices tell by vendor MADs: general information, counters, configuration space.",
    .make = make_command<Vendstat>,
    .changes = true,
    .diags = true,
    .legacy = diags::vendstat};

}  // namespace ib::tools
