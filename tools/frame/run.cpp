// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// From the command line to the exit status: choose the dialect by the name the program was called by, construct the named command, let it
// set up its options, run it, and turn an error into a message and an exit status.
#include "tools/frame/run.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "async/loop.hpp"
#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "http/server.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "mad/packet.hpp"
#include "mad/rpc_names.hpp"
#include "report/structure.hpp"
#include "snapshot/cache.hpp"
#include "subnet/set/set_guard.hpp"
#include "tools/build_info.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/help.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

std::string last_component(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

/// The names that lead to the program: how it was called, the executable, and the links from there on.
std::vector<std::string> names_on_the_way(std::string_view called, const World& world) {
  constexpr unsigned most_links = 40;  // as Linux follows
  std::vector<std::string> names{last_component(called)};
  std::string path = world.executable;
  if (path.empty()) return names;
  names.push_back(last_component(path));
  for (unsigned links = 0; world.read_link && links < most_links; ++links) {
    const std::optional<std::string> next = world.read_link(path);
    if (!next || next->empty()) break;
    path = next->front() == '/' ? *next : path.substr(0, path.rfind('/') + 1) + *next;
    names.push_back(last_component(path));
  }
  return names;
}

/// Prints a text that was requested instead of a run. Throws SysError if stdout fails.
int print(const World& world, std::string_view text) {
  TextOut out(world.out, world.log);
  out.write(text);
  out.finish();
  return 0;
}

int print_version(const World& world) {
  const std::string_view lacks = http::can_load ? "" : "Static: without the HTTP server of ibtool exporter (--once and --textfile work).\n";
  return print(world, fmt::format("ibtool {}\n{}", version, lacks));
}

/// With --stats: prints on stderr how many requests were planned, how many were sent, and why they were more.
void print_stats(const Stack& stack) {
  if (!stack.host().options().stats || !stack.is_open()) return;
  static const mad::Stats nothing_sent;
  const mad::Stats* stats = stack.stats() != nullptr ? stack.stats() : &nothing_sent;
  std::string text;
  const auto add = [&text](std::string_view kind, std::string_view what, std::uint64_t count) {
    if (count != 0) text += fmt::format("mads {}: {} {}\n", kind, what, count);
  };
  std::uint64_t planned = stack.plan().plan - stack.plan().requested;
  for (const auto& [reason, count] : stack.plan().beyond) add("beyond plan", reason, count);
  for (const auto& [reason, count] : stats->first_tries) {
    if (reason != mad::requested) add("beyond plan", reason, count);
    if (reason == mad::requested) planned += count;
  }
  add("beyond plan", "no answer", stats->retries_lost);
  add("beyond plan", "busy", stats->retries_busy);
  add("beyond plan", "further segments of requests", stats->request_segments);
  add("beyond plan", "acknowledgements of segments", stats->acks);
  add("received", "late", stats->late);
  add("received", "unexpected", stats->unexpected);
  add("received", "contradictory", stats->invalid);
  stack.host().log().print(fmt::format("mads planned: {}\nmads sent: {}\n{}", planned, stats->sent(), text));
}

/// Returns whether the node was read.
async::Task<bool> run_on(const NamedPath& node, const WorkOnNode& run, bool has_result, Session& session, Emit& emit) {
  if (has_result) emit.begin_target(called(node.name, node.path), node.name);
  try {
    async::Task<> work = run(node);
    co_await explained(session.stack(), std::move(work));
  } catch (const UsageError&) {  // is one on each node
    emit.text().withdraw();
    throw;
  } catch (const Error& error) {
    emit.text().flush();
    session.host().report(error);
    if (has_result) emit.end_target(&error);
    co_return false;
  }
  if (has_result) emit.end_target(nullptr);
  co_return true;
}

/// Runs a command when the nodes are known that its targets name; once for each node that a pattern of names fits.
async::Task<> find_names_and_run(Command& command, Session& session, Emit& emit) {
  Targets& targets = session.targets();
  if (!command.reports_down_port() || !session.stack().is_port_down()) co_await targets.find_names();
  if (!targets.has_pattern()) {
    co_await command.run(session, emit);
    co_return;
  }
  const std::vector<NamedPath> nodes = co_await targets.nodes_of_pattern();
  const WorkOnNode run = [&](const NamedPath& node) {
    targets.choose(node);
    return command.run(session, emit);
  };
  co_await run_for_each(nodes, run, session, emit, command.gathers_rows() ? &command : nullptr);
}

/// The parts of a Session.
struct Parts {
  Parts(const World& world, Dialect dialect, CommonOptions options, async::Loop& loop)
      : manners(stack, dialect), host(world, std::move(options), &manners), stack(host, loop, &manners), targets(stack) {}

  Manners manners;
  Host host;
  Stack stack;
  Targets targets;
  Session session{host, stack, manners, targets};
};

/// "PerformanceSet(PMPortCounters)".
std::string request_name(const subnet::PlannedSet& set) {
  const mad::HeaderView header(set.mad);
  const std::string_view known = mad::rpc_name(header.mgmt_class(), header.method());
  const StructInfo* info = set.attribute();
  return fmt::format("{}({})",
                     known.empty() ? fmt::format("method 0x{:02x} of class 0x{:02x}", header.method(), header.mgmt_class()) : known,
                     info != nullptr ? std::string(info->iba_name) : fmt::format("0x{:04x}", header.attribute_id()));
}

/// Adds " NAME=VALUE" for each field that is not zero.
void add_fields(std::string& text, Bytes bytes, const StructInfo& info, Keys keys, const std::string& before = {}) {
  for (const FieldInfo& field : info.fields) {
    for (std::uint32_t at = 0; !field.reserved && at < field.count; ++at) {
      const std::string name = before + std::string(field.iba_name) + (field.count > 1 ? fmt::format("[{}]", at) : "");
      if (const StructInfo* nested = field.structure) {
        add_fields(text, field_bytes(bytes, field, at), *nested, keys, name + '.');
        continue;
      }
      const bool aligned = field.bits % 8 == 0 && field.bit_offset % 8 == 0;
      if (aligned ? is_zero(field_bytes(bytes, field, at)) : read_number(bytes, field, at) == 0) continue;
      const bool hides = keys == Keys::hidden && holds_secret(bytes, field);
      text += fmt::format(" {}={}", name, hides ? "(not displayed)" : field_text(bytes, field, at));
    }
  }
}

/// The Sets that a run with --dry-run would have sent, in their order; in a text a line for each.
struct PlannedSets final : Report {
  PlannedSets(std::vector<subnet::PlannedSet> planned, Keys shown) : sets(std::move(planned)), keys(shown) {}

  void visit(report::Sink& sink) const override {
    sink.value("dry_run", true);
    sink.objects("sets", sets, [&](const subnet::PlannedSet& set) {
      sink.value("request", request_name(set));
      path::visit(sink, "path", set.path);
      sink.value_or_null("node_guid", set.node_guid != Guid{}, set.node_guid);
      sink.text_or_null("node_description", set.description);
      sink.value("modifier", mad::HeaderView(set.mad).attribute_modifier());
      if (const StructInfo* attribute = set.attribute()) return report::visit_attribute(sink, set.data(), *attribute, keys);
      sink.null("attribute");
      sink.null("data");
    });
  }

  void text(TextOut& out) const override {
    for (const subnet::PlannedSet& set : sets) {
      std::string fields;
      if (const StructInfo* attribute = set.attribute()) add_fields(fields, set.data(), *attribute, keys);
      std::string who = set.node_guid == Guid{} ? std::string() : ' ' + to_text(set.node_guid);
      if (!set.description.empty()) who += ' ' + in_quotes(set.description);
      out.print("Would send {} {} {}{} by {}:{}\n", request_name(set), mad::HeaderView(set.mad).attribute_modifier(),
                set.is_elsewhere ? "for" : "to", who, path::to_text(set.path), fields);
    }
  }

  std::vector<subnet::PlannedSet> sets;
  Keys keys;
};

/// Runs the command of ibtool's dialect and returns its exit status.
int execute(Command& command, const CommandInfo& info, const OptionSet& set, CommonOptions common, const std::vector<std::string>& operands,
            const World& world) {
  Emit emit(Dialect::ibtool, common.format, info.name, world.out, world.log);
  async::Clock real_time;
  async::Loop loop(world.clock != nullptr ? *world.clock : real_time);
  Parts parts(world, Dialect::ibtool, std::move(common), loop);
  Host& host = parts.host;
  Stack& stack = parts.stack;
  const auto fail = [&](const Error& error) {
    emit.fail(error);
    host.report(error);
    return static_cast<int>(error.exit_status());
  };
  try {
    try {
      parts.targets.bind(set, operands);
    } catch (const MissingOperands& error) {
      throw UsageError(fmt::format("{} (usage: {})", error.message(), usage_line(info, set)));
    }
    emit.set_table_rows(host.options().dry_run ? std::string_view() : command.table_rows(),  // a list of Sets is no table
                        parts.targets.has_pattern() && !command.gathers_rows());
    if (info.needs_fabric) stack.require_fabric(info.name);
    if (info.changes && !info.reports_changes) stack.sets().report = [&host](const subnet::PlannedSet& sent) { host.note(sent.done()); };
    loop.run(explained(stack, find_names_and_run(command, parts.session, emit)));
    if (host.options().dry_run) emit(PlannedSets(std::move(stack.sets().planned), host.options().keys));
    stack.save_cache();
    emit.finish();
    print_stats(stack);
    return static_cast<int>(emit.status());
  } catch (const snapshot::Outdated& error) {
    if (!world.refresh_cache && emit.withdraw()) throw;  // run_command() runs it again
    return fail(error);
  } catch (const Error& error) {  // within the session's lifetime, because errors refer to its end ports
    const int status = fail(error);
    print_stats(stack);
    return status;
  } catch (const std::exception& unexpected) {
    return fail(Error(unexpected.what()));
  }
}

/// The format that the last of the words --json and --format names, as far as these are spelt in full.
Format format_in(std::span<const std::string> words) {
  constexpr std::string_view option = "--format=";
  Format format = Format::text;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    const bool takes_next = word == "--format" && at + 1 < words.size();
    const std::string name = takes_next ? words[at + 1] : word.starts_with(option) ? word.substr(option.size()) : "";
    if (word == "--json" || word == "--json=document") format = Format::json;
    if (word == "--json=lines") format = Format::lines;
    if (const auto named = format_named(name)) format = *named;
  }
  return format;
}

/// Writes the JSON object of an error before the run, if `words` request JSON.
void refuse_in_json(const World& world, std::string_view command, std::span<const std::string> words, const Error& error) {
  const Format format = format_in(words);
  if (format == Format::json || format == Format::lines) Emit(Dialect::ibtool, format, command, world.out, world.log).fail(error);
}

int run_command(const CommandInfo& info, std::span<const std::string> args, const World& world) {
  CommandLine line(info, &world);
  line.common.program = info.name;
  apply_default_config(line.common);
  line.common.from = world.from;
  std::vector<std::string> operands;
  try {
    operands = line.set.parse(args);
  } catch (const OptionError& error) {
    refuse_in_json(world, info.name, args, error);
    world.log->error(fmt::format("{}: {} (see ibtool help {})", info.name, error.message(), info.name));
    return static_cast<int>(Exit::usage);
  }
  if (line.common.help) return print(world, command_help(info, line.set, world.help_width));
  if (line.common.version) return print_version(world);
  World again = world;
  try {
    return execute(*line.command, info, line.set, line.common, operands, world);
  } catch (const snapshot::Outdated& outdated) {
    world.log->warning(outdated.message() + "; it is read again");
    again.refresh_cache = true;
  }
  return run_command(info, args, again);
}

/// Runs `ibtool …`: finds the command, or handles the options of the program itself.
int run_ibtool(std::span<const std::string> args, const World& world) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") return print(world, overview(world.help_width));
  if (args[0] == "--version" || args[0] == "-V") return print_version(world);
  std::size_t at = 0;
  std::string_view name;
  const CommandInfo* info = nullptr;
  try {
    if (args[0].starts_with('-')) at = leading_options(args);  // options of all commands may stand before the name
    if (at >= args.size()) throw UsageError("No command is named (see ibtool help)");
    name = args[at];
    info = find_command(name);
    if (info == nullptr) throw no_such_command(name);
  } catch (const Error& error) {
    refuse_in_json(world, name, args, error);
    throw;
  }
  std::vector<std::string> words(args.begin(), args.end());
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  return run_command(*info, words, world);
}

/// Runs a program of infiniband-diags, but for its last output. Messages of failures go to stdout behind the results, as there.
int execute_diags(Command& command, const CommandInfo& info, std::string_view called, std::span<char* const> words, const World& world,
                  Emit& emit) {
  CommonOptions common = diags_defaults();
  common.world = &world;
  common.program = called;
  common.from = world.from;
  OptionSet set(called);
  command.diags_options(set, common);
  try {
    read_diags_line(set, common, words);
    async::Clock real_time;
    async::Loop loop(world.clock != nullptr ? *world.clock : real_time);
    Parts parts(world, Dialect::diags, common, loop);
    if (info.needs_fabric) parts.stack.require_fabric(info.name);
    loop.run(command.run(parts.session, emit));
    return emit.diags_status();
  } catch (const DiagsUsage& usage) {
    emit.text().flush();
    print_on_stderr(world, usage.message() + (set.is_perl() ? "" : "\n" + diags_usage(set, world.help_width)));
    if (set.is_perl()) emit.text().write(diags_usage(set, world.help_width));
    return 2;
  } catch (const DiagsExit& end) {
    emit.text().flush();
    // The text of --version goes to stderr. A failure to write it is a failure of the program.
    const bool was_printed = print_on_stderr(world, end.message()) || errno == EPIPE;
    return was_printed || end.status() != 0 ? end.status() : diags_failed;
  } catch (const UsageError& error) {
    if (common.from) {
      emit.text().flush();
      print_on_stderr(world, fmt::format("{}: {}\n", called, error.message()));
      return static_cast<int>(Exit::usage);
    }
    emit.text().write(failure_line(called, error.what()));
  } catch (const Error& error) {
    emit.text().write(failure_line(called, error.what()));
  }
  return diags_failed;
}

int run_diags(const CommandInfo& info, const std::string& called, std::span<char* const> words, const World& world) {
  Emit emit(Dialect::diags, Format::text, info.name, world.out, world.log);
  const std::unique_ptr<Command> command = info.make_diags();
  int status = execute_diags(*command, info, info.script != nullptr ? info.script->runs : std::string_view(called), words, world, emit);
  if (info.script != nullptr) {
    emit.text().write(info.script->last_words);
    status = 0;
  }
  try {
    emit.flush();
    return status;
  } catch (const SysError& error) {
    print_on_stderr(world, fmt::format("{}: standard output: {}\n", called, std::strerror(error.code())));
    return status == 0 ? diags_failed : status;
  }
}

/// The name of a program of infiniband-diags in its messages, if argv[0] is `called`. The original programs print the whole argv[0]. So
/// does this one if it is called by its path in a directory of programs (the last component is bin or sbin), because it is then an
/// installed program. For a link elsewhere the directory is left out.
std::string_view diags_program(std::string_view called) {
  const std::size_t slash = called.rfind('/');
  if (slash == std::string_view::npos) return called;
  const std::string last = last_component(called.substr(0, slash));
  return last == "bin" || last == "sbin" ? called : called.substr(slash + 1);
}

}  // namespace

async::Task<> run_for_each(const std::vector<NamedPath>& nodes, const WorkOnNode& run, Session& session, Emit& emit, Command* rows) {
  std::size_t read = 0;
  if (rows == nullptr && emit.json()) emit.sink().begin_array("targets");
  for (const NamedPath& node : nodes) {
    const bool is_read = co_await run_on(node, run, rows == nullptr, session, emit);
    if (is_read) ++read;
  }
  if (rows != nullptr) rows->emit_rows(session.host(), emit);
  if (rows == nullptr && emit.json()) emit.sink().end_array();
  if (read < nodes.size()) emit.raise(read == 0 ? Exit::failed : Exit::incomplete);
}

std::string called_name(std::string_view called, const World& world) {
  const std::string own = last_component(called);
  if (own.starts_with("ibtool") || find_command(own) != nullptr) return own;
  const std::vector<std::string> names = names_on_the_way(called, world);
  std::vector<std::string> candidates = names;
  for (const std::string& name : names) candidates.push_back(name.substr(0, name.find('.')));
  const auto known = std::ranges::find_if(candidates, find_command);
  if (known != candidates.end()) return *known;
  // Links to programs of infiniband-diags end at ibtool too: its own name comes last.
  const auto ours = std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("ibtool"); });
  return ours == names.end() ? std::string() : *ours;
}

std::size_t leading_options(std::span<const std::string> args) {
  CommonOptions common;
  OptionSet set;
  add_common(set, common, ~0U);
  add_general(set, common);
  std::size_t at = 0;
  while (at < args.size() && args[at].size() > 1 && args[at][0] == '-') at += set.takes_next(args[at]) ? 2 : 1;
  return at;
}

int run(std::span<char* const> argv, const World& outside) {
  Log log(outside.err);
  World world = outside;
  world.log = &log;
  const std::string_view called = argv.empty() ? std::string_view(world.executable) : argv[0];
  const std::string name = called_name(called, world);
  const std::span<char* const> words = argv.empty() ? argv : argv.subspan(1);
  const std::vector<std::string> args(words.begin(), words.end());
  try {
    if (name.starts_with("ibtool")) return run_ibtool(args, world);
    const CommandInfo* info = find_command(name);
    if (info == nullptr) {
      const UsageError error(fmt::format("This program is ibtool, and does not know what to do by the name of {}. It may also be called {}",
                                         in_quotes(last_component(called)), joined(legacy_names, ", ")));
      refuse_in_json(world, {}, args, error);
      throw error;
    }
    if (info->make_diags != nullptr) return run_diags(*info, printable_words(diags_program(called)), words, world);
    return run_command(*info, args, world);
  } catch (const Error& error) {
    print_error(log, error, 0);
    return static_cast<int>(error.exit_status());
  } catch (const std::exception& error) {
    log.error(error.what());
    return static_cast<int>(Exit::failed);
  }
}

}  // namespace ib::tools
