// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/group_records.hpp"

#include "sa/records.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/model/port_paths.hpp"

namespace ib::tools {

async::Task<std::vector<sa::MCMemberRecord>> read_group_records(Stack& stack, std::string& why) {
  std::vector<sa::MCMemberRecord> records;
  co_await stack.prepare_sa();
  mad::Transactor& transactor = stack.transactor();
  const path::IbPath& sa = transactor.sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) {
    why = subnet::no_sa_is_known;
    co_return records;
  }
  try {
    const sa::MCMemberRecord::Query query;
    const auto answer = co_await sa::try_subn_adm_get_table(transactor, query);
    if (!answer && sa::is_no_records(answer.error())) co_return records;
    if (!answer) {
      why = answer.error().message();
    } else if (answer->torn) {
      why = "the table of the subnet administrator did not arrive whole";
    } else {
      records = answer->records;
    }
  } catch (const SysError&) {
    throw;
  } catch (const Error& error) {  // an answer that contradicts itself, or without its end
    why = error.message();
  }
  co_return records;
}

}  // namespace ib::tools
