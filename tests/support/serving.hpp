// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What servers of tests need beside those of the product: services by an attribute, and tables of subnet administration.
#pragma once

#include <vector>

#include "mad/rmpp/rmpp.hpp"
#include "mad/server.hpp"

namespace ibtest {

/// The Service for requests of attributes like T: the class, version and OUI of T, and all methods.
template <class T>
constexpr ib::mad::Service service_of() {
  ib::mad::Service service;
  service.mgmt_class = T::mgmt_class;
  service.class_version = T::mgmt_class_version;
  if constexpr (requires { T::vendor_oui; }) service.oui = T::vendor_oui;
  return service;
}

/// Answers a SubnAdmGetTable, SubnAdmGetTraceTable or SubnAdmGetMulti with records of one type.
template <class T>
void send_table(ib::mad::Server& server, const ib::mad::Incoming& incoming, const std::vector<T>& records) {
  constexpr std::size_t step = (T::wire_size + 7) / 8 * 8;
  std::vector<std::uint8_t> mad = incoming.answer_header();
  const std::size_t begin = mad.size();
  ib::mad::set_whole(mad);
  ib::store_be(&mad[16], static_cast<std::uint16_t>(T::attribute_id));
  ib::store_be(&mad[ib::mad::attribute_offset_offset], static_cast<std::uint16_t>(records.empty() ? 0 : step / 8));
  mad.resize(begin + step * records.size());
  for (std::size_t i = 0; i < records.size(); ++i) records[i].pack(ib::MutableBytes(mad).subspan(begin + step * i, T::wire_size));
  server.send(incoming, mad);
}

}  // namespace ibtest
