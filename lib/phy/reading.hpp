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
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iba/types.hpp"
#include "mad/transactor.hpp"
#include "phy/port_row.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/port_paths.hpp"

namespace ib::phy {

// The VS_Keys of devices: what a protected device wants in each MAD of the vendor's class. They are secrets: no complaint repeats one.

class VsKeys {
 public:
  VsKeys() = default;
  explicit VsKeys(std::uint64_t key) : of_all_(key) {}

  /// Reads a file: one key for all devices, or a line of GUID and key for each, as opensm has them in guid2vskey. Empty lines and comments
  /// (#) are left out. Throws UsageError `FILE:LINE: REASON` for any other line and for a file without a key, and SysError.
  static VsKeys read(const std::string& path);

  /// The key of a device, by its NodeGUID or the GUID of its port; 0 if it has none.
  std::uint64_t of(Guid node, Guid port) const;
  bool any() const { return of_all_ != 0 || !by_guid_.empty(); }

 private:
  std::uint64_t of_all_{};
  std::map<Guid, std::uint64_t> by_guid_;
};

/// Requests the NodeInfo of the node at the end of `path`, for which a key is, and means this node by `path` from now on
/// (subnet::mean_node()). Returns the key of the node, or of the port that answered. Throws Error where no SMP shows which node it is,
/// subnet::WrongNode, and MadError if there is no answer: then no key may be sent.
async::Task<std::uint64_t> identify_for_key(mad::Transactor& smps, const VsKeys& keys, path::Path& path);

// How many planes the ports of devices have. From XDR on a port may be several planes of lanes, each with its own links and errors.
// ExtendedNodeInfo says so; the vendor's general capabilities say which device has that attribute. HierarchyInfo is not read: how its
// records are divided into selector and value is in no open source.

struct NodePlanes {
  unsigned count{};
  bool may_differ{};  ///< the device lets planes of a port go down one by one
};

struct Planes {
  std::map<NodeIndex, NodePlanes> of_node;  ///< the nodes with planes, which are at least two
  subnet::Failures failures;                ///< nodes that did not answer

  /// The number of planes of each port of a node; 0: its ports have none.
  unsigned count(NodeIndex node) const {
    const auto found = of_node.find(node);
    return found == of_node.end() ? 0 : found->second.count;
  }
};

/// Requests the planes of the nodes of a vendor with planes: one SMP each, and another one where the attribute is there.
/// `start` is the path from which the model was swept. `subnet` must outlive the task.
async::Task<Planes> read_planes(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                const std::vector<NodeIndex>& nodes);

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
  NodeIndex node = subnet::none;
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
  NodeIndex node = subnet::none;
  std::vector<Sensor> sensors;
  std::vector<Fan> fans;
  std::string part_number, serial_number;  ///< of the board, with ReadingOptions::board; empty if not read; not escaped
};

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
  bool histogram{};                 ///< the FEC histogram of ports too: two more requests a port
  std::size_t devices = 32;         ///< the greatest number of devices that are read at once, each by at most two requests
  bool tries_once{};                ///< a request that is not answered is not repeated
  bool is_stored{};                 ///< a stored fabric answers, which is not waited for where a device was busy
  bool board{};                     ///< part and serial number of boards, with the environment
  unsigned per_second = 2000;       ///< the greatest number of requests a second
  const VsKeys* vs_keys{};          ///< of the devices; may be null: none has one
  /// Devices that were silent in an earlier reading of this run: they get no request. The silent ones of this one are added. May be null.
  std::set<NodeIndex>* silent{};
  mad::Transactor* smps{};  ///< sends SMPs to the nodes themselves; null: no VS_Key is sent
  /// No further request is sent after so many. One that is repeated because the device is busy counts again.
  std::size_t most_requests = ~std::size_t{0};
  std::function<void(std::size_t done, std::size_t of)> progress;
};

struct Reading {
  std::vector<DeviceRow> devices;  ///< in the order of the first port of each
  /// In the order of the argument `ports`, if they are wanted. The planes of a port stand behind it.
  std::vector<PortRow> ports;
  std::vector<EnvironmentRow> environments;  ///< of the devices that have sensors or fans, if that is wanted
  subnet::Failures failures;                 ///< devices that do not answer, and requests that were refused or answered wrongly
};

/// Reads the devices of `ports`, and these ports. `subnet` and the paths must outlive the task.
async::Task<Reading> read_phy(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<PortIndex> ports,
                              ReadingOptions options);
/// As above, into `into`, which must outlive the task and always has what was read so far: the task may be destroyed before it ends.
async::Task<> read_phy_into(Reading& into, mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<PortIndex> ports,
                            ReadingOptions options);

/// End ports whose LID another port in use claims too, with such a LID. It is not known which of these answers at the LID, so that no GMP
/// of them is read. A port to which no packets can be sent contests no LID (subnet::contested_lids()).
using ContestedPorts = std::map<PortIndex, Lid>;
ContestedPorts contested_ports(const subnet::Subnet& subnet);
std::size_t claimants(const subnet::Subnet& subnet, Lid lid);

/// A number in a register that cannot be. It is not known; this is what the register has, for people who want to find out.
struct ImpossibleValue {
  std::string key;    ///< the value as JSON calls it: "module.rx_power_dbm[2]"
  std::string bytes;  ///< of the register: "0xfc19"
  std::string why;    ///< as a phrase: "not from -40 to 20 dBm (CMIS: …)"
};

/// Of what was read of a port. A value that the device does not measure is none of them.
std::vector<ImpossibleValue> impossible_values(const PortRow& row);
std::vector<ImpossibleValue> impossible_values(const EnvironmentRow& row);

// The rows of a reading by the ports and nodes of a model: of the one that was read, or of one that was swept later.

class Table {
 public:
  Table() = default;
  /// `reading` is of the ports of `now`; with `pairs` of an earlier model, whose counterparts in `now` these are.
  Table(std::shared_ptr<const Reading> reading, const subnet::Subnet& now, const subnet::Counterparts* pairs = nullptr);
  Table(std::shared_ptr<const Reading> reading, const subnet::Subnet& now, const subnet::Counterparts& pairs)
      : Table(std::move(reading), now, &pairs) {}

  bool is_read() const { return reading_ != nullptr; }
  const PortRow* find(PortIndex port) const;
  /// The rows of the planes of that port, from plane 1 on; empty if it has none, or if they were not read.
  std::span<const PortRow> planes(PortIndex port) const;
  const Firmware* firmware(NodeIndex node) const;
  /// Null if the node has no sensors or fans, or if they were not read.
  const EnvironmentRow* environment(NodeIndex node) const;

 private:
  std::shared_ptr<const Reading> reading_;
  std::vector<std::uint32_t> ports_, devices_, environments_;  ///< in the lists of the reading, by index of the model
};

}  // namespace ib::phy
