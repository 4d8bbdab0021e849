// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// perfquery: one attribute of counters, unmerged, of one port of a PMA, of several, or of all: a port at a time, or their sum.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "sa/resolve.hpp"
#include "sa/transactor.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/targets.hpp"
#include "tools/perfquery/readings.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace perfquery {
namespace {

constexpr std::uint64_t all_counters = ~std::uint64_t{0};  // as a mask of counters to reset

struct ChosenPorts {
  PortNumbers numbers;
  bool summed{};  ///< their sum is shown
};

/// What `smps` answers. If that is the SA and it is silent, the node itself is read.
template <class T>
async::Task<T> read_smp(Stack& stack, mad::Transactor& smps, const Destination& node) {
  mad::Result<T> value = co_await smps.try_subn_get<T>(subnet::smp_path_of(node.path));
  const bool is_silent = !value && dynamic_cast<const mad::MadTimeout*>(&value.error()) != nullptr;
  if (is_silent && &smps != &stack.transactor()) value = co_await stack.transactor().try_subn_get<T>(subnet::smp_path_of(node.path));
  co_return stack.manners().take(std::move(value), "smp query nodeinfo failed");
}

/// All ports of a node that count packets. `smps` answers SMPs to it.
async::Task<PortNumbers> every_port(Stack& stack, mad::Transactor& smps, const Destination& node) {
  const smp::NodeInfo info = co_await read_smp<smp::NodeInfo>(stack, smps, node);
  if (info.num_ports == 0)
    stack.manners().refuse(Error(fmt::format("{} claims to have no ports", mad::target_text(node.path))),
                           "smp query nodeinfo: num ports invalid");
  int first = 1;
  if (info.node_type == smp::NodeType::switch_) {
    const smp::SwitchInfo switch_info = co_await read_smp<smp::SwitchInfo>(stack, smps, node);
    if (switch_info.enhanced_port0 != 0) first = 0;
  }
  PortNumbers ports;
  for (int port = first; port <= std::min<int>(info.num_ports, 254); ++port) ports.push_back(port);
  co_return ports;
}

async::Task<> reset_ports(Stack& stack, const CountersReport& report, const PortNumbers& ports, std::uint64_t mask) {
  for (const std::int32_t port : ports) {
    const mad::Result<std::vector<std::uint8_t>> done =
        co_await counters::reset_counters(stack.transactor(), report.node.path, report.info, static_cast<std::uint8_t>(port), mask);
    if (!done) stack.manners().give_up(done.shared_error(), report.set.cannot_reset());
  }
}

/// infiniband-diags loops over ports only for PortCounters and PortCountersExtended, and reads port 0 where none is named.
class Perfquery : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target_each("TARGET", target_);
    set.operand("PORT", [this](std::string_view word) { ports_ = parse_ports(word); });
    set.is_port();
    set.integer("RESET", mask_);
    set.notes(
        "PORT is a number, a list (1,4,8) or a range (1-10); 255 is all ports. RESET is\n"
        "a mask of counters to reset: the bits of CounterSelect, and from bit 16 on\n"
        "the bits of CounterSelect2.");
    add_counter_sets(set);
    add_port_options(set);
    add_interval(set, interval_);
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    as_diags_ = true;
    set.without("DK");
    set.optional_operands();
    set.target("LID|GUID", target_);
    set.operand("PORT", [this](const std::string& word) { ports_ = parse_diags_ports(word); });
    set.operand("RESET", [this](const std::string& word) { mask_ = c_number(word); });
    set.notes("PORT is a number, a list (1,4,8) or a range (1-10); 255 is all ports.");
    for (const CounterSet& of : counter_sets().subspan(1)) {
      set.action(of.spelling, of.help, [this, &of] { set_ = std::max(set_, &of, precedes); });
    }
    add_port_options(set);
  }

  std::string_view table_rows() const override {
    if (reset_only_) return {};
    return interval_.repeats() ? "readings.ports.counters" : "ports";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (resets()) session.stack().require_fabric("A reset of counters");
    if (!as_diags_) check_options();
    require_one_target(session.targets(), interval_);
    if (resets()) session.stack().require_exact_targets();
    Destination node = co_await session.manners().gmp_node(target_);
    if (resets()) node = co_await session.manners().identified(std::move(node));  // the node that is there now, by its GUID
    // ibtool requests it only where something depends on it, as the request counts at the port.
    counters::PmaSupport support;
    if (as_diags_ || all_ || names_all_ports() || has_two_layouts()) {
      mad::Result<counters::PmaSupport> known = co_await counters::read_pma_support(session.stack().transactor(), node.path);
      support = session.manners().take(std::move(known), "classportinfo query");
    }
    async::Task<ChosenPorts> chosen =
        as_diags_ ? choose_diags_ports(session.stack(), node, support) : choose_ports(session.stack(), node, support);
    chosen_ = co_await std::move(chosen);
    const StructInfo* layout = co_await layout_of(session.stack(), node, support);
    CountersReport report(*set_, *layout, session.host().options(), node);
    report.support = support;
    if (as_diags_) co_return co_await run_as_diags(session.stack(), report, emit);
    report.gid = target_.given() ? node.path.ib().dgid : session.host().end_port().default_gid();
    if (interval_.repeats()) co_return co_await watch(session.stack(), report, emit);
    if (!reset_only_) co_await read(session.stack(), report, emit);
    if (!resets()) co_await check_meant(session.stack(), node);  // a reset is checked by itself
    emit(report);
    if (resets()) co_await reset_ports(session.stack(), report, chosen_.numbers, mask_.value_or(all_counters));
  }

 protected:
  /// The options of all attributes but PortCounters. `without`: a letter and a blank, "-T ", that the command has for something else.
  void add_counter_sets(OptionSet& set, std::string_view without = {}) {
    for (const CounterSet& of : counter_sets().subspan(1)) {
      std::string_view options = of.spelling.names;
      if (!without.empty() && options.starts_with(without)) options.remove_prefix(without.size());
      set.action(options, of.help, [this, &of] { choose(of); });
    }
  }

  Target target_;
  std::optional<PortNumbers> ports_;   ///< PORT
  std::optional<std::uint64_t> mask_;  ///< RESET
  const CounterSet* set_ = counter_sets().data();
  bool all_{}, loop_{}, reset_{}, reset_only_{};
  Interval interval_;
  std::optional<counters::ErrorThresholds> thresholds_;  ///< of what is shown with --interval

 private:
  void add_port_options(OptionSet& set) {
    set.flag("-a --all_ports --all-ports", all_, "Show or reset all ports, or all of PORT, together.");
    set.flag("-l --loop_ports --loop-ports", loop_, "Show or reset the ports one by one.");
    set.flag("-r --reset_after_read --reset-after-read", reset_, "Reset the counters after they were read.");
    set.flag("-R --Reset_only --reset-only", reset_only_, "Reset the counters and show nothing.");
  }
  bool resets() const { return reset_ || reset_only_; }
  /// See layout_of().
  bool has_two_layouts() const { return &set_->info() == &pm::PortExtendedSpeedsCounters::info(); }

  /// The structure of the attribute: of extended speeds there are two, by the error correction that is in use at the first port.
  async::Task<const StructInfo*> layout_of(Stack& stack, const Destination& node, counters::PmaSupport support) const {
    const StructInfo& info = set_->info();
    if (!has_two_layouts() || reset_only_) co_return &info;
    if ((support.capability_mask & pm::capability_mask::rs_fec_counters_supported) == 0) co_return &info;
    const mad::Result<smp::PortInfoExtended> extended =
        co_await stack.transactor().try_subn_get<smp::PortInfoExtended>(subnet::smp_path_of(node.path), chosen_.numbers.front());
    if (!extended) {
      stack.manners().remark("is_rsfec_mode_active", "Port Info Extended not supported");
      co_return &info;
    }
    const bool has_fec_modes = (extended->capability_mask & smp::port_info_extended_capability::is_fec_mode_supported) != 0;
    co_return has_fec_modes ? &counters::extended_speeds_layout(extended->fec_mode_active) : &info;
  }

  void choose(const CounterSet& of) {
    if (set_ != counter_sets().data() && set_ != &of)
      throw OptionError(fmt::format("{} and {} exclude each other", display_name(set_->spelling.names), display_name(of.spelling.names)));
    set_ = &of;
  }

  void check_options() const {
    if (reset_ && reset_only_) throw UsageError("-r, reset after reading, and -R, reset only, exclude each other");
    if (mask_ && !resets()) throw UsageError("RESET needs -r, reset after reading, or -R, reset only");
    if (set_->is_sampling() && (all_ || resets()))
      throw UsageError(fmt::format("{} shows no counters: it excludes -a, -r and -R", display_name(set_->spelling.names)));
    check_interval(interval_);
    if (interval_.repeats() && (resets() || set_->is_sampling()))
      throw UsageError("--interval shows what is counted, and resets nothing: it excludes -r, -R and -c");
  }

  bool names_all_ports() const { return ports_ == PortNumbers{subnet::all_ports}; }

  /// The ports of PORT, or all. NodeInfo and SwitchInfo come from the SA: an SMP would count at the port whose counters are read.
  async::Task<ChosenPorts> choose_ports(Stack& stack, const Destination& node, counters::PmaSupport support) const {
    sa::SaTransactor records(stack.transactor());
    ChosenPorts chosen;
    if (ports_ && !names_all_ports()) {
      chosen.numbers = *ports_;
      chosen.summed = all_ && !loop_ && chosen.numbers.size() > 1;
    } else if (loop_ || ((all_ || ports_) && !support.all_port_select())) {
      chosen.numbers = co_await every_port(stack, records, node);
      chosen.summed = !loop_;
    } else if (all_ || ports_) {
      chosen.numbers = {subnet::all_ports};
    } else if (!target_.given()) {
      chosen.numbers = {static_cast<std::int32_t>(stack.host().end_port().number)};
    } else {
      const smp::NodeInfo info = co_await read_smp<smp::NodeInfo>(stack, records, node);
      const std::uint8_t local = info.local_port_num;
      chosen.numbers = {info.node_type == smp::NodeType::switch_ && local == 0 ? 1 : local};
    }
    co_return chosen;
  }

  /// Throws Error for counters of another node than TARGET, if that is a name or a GUID: they do not name their node, and the LID that
  /// the subnet administrator has for TARGET may belong to another node by now. The NodeInfo is requested after them, so that it does not
  /// count.
  static async::Task<> check_meant(Stack& stack, const Destination& node) {
    mad::Transactor* smps = owner_transactor(stack);
    if (smps == nullptr || node.path.ib().expected_node_guid == Guid{} || !subnet::takes_smps(node.path)) co_return;
    const mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(*smps, node.path);
    if (found || dynamic_cast<const subnet::WrongNode*>(&found.error()) == nullptr) co_return;
    throw Error(fmt::format("{} does not lead to {} now: the counters may belong to another node", mad::target_text(node.path),
                            to_text(node.path.ib().expected_node_guid)));
  }

  async::Task<> watch(Stack& stack, CountersReport& report, Emit& emit) {
    if (emit.json()) path::visit(emit.sink(), "path", report.node.path);
    const auto once = [&](Round round) { return watch_once(stack, report, emit, std::move(round)); };
    co_await repeat(stack, emit, interval_, once);
  }

  async::Task<> watch_once(Stack& stack, CountersReport& report, Emit& emit, Round round) {
    if (is_lost_) co_await find_again(stack, report.node);
    report.ports.clear();
    co_await read(stack, report, emit);
    const std::shared_ptr<const Error> why = co_await check_owner(stack, report.node);
    is_lost_ = why != nullptr;
    if (why) {
      stack.host().report(*why);
      emit.raise(Exit::incomplete);
      report.ports.clear();
    }
    WatchReport reading(report);
    reading.round = std::move(round);
    if (thresholds_) reading.thresholds = &*thresholds_;
    for (const counters::PortReading& now : report.ports) {
      const Guid node = watched_ ? watched_->node_guid : report.node.path.ib().expected_node_guid;
      reading.ports.push_back({now, std::exchange(last_[{node, now.port}], now)});
    }
    emit(reading);
    emit.flush();  // at once
  }

  /// Checks that the node at the end of the path is the watched one (counters/readings.hpp). Returns null if it is, or if SMPs do not go
  /// there.
  async::Task<std::shared_ptr<const Error>> check_owner(Stack& stack, Destination node) {
    mad::Transactor* smps = owner_transactor(stack);
    if (smps == nullptr || !subnet::takes_smps(node.path)) co_return nullptr;
    std::string why = "the node at the end of the path is not known to be the one of TARGET";
    if (watched_) {
      const auto error = co_await counters::check_owner(*smps, node.path, counters::owner_of(*watched_));
      if (!error) co_return nullptr;
      why = counters::why_not_read(*error);
    } else {
      const mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(*smps, node.path);
      if (found) watched_ = *found;
      if (found) co_return nullptr;
    }
    co_return std::make_shared<Error>(fmt::format("{}: the counters are not read", why));
  }

  /// Looks for the node that is watched by its port GUID; before it has answered, for TARGET. `node` stays where the SA does not know it,
  /// or none answers.
  async::Task<> find_again(Stack& stack, Destination& node) const {
    stack.resolver().clear();
    Target wanted = target_;
    if (watched_) {
      path::IbPath to;
      to.dgid = Gid::from(stack.host().end_port().default_gid().prefix(), watched_->port_guid);
      wanted.path = to;
    }
    try {
      node = co_await stack.manners().gmp_node(wanted);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      stack.host().log().warning(fmt::format("The node is not found again: {}", error.message()));
    }
  }

  /// Reads the ports. With --interval a port that fails is reported and left out, and of a sum that lacks it nothing remains.
  async::Task<> read(Stack& stack, CountersReport& report, Emit& emit) {
    std::vector<counters::PortReading> readings =
        co_await counters::read_ports(stack.transactor(), report.node.path, report.info, chosen_.numbers);
    for (counters::PortReading& reading : readings) {
      try {
        if (reading.error && reading.error->status() != 0)
          reading.error->raise_with(fmt::format("Failed trying to get PM information for port {}", reading.port));
        if (reading.error) reading.error->raise();
        const std::uint8_t select = reading.bytes[1];  // of all attributes of a port
        if (select != static_cast<std::uint8_t>(reading.port))
          throw Error(fmt::format("{} was requested for the counters of port {} and answered for port {}",
                                  mad::target_text(report.node.path), reading.port, select));
        report.ports.push_back(std::move(reading));
        has_read_ = true;
      } catch (const Error& failure) {
        const bool is_refused = reading.error && reading.error->status() != 0;  // and so will the next ones be
        if (!interval_.repeats() || (is_refused && !has_read_)) throw;
        stack.host().report(failure);
        emit.raise(Exit::incomplete);
      }
    }
    if (!chosen_.summed) co_return;
    const bool is_whole = report.ports.size() == chosen_.numbers.size();
    report.ports = is_whole ? std::vector{counters::sum_of(report.ports, report.info)} : std::vector<counters::PortReading>{};
  }

  /// Of several options infiniband-diags takes the earliest in its table; -x loses to all others.
  static bool precedes(const CounterSet* a, const CounterSet* b) {
    const auto rank = [](const CounterSet* of) {
      return of == counter_sets().data() ? 100 : of->is_extended() ? 99 : of - counter_sets().data();
    };
    return rank(a) > rank(b);
  }

  std::int32_t first_port(Host& host) const {
    if (!target_.given()) return static_cast<std::int32_t>(host.end_port().number);
    if (ports_) return ports_->empty() ? 0 : ports_->front();
    return all_ ? subnet::all_ports : 0;
  }

  /// Only the basic attributes are read of more than one port.
  async::Task<ChosenPorts> choose_diags_ports(Stack& stack, const Destination& node, counters::PmaSupport support) const {
    const std::int32_t port = first_port(stack.host());
    const bool is_basic = set_->is_basic(), emulates = port == subnet::all_ports && !support.all_port_select();
    if (emulates && !all_) throw DiagsFailure("AllPortSelect not supported");
    ChosenPorts chosen;
    if (is_basic && (emulates || (loop_ && (all_ || port == subnet::all_ports)))) {
      chosen.numbers = co_await every_port(stack, stack.transactor(), node);
      chosen.summed = !loop_;
      if (chosen.summed) warn(stack.host().world(), "main", "Emulating AllPortSelect by iterating through all ports");
    } else if (is_basic && ports_ && ports_->size() > 1) {
      chosen.numbers = *ports_;
      chosen.summed = all_ && !loop_;
    } else {
      chosen.numbers = {port};
    }
    co_return chosen;
  }

  async::Task<> read_as_diags(Stack& stack, CountersReport& report, Emit& emit) const {
    std::vector<counters::PortReading> readings =
        co_await counters::read_ports(stack.transactor(), report.node.path, report.info, chosen_.numbers);
    const bool counts_wait = (report.support.capability_mask & pm::capability_mask::port_counters_xmit_wait_supported) != 0;
    for (counters::PortReading& reading : readings) {
      if (reading.error && !chosen_.summed) emit.so_far(report);
      if (reading.error) stack.manners().give_up(reading.error, report.set.cannot_read());
      if (&report.info == &pm::PortCounters::info() && !counts_wait) {  // 0 is shown for it
        const FieldInfo* wait = find_field(report.info, "port_xmit_wait");
        wire::set_bits(reading.bytes, wait->bit_offset, wait->bits, 0);
      }
      report.ports.push_back(std::move(reading));
    }
    if (chosen_.summed) report.ports.assign(1, counters::sum_of(report.ports, report.info));
    emit(report);
  }

  /// The counters to reset where the command line does not say: all that infiniband-diags knows.
  std::uint64_t reset_mask(counters::PmaSupport support) const {
    constexpr std::uint64_t basic_counters = 0xffff, extended_select2 = 0xfff0000;
    std::uint64_t mask = mask_.value_or(has_two_layouts() ? all_counters : basic_counters);
    if (!set_->is_basic()) return mask == 0 ? all_counters : mask;
    const bool extended = set_->is_extended();
    if (extended) mask |= extended_select2;
    if (extended || !mask_) {
      const unsigned wait_bit = extended ? 28 : 16, qp1_bit = extended ? 29 : 17;
      if ((support.capability_mask & pm::capability_mask::port_counters_xmit_wait_supported) != 0) mask |= std::uint64_t{1} << wait_bit;
      if ((support.capability_mask & pm::capability_mask::is_qp1_drop_supported) != 0) mask |= std::uint64_t{1} << qp1_bit;
    }
    return mask == 0 ? all_counters : mask;
  }

  async::Task<> run_as_diags(Stack& stack, CountersReport& report, Emit& emit) const {
    const bool is_sampling = set_->is_sampling();
    if (set_->is_extended() && !report.support.extended()) {
      warn(stack.host().world(), "dump_perfcounters",
           fmt::format("PerfMgt ClassPortInfo CapMask 0x{:02X}; No extended counter support indicated", report.support.capability_mask));
    }
    if (!reset_only_ || is_sampling) co_await read_as_diags(stack, report, emit);
    if (resets() && !is_sampling) co_await reset_ports(stack, report, chosen_.numbers, reset_mask(report.support));
  }

  bool as_diags_{};
  ChosenPorts chosen_;  ///< what comes of -a, -l and PORT
  bool has_read_{};     ///< a port was read
  // With --interval:
  std::optional<smp::NodeInfo> watched_;  ///< absent until the node has answered
  bool is_lost_{};                        ///< it did not answer at the end of the path in the last round
  std::map<std::pair<Guid, std::int32_t>, std::optional<counters::PortReading>> last_;  ///< by node and port
};

/// ibswportwatch: perfquery of one port until Ctrl-C.
class Ibswportwatch final : public Perfquery {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.integer("PORT", port_);
    set.is_port();
    set.notes("It goes on until Ctrl-C. Ports of hosts can be watched like ports of switches.");
    interval_.seconds = 1;
    set.number("-n --count", interval_.count, "COUNT", "End after this many readings.", {.low = 1});
    set.value("-p --interval", "SECONDS", "Time between readings; a second by default.",
              [this](std::string_view text) { interval_.seconds = parse_seconds(text, "-p"); });
    set.action("-b --delta", "Show all counters, and the rate of those that grew. This is the default.", [this] { above_ = false; });
    set.action("-t --threshold", "Show only the counters that grew by their threshold or more in a second.", [this] { above_ = true; });
    set.text("-T --threshold-file", file_, "FILE", "The thresholds: lines COUNTER=NUMBER.");
    add_counter_sets(set, "-T ");
    set.flag("-a --all_ports --all-ports", all_, "Watch the sum of all ports.");
    add_common(set, common, group_target | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (port_) ports_ = {*port_};
    if (above_) thresholds_ = counters::ErrorThresholds::given_or_usual(file_, session.host().log());
    return Perfquery::run(session, emit);
  }

 private:
  std::optional<std::uint8_t> port_;
  std::optional<std::string> file_;
  bool above_{};
};

}  // namespace
}  // namespace perfquery

constinit const CommandInfo rooms::ibswportwatch{
    .name = "ibswportwatch",
    .group = HelpGroup::counters,
    .summary = "Watch the counters of a port: what they hold, and how fast they grow.",
    .make = make_command<tools::perfquery::Ibswportwatch>,
    .alias = "ibswportwatch.pl",
    .needs_fabric = true,
};

constinit const CommandInfo rooms::perfquery{
    .name = "perfquery",
    .group = HelpGroup::counters,
    .summary = "Print the counters of a port: data, packets, errors, and everything else that a PMA counts; or reset them.",
    .make = make_command<tools::perfquery::Perfquery>,
    .make_diags = make_command<tools::perfquery::Perfquery>,
    .changes = true,
};

}  // namespace ib::tools
