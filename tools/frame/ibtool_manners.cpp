// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The manners of ibtool's dialect.
#include <fmt/format.h>

#include <utility>

#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/describe.hpp"
#include "mad/trace.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/node_names.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

/// For -e: prints errors of single tries, also if a later try succeeds.
class ErrorTracer final : public mad::Tracer {
 public:
  explicit ErrorTracer(Log& log) : log_(log) {}
  void completed(Bytes, const path::Path&, Bytes) override {}
  void retried(Bytes request, const path::Path& path) override {
    log_.warning(fmt::format("no good answer to RPC {} from '{}', trying again", mad::describe(request), to_text(path)));
  }
  void unexpected(Bytes mad, const path::Path& path, bool late) override {
    log_.warning(fmt::format("{} {} on '{}'", late ? "late answer" : "unexpected MAD", mad::describe(mad), to_text(path)));
  }

 private:
  Log& log_;
};

class IbtoolManners final : public Manners {
 public:
  using Manners::Manners;

  StackManners stack() override {
    const CommonOptions& options = session_.options();
    const auto debug = [this](std::string_view line) { session_.debug(1, line); };
    const auto show = [&log = session_.log()](std::string_view line) { log.debug(line); };
    StackManners manners;
    manners.open_channel = [this, debug] {
      const sys::EndPort& port = session_.end_port();
      debug(fmt::format("Using end port {} {}", port.name(), to_text(port.default_gid())));
      return session_.world().open_channel(port, session_.options().gmp);
    };
    if (options.debug > 0) {
      manners.tracer = std::make_unique<mad::LineTracer>(options.debug, show, options.keys);
      manners.debug = debug;
    } else if (options.show_errors) {
      manners.tracer = std::make_unique<ErrorTracer>(session_.log());
    }
    return manners;
  }
  subnet::NodeNameMap node_names() const override { return read_node_names(session_.world(), session_.options()); }
  async::Task<Destination> smp_node(const Target& target) override {
    return named(session_.smp_path(target.path ? &*target.path : nullptr));
  }
  async::Task<Destination> gmp_node(const Target& target) override {
    return named(session_.gmp_path(target.path ? &*target.path : nullptr));
  }
  async::Task<Destination> identified(Destination node) override {
    if (!subnet::takes_smps(node.path)) co_return node;
    mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(session_.smp_transactor(), node.path);
    subnet::mean_node(node.path, std::move(found).take());
    co_return node;
  }
  std::string name_of(const path::Path& path) const override { return to_text(path); }
  void report_failure(const mad::MadError& error) const override {
    if (session_.options().error_level() > 0) session_.report(error);
  }
  void give_up(const mad::MadError&, std::string_view) const override {}
  void refuse(std::string) const override {}
  void diags_warning(std::string_view, std::string_view) const override {}

 private:
  static async::Task<Destination> named(async::Task<path::Path> found) {
    const path::Path path = co_await std::move(found);
    co_return Destination{path, to_text(path)};
  }
};

}  // namespace

std::unique_ptr<Manners> ibtool_manners(Session& session) { return std::make_unique<IbtoolManners>(session); }

}  // namespace ib::tools
