// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// snapshot: reads a fabric whole and stores it in a file, from which the other commands can answer later.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/smp.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "phy/reading.hpp"
#include "sa/stored_tables.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/fabric_survey.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/shared/survey.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools {
namespace {

using snapshot::Part;
using subnet::PortIndex;

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

/// One part of the snapshot.
struct PartRow {
  Part part{};
  snapshot::SurveyedPart read;
  double seconds{};
};

struct SnapshotReport final : FabricReport {
  explicit SnapshotReport(const Fabric& of) : FabricReport(of) {}

  void visit(report::Sink& sink) const override {
    sink.value("file", escaped(file));
    sink.value("file_bytes", bytes);
    sink.value("elapsed_seconds", seconds);
    sink.value("node_count", fabric.subnet.nodes().size());
    sink.value("port_count", known_port_count());
    sink.value("answers", answers);
    sink.objects("parts", parts, [&](const PartRow& row) {
      sink.value("part", name(row.part));
      sink.value("planned", row.read.planned);
      sink.value("answered", row.read.answered);
      sink.value("refused", row.read.refused);
      sink.value("failures", row.read.failures.size());
      sink.value("elapsed_seconds", row.seconds);
    });
    visit_failures(sink);
  }

  /// A line for each part with -v, and a last line that says what was read.
  void text(TextOut& out) const override {
    for (const PartRow& row : parts) {
      if (!verbose) break;
      const std::string refused = row.read.refused == 0 ? "" : fmt::format(", {} refused", counted(row.read.refused));
      const std::string failed = row.read.failures.empty() ? "" : fmt::format(", {} not answered", counted(row.read.failures.size()));
      out.print("{:<11} {}{}{}, {:.1f} s\n", name(row.part), plural(row.read.answered, row.part == Part::sa ? "table" : "answer"), refused,
                failed, row.seconds);
    }
    out.print("{}, {}, {} in {}, {}{}\n", plural(fabric.subnet.nodes().size(), "node"), plural(known_port_count(), "port"),
              plural(answers, "answer"), escaped(file), size_text(bytes), missing_text());
  }

  std::string file;
  std::vector<PartRow> parts;
  std::uint64_t answers{}, bytes{};  ///< that the file holds
  double seconds{};
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

subnet::Failure failure_of_sa(subnet::Failure::Kind kind, std::string why, std::shared_ptr<const Error> error = {}) {
  return {.kind = kind, .attribute = {}, .why = std::move(why), .error = std::move(error)};
}

bool has_timed_out(const sa::TableFailure& failed) { return failed.error && mad::is_timeout(*failed.error); }

/// Reads the tables into `writer`. SurveyedPart counts tables. A table that the SA does not have is refused; one that does not arrive is a
/// failure, and an SA that answers nothing is one failure; then sets `is_silent`, which must outlive the task.
async::Task<snapshot::SurveyedPart> read_sa_part(Stack& stack, snapshot::Writer& writer, bool& is_silent) {
  snapshot::SurveyedPart result;
  co_await stack.prepare_sa();
  mad::Transactor& transactor = stack.transactor();
  const path::IbPath& sa = transactor.sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) {
    result.failures.push_back(failure_of_sa(subnet::Failure::Kind::no_answer, "No subnet administrator is known."));
    co_return result;
  }
  std::vector<const QueryInfo*> tables;
  for (const QueryInfo& table : sa::stored_table_infos()) tables.push_back(&table);
  result.planned = tables.size();
  sa::TableReading reading;
  reading.with_keys = stack.host().options().keys == Keys::shown;
  reading.keep = [&](const QueryInfo& table, const mad::Reply& reply) {
    ++result.answered;
    writer.put_table(table, reply);
  };
  reading.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "tables of the SA"); };
  const std::vector<sa::TableFailure> failed = co_await sa::read_tables(transactor, std::move(tables), std::move(reading));
  for (const sa::TableFailure& one : failed) {
    if (one.error) writer.put_failure(snapshot::table_key(*one.table), *one.error);
  }
  is_silent = result.answered == 0 && std::ranges::all_of(failed, has_timed_out);
  if (is_silent) {
    result.failures.push_back(
        failure_of_sa(subnet::Failure::Kind::no_answer, "The subnet administrator does not answer.", failed.front().error));
    co_return result;
  }
  std::set<const mad::MadError*> said;  // the tables that are left after the SA fell silent have one error
  for (const sa::TableFailure& one : failed) {
    if (one.error && !said.insert(one.error.get()).second) continue;
    const bool is_refused = one.error && !has_timed_out(one);
    if (is_refused) {
      ++result.refused;
    } else {
      const std::string why = fmt::format("The subnet administrator does not give its {}: {}", sa::table_name(*one.table), one.why);
      result.failures.push_back(
          failure_of_sa(one.error ? subnet::Failure::Kind::no_answer : subnet::Failure::Kind::false_answer, why, one.error));
    }
  }
  co_return result;
}

/// Reads the registers of all ports and devices. `paths` are the paths of GMPs.
async::Task<snapshot::SurveyedPart> read_phy_part(Stack& stack, snapshot::Recording& recording, const subnet::Subnet& subnet,
                                                  const subnet::PortPaths& paths, const phy::VsKeys& vs_keys) {
  snapshot::SurveyedPart result;
  const snapshot::Recording::Counts before = recording.counts();
  std::vector<subnet::NodeIndex> nodes(subnet.nodes().size());
  std::iota(nodes.begin(), nodes.end(), subnet::NodeIndex{0});
  phy::Planes planes = co_await phy::read_planes(recording, subnet, stack.here(), nodes);
  std::vector<subnet::PortIndex> ports;
  for (subnet::PortIndex port = 0; port < subnet.ports().size(); ++port) {
    if (subnet.port(port).number != 0 && subnet.port(port).has_info) ports.push_back(port);
  }
  phy::ReadingOptions options = reading_options(stack, paths, vs_keys);
  options.histogram = true;
  options.planes = &planes;
  std::set<subnet::NodeIndex> silent;
  options.silent = &silent;
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "registers of ports"); };
  phy::Reading found = co_await phy::read_phy(recording, subnet, ports, options);
  options.wanted = phy::ReadingScope::environment;
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "registers of devices"); };
  const phy::Reading environment = co_await phy::read_phy(recording, subnet, std::move(ports), options);
  result.failures = std::move(found.failures);
  for (const subnet::Failure& failure : environment.failures) {
    const bool is_known = std::ranges::find(result.failures, failure.node, &subnet::Failure::node) != result.failures.end();
    if (!is_known) result.failures.push_back(failure);
  }
  result.failures.insert(result.failures.end(), planes.failures.begin(), planes.failures.end());
  result.planned = recording.counts().requests - before.requests;
  result.answered = recording.counts().answered - before.answered;
  result.refused = recording.counts().refused - before.refused;
  co_return result;
}

std::string part_list() {
  std::string text = "PART is one of\n";
  for (const snapshot::PartInfo& part : snapshot::all_parts) text += fmt::format("    {:<11} {}\n", part.name, part.description);
  return text;
}

std::vector<std::string> part_names() {
  std::vector<std::string> names;
  for (const snapshot::PartInfo& part : snapshot::all_parts) names.emplace_back(part.name);
  return names;
}

/// The parts in "lft,mft".
std::vector<Part> parts_in(std::string_view text, std::string_view option) {
  std::vector<Part> parts;
  for (const std::string_view word : split(text)) {
    const std::optional<Part> part = snapshot::find_part(word);
    if (!part) {
      const std::vector<std::string> names = part_names();
      const std::vector<std::string_view> words(names.begin(), names.end());
      throw OptionError(fmt::format("option '{}': a snapshot has no part {}{}", option, in_quotes(word), did_you_mean(word, words)));
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
  void count(Part part, std::size_t done, std::size_t of) {
    counts_[part] = {done, of};
    std::pair<std::size_t, std::size_t> sum;
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
  std::map<Part, std::pair<std::size_t, std::size_t>> counts_;
};

class Snapshot final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.operand("FILE", [this](std::string_view word) {
      if (word.empty()) throw OptionError("FILE: the name of the file is empty");
      file_ = word;
    });
    set.known_fabric({[this](const World&, const sys::EndPort&) { return std::optional(file_); }});  // of the time before
    set.notes(part_list());
    const auto add_parts = [&set](const char* option, const char* help, auto& parts) {
      set.value(option, "PART[,PART...]", help, [option, &parts](std::string_view text) { parts = parts_in(text, option); });
      set.offer(part_names());
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
    row.read.planned = row.read.answered = session.stack().plan().plan;
    row.read.failures = fabric.failures;
    row.seconds = seconds_since(session.stack(), begin);
    report.parts.push_back(std::move(row));
    writer.put_part(name(Part::topology));
  }

  /// Reads all parts but the topology. Returns what did not answer.
  async::Task<std::vector<subnet::Failure>> read_rest(Stack& stack, Fabric& fabric, const phy::VsKeys& vs_keys, snapshot::Writer& writer,
                                                      SnapshotReport& report) const {
    const path::Path start = stack.here();
    subnet::PortPaths paths(fabric.subnet, start);
    PartsProgress progress(stack);
    std::map<Part, async::Time> begun;
    snapshot::FabricSurveyOptions how(start);
    how.paths = &paths;
    how.cc_key = cc_key_;
    how.owners = owner_transactor(stack);
    how.disown = [&writer](const snapshot::AnswerKey& key, const mad::MadError& why) { writer.put_failure(key, why); };
    how.progress = [&progress](Part part, std::size_t done, std::size_t of) { progress.count(part, done, of); };
    how.take_mlnx = [&fabric](PortIndex at, const smp::MlnxExtPortInfo& info) { take_fdr10(fabric.subnet, at, info); };
    bool is_sa_silent = false;
    how.find_paths = [&stack, &paths, &is_sa_silent] { return find_paths(stack, paths, is_sa_silent); };
    how.read_sa = [&stack, &writer, &is_sa_silent](mad::Transactor&) { return read_sa_part(stack, writer, is_sa_silent); };
    snapshot::Recording recording(stack.transactor(), fabric.subnet, writer);
    how.read_phy = [&](mad::Transactor&) { return read_phy_part(stack, recording, fabric.subnet, paths, vs_keys); };
    how.began = [&stack, &begun](Part part, std::uint64_t planned) {
      begun[part] = stack.loop().now();
      report_plan(stack.host(), part, planned);
    };
    how.ended = [&](Part part, snapshot::SurveyedPart done) {
      report.parts.push_back({part, std::move(done), seconds_since(stack, begun[part])});
      writer.put_part(name(part));
    };
    snapshot::FabricSurvey reading(recording, fabric, std::move(how));
    co_await snapshot::read_arrivals(recording, fabric.subnet, start);
    std::vector<Part> wanted;
    for (const snapshot::PartInfo& part : snapshot::all_parts) {
      if (is_wanted(part.part)) wanted.push_back(part.part);
    }
    co_await reading.read(std::move(wanted));
    std::ranges::sort(report.parts, {}, &PartRow::part);
    std::vector<subnet::Failure> failures;
    for (const PartRow& row : report.parts) {
      if (row.part != Part::topology) std::ranges::copy(row.read.failures, std::back_inserter(failures));
    }
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
