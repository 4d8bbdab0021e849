// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The vendor's agent (class 0x0a) for a node of a FakeFabric: GeneralInfo and registers, which it answers from a table of values, with the
// faults that devices have. Fields come from the descriptors of iba-defs.
//
//   FakeRegisters& registers = run_registers(fabric, leaf);
//   registers.set<reg::PddrModule>(1, "vendor_sn", "MT2030FT00042"); registers.busy_next = 2;
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "iba-gen/mlx.hpp"
#include "iba/struct_info.hpp"
#include "support/fake_fabric.hpp"

namespace ibtest {

inline constexpr std::uint8_t vendor_class = 0x0a;

class FakeRegisters {
 public:
  FakeRegisters(FakeFabric& fabric, FakeFabric::NodeId node) : fabric_(fabric), node_(node) {}
  FakeRegisters(const FakeRegisters&) = delete;
  FakeRegisters& operator=(const FakeRegisters&) = delete;

  /// Gives a field of a register a value, as text or as a number. `index` is the port, the sensor or the fan that the register is of; 0 for
  /// a register of the device. Throws std::invalid_argument for a field that is not there.
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

  ib::mlx::Is4GeneralInfo general;       ///< with AccessRegister by default
  bool has_general = true;               ///< otherwise GeneralInfo is refused
  std::set<std::uint32_t> unsupported;   ///< registers that are refused with status 0x14
  std::uint32_t answers_instead = 0;     ///< the register in each answer, instead of the requested one; 0: the requested one
  bool wrong_port = false;               ///< each answer is for the port after the requested one
  std::set<std::uint32_t> silent_about;  ///< registers about which it does not answer

  /// Requests as they came.
  std::vector<FakeFabric::Answer> asked;
  /// The number of requests for a register.
  std::size_t times(std::uint32_t register_id) const;
  /// The number of requests of the vendor's class.
  std::size_t times() const { return asked.size(); }

  /// For the fabric.
  std::optional<FakeFabric::Answer> answer(ib::Bytes request);
  /// Its place in the fabric: faults (silence, busy) and numbers of requests.
  FakeFabric::Service& service() { return fabric_.node(node_).services.at(vendor_class); }

 private:
  std::vector<std::uint8_t>& bytes_of(const ib::StructInfo& layout, unsigned index);
  FakeFabric::Answer register_answer(ib::Bytes request) const;

  FakeFabric& fabric_;
  FakeFabric::NodeId node_;
  std::map<std::pair<const ib::StructInfo*, unsigned>, std::vector<std::uint8_t>> values_;
};

/// Has a node run such an agent; its VendorID becomes Mellanox's. The fabric owns it.
FakeRegisters& run_registers(FakeFabric& fabric, FakeFabric::NodeId node);

}  // namespace ibtest
