// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibping of infiniband-diags: is a host there, and how far is it? Its exit status does not tell.
#include <fmt/format.h>

#include <cstdlib>

#include "async/interrupt.hpp"
#include "tools/diags/console.hpp"
#include "tools/diags/tools.hpp"
#include "tools/diags/vendor.hpp"
#include "mad/sysstat.hpp"
#include "tools/shared/ping.hpp"

namespace ib::diags {
namespace {

constexpr Option options[]{
    {"count", 'c', "<num>", "stop after count packets"},
    {"flood", 'f', nullptr, "flood destination"},
    {"oui", 'o', "<val>", "use specified OUI number"},
    {"Server", 'S', nullptr, "start in server mode"},
};
constexpr Tool ibping_tool{"ibping", "<dest lid|guid>", "DKy", options, {}};

/// Milliseconds with three digits behind the point, cut rather than rounded.
std::string ms_text(async::Duration time) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  return fmt::format("{}.{:03}", us / 1000, us % 1000);
}

class Ibping : public Legacy {
 public:
  const Tool& tool() const override { return ibping_tool; }

  void option(int letter, const char* value, Settings& /*settings*/) override {
    if (letter == 'c') count_ = static_cast<std::uint32_t>(std::strtoul(value, nullptr, 0));
    if (letter == 'f') flood_ = true;
    if (letter == 'o') oui_ = read_oui(value);
    if (letter == 'S') server_ = true;
  }

  async::Task<> run(Context& context) override {
    if (context.arguments.empty() && !server_) throw Stop{2, usage_text(ibping_tool)};
    const auto serve = [](mad::Server& server, std::uint32_t oui) { mad::serve_ping(server, sys::host_name(), oui); };
    if (server_) return serve_forever(context, "can't serve class 50 on this port", serve, oui_);
    return ping(context);
  }

 private:
  async::Task<> ping(Context& context) {
    Fabric fabric(context);
    const std::optional<Target> found = co_await fabric.resolve(context.arguments[0]);
    if (!found) throw Failure("main", fmt::format("can't resolve destination port {}", context.arguments[0]));
    const Target target = fabric.gmp_target(*found);
    async::Loop& loop = context.session.loop();
    const async::Time start = loop.now();
    async::Task<> pings = ping_on(context, fabric, target);
    co_await async::until_interrupted(loop, std::move(pings));
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(loop.now() - start).count();
    context.out.print("\n--- {} ({}) ibping statistics ---\n", host_, target.text);
    context.out.print("{} packets transmitted, {} received, {}% packet loss, time {} ms\n", counts_.transmitted, counts_.received,
                      counts_.percent_lost(), took);
    context.out.print("rtt min/avg/max = {}/{}/{} ms\n", ms_text(counts_.least), ms_text(counts_.mean()), ms_text(counts_.most));
  }

  async::Task<> ping_on(Context& context, Fabric& fabric, const Target& target) {
    async::Loop& loop = context.session.loop();
    const mad::Request request = tools::ping_request(target.path, tools::PingProtocol::ibping, oui_);
    for (std::uint32_t left = count_; left > 0; --left) {
      if (context.settings.debug > 0) warn("ibping", "Ping..");
      const async::Time start = loop.now();
      const auto reply = co_await fabric.gmp_call(target, request);
      ++counts_.transmitted;
      if (reply) {
        answered(context, target, *reply, loop.now() - start);
      } else if (context.settings.debug > 0) {
        warn("main", fmt::format("ibping to {} failed", target.text));
      }
      if (!flood_) co_await loop.sleep_for(std::chrono::seconds(1));
    }
  }

  void answered(Context& context, const Target& target, Bytes payload, async::Duration rtt) {
    counts_.answered(rtt);
    const std::string host = received_text(payload);
    if (host_.empty()) host_ = host;
    if (flood_) return;
    context.out.print("Pong from {} ({}): time {} ms\n", host, target.text, ms_text(rtt));
    context.out.push();
  }

  std::uint32_t count_ = ~0U, oui_ = mad::openib_oui;
  bool flood_ = false, server_ = false;
  tools::PingCounts counts_;
  std::string host_;  // the first that answered
};

}  // namespace

int ibping(std::span<char* const> words) { return run_legacy<Ibping>(words); }

}  // namespace ib::diags
