// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The agent of an NVIDIA device for the vendor's class (0x0a), GeneralInfo and registers, and for the vendor's attributes of its SMA. It
// answers from a table of values, with the faults that devices have. Fields come from the descriptors of iba-defs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"
#include "iba/struct_info.hpp"

namespace ibtest {

inline constexpr std::uint8_t vendor_class = 0x0a;

class VendorAgent {
 public:
  using Mad = std::vector<std::uint8_t>;

  /// Gives a field of a register, or of an attribute of the SMA, a value as text or as a number. `index` is the port, the sensor or the fan
  /// that the register is of, 0 for a register of the device, and the modifier of an attribute of the SMA. Throws std::invalid_argument for
  /// a field that is not there.
  void set(const ib::StructInfo& layout, unsigned index, std::string_view field, std::string_view text);
  void set(const ib::StructInfo& layout, unsigned index, std::string_view field, std::uint64_t number);
  template <class T, class V>
  void set(unsigned index, std::string_view field, const V& value) {
    set(T::info(), index, field, value);
  }
  /// Makes a register answer with zeros.
  template <class T>
  void add(unsigned index) {
    bytes_of(T::info(), index);
  }
  /// The bytes of a register, from the VS_Key on.
  ib::MutableBytes bytes(const ib::StructInfo& layout, unsigned index) { return bytes_of(layout, index); }
  /// Removes the values of a register.
  void remove(const ib::StructInfo& layout, unsigned index) { values_.erase({&layout, index}); }

  ib::mlx::Is4GeneralInfo general;       ///< what GeneralInfo answers
  bool has_general = true;               ///< otherwise GeneralInfo is refused
  std::set<std::uint32_t> unsupported;   ///< registers that are refused with status 0x14
  std::uint32_t answers_instead = 0;     ///< the register in each answer, instead of the requested one; 0: the requested one
  bool wrong_port = false;               ///< each answer is for the port after the requested one
  std::set<std::uint32_t> silent_about;  ///< registers about which it does not answer
  std::set<std::uint32_t> short_about;   ///< registers whose answers are cut after 64 bytes of the MAD
  bool is_silent = false;                ///< it answers nothing of the vendor's class
  unsigned busy_next = 0;                ///< so many requests for registers are answered with status Busy
  std::uint64_t vs_key = 0;              ///< requests of the vendor's class with another VS_Key are dropped; 0: none are

  /// Requests as they came.
  std::vector<Mad> asked;
  /// The number of requests for a register.
  std::size_t times(std::uint32_t register_id) const;
  /// The number of requests.
  std::size_t times() const { return asked.size(); }

  /// The answer to a whole MAD of 256 bytes; nothing: none is sent.
  std::optional<Mad> answer(ib::Bytes request);

 private:
  std::vector<std::uint8_t>& bytes_of(const ib::StructInfo& layout, unsigned index);
  std::optional<Mad> register_answer(ib::Bytes request);
  Mad smp_answer(ib::Bytes request) const;

  std::map<std::pair<const ib::StructInfo*, unsigned>, std::vector<std::uint8_t>> values_;
};

/// The port, sensor or fan that the data of a MAD (from byte 24) with this register is of; 0 for a register of the device.
unsigned index_in(ib::Bytes attribute, const ib::StructInfo& layout);

}  // namespace ibtest
