// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// exporter: the fabric as metrics for Prometheus.
#include <fmt/format.h>
#include <sys/socket.h>

#include "async/group.hpp"
#include "async/signals.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "tools/exporter/engine.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/progress.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/sample_labels.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace exporter {
namespace {

/// The name of the first port. If the port does not exist yet: the name that the user gave.
std::string first_name(Host& host) {
  try {
    return host.end_port().name();
  } catch (const Error&) {
    const CommonOptions& options = host.options();
    return fmt::format("{}/{}", options.device.value_or("the first device"), options.port.value_or("1"));
  }
}

constexpr std::uint16_t usual_port = 9315;
constexpr unsigned most_mads_per_second = 10'000'000;
constexpr std::size_t piece = 65536;  // bytes of a page that are written at a time

/// Where to listen. An empty host stands for all addresses.
struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = usual_port;
};

/// ADDRESS:PORT, [ADDRESS]:PORT for IPv6, :PORT.
Address parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) throw OptionError(fmt::format("--listen: {} is not ADDRESS:PORT", in_quotes(text)));
  std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  if (is_bracketed && host.empty()) throw OptionError("--listen: there is no address in []; :PORT is all addresses");
  if (!is_bracketed && host.find(':') != std::string_view::npos)
    throw OptionError(fmt::format("--listen: an IPv6 address is written in brackets: [{}]{}", harmless_line(host), text.substr(colon)));
  return {std::string(host), parse_within<std::uint16_t>(text.substr(colon + 1), "--listen", {})};
}

std::vector<async::TcpListener> listen(const Address& address) {
  if (!address.host.empty()) return async::TcpListener::at(address.host, address.port, SOMAXCONN);
  std::vector<async::TcpListener> all;
  all.emplace_back(address.port, async::IpVersion::any, SOMAXCONN);
  return all;
}

/// DEVICE/PORT.
std::string parse_port_name(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  const bool is_whole = slash != std::string_view::npos && slash != 0 && parse_digits(text.substr(slash + 1), 10).has_value();
  if (!is_whole) throw OptionError(fmt::format("--add-port: {} is not DEVICE/PORT", in_quotes(text)));
  return std::string(text);
}

class Exporter final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.value("--listen", "ADDRESS:PORT", "Listen there (127.0.0.1:9315), at all addresses of a name; :PORT is all addresses.",
              [this](std::string_view text) { address_ = parse_address(text); });
    set.choice("--names", names_, {"treydock", "guilbaults"}, "Metric names: by default as in treydock's infiniband_exporter.");
    set.value("--interval", "SECONDS", "Time between readings of the counters (30).",
              [this](std::string_view text) { times_.interval = duration(text, "--interval"); });
    set.value("--sweep", "SECONDS", "Time between sweeps; links that change cause one too (600).",
              [this](std::string_view text) { times_.sweep = duration(text, "--sweep"); });
    set.flag("--hcas", exported_.hcas, "Export channel adapters too.");
    set.flag("--details", exported_.details, "Export details of errors and counters of FEC too: up to three more MADs a port.");
    set.flag("--phy", exported_.phy,
             "Export the physical layer too: bit error ratios, FEC, modules, temperatures and fans; eight MADs or more a port.");
    set.value("--phy-interval", "SECONDS", "With --phy: time between its readings (300).", [this](std::string_view text) {
      times_.phy = duration(text, "--phy-interval");
      has_phy_interval_ = true;
    });
    add_vs_keys(set, vs_keys_);
    set.value("--add-port", "DEVICE/PORT", "Read through this local port too, for /metrics?port=DEVICE/PORT; several times for several.",
              [this](std::string_view text) { other_ports_.push_back(parse_port_name(text)); });
    set.number("--max-mads-per-second", mads_per_second_, "N", "Send at most this many: sweeps and readings take longer.",
               {1, most_mads_per_second});
    add_labels(set, labels_);
    set.flag("--once", once_, "Read once and print the page, in place of listening.");
    set.text("--textfile", textfile_, "FILE", "Read once and replace FILE, for the textfile collector of node_exporter.");
    set.one_of({"--once", "--textfile", "--add-port"});
    add_common(set, common, (group_fabric & ~unsigned{group_sa}) | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    exported_.run_once = once_ || textfile_;
    if (!exported_.run_once) session.stack().progress().stop();
    if (names_ == "guilbaults") exported_.names = metrics::Names::guilbaults;
    const metrics::PageRules rules(exported_, metrics::constant_labels(labels_));
    if (has_phy_interval_ && !exported_.phy) throw UsageError("--phy-interval needs --phy");
    if (vs_keys_ && !exported_.phy) throw UsageError("--vskey needs --phy");
    ReaderOptions options{exported_.hcas,   exported_.details, session.manners().node_name_map(),
                          mads_per_second_, exported_.phy,     keys(session.host())};
    if (exported_.run_once) {
      Engine engine(session.stack(), std::move(options), times_);
      co_await run_once(session.host(), engine, rules, emit);
    } else {
      session.stack().require_fabric("exporter");
      check_named_port(session.stack().host());
      LocalPorts ports = local_ports(session.stack(), other_ports_, options, times_);
      co_await serve(session.stack(), ports, rules);
    }
  }

 private:
  static async::Duration duration(std::string_view text, std::string_view option) {
    return std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(parse_seconds(text, option)));
  }

  async::Task<> run_once(Host& host, Engine& engine, const metrics::PageRules& rules, Emit& emit) {
    std::optional<PortDown> down;
    try {
      co_await engine.run_once();
    } catch (const PortDown& error) {
      down = error;
    }
    if (down && emit.json()) throw PortDown(*down);
    const metrics::View view = engine.view();
    metrics::Page page(rules, view, {});
    std::string text;
    if (textfile_) {
      FileReplacement file(*textfile_);
      while (page.next(text, piece)) file.write(text);
      file.keep();
    } else if (!emit.json()) {
      while (page.next(text, piece)) emit.text().write(text);
    }
    if (down) throw PortDown(*down);  // which the page has as a finding
    print_failures(host, view.reading->fabric->subnet, view.reading->fabric->failures);
    SamplesReport report;
    report.file = textfile_;
    report.add(*view.reading);
    emit(report);
  }

  async::Task<> serve(Stack& stack, LocalPorts& ports, const metrics::PageRules& rules) {
    async::Loop& loop = stack.loop();
    http::Server server(loop, listen(address_), [&](const http::Request& request) { return answer(request, ports, rules, loop.clock()); });
    for (LocalPort& port : ports) port.engine->round_begins = [&server] { server.drop_outdated(); };
    const async::Hangup hangup(loop, [&] { read_again(stack.host(), ports); });
    stack.host().debug(fmt::format("Listening on port {}", server.port()));
    async::Task<> reads = read_all(loop, ports);
    async::Interrupt interrupt(loop);
    co_await async::until_interrupted(loop, interrupt, std::move(reads));
  }

  static async::Task<> read_all(async::Loop& loop, LocalPorts& ports) {
    async::TaskGroup group(loop);
    for (LocalPort& port : ports) group.spawn(port.engine->run());
    co_await group.join();
  }

  std::shared_ptr<const phy::VsKeys> keys(const Host& host) const {
    return std::make_shared<const phy::VsKeys>(read_vs_keys(host, vs_keys_));
  }

  /// Reads the node name map and the file of VS_Keys again, and has the fabric swept. What cannot be read is left as it was.
  void read_again(Host& host, LocalPorts& ports) const {
    try {
      const subnet::NodeNameMap names = read_node_names(host.world(), host.options());
      for (LocalPort& port : ports) port.engine->set_names(names);
    } catch (const Error& error) {
      host.log().warning(fmt::format("{}; the node names stay as they were", error.message()));
    }
    try {
      const auto read = vs_keys_ == "-" ? nullptr : keys(host);
      for (LocalPort& port : ports)
        if (read) port.engine->set_vs_keys(read);
    } catch (const Error& error) {
      host.log().warning(fmt::format("{}; the VS_Keys stay as they were", error.message()));
    }
    for (LocalPort& port : ports) port.engine->sweep_now();
  }

  Address address_;
  std::optional<std::string> names_, textfile_, vs_keys_;
  metrics::Labels labels_;
  std::vector<std::string> other_ports_;
  metrics::Exported exported_;
  Times times_;
  unsigned mads_per_second_{};
  bool once_{}, has_phy_interval_{};
};

}  // namespace

void check_named_port(Host& host) {
  const bool is_named = host.options().device || host.options().port;
  if (is_named && !host.own_devices().devices().empty()) host.end_port();
}

LocalPorts local_ports(Stack& first, const std::vector<std::string>& others, const ReaderOptions& options, const Times& times) {
  LocalPorts ports;
  ports.push_back({first_name(first.host()), nullptr, nullptr, nullptr});
  for (const std::string& name : others) {
    if (std::ranges::find(ports, name, &LocalPort::name) != ports.end())
      throw UsageError(fmt::format("--add-port: {} is there already", in_quotes(name)));
    CommonOptions common = first.host().options();
    common.device = name.substr(0, name.rfind('/'));
    common.port = name.substr(name.rfind('/') + 1);
    auto host = std::make_unique<Host>(first.host().world(), std::move(common));
    auto stack = std::make_unique<Stack>(*host, first.loop());
    ports.push_back({name, std::move(host), std::move(stack), nullptr});
  }
  for (LocalPort& of : ports)
    of.engine = std::make_unique<Engine>(of.stack ? *of.stack : first, options, times, ports.size() > 1 ? of.name + ": " : std::string());
  return ports;
}

}  // namespace exporter

constinit const CommandInfo rooms::exporter{
    .name = "exporter",
    .group = HelpGroup::counters,
    .summary = "Export states and counters of the whole fabric to Prometheus.",
    .make = make_command<tools::exporter::Exporter>,
};

}  // namespace ib::tools
