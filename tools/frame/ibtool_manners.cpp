// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The manners of ibtool's dialect.
#include <fmt/format.h>

#include <utility>

#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/describe.hpp"
#include "mad/trace.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/node_names.hpp"
#include "tools/frame/stack.hpp"

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

  std::unique_ptr<mad::Channel> open_channel() override {
    const sys::EndPort& port = host().end_port();
    host().debug(1, fmt::format("Using end port {} {}", port.name(), to_text(port.default_gid())));
    return host().world().open_channel(port, host().options().gmp);
  }
  std::unique_ptr<mad::Tracer> tracer() const override {
    const CommonOptions& options = host().options();
    const auto show = [&log = host().log()](std::string_view line) { log.debug(line); };
    if (options.debug > 0) return std::make_unique<mad::LineTracer>(options.debug, show, options.keys);
    if (options.show_errors) return std::make_unique<ErrorTracer>(host().log());
    return nullptr;
  }
  bool as_libibmad() const override { return false; }
  async::Task<Destination> smp_node(const Target& target) override { return named(stack_.smp_path(target.path ? &*target.path : nullptr)); }
  async::Task<Destination> gmp_node(const Target& target) override { return named(stack_.gmp_path(target.path ? &*target.path : nullptr)); }
  async::Task<Destination> identified(Destination node) override {
    if (!subnet::takes_smps(node.path)) co_return node;
    mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(stack_.smp_transactor(), node.path);
    subnet::mean_node(node.path, std::move(found).take());
    co_return node;
  }
  std::string name_of(const path::Path& path) const override { return to_text(path); }
  void report_failure(const mad::MadError& error) const override {
    if (host().options().error_level() > 0) host().report(error);
  }
  void remark(std::string_view, std::string_view) const override {}

 private:
  subnet::NodeNameMap read_node_names() const override { return tools::read_node_names(host().world(), host().options()); }
  void before_failure(const mad::MadError&, std::string_view) const override {}
  void before_refusal(std::string) const override {}
  Host& host() const { return stack_.host(); }
  static async::Task<Destination> named(async::Task<path::Path> found) {
    const path::Path path = co_await std::move(found);
    co_return Destination{path, to_text(path)};
  }
};

}  // namespace

const subnet::NodeNameMap& Manners::node_name_map() {
  if (!node_name_map_) node_name_map_ = read_node_names();
  return *node_name_map_;
}

std::unique_ptr<Manners> ibtool_manners(Stack& stack) { return std::make_unique<IbtoolManners>(stack); }

}  // namespace ib::tools
