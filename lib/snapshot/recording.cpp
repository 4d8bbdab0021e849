// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/recording.hpp"

#include <algorithm>

#include "iba-gen/sa.hpp"

namespace ib::snapshot {
namespace {

/// Whether the answer to a query of the SA is a table that a snapshot keeps.
bool is_whole_table(const mad::Request& request) {
  if (request.method == mad::method::get) return request.attribute_id == mad::ClassPortInfo::attribute_id;
  return request.method == mad::method::get_table &&
         (request.component_mask == 0 || request.attribute_id == sa::PathRecord::attribute_id);
}

}  // namespace

Recording::Recording(mad::Transactor& below) : Transactor(below.end_port()), below_(below) { sa_path() = below.sa_path(); }

void Recording::record(const subnet::Subnet& subnet, Writer& writer) {
  subnet_ = &subnet;
  writer_ = &writer;
}

mad::Task<mad::Result<mad::Reply>> Recording::try_call(const mad::Request& request) {
  mad::Result<mad::Reply> result = co_await below_.try_call(request);
  if (writer_ != nullptr) store(request, result);
  co_return result;
}

void Recording::store(const mad::Request& request, const mad::Result<mad::Reply>& result) {
  AnswerKey key;
  if (request.mgmt_class == mad::mgmt_class::sa) {
    if (!is_whole_table(request)) return;
    key = sa_key(request.attribute_id);
    if (result) return writer_->put_answer(key, result->bytes);
  } else {
    if (request.method != mad::method::get) return;
    const Place place = place_of(*subnet_, request.path);
    if (place.node == subnet::none) return;
    key = key_of(*subnet_, place, request);
  }
  if (!result) return writer_->put_failure(key, result.error());
  const Bytes payload = result->payload();
  writer_->put_answer(key, payload.first(std::min(payload.size(), mad::data_area(request.mgmt_class).size)));
}

}  // namespace ib::snapshot
