// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// snapshot: reads a fabric whole and stores it in a file, from which the other commands can answer later.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "phy/reading.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/fabric_survey.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace {

using snapshot::Part;

std::string plural(std::uint64_t count, std::string_view one) { return fmt::format("{} {}{}", counted(count), one, count == 1 ? "" : "s"); }

/// "34 MB".
std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t thousand = 1000;
  std::string_view unit = "kB";
  std::uint64_t size = (bytes + thousand - 1) / thousand;
  for (const std::string_view larger : {"MB", "GB"}) {
    if (size < 10 * thousand) break;
    size /= thousand;
    unit = larger;
  }
  return fmt::format("{} {}", counted(size), unit);
}

double in_seconds(async::Duration time) { return std::chrono::duration<double>(time).count(); }

struct SnapshotReport final : FabricReport {
  explicit SnapshotReport(const Fabric& of) : FabricReport(of) {}

  void visit(report::Sink& sink) const override {
    sink.value("file", escaped(file));
    sink.value("file_bytes", bytes);
    sink.value("elapsed_seconds", in_seconds(took));
    sink.value("node_count", fabric.subnet.nodes().size());
    sink.value("port_count", known_port_count());
    sink.value("answers", answers);
    sink.objects("parts", parts, [&](const auto& row) {
      const auto& [part, read] = row;
      sink.value("part", name(part));
      sink.value("planned", read.planned);
      sink.value("answered", read.answered);
      sink.value("refused", read.refused);
      sink.value("failures", read.failures.size());
      sink.value("elapsed_seconds", in_seconds(read.took));
    });
    visit_failures(sink);
  }

  /// A line for each part with -v, and a last line that says what was read.
  void text(TextOut& out) const override {
    for (const auto& [part, read] : parts) {
      if (!verbose) break;
      const std::string refused = read.refused == 0 ? "" : fmt::format(", {} refused", counted(read.refused));
      const std::string failed = read.failures.empty() ? "" : fmt::format(", {} not answered", counted(read.failures.size()));
      out.print("{:<11} {}{}{}, {:.1f} s\n", name(part), plural(read.answered, part == Part::sa ? "table" : "answer"), refused, failed,
                in_seconds(read.took));
    }
    out.print("{}, {}, {} in {}, {}{}\n", plural(fabric.subnet.nodes().size(), "node"), plural(known_port_count(), "port"),
              plural(answers, "answer"), escaped(file), size_text(bytes), missing_text());
  }

  std::string file;
  std::map<Part, snapshot::SurveyedPart> parts;
  std::uint64_t answers{}, bytes{};  ///< that the file holds
  async::Duration took{};
  bool verbose{};

 private:
  std::size_t known_port_count() const {
    return static_cast<std::size_t>(std::ranges::count_if(fabric.subnet.ports(), &subnet::Port::has_info));
  }

  /// What did not answer, as the end of a line: ports beyond which nothing is known, since a node may have several of them, and nodes that
  /// answered other requests. Empty if all is there.
  std::string missing_text() const {
    std::set<std::pair<subnet::NodeIndex, int>> ports;
    std::set<subnet::NodeIndex> nodes;
    for (const subnet::Failure& failure : fabric.failures) {
      if (failure.node == subnet::none || failure.kind != subnet::Failure::Kind::no_answer) continue;
      if (failure.beyond) {
        ports.emplace(failure.node, failure.port);
      } else {
        nodes.insert(failure.node);
      }
    }
    std::string text;
    if (!ports.empty()) text += fmt::format("; no answer from beyond {}", plural(ports.size(), "port"));
    if (!nodes.empty()) text += fmt::format("; {} answered only in part", plural(nodes.size(), "node"));
    return text.empty() && !fabric.failures.empty() ? "; not complete" : text;
  }
};

async::Task<snapshot::SurveyedPart> read_sa_part(Stack& stack, snapshot::Writer& writer, bool& is_silent) {
  co_await stack.prepare_sa();
  sa::TableReading reading;
  reading.with_keys = stack.host().options().keys == Keys::shown;
  reading.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "tables of the SA"); };
  co_return co_await snapshot::read_sa_part(stack.transactor(), writer, std::move(reading), is_silent);
}

/// The parts in "lft,mft".
std::vector<Part> parts_in(std::string_view text, std::string_view option) {
  std::vector<Part> parts;
  for (const std::string_view word : split(text)) {
    const std::optional<Part> part = snapshot::find_part(word);
    if (!part) {
      std::vector<std::string_view> names;
      std::ranges::transform(snapshot::all_parts, std::back_inserter(names), &snapshot::PartInfo::name);
      throw OptionError(fmt::format("option '{}': a snapshot has no part {}{}", option, in_quotes(word), did_you_mean(word, names)));
    }
    parts.push_back(*part);
  }
  return parts;
}

bool contains(const std::vector<Part>& parts, Part part) { return std::ranges::find(parts, part) != parts.end(); }

/// Of parts that are read side by side: the requests that are done, and all.
using PartCounts = std::map<Part, std::pair<std::size_t, std::size_t>>;

void show_progress(Stack& stack, PartCounts& counts, Part part, std::size_t done, std::size_t of) {
  counts[part] = {done, of};
  std::pair<std::size_t, std::size_t> sum;
  std::vector<std::string_view> names;
  for (const auto& [each, count] : counts) {
    sum.first += count.first;
    sum.second += count.second;
    names.push_back(name(each));
  }
  stack.progress().count(sum.first, sum.second, fmt::format("requests ({})", joined(names, ", ")));
  if (done >= of) counts.erase(part);
}

class Snapshot final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.operand("FILE", [this](std::string_view word) {
      if (word.empty()) throw OptionError("FILE: the name of the file is empty");
      file_ = word;
    });
    set.known_fabric({[this](const World&, const sys::EndPort&) { return std::optional(file_); }});  // of the time before
    std::string list = "PART is one of\n";
    for (const snapshot::PartInfo& part : snapshot::all_parts) list += fmt::format("    {:<11} {}\n", part.name, part.description);
    set.notes(std::move(list));
    const auto add_parts = [&set](const char* option, const char* help, auto& parts) {
      set.value(option, "PART[,PART...]", help, [option, &parts](std::string_view text) { parts = parts_in(text, option); });
      set.offer(snapshot::all_parts, &snapshot::PartInfo::name);
    };
    add_parts("--only", "Read these parts, and the topology.", only_);
    add_parts("--skip", "Leave these parts out.", skip_);
    add_parts("--also", "Read these parts too, of those that are left out unless they are named: attributes and phy.", also_);
    set.flag("--force", force_, "Replace FILE, however few of its nodes were seen.");
    add_key(set, common, "-c --cckey", cc_key_, "KEY",
            "The CC_Key of requests for congestion control; anything but a number: read from the terminal.");
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
    const std::optional<std::string> why_kept = force_ ? std::nullopt : snapshot::why_old_is_kept(file_, fabric.subnet);
    if (why_kept) {
      writer.keep_old();
      session.host().log().warning(*why_kept);
    }
    std::vector<subnet::Failure> failures = co_await read_rest(session.stack(), fabric, vs_keys, writer, report);
    writer.put_fabric(fabric);
    report.answers = writer.answers();
    report.bytes = writer.commit();
    report.took = session.stack().loop().now() - begin;
    add_failures(session.host(), fabric, std::move(failures));
    emit(report);
  }

 private:
  bool is_wanted(Part part) const {
    const bool is_chosen = only_ ? contains(*only_, part) : is_usual(part);
    return part == Part::topology || ((is_chosen || contains(also_, part)) && !contains(skip_, part));
  }

  async::Task<> sweep(Session& session, Fabric& fabric, snapshot::Writer& writer, SnapshotReport& report) const {
    const async::Time begin = session.stack().loop().now();
    const DiscoveryOptions how;  // the part ports reads FDR10
    fabric = co_await discover(session, how);
    snapshot::SurveyedPart& read = report.parts[Part::topology];
    read.planned = read.answered = session.stack().plan().plan;
    read.failures = fabric.failures;
    read.took = session.stack().loop().now() - begin;
    writer.put_part(name(Part::topology));
  }

  /// Reads all parts but the topology. Returns what did not answer.
  async::Task<std::vector<subnet::Failure>> read_rest(Stack& stack, Fabric& fabric, const phy::VsKeys& vs_keys, snapshot::Writer& writer,
                                                      SnapshotReport& report) const {
    const path::Path start = stack.here();
    subnet::PortPaths paths(fabric.subnet, start);
    PartCounts counts;
    snapshot::FabricSurveyOptions how(start);
    how.paths = &paths;
    how.cc_key = cc_key_;
    how.owners = owner_transactor(stack);
    how.disown = [&writer](const snapshot::AnswerKey& key, const mad::MadError& why) { writer.put_failure(key, why); };
    how.progress = [&](Part part, std::size_t done, std::size_t of) { show_progress(stack, counts, part, done, of); };
    bool is_sa_silent = false;
    how.find_paths = [&stack, &paths, &is_sa_silent] { return find_paths(stack, paths, is_sa_silent); };
    how.read_sa = [&stack, &writer, &is_sa_silent](mad::Transactor&) { return read_sa_part(stack, writer, is_sa_silent); };
    snapshot::Recording recording(stack.transactor(), fabric.subnet, writer);
    how.read_phy = [&](mad::Transactor&) {
      phy::ReadingOptions options = reading_options(stack, paths, vs_keys);
      options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "registers"); };
      return snapshot::read_phy_part(recording, fabric.subnet, stack.here(), std::move(options));
    };
    how.began = [&host = stack.host()](Part part, std::uint64_t planned) {
      if (part != Part::sa && part != Part::phy && host.options().stats)
        print_on_stderr(host.world(), fmt::format("mads planned: {} for {}\n", planned, name(part)));
    };
    how.ended = [&](Part part, snapshot::SurveyedPart done) {
      report.parts.emplace(part, std::move(done));
      writer.put_part(name(part));
    };
    snapshot::FabricSurvey reading(recording, fabric, std::move(how));
    co_await snapshot::read_arrivals(recording, fabric.subnet, start);
    std::vector<Part> wanted;
    for (const snapshot::PartInfo& part : snapshot::all_parts) {
      if (is_wanted(part.part)) wanted.push_back(part.part);
    }
    co_await reading.read(std::move(wanted));
    std::vector<subnet::Failure> failures;
    for (const auto& [part, read] : report.parts) {
      if (part != Part::topology) std::ranges::copy(read.failures, std::back_inserter(failures));
    }
    co_return failures;
  }

  /// An SA that was silent to the queries for its tables gets no further one.
  static async::Task<> find_paths(Stack& stack, subnet::PortPaths& paths, const bool& is_sa_silent) {
    if (!is_sa_silent) co_return co_await stack.read_service_levels(paths);
    paths.do_without("the subnet administrator does not answer");
    if (!stack.host().options().skip_sl) stack.report_sl_0(paths.why_sl_0());
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
