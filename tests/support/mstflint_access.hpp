// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The ways to a device that mstflint's programs need besides GeneralInfo and AccessRegister, as far as they need them to read: registers in
// TLVs (attribute 0xff52 of class 0x0a, a Set for reading, too), and a few words of the configuration space (attribute 0x50). ibtool uses
// neither. What mstflint writes is acknowledged and changes no register.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/bytes.hpp"
#include "iba-gen/smp.hpp"
#include "support/vendor_agent.hpp"

namespace ibtest {

/// Whether a request carries a register in TLVs.
bool has_register_tlv(ib::Bytes request);
/// The same request as AccessRegister.
VendorAgent::Mad as_access_register(ib::Bytes request);
/// The answer with TLVs from that of AccessRegister. A register that the agent does not know answers with zeros.
VendorAgent::Mad with_register_tlv(ib::Bytes request, ib::Bytes answer);

/// The configuration space of a device: its type, and the mailbox that finds no command.
class ConfigSpace {
 public:
  explicit ConfigSpace(ib::smp::NodeType type);
  static bool is_access(ib::Bytes request);
  VendorAgent::Mad answer(ib::Bytes request);

 private:
  std::uint32_t read(std::uint32_t address);
  void write(std::uint32_t address, std::uint32_t value);

  std::map<std::uint32_t, std::uint32_t> words_;
};

}  // namespace ibtest
