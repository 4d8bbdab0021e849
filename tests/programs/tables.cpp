// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Asks the subnet administrator for whole tables, as a program on the library does, for test_tables.py. Prints a line for
// each: what it is, how many records came, or why none. Then a line of what that took.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "iba-gen/sa.hpp"
#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"
#include "programs/programs.hpp"
#include "sa/subn_adm.hpp"
#include "sys/device.hpp"

namespace ibtest::programs::tables {

using namespace ib;

namespace {

template <class Query>
mad::Task<> ask(mad::Rpc& rpc, std::string_view name, Query query) {
  std::string why;
  try {
    const auto records = co_await sa::subn_adm_get_table(rpc, query);
    fmt::print("{} {} whole\n", name, records.size());
  } catch (const mad::MadError&) {
    throw;
  } catch (const Error& error) {
    why = error.message();
  }
  if (!why.empty()) fmt::print("{} refused {}\n", name, why);
}

mad::Task<> request_all(mad::Rpc& rpc) {
  co_await ask(rpc, "nodes", sa::NodeRecord::Query{});
  co_await ask(rpc, "links", sa::LinkRecord::Query{});
  co_await ask(rpc, "paths", sa::PathRecord::Query{});
  sa::NodeRecord::Query one;
  one.lid(rpc.end_port().lid);
  co_await ask(rpc, "mine", one);
  sa::NodeRecord::Query none;
  none.lid(Lid{0xbff0});
  co_await ask(rpc, "nobody", none);
}

}  // namespace

int run(int /*argc*/, char** /*argv*/) {
  try {
    const auto devices = sys::DeviceList::read();
    async::Loop loop;
    mad::Rpc rpc(loop, mad::open_umad(devices.default_end_port()));
    loop.run(request_all(rpc));
    const mad::Stats& stats = *rpc.stats();
    fmt::print("sent {} acks {} segments {} strays {}\n", stats.sent(), stats.acks, stats.segments, stats.late + stats.unexpected);
  } catch (const Error& error) {
    fmt::print(stderr, "E: {}\n", error.what());
    return 3;
  }
  return 0;
}

}  // namespace ibtest::programs::tables
