// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Builds answers from a stored table, in the form of the answers of an SA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mad/error.hpp"
#include "mad/request.hpp"

namespace ib::sa {

inline constexpr std::size_t sm_key_at = 36, sm_key_size = 8;  ///< bytes of a MAD of the SA (IBA 15.2.1.1)

/// Collects the records that answer a SubnAdmGet or SubnAdmGetTable.
class TableReply {
 public:
  /// `request` must outlive this object. Records have `step` bytes each, a multiple of 8: SAs differ in their size.
  TableReply(const mad::Request& request, std::size_t step);

  /// Adds a record, cut or filled with zeros to `step` bytes. Returns its bytes, which may be changed until the next call.
  MutableBytes add(Bytes record);
  std::size_t size() const { return count_; }

  /// The answer. For a Get, no record is the error "No records", and several are "Too many records" (IBA C15-0.1.30). A table may
  /// be empty. `torn` says that there may be more records. This object must not be used afterwards.
  mad::Result<mad::Reply> finish(bool torn);

 private:
  const mad::Request& request_;
  std::size_t step_, count_ = 0;
  std::vector<std::uint8_t> mad_;
};

/// The error of an SA that answers `request` with `status` (all 16 bits).
std::shared_ptr<const mad::MadError> error_reply(const mad::Request& request, std::uint16_t status);

}  // namespace ib::sa
