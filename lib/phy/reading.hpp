// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads registers of the devices of a fabric by AccessRegister, a GMP of the vendor's class with the method Get: no request changes a
// device. Only devices of vendors that are known for it get requests. GeneralInfo says once a device which it is, and whether it answers
// AccessRegister. Registers run in a device's firmware, so that a device has at most two requests in flight.
//
// A device that is silent to GeneralInfo, or to its first register, gets no further request: devices with a VS_Key drop each request and
// count a violation. A key goes only to a LID at which the device itself has answered a NodeInfo in this reading. A register that one
// device refuses as not supported is not requested of any device of this type again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iba-gen/mlx.hpp"
#include "mad/transactor.hpp"
#include "phy/planes.hpp"
#include "phy/port_row.hpp"
#include "phy/vs_keys.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/port_paths.hpp"

namespace ib::phy {

/// What is known of a device's answers.
enum class DeviceState : std::uint8_t {
  read,              ///< GeneralInfo was read, and registers can be
  no_registers,      ///< GeneralInfo was read, and does not list AccessRegister
  other_vendor,      ///< the device got no request
  not_requested,     ///< nor did this one: ReadingOptions::most_requests were sent, or the reading ended before
  unreachable,       ///< no GMP reaches it, or two ports claim its LID, or this is not known to be its own, so that its VS_Key is not sent
  silent,            ///< it does not answer
  refused,           ///< GeneralInfo was refused
  not_read,          ///< the stored fabric that answers does not have its registers
  stopped_answering  ///< it fell silent after some registers, and got no further request
};

struct DeviceRow {
  subnet::NodeIndex node = subnet::none;
  DeviceState state = DeviceState::not_requested;
  std::optional<Firmware> firmware;
};

struct Sensor {
  std::uint16_t index{};
  std::string name;                                          ///< empty if the device gives none; not escaped
  std::optional<double> celsius{}, greatest{}, limit{};      ///< now, since it was reset, and where the device raises an alarm
  std::uint16_t raw_celsius{}, raw_greatest{}, raw_limit{};  ///< the same in the register
};
struct Fan {
  std::uint8_t index{};
  std::optional<unsigned> rpm{};
  std::optional<bool> is_below_limit{};
  std::uint16_t raw_rpm{};  ///< in the register
};
struct EnvironmentRow {
  subnet::NodeIndex node = subnet::none;
  std::vector<Sensor> sensors;
  std::vector<Fan> fans;
  std::string part_number, serial_number;  ///< of the board, with ReadingOptions::board; empty if not read; not escaped
};

/// What is read of a device besides GeneralInfo.
enum class ReadingScope : std::uint8_t {
  nothing,
  ports,
  environment,
  ports_and_environment,  ///< the environment of switches
};

/// A set of registers of ports: a bit for each Part.
using Parts = std::uint8_t;
template <class... T>
constexpr Parts parts_of(T... part) {
  return static_cast<Parts>(((1U << static_cast<unsigned>(part)) | ... | 0U));
}
inline constexpr Parts usual_parts =
    parts_of(Part::operation, Part::troubleshooting, Part::module, Part::link_down, Part::physical, Part::statistics);

struct ReadingOptions {
  const subnet::PortPaths* paths{};  ///< to the devices
  ReadingScope wanted = ReadingScope::ports;
  Parts parts = usual_parts;        ///< the registers of ports, besides the histogram
  const Planes* planes{};           ///< each plane of a port is read besides the port itself; null: no plane is
  Parts plane_parts = usual_parts;  ///< the registers of planes, besides the histogram
  bool received_bits{};             ///< keeps Reading::received_bits
  bool histogram{};                 ///< the FEC histogram of ports too: two more requests a port
  std::size_t devices = 32;         ///< the greatest number of devices that are read at once, each by at most two requests
  bool tries_once{};                ///< a request that is not answered is not repeated
  bool is_stored{};                 ///< a stored fabric answers, which is not waited for where a device was busy
  bool board{};                     ///< part and serial number of boards, with the environment
  unsigned per_second = 2000;       ///< the greatest number of requests a second
  const VsKeys* vs_keys{};          ///< of the devices; may be null: none has one
  /// Devices that were silent in an earlier reading of this run: they get no request. Those of this one are added. May be null.
  std::set<subnet::NodeIndex>* silent{};
  mad::Transactor* smps{};  ///< sends SMPs to the nodes themselves; null: no VS_Key is sent
  /// No further request is sent after so many. One that is repeated because the device is busy counts again.
  std::size_t most_requests = ~std::size_t{0};
  /// Called when a port is finished, or a device where no ports are read.
  std::function<void(std::size_t done, std::size_t of)> progress;
};

struct Reading {
  std::vector<DeviceRow> devices;  ///< in the order of the first port of each
  /// In the order of the argument `ports`, if they are wanted. The planes of a port stand behind it.
  std::vector<PortRow> ports;
  std::vector<std::uint64_t> received_bits;  ///< by row of `ports`, if it is wanted: bits that the port received since it was cleared
  std::vector<EnvironmentRow> environments;  ///< of the devices that have sensors or fans, if that is wanted
  subnet::Failures failures;                 ///< devices that do not answer, and requests that were refused or answered wrongly
};

/// Reads the devices of `ports`, and these ports. `subnet` and the paths must outlive the task.
async::Task<Reading> read_phy(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<subnet::PortIndex> ports,
                              ReadingOptions options);
/// As above, into `into`, which must outlive the task and always has what was read so far: the task may be destroyed before it ends.
async::Task<> read_phy_into(Reading& into, mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<subnet::PortIndex> ports,
                            ReadingOptions options);

/// End ports whose LID another port in use claims too, with such a LID. It is not known which of these answers at the LID, so that no GMP
/// of them is read. A port to which no packets can be sent contests no LID (subnet::contested_lids()).
using ContestedPorts = std::map<subnet::PortIndex, Lid>;
ContestedPorts contested_ports(const subnet::Subnet& subnet);
/// How many ports claim a contested LID.
std::size_t claimants(const subnet::Subnet& subnet, Lid lid);

/// A number in a register that cannot be. It is not known (phy/values.hpp); this is what the register has, for people who want to find out.
struct ImpossibleValue {
  std::string key;    ///< the value as JSON calls it: "module.rx_power_dbm[2]"
  std::string bytes;  ///< of the register: "0xfc19"
  std::string why;    ///< as a phrase: "not from -40 to 20 dBm (CMIS: …)"
};

/// Of what was read of a port. A value that the device does not measure is none of them.
std::vector<ImpossibleValue> impossible_values(const PortRow& row);
/// Of the sensors and fans of a device.
std::vector<ImpossibleValue> impossible_values(const EnvironmentRow& row);

}  // namespace ib::phy
