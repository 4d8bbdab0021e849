// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/each_target.hpp"

#include <exception>
#include <utility>

#include "mad/error.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace {

/// Explains the request that ends `work`.
async::Task<> explained(Stack& stack, async::Task<> work) {
  std::exception_ptr failure;
  try {
    co_await std::move(work);
  } catch (const mad::MadError&) {
    failure = std::current_exception();
  }
  if (failure) co_await rethrow_explained(stack, failure);
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

async::Task<> run_on_each(Command& command, Session& session, Emit& emit) {
  const std::vector<NamedPath> nodes = co_await session.targets().nodes_of_pattern();
  const WorkOnNode run = [&](const NamedPath& node) {
    session.targets().choose(node);
    return command.run(session, emit);
  };
  co_await run_for_each(nodes, run, session, emit, gathering(command));
}

async::Task<> find_names_and_run(Command& command, Session& session, Emit& emit) {
  if (!command.reports_down_port() || !session.stack().is_port_down()) co_await session.targets().find_names();
  if (session.targets().has_pattern()) {
    co_await run_on_each(command, session, emit);
  } else {
    co_await command.run(session, emit);
  }
}

}  // namespace

GathersRows* gathering(Command& command) {
  auto* rows = dynamic_cast<GathersRows*>(&command);
  return rows != nullptr && rows->gathers_rows() ? rows : nullptr;
}

async::Task<> run_for_each(const std::vector<NamedPath>& nodes, const WorkOnNode& run, Session& session, Emit& emit, GathersRows* rows) {
  std::size_t read = 0;
  if (rows == nullptr) emit.begin_targets();
  for (const NamedPath& node : nodes) {
    const bool is_read = co_await run_on(node, run, rows == nullptr, session, emit);
    if (is_read) ++read;
  }
  rows == nullptr ? emit.end_targets() : rows->emit_rows(session.host(), emit);
  if (read < nodes.size()) emit.raise(read == 0 ? Exit::failed : Exit::incomplete);
}

async::Task<> run_with_names(Command& command, Session& session, Emit& emit) {
  return explained(session.stack(), find_names_and_run(command, session, emit));
}

}  // namespace ib::tools
