// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Asks the subnet administrator: for the switches of the subnet, a table, and for the path to the port at a LID:
// query_sa LID. A Query sets a component of the record and its bit of the component mask together.
#include <fmt/core.h>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"
#include "sa/resolve.hpp"
#include "sa/subn_adm.hpp"

using namespace ib;

async::Task<> list_switches(mad::Transactor& mads) {
  sa::NodeRecord::Query query;
  query.node_type(smp::NodeType::switch_);
  const auto table = co_await sa::try_subn_adm_get_table(mads, query);
  if (!table) table.error().raise();
  for (const sa::NodeRecord& record : table->records) {
    const std::string name = in_quotes(fixed_text(record.node_description.node_string));
    fmt::print("switch {} LID {} {}\n", to_text(record.node_info.node_guid), to_text(record.lid), name);
  }
  if (table->torn) fmt::print("The answer ends within a record: there may be more.\n");
}

async::Task<> find_path(mad::Transactor& mads, Lid lid) {
  path::IbPath target;
  target.dlid = lid;
  sa::PathResolver resolver(mads);
  const path::Path path = co_await resolver.mad_path(target);
  fmt::print("{}, rate code {}\n", to_text(path), path.ib().rate);
}

async::Task<> ask(mad::Transactor& mads, Lid lid) {
  co_await list_switches(mads);
  co_await find_path(mads, lid);
}

int main(int argc, char** argv) {
  const sys::DeviceList devices = sys::DeviceList::read();
  try {
    async::Loop loop;
    mad::Rpc mads(loop, mad::open_umad(devices.default_end_port()));
    loop.run(ask(mads, parse_lid(argc > 1 ? argv[1] : "").value_or(mads.end_port().lid)));
  } catch (const sa::PathNotFound& error) {
    fmt::print(stderr, "Nobody is there: {}\n", error.message());
    return 1;
  }
}
