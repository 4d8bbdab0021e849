// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// snapshot: reads a fabric whole and stores it in a file, from which the other commands can answer later.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "snapshot/fabric_survey.hpp"
#include "snapshot/recording.hpp"
#include "snapshot/replacement.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/survey.hpp"
#include "tools/shared/vs_keys.hpp"
#include "tools/snapshot/phy_part.hpp"
#include "tools/snapshot/report.hpp"
#include "tools/snapshot/sa_part.hpp"

namespace ib::tools {
namespace {

using snapshot::Part;
using subnet::PortIndex;

std::string part_list() {
  std::string text = "PART is one of\n";
  for (const Part part : snapshot::all_parts()) text += fmt::format("    {:<11} {}\n", name(part), description(part));
  return text;
}

std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for (const Part part : snapshot::all_parts()) names.emplace_back(name(part));
  return names;
}

/// The parts in "lft,mft".
std::vector<Part> parts_in(std::string_view text, std::string_view option) {
  std::vector<Part> parts;
  for (const std::string_view word : split(text)) {
    const std::optional<Part> part = snapshot::find_part(word);
    if (!part) {
      std::vector<std::string_view> names;
      for (const Part known : snapshot::all_parts()) names.push_back(name(known));
      throw OptionError(fmt::format("option '{}': a snapshot has no part {}{}", option, in_quotes(word), did_you_mean(word, names)));
    }
    parts.push_back(*part);
  }
  return parts;
}

bool contains(const std::vector<Part>& parts, Part part) { return std::ranges::find(parts, part) != parts.end(); }

/// Progress of parts that are read side by side.
class PartsProgress {
 public:
  explicit PartsProgress(Stack& stack) : stack_(stack) {}
  void count(Part part, std::uint64_t done, std::uint64_t of) {
    counts_[part] = {done, of};
    std::pair<std::uint64_t, std::uint64_t> sum;
    std::vector<std::string_view> names;
    for (const auto& [each, count] : counts_) {
      sum.first += count.first;
      sum.second += count.second;
      names.push_back(name(each));
    }
    stack_.progress().count(sum.first, sum.second, fmt::format("requests ({})", fmt::join(names, ", ")));
    if (done >= of) counts_.erase(part);
  }

 private:
  Stack& stack_;
  std::map<Part, std::pair<std::uint64_t, std::uint64_t>> counts_;
};

class Snapshot final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.operand("FILE", [this](std::string_view word) {
      if (word.empty()) throw OptionError("FILE: the name of the file is empty");
      file_ = word;
    });
    set.known_fabric({[this](const World&, const sys::EndPort&) { return std::optional(file_); }, read_stored});  // of the time before
    set.notes(part_list());
    set.value("--only", "PART[,PART...]", "Read these parts, and the topology.",
              [this](std::string_view text) { only_ = parts_in(text, "--only"); });
    set.offer(part_names());
    set.value("--skip", "PART[,PART...]", "Leave these parts out.", [this](std::string_view text) { skip_ = parts_in(text, "--skip"); });
    set.offer(part_names());
    set.value("--also", "PART[,PART...]", "Read these parts too, of those that are left out unless they are named: attributes and phy.",
              [this](std::string_view text) { also_ = parts_in(text, "--also"); });
    set.offer(part_names());
    set.flag("--force", force_, "Replace FILE, however few of its nodes were seen.");
    set.key("-c --cckey", cc_key_, "KEY", "The CC_Key of requests for congestion control; anything but a number: read from the terminal.");
    add_vs_keys(set, vs_keys_);
    add_common(set, common, (group_fabric & ~(group_sa | group_from)) | group_sl);
  }

  std::string_view table_rows() const override { return "parts"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (contains(skip_, Part::topology)) throw UsageError("--skip: a snapshot always has the topology");
    if (vs_keys_ && !is_wanted(Part::phy)) throw UsageError("--vskey is for the part phy: --also phy");
    const phy::VsKeys vs_keys = read_vs_keys(session.host(), vs_keys_);
    const async::Time begin = session.stack().loop().now();
    snapshot::Writer writer(file_, session.host().options().keys, nullptr, session.stack().loop().clock());
    writer.put_origin(session.host().end_port());
    Fabric fabric;
    SnapshotReport report(fabric);
    report.file = file_;
    report.verbose = session.host().options().error_level() >= 1;
    co_await sweep(session, fabric, writer, report);
    if (!force_) keep_old(session.host(), fabric.subnet, writer);
    std::vector<subnet::Failure> failures = co_await read_rest(session.stack(), fabric, vs_keys, writer, report);
    writer.put_fabric(fabric);
    report.answers = writer.answers();
    report.bytes = writer.commit();
    report.seconds = seconds_since(session.stack(), begin);
    add_failures(session.host(), fabric, std::move(failures));
    emit(report);
    emit.raise(report.status());
  }

 private:
  /// Throws Error if the old file stays.
  void keep_old(const Host& host, const subnet::Subnet& subnet, snapshot::Writer& writer) const {
    const std::optional<std::string> why = snapshot::why_old_is_kept(file_, subnet);
    if (!why) return;
    writer.keep_old();
    host.log().warning(*why);
  }

  static double seconds_since(Stack& stack, async::Time begin) { return std::chrono::duration<double>(stack.loop().now() - begin).count(); }

  bool is_wanted(Part part) const {
    const bool is_chosen = only_ ? contains(*only_, part) : is_usual(part);
    return part == Part::topology || ((is_chosen || contains(also_, part)) && !contains(skip_, part));
  }

  async::Task<> sweep(Session& session, Fabric& fabric, snapshot::Writer& writer, SnapshotReport& report) const {
    const async::Time begin = session.stack().loop().now();
    const DiscoveryOptions how;  // the part ports reads FDR10
    co_await discover(session, how, fabric);
    PartRow row;
    row.part = Part::topology;
    row.planned = row.answered = session.stack().plan().plan;
    row.failures = fabric.failures.size();
    row.seconds = seconds_since(session.stack(), begin);
    report.parts.push_back(row);
    writer.put_part(name(Part::topology));
  }

  /// Reads all parts but the topology. Returns what did not answer.
  async::Task<std::vector<subnet::Failure>> read_rest(Stack& stack, Fabric& fabric, const phy::VsKeys& vs_keys, snapshot::Writer& writer,
                                                      SnapshotReport& report) const {
    const path::Path start = stack.here();
    subnet::PortPaths paths(fabric.subnet, start);
    PartsProgress progress(stack);
    std::map<Part, async::Time> begun;
    std::map<Part, snapshot::SurveyedPart> readings;
    snapshot::FabricSurveyOptions how(start);
    how.paths = &paths;
    how.cc_key = cc_key_;
    how.owners = owner_transactor(stack);
    how.disown = [&writer](const snapshot::AnswerKey& key, const mad::MadError& why) { writer.put_failure(key, why); };
    how.progress = [&progress](Part part, std::uint64_t done, std::uint64_t of) { progress.count(part, done, of); };
    how.take_mlnx = [&fabric](PortIndex at, const smp::MlnxExtPortInfo& info) { take_fdr10(fabric.subnet, at, info); };
    bool is_sa_silent = false;
    how.find_paths = [&stack, &paths, &is_sa_silent] { return find_paths(stack, paths, is_sa_silent); };
    how.read_sa = [&stack, &writer, &is_sa_silent](mad::Transactor&) { return read_sa_part(stack, writer, is_sa_silent); };
    how.read_phy = [&stack, &fabric, &paths, &vs_keys](mad::Transactor& transactor) {
      return read_phy_part(stack, transactor, fabric.subnet, paths, vs_keys);
    };
    how.began = [&stack, &begun](Part part, std::uint64_t planned) {
      begun[part] = stack.loop().now();
      report_plan(stack.host(), part, planned);
    };
    how.ended = [&](Part part, snapshot::SurveyedPart done) {
      report.parts.push_back({part, done.planned, done.answered, done.refused, done.failures.size(), seconds_since(stack, begun[part])});
      readings[part] = std::move(done);
      writer.put_part(name(part));
    };
    snapshot::Recording recording(stack.transactor(), fabric.subnet, writer);
    snapshot::FabricSurvey reading(recording, fabric, std::move(how));
    co_await snapshot::read_arrivals(recording, fabric.subnet, start);
    std::vector<Part> wanted;
    std::ranges::copy_if(snapshot::all_parts(), std::back_inserter(wanted), [this](Part part) { return is_wanted(part); });
    co_await reading.read(std::move(wanted));
    std::ranges::sort(report.parts, {}, &PartRow::part);
    std::vector<subnet::Failure> failures;
    for (auto& [part, reading_of] : readings) std::ranges::move(reading_of.failures, std::back_inserter(failures));
    co_return failures;
  }

  /// An SA that was silent to the queries for its tables gets no further one.
  static async::Task<> find_paths(Stack& stack, subnet::PortPaths& paths, const bool& is_sa_silent) {
    if (!is_sa_silent) co_return co_await stack.read_service_levels(paths);
    paths.do_without("the subnet administrator does not answer");
    if (!stack.host().options().skip_sl) stack.report_sl_0(paths.why_sl_0());
  }

  static void take_fdr10(subnet::Subnet& subnet, PortIndex at, const smp::MlnxExtPortInfo& info) {
    subnet::Port& port = subnet.port(at);
    if (!subnet::may_be_fdr10(subnet.node(port.node).info, port.info())) return;
    subnet::store_fdr10(port, info);
  }

  static void report_plan(const Host& host, Part part, std::uint64_t planned) {
    if (part != Part::sa && part != Part::phy && host.options().stats)
      print_on_stderr(host.world(), fmt::format("mads planned: {} for {}\n", planned, name(part)));
  }

  std::string file_;
  std::optional<std::string> vs_keys_;
  bool force_{};
  std::optional<std::vector<Part>> only_;
  std::vector<Part> skip_, also_;
  std::uint64_t cc_key_{};
};

}  // namespace

constinit const CommandInfo rooms::snapshot{
    .name = "snapshot",
    .group = HelpGroup::topology,
    .summary = "Read the whole fabric and store it in a file, from which other commands answer later.",
    .make = make_command<Snapshot>,
    .needs_fabric = true,
};

}  // namespace ib::tools
