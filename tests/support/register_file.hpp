// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text files that say what the vendor's agents of devices answer. A line is of one value or of one fault; what comes later has precedence:
//
//   switch              PDDRModule[up].vendor_name = "Mellanox"   # text
//   any                 PPCNTStatistics[edr].raw_ber_magnitude = 9
//   0x506b4b0300100000  PDDRModule[1].temperature = 74.5*256
//   ca                  PDDRModule[up].rx_power = -2,-2,-3,-2      # the elements of an array
//   switch              IS4GeneralInfo.ext_major = 15
//   0x506b4b0300100000  PPCNTPhysical[1] = random 7 8              # from byte 8 of the register on, from the seed 7
//   0x506b4b0300100004  unsupported PPCNT
//
// The first word is `any`, `switch`, `ca`, `router` or a NodeGUID. In brackets stands the port, sensor or fan (of an attribute of the SMA:
// the modifier) that the register is of: a number, a range `1-8`, `up` or `down` for all ports in this state, the speed of all links with
// it, or `*`. A register of the device has no brackets. In a text, %g is the end of the NodeGUID and %p the port, %% a percent sign.
// Faults: silent, silent REGISTER…, unsupported REGISTER…, short REGISTER…, busy COUNT, wrong_register REGISTER, wrong_port,
// no_general_info, vs_key NUMBER.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "iba-gen/smp.hpp"
#include "support/vendor_agent.hpp"

namespace ibtest {

class RegisterFile {
 public:
  /// Adds the lines of a text. Throws std::invalid_argument, which names the line, for what is not as above.
  void read(std::string_view text);

  /// The agent of a device: its GeneralInfo and its faults.
  VendorAgent agent(const ib::smp::NodeInfo& node) const;

  /// Gives an agent the values of one register. `port`: the PortInfo of the port that the register is of, null if it is of none.
  void fill(VendorAgent& agent, const ib::StructInfo& layout, unsigned index, const ib::smp::NodeInfo& node,
            const ib::smp::PortInfo* port) const;

 private:
  enum class Whose : std::uint8_t { any, channel_adapter, switch_, router, node };
  enum class Which : std::uint8_t { any, range, up, down, speed };
  struct Random {
    unsigned seed{}, from{};
  };
  struct Line {
    Whose whose{};
    std::uint64_t guid{};
    // A value…
    const ib::StructInfo* layout{};
    Which which{};
    unsigned first{}, last{};  ///< of a range
    std::string speed{};
    std::string field{};
    std::variant<std::vector<std::uint64_t>, std::string, Random> value{};
    // …or a fault.
    std::string fault{};
    std::vector<std::uint64_t> numbers{};
  };
  static Line parse(std::string_view line);
  static void parse_value(Line& line, std::string_view place, std::string_view value);
  static std::string_view parse_index(Line& line, std::string_view place);
  static void parse_fault(Line& line, const std::vector<std::string>& words);
  static bool is_of(const Line& line, const ib::smp::NodeInfo& node);
  static bool is_of(const Line& line, unsigned index, const ib::smp::PortInfo* port);
  static void apply_fault(VendorAgent& agent, const Line& line);

  std::vector<Line> lines_;
};

}  // namespace ibtest
