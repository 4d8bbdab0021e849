// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// perfquery: one attribute of counters, unmerged, of one port of a PMA, of several, or of all: a port at a time, or their sum.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>

#include "async/group.hpp"
#include "counters/attributes.hpp"
#include "counters/clears.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "mad/transactor.hpp"
#include "path/json.hpp"
#include "sa/transactor.hpp"
#include "subnet/set_target.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/perfquery/counter_sets.hpp"
#include "tools/perfquery/port_list.hpp"
#include "tools/perfquery/readings.hpp"
#include "tools/perfquery/watch.hpp"
#include "tools/shared/identified.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {
namespace perfquery {
namespace {

constexpr std::size_t ports_at_once = 64;

class Perfquery : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.operand("PORT", [this](std::string_view word) { ports_ = read_ports(word); });
    set.integer("RESET", mask_);
    set.notes(
        "PORT is a number, a list (1,4,8) or a range (1-10); 255 is all ports. RESET is\n"
        "a mask of counters to reset: the bits of CounterSelect, and from bit 16 on\n"
        "those of CounterSelect2.");
    add_counter_sets(set);
    set.flag("-a --all_ports --all-ports", all_, "Show or reset all ports together, or those of PORT.");
    set.flag("-l --loop_ports --loop-ports", loop_, "Show or reset the ports one by one.");
    set.flag("-r --reset_after_read --reset-after-read", reset_, "Reset the counters after they were read.");
    set.flag("-R --Reset_only --reset-only", reset_only_, "Reset the counters and show nothing.");
    add_interval(set, interval_);
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(DiagsOptions& set) override {
    set.without("DK");
    set.optional_operands();
    set.target("LID|GUID", target_);
    set.operand("PORT", [this](const std::string& word) { ports_ = read_diags_ports(word); });
    set.operand("RESET", [this](const std::string& word) { mask_ = c_number(word); });
    set.notes("PORT is a number, a list (1,4,8) or a range (1-10); 255 is all ports.");
    for (const CounterSet& of : counter_sets().subspan(1)) {
      set.action(of.diags_name, of.diags_letter, of.help, [this, &of] { chosen_ = std::max(chosen_, &of, precedes); });
    }
    set.flag("all_ports", 'a', all_, "Show or reset all ports together, or those of PORT.");
    set.flag("loop_ports", 'l', loop_, "Show or reset the ports one by one.");
    set.flag("reset_after_read", 'r', reset_, "Reset the counters after they were read.");
    set.flag("Reset_only", 'R', reset_only_, "Reset the counters and show nothing.");
    as_diags_ = true;
  }

  std::string_view table_rows() const override { return interval_.repeats() ? "readings.ports.counters" : "ports"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (reset_ || reset_only_) session.require_fabric("A reset of counters");
    if (!as_diags_) check_options();
    if (reset_ || reset_only_) session.require_exact_targets();
    Destination node = co_await session.gmp_node(target_);
    if (reset_ || reset_only_) node = co_await identified(session, std::move(node));
    const counters::PmaSupport support = co_await read_support(session, node);
    if (as_diags_) {
      co_await choose_diags_ports(session, node, support);
    } else {
      co_await choose_ports(session, node, support);
    }
    const StructInfo* layout = co_await layout_of(session, node, support);
    const StructInfo& info = *layout;
    CountersReport report(*chosen_, info, session.options(), node);
    report.support = support;
    report.gid = target_.given() ? node.path.ib().dgid : session.end_port().default_gid();
    if (chosen_->is_extended() && !support.extended()) {
      session.diags_warning(
          "dump_perfcounters",
          fmt::format("PerfMgt ClassPortInfo CapMask 0x{:02X}; No extended counter support indicated", support.capability_mask));
    }
    if (interval_.repeats()) {
      co_await watch(session, report, emit);
      co_return;
    }
    if (!reset_only_ || chosen_->is_sampling()) {
      co_await read(session, report, emit);
      if (sums_) report.ports.assign(1, sum_of(report.ports, report.info));
      emit(report);
    } else if (emit.json()) {
      emit(report);
    }
    if (reset_ || reset_only_) co_await reset(session, node, info, support);
  }

 protected:
  /// The options of all attributes but PortCounters. `without`: a letter and a blank, "-T ", that the command has for something else.
  void add_counter_sets(OptionSet& set, std::string_view without = {}) {
    for (const CounterSet& of : counter_sets().subspan(1)) {
      std::string_view options = of.options;
      if (!without.empty() && options.starts_with(without)) options.remove_prefix(without.size());
      set.action(options, of.help, [this, &of] { choose(of); });
    }
  }

  Target target_;
  std::optional<Ports> ports_;
  bool all_{};
  Interval interval_;
  std::optional<counters::ErrorThresholds> thresholds_;  ///< of what is shown with --interval

 private:
  using Answer = mad::Result<std::vector<std::uint8_t>>;

  void choose(const CounterSet& of) {
    if (chosen_ != counter_sets().data() && chosen_ != &of)
      throw OptionError(fmt::format("{} and {} exclude each other", first_name(*chosen_), first_name(of)));
    chosen_ = &of;
  }
  static std::string_view first_name(const CounterSet& of) {
    const std::size_t at = of.options.find("--");
    return of.options.substr(at, of.options.find(' ', at) - at);
  }
  /// Of several options infiniband-diags takes the earliest in its table; -x loses to all others.
  static bool precedes(const CounterSet* a, const CounterSet* b) {
    const auto rank = [](const CounterSet* of) {
      return of == counter_sets().data() ? 100 : of->is_extended() ? 99 : of - counter_sets().data();
    };
    return rank(a) > rank(b);
  }

  void check_options() const {
    if (reset_ && reset_only_) throw UsageError("-r, reset after reading, and -R, reset only, exclude each other");
    if (mask_ && !reset_ && !reset_only_) throw UsageError("RESET needs -r, reset after reading, or -R, reset only");
    if (chosen_->is_sampling() && (all_ || reset_ || reset_only_))
      throw UsageError(fmt::format("{} shows no counters: it excludes -a, -r and -R", first_name(*chosen_)));
    check_interval(interval_);
    if (interval_.repeats() && (reset_ || reset_only_ || chosen_->is_sampling()))
      throw UsageError("--interval shows what is counted, and resets nothing: it excludes -r, -R and -c");
  }

  bool names_all_ports() const { return ports_ == Ports{subnet::all_ports}; }

  /// What the PMA can do. infiniband-diags always asks; ibtool where something depends on it, as the question counts at the port.
  async::Task<counters::PmaSupport> read_support(Session& session, const Destination& node) const {
    const bool depends = all_ || names_all_ports() || &chosen_->info() == &pm::PortExtendedSpeedsCounters::info();
    if (!as_diags_ && !depends) co_return counters::PmaSupport{};
    if (as_diags_) tell_request(session, node, diags_port(session));
    mad::Result<counters::PmaSupport> known = co_await counters::read_pma_support(session.transactor(), node.path);
    co_return session.take(std::move(known), {"main", "classportinfo query"});
  }

  /// The structure of the attribute: of extended speeds there are two, by the error correction that is in use.
  async::Task<const StructInfo*> layout_of(Session& session, const Destination& node, counters::PmaSupport support) const {
    const StructInfo& info = chosen_->info();
    if (&info != &pm::PortExtendedSpeedsCounters::info() || reset_only_) co_return &info;
    if ((support.capability_mask & pm::capability_mask::rs_fec_counters_supported) == 0) co_return &info;
    const mad::Result<smp::PortInfoExtended> extended =
        co_await session.transactor().try_subn_get<smp::PortInfoExtended>(subnet::smp_path_of(node.path), asked_.front());
    if (!extended) {
      session.diags_warning("is_rsfec_mode_active", "Port Info Extended not supported");
      co_return &info;
    }
    const bool tells = (extended->capability_mask & smp::port_info_extended_capability::is_fec_mode_supported) != 0;
    co_return tells ? &counters::extended_speeds_layout(extended->fec_mode_active) : &info;
  }

  /// An attribute of the node. ibtool has it from the SA: an SMP would count at the port whose counters are wanted.
  template <class T>
  async::Task<T> read_smp(Session& session, const Destination& node) const {
    sa::SaTransactor records(session.transactor());
    mad::Transactor& from = as_diags_ ? session.transactor() : records;
    mad::Result<T> value = co_await from.try_subn_get<T>(subnet::smp_path_of(node.path));
    co_return session.take(std::move(value), {"main", "smp query nodeinfo failed"});
  }

  /// Which ports are asked, and whether what they say is summed: PORT, or all of them.
  async::Task<> choose_ports(Session& session, const Destination& node, counters::PmaSupport support) {
    const bool has_all = support.all_port_select();
    if (ports_ && !names_all_ports()) {
      asked_ = *ports_;
      sums_ = all_ && !loop_ && asked_.size() > 1;
    } else if (loop_ || ((all_ || ports_) && !has_all)) {
      asked_ = co_await every_port(session, node);
      sums_ = !loop_;
    } else if (all_ || ports_) {
      asked_ = {subnet::all_ports};
    } else if (!target_.given()) {
      asked_ = {static_cast<std::int32_t>(session.end_port().number)};
    } else {
      const smp::NodeInfo info = co_await read_smp<smp::NodeInfo>(session, node);
      const std::uint8_t local = info.local_port_num;
      asked_ = {info.node_type == smp::NodeType::switch_ && local == 0 ? 1 : local};
    }
  }

  /// The port that infiniband-diags begins with.
  std::int32_t diags_port(Session& session) const {
    if (!target_.given()) return static_cast<std::int32_t>(session.end_port().number);
    if (ports_) return ports_->empty() ? 0 : ports_->front();
    return all_ ? subnet::all_ports : 0;
  }

  /// With -d: what libibmad tells of a request to the PMA.
  static void tell_request(const Session& session, const Destination& node, std::int32_t port) {
    session.diags_debug("pma_query_via", fmt::format("lid {} port {}", node.path.ib().dlid.value, port));
  }

  /// Chooses ports as infiniband-diags does. Only the basic attributes are read of more than one port.
  async::Task<> choose_diags_ports(Session& session, const Destination& node, counters::PmaSupport support) {
    const bool has_all = support.all_port_select();
    const std::int32_t port = diags_port(session);
    const bool emulates = port == subnet::all_ports && !has_all;
    if (emulates && !all_) throw DiagsFailure({"main", "AllPortSelect not supported"});
    if (chosen_->is_basic() && (emulates || (loop_ && (all_ || port == subnet::all_ports)))) {
      asked_ = co_await every_port(session, node);
      sums_ = !loop_;
      if (sums_) session.diags_warning("main", "Emulating AllPortSelect by iterating through all ports");
    } else if (chosen_->is_basic() && ports_ && ports_->size() > 1) {
      asked_ = *ports_;
      sums_ = all_ && !loop_;
    } else {
      asked_ = {port};
    }
  }

  async::Task<Ports> every_port(Session& session, const Destination& node) const {
    const smp::NodeInfo info = co_await read_smp<smp::NodeInfo>(session, node);
    if (info.num_ports == 0)
      session.refuse(Error(fmt::format("{} says that it has no ports", node.name)), {"main", "smp query nodeinfo: num ports invalid"});
    int first = 1;
    if (info.node_type == smp::NodeType::switch_) {
      const smp::SwitchInfo switch_info = co_await read_smp<smp::SwitchInfo>(session, node);
      if (switch_info.enhanced_port0 != 0) first = 0;
    }
    Ports ports;
    for (int port = first; port <= std::min<int>(info.num_ports, 254); ++port) ports.push_back(port);
    co_return ports;
  }

  /// Reads again and again, and shows what was counted in between.
  async::Task<> watch(Session& session, CountersReport& report, Emit& emit) {
    if (emit.json()) {
      path::visit(emit.sink(), "path", report.node.path);
      emit.sink().begin_array("readings");
    }
    counters::CounterHistory history;
    const auto once = [&](Round round) { return watch_once(session, report, emit, history, std::move(round)); };
    co_await repeat(session, interval_, once);
    if (emit.json()) emit.sink().end_array();
  }

  async::Task<> watch_once(Session& session, CountersReport& report, Emit& emit, counters::CounterHistory& history, Round round) const {
    report.ports.clear();
    co_await read(session, report, emit);
    if (sums_ && !report.ports.empty()) report.ports.assign(1, sum_of(report.ports, report.info));
    WatchReport reading(report.info);
    reading.node = report.place();
    reading.round = std::move(round);
    if (thresholds_) reading.thresholds = &*thresholds_;
    for (PortCounts& now : report.ports) {
      // The GUID is that of the target, where the target names a node. For a LID or a route it is zero, because a NodeInfo would be one MAD
      // more: the readings are then of whatever is at the end of the path.
      const counters::CounterKey key{report.node.path.ib().meant, 0, static_cast<std::uint8_t>(now.port)};
      auto growth = history.take(key, report.info, now.time, now.bytes);
      reading.samples.push_back({now.port, std::move(now.bytes), std::move(growth)});
    }
    emit(reading);
    emit.flush();  // at once
  }

  /// Reads the ports. With --interval a port that fails is reported and left out, and of a sum that lacks it nothing remains.
  async::Task<> read(Session& session, CountersReport& report, Emit& emit) const {
    struct Reply {
      std::optional<Answer> answer{};
      async::Time time{};
    };
    std::vector<Reply> replies(asked_.size());
    const auto ask = [&](std::size_t at) {
      return read_one(session, report, static_cast<std::uint8_t>(asked_[at]), replies[at].answer, replies[at].time);
    };
    auto indexes = std::views::iota(std::size_t{0}, asked_.size());
    async::Task<> all = async::for_each(indexes, ports_at_once, ask);
    co_await std::move(all);
    for (std::size_t at = 0; at < asked_.size(); ++at) {
      Answer& answer = *replies[at].answer;
      if (!answer && interval_.repeats()) {
        report_port(session, answer.shared_error(), asked_[at]);
        emit.raise(Exit::incomplete);
        continue;
      }
      if (!answer) {
        if (!sums_) emit.so_far(report);
        refuse_port(session, answer.shared_error(), asked_[at]);
      }
      std::vector<std::uint8_t> bytes = std::move(*answer);
      bytes.resize(report.info.bytes);
      if (as_diags_) clear_uncounted(report, bytes);
      report.ports.push_back({asked_[at], std::move(bytes), replies[at].time});
    }
    if (sums_ && report.ports.size() != asked_.size()) report.ports.clear();
  }

  void report_port(Session& session, const std::shared_ptr<const mad::MadError>& error, std::int32_t port) const {
    try {
      refuse_port(session, error, port);
    } catch (const Error& failure) {
      session.report(failure);
    }
  }

  /// infiniband-diags shows 0 for PortXmitWait where the PMA does not count it.
  static void clear_uncounted(const CountersReport& report, MutableBytes bytes) {
    const bool counts_wait = (report.support.capability_mask & pm::capability_mask::port_counters_xmit_wait_supported) != 0;
    if (&report.info != &pm::PortCounters::info() || counts_wait) return;
    const FieldInfo* wait = find_field(report.info, "port_xmit_wait");
    wire::set_bits(bytes, wait->bit_offset, wait->bits, 0);
  }

  [[noreturn]] void refuse_port(Session& session, const std::shared_ptr<const mad::MadError>& error, std::int32_t port) const {
    if (!as_diags_ && error->status() != 0) error->raise_with(fmt::format("Failed trying to get PM information for port {}", port));
    const char* const function = chosen_->is_basic()      ? "dump_perfcounters"
                                 : chosen_->is_sampling() ? "dump_portsamples_control"
                                                          : "common_func";
    session.give_up(error, {function, chosen_->cannot_read()});
  }

  static async::Task<> read_one(Session& session, const CountersReport& report, std::uint8_t port, std::optional<Answer>& to,
                                async::Time& came) {
    std::vector<std::uint8_t> selector(report.info.bytes);
    const FieldInfo* field = find_field(report.info, "port_select");
    wire::set_bits(selector, field->bit_offset, field->bits, port);
    tell_request(session, report.node, port);
    Answer answer = co_await session.transactor().try_get(report.node.path, report.info, 0, selector);
    to.emplace(std::move(answer));
    came = session.loop().now();
  }

  /// What to reset where nobody says: all, as far as each dialect knows it.
  std::uint64_t reset_mask(counters::PmaSupport support) const {
    constexpr std::uint64_t all = ~std::uint64_t{0}, diags_all = 0xffff, extended_select2 = 0xfff0000;
    const bool is_wide = &chosen_->info() == &pm::PortExtendedSpeedsCounters::info();
    std::uint64_t mask = mask_.value_or(as_diags_ && !is_wide ? diags_all : all);
    if (!as_diags_) return mask;
    if (!chosen_->is_basic()) return mask == 0 ? all : mask;
    const bool extended = chosen_->is_extended();
    if (extended) mask |= extended_select2;
    if (extended || !mask_) {
      const unsigned wait_bit = extended ? 28 : 16, qp1_bit = extended ? 29 : 17;
      if ((support.capability_mask & pm::capability_mask::port_counters_xmit_wait_supported) != 0) mask |= std::uint64_t{1} << wait_bit;
      if ((support.capability_mask & pm::capability_mask::is_qp1_drop_supported) != 0) mask |= std::uint64_t{1} << qp1_bit;
    }
    return mask == 0 ? all : mask;
  }

  async::Task<> reset(Session& session, const Destination& node, const StructInfo& info, counters::PmaSupport support) const {
    if (as_diags_ && chosen_->is_sampling()) co_return;
    const std::uint64_t mask = reset_mask(support);
    for (const std::int32_t number : asked_) {
      const auto port = static_cast<std::uint8_t>(number);
      session.diags_debug("performance_reset_via",
                          fmt::format("lid {} port {} mask 0x{:x}", node.path.ib().dlid.value, number, static_cast<std::uint32_t>(mask)));
      const Answer done = co_await counters::reset_counters(session.transactor(), node.path, info, port, mask);
      if (!done) session.give_up(done.shared_error(), {chosen_->is_basic() ? "reset_counters" : "common_func", chosen_->cannot_reset()});
    }
  }

  const CounterSet* chosen_ = counter_sets().data();
  std::optional<std::uint64_t> mask_;
  bool loop_{}, reset_{}, reset_only_{};
  bool as_diags_{};  ///< only PortCounters and PortCountersExtended are looped over, port 0 is asked where none is named
  Ports asked_;      ///< what comes of -a, -l and PORT
  bool sums_{};
};

/// ibswportwatch: perfquery of one port until Ctrl-C.
class Ibswportwatch final : public Perfquery {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.integer("PORT", port_);
    set.notes("It goes on until Ctrl-C. Ports of hosts can be watched as those of switches.");
    interval_.seconds = 1;
    set.number("-n --count", interval_.count, "COUNT", "End after so many readings.", {.low = 1});
    set.value("-p --interval", "SECONDS", "Time between readings. Without it a second.",
              [this](std::string_view text) { interval_.seconds = parse_seconds(text, "-p"); });
    set.action("-b --delta", "Show all counters, and the rate of those that grew. This is the default.", [this] { above_ = false; });
    set.action("-t --threshold", "Show the counters alone that grew by their threshold or more in a second.", [this] { above_ = true; });
    set.text("-T --threshold-file", file_, "FILE", "The thresholds: lines COUNTER=NUMBER.");
    add_counter_sets(set, "-T ");
    set.flag("-a --all_ports --all-ports", all_, "Watch the sum of all ports.");
    add_common(set, common, group_target | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (port_) ports_ = {*port_};
    if (above_) thresholds_ = read_thresholds();
    return Perfquery::run(session, emit);
  }

 private:
  counters::ErrorThresholds read_thresholds() const {
    if (!file_) return counters::ErrorThresholds::usual();
    counters::ErrorThresholds thresholds = counters::ErrorThresholds::read(*file_);
    if (thresholds.bad_lines().empty()) return thresholds;
    const auto& line = thresholds.bad_lines().front();
    throw UsageError(fmt::format("{}:{}: {}", *file_, line.number, line.why));
  }

  std::optional<std::uint8_t> port_;
  std::optional<std::string> file_;
  bool above_{};
};

}  // namespace
}  // namespace perfquery

constexpr std::string_view ibswportwatch_aliases[]{"ibswportwatch.pl"};
constinit const CommandInfo rooms::ibswportwatch{
    .name = "ibswportwatch",
    .group = HelpGroup::counters,
    .summary = "Watch the counters of a port: what they hold, and how fast they grow.",
    .make = make_command<tools::perfquery::Ibswportwatch>,
    .aliases = ibswportwatch_aliases,
    .needs_fabric = true,
};

constinit const CommandInfo rooms::perfquery{
    .name = "perfquery",
    .group = HelpGroup::counters,
    .summary = "Print the counters of a port: data, packets, errors, and all that a PMA counts beside; or reset them.",
    .make = make_command<tools::perfquery::Perfquery>,
    .make_diags = make_command<tools::perfquery::Perfquery>,
    .changes = true,
};

}  // namespace ib::tools
