// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/mstflint_access.hpp"

#include <algorithm>

#include "mad/packet.hpp"

namespace ibtest {
namespace {

using ib::Bytes;

constexpr std::uint16_t register_attribute = 0xff52, space_attribute = 0x50;
constexpr std::size_t attribute_at = 32;                              // of these attributes, behind the VS_Key
constexpr std::size_t operation_at = attribute_at, register_at = 52;  // the TLV of the operation, and the register in the TLV behind it
constexpr std::size_t register_bytes = 204, access_bytes = 220, access_at = 36;
constexpr std::uint8_t is_response = 0x80;  // in the third byte of the operation… of which the sixth has the method, its own bit in front

// Registers that iba-defs does not have: PLIB, PAOS and PMAOS
constexpr std::uint16_t port_numbers = 0x500a, port_status = 0x5006, module_status = 0x5012;

std::uint16_t attribute_id_of(Bytes mad) { return ib::load_be<std::uint16_t>(&mad[16]); }

VendorAgent::Mad acknowledged(Bytes request) {
  VendorAgent::Mad reply(request.begin(), request.end());
  reply[3] = ib::mad::response_method(request[3]);
  ib::store_be(&reply[4], std::uint16_t{0});
  return reply;
}

// Addresses in the configuration space
constexpr std::uint32_t device_id = 0xf0014, mailbox = 0x100000, mailbox_size = 0x100010, control = 0x73fc, command = 0x7000;
constexpr std::uint32_t semaphore = 0xa68f8, other_semaphore = 0xa52f8;

}  // namespace

bool has_register_tlv(Bytes request) { return request[1] == vendor_class && attribute_id_of(request) == register_attribute; }

VendorAgent::Mad as_access_register(Bytes request) {
  VendorAgent::Mad meant(request.begin(), request.end());
  meant[3] = ib::mad::method::get;
  ib::store_be(&meant[16], ib::mlx::AccessRegister::attribute_id);
  ib::store_be(&meant[20], std::uint32_t{ib::load_be<std::uint16_t>(&request[operation_at + 4])});
  std::fill(meant.begin() + attribute_at, meant.end(), std::uint8_t{0});
  std::copy_n(request.begin() + register_at, register_bytes, meant.begin() + access_at);
  return meant;
}

VendorAgent::Mad with_register_tlv(Bytes request, Bytes answer) {
  VendorAgent::Mad reply = acknowledged(request);
  reply[operation_at + 2] |= is_response;
  std::uint8_t* const value = &reply[register_at];
  const auto id = ib::load_be<std::uint16_t>(&request[operation_at + 4]);
  if (ib::load_be<std::uint16_t>(&answer[4]) == 0) {
    std::copy_n(answer.begin() + access_at, register_bytes, value);
  } else if (id == port_numbers) {
    value[3] = value[1];  // a local port has the number of its IB port
  } else if (id == port_status || id == module_status) {
    value[2] = static_cast<std::uint8_t>((value[2] & 0xf0U) | 1U);  // up; plugged in and enabled
  }
  return reply;
}

ConfigSpace::ConfigSpace(ib::smp::NodeType type) {
  constexpr std::uint32_t quantum = 0x24d, connectx7 = 0x218;
  words_[device_id] = type == ib::smp::NodeType::switch_ ? quantum : connectx7;
  words_[mailbox] = 0x01000000 | command;  // version 1, and where commands are put
  words_[mailbox_size] = 0;
  words_[command] = 0xffffffff;  // a command without an answer
}

bool ConfigSpace::is_access(Bytes request) { return request[1] == vendor_class && attribute_id_of(request) == space_attribute; }

std::uint32_t ConfigSpace::read(std::uint32_t address) {
  const std::uint32_t value = words_[address];
  if (address == semaphore || address == other_semaphore) words_[address] = 1;  // whoever reads zero has it
  return value;
}

void ConfigSpace::write(std::uint32_t address, std::uint32_t value) {
  constexpr std::uint32_t status = 0xffff0000;
  if (address == control) words_[address] = value & status;  // the busy bit goes: the command is done
  if (address == semaphore || address == other_semaphore) words_[address] = value;
}

/// The modifier has bits 15:0 and 23:16 of the first address, and the number of words.
VendorAgent::Mad ConfigSpace::answer(Bytes request) {
  const auto modifier = ib::load_be<std::uint32_t>(&request[20]);
  const std::uint32_t address = (modifier >> 24) << 16 | (modifier & 0xffffU);
  const std::size_t words = std::min<std::size_t>(modifier >> 16 & 0x3fU, access_bytes / 4);
  VendorAgent::Mad reply = acknowledged(request);
  for (std::size_t at = 0; at < words; ++at) {
    const auto each = static_cast<std::uint32_t>(address + 4 * at);
    std::uint8_t* const word = &reply[attribute_at + 4 * at];
    if (request[3] == ib::mad::method::set) {
      write(each, ib::load_be<std::uint32_t>(word));
    } else {
      ib::store_be(word, read(each));
    }
  }
  return reply;
}

}  // namespace ibtest
