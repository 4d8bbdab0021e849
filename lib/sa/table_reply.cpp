// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/table_reply.hpp"

#include <algorithm>

#include "iba-gen/sa.hpp"
#include "mad/rmpp/rmpp.hpp"

namespace ib::sa {
namespace {

constexpr std::size_t method_at = 3, status_at = 4;  // IBA 13.4.2

std::size_t header_size() { return mad::data_area(mad::mgmt_class::sa).offset; }

/// The header of an answer to `request`. An SA answers with the SM_Key 0 (IBA C15-0.1.5).
std::vector<std::uint8_t> answer_header(const mad::Request& request) {
  std::vector<std::uint8_t> mad = mad::to_mad(request);
  mad.resize(header_size());
  mad[method_at] = mad::response_method(request.method);
  std::fill_n(mad.begin() + sm_key_at, sm_key_size, std::uint8_t{0});
  return mad;
}

/// Makes `mad` a whole answer to a SubnAdmGetTable, as after the reassembly of its segments. `mad` has the header of an SA's MAD and then
/// records, `step` bytes each, a multiple of 8. With `torn` true, the beginning of a missing record is added, so that table_rows() calls
/// the table torn.
void finish_table(std::vector<std::uint8_t>& mad, std::size_t step, bool torn) {
  constexpr std::uint8_t only = rmpp::flags::first | rmpp::flags::last;
  constexpr std::size_t counted_header = 20;  // of the SA header, counted in PayloadLength (IBA 13.6.2.3)
  if (torn) mad.push_back(0xff);
  const std::size_t begin = header_size(), size = mad.size() - begin;
  mad::Packet header{};
  std::copy_n(mad.begin(), begin, header.begin());
  mad::set_rmpp(header, rmpp::Type::data, only, rmpp::Status::success, 1, static_cast<std::uint32_t>(size + counted_header));
  store_be(&header[mad::attribute_offset_offset], static_cast<std::uint16_t>(size == 0 ? 0 : step / 8));
  std::copy_n(header.begin(), begin, mad.begin());
}

}  // namespace

TableReply::TableReply(const mad::Request& request, std::size_t step) : request_(request), step_(step), mad_(answer_header(request)) {}

MutableBytes TableReply::add(Bytes record) {
  const Bytes part = record.first(std::min(record.size(), step_));
  const std::size_t at = mad_.size();
  mad_.insert(mad_.end(), part.begin(), part.end());
  mad_.resize(at + step_);
  ++count_;
  return MutableBytes(mad_).subspan(at, step_);
}

mad::Result<mad::Reply> TableReply::finish(bool torn) {
  mad::Reply reply;
  if (request_.method != mad::method::get) {
    finish_table(mad_, step_, torn);
    reply.bytes = std::move(mad_);
    return reply;
  }
  constexpr unsigned class_specific = 8;
  if (count_ != 1)
    return error_reply(request_,
                       static_cast<std::uint16_t>((count_ == 0 ? status::no_records : status::too_many_records) << class_specific));
  mad_.resize(mad::packet_size);
  store_be(&mad_[mad::attribute_offset_offset], static_cast<std::uint16_t>(step_ / 8));
  reply.bytes = std::move(mad_);
  return reply;
}

std::shared_ptr<const mad::MadError> error_reply(const mad::Request& request, std::uint16_t status) {
  // An error carries the components of the request, as opensm's do.
  std::vector<std::uint8_t> sent = mad::to_mad(request), mad = answer_header(request);
  mad.insert(mad.end(), sent.begin() + static_cast<std::ptrdiff_t>(std::min(header_size(), sent.size())), sent.end());
  mad.resize(mad::packet_size);
  store_be(&mad[status_at], status);
  return mad::status_error(sent, mad, request.path);
}

}  // namespace ib::sa
