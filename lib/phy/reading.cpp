// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "async/group.hpp"
#include "iba/generic.hpp"
#include "mad/pace.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::phy {
namespace {

constexpr std::uint16_t register_not_supported = 0x14;  // a MAD status of AccessRegister
constexpr unsigned most_timeouts = 3;                   // after which a device gets no further request
constexpr unsigned busy_tries = 5;
constexpr unsigned most_planes = 15;  // that plane_ind has room for
constexpr std::chrono::milliseconds busy_pause{500};

bool is_not_read(const mad::MadError& error) { return dynamic_cast<const mad::NotRead*>(&error) != nullptr; }
/// Whether an answer came, and is of another register: so a snapshot keeps it.
bool is_of_other_register(const mad::MadError& error) {
  return dynamic_cast<const subnet::FalseAnswer*>(&error) != nullptr && dynamic_cast<const subnet::WrongNode*>(&error) == nullptr;
}
bool is_busy(std::uint16_t status) { return (status & mad::status::busy) != 0; }

struct DeviceProgress {
  std::size_t row{};                  ///< in Reading::devices
  PortIndex first = subnet::none;     ///< the first of its given ports
  std::vector<std::size_t> rows{};    ///< in Reading::ports
  std::optional<path::Path> path{};   ///< to the first of its ports that has one
  PortIndex end_port = subnet::none;  ///< to which `path` leads
  std::size_t next{};                 ///< in `rows`
  unsigned timeouts{}, answers{};     ///< of its registers
  bool is_slow{};                     ///< it was busy, or silent: others are read before it
  bool is_left{};                     ///< what is left of it is read after all other devices
  std::uint64_t type{};               ///< vendor and device ID
  std::set<Lid> own_lids{};           ///< at which it has answered in this reading
  std::set<std::uint16_t> refused{};  ///< statuses that were reported as failures of this device
};

class Reader {
 public:
  Reader(Reading& into, mad::Transactor& transactor, const subnet::Subnet& subnet, const std::vector<PortIndex>& ports,
         const ReadingOptions& options)
      : found_(into), transactor_(transactor), subnet_(subnet), ports_(ports), options_(options), contested_(contested_ports(subnet)) {}

  async::Task<> run() {
    prepare();
    const auto read = [this](DeviceProgress& device) { return read_device(device); };
    co_await async::for_each(devices_, std::max<std::size_t>(options_.devices, 1), read);
    is_last_round_ = true;
    remember_silent();
    const auto read_rest = [this](DeviceProgress& device) { return read_what_is_left(device); };
    co_await async::for_each(devices_, std::max<std::size_t>(options_.devices, 1), read_rest);
    sort(found_.failures, subnet_);
    const auto place = [this](const EnvironmentRow& row) { return std::ranges::find(found_.devices, row.node, &DeviceRow::node); };
    std::ranges::sort(found_.environments, {}, place);
  }

 private:
  void prepare() {
    std::map<NodeIndex, std::size_t> by_node;
    if (is_by_port()) found_.ports.reserve(ports_.size());
    for (const PortIndex port : ports_) {
      const NodeIndex node = subnet_.port(port).node;
      const auto [place, is_new] = by_node.emplace(node, devices_.size());
      if (is_new) {
        const smp::NodeInfo& info = subnet_.node(node).info;
        devices_.push_back({.row = found_.devices.size(), .first = port, .type = std::uint64_t{info.vendor_id} << 16 | info.device_id});
        found_.devices.push_back({.node = node, .state = DeviceState::not_requested, .firmware = {}});
      }
      DeviceProgress& device = devices_[place->second];
      take_path(device, port);
      const unsigned planes = options_.planes != nullptr ? std::min(options_.planes->count(node), most_planes) : 0;
      for (unsigned plane = 0; plane <= planes && is_by_port(); ++plane) {
        device.rows.push_back(found_.ports.size());
        PortRow& row = found_.ports.emplace_back();
        row.port = port;
        row.plane = static_cast<std::uint8_t>(plane);
      }
    }
    for (DeviceProgress& device : devices_) {  // the given ports may all be down, and the LID another port's
      const NodeIndex node = found_.devices[device.row].node;
      for (unsigned number = 1; number < subnet_.node(node).slots; ++number) take_path(device, subnet_.port_of(node, number));
    }
  }

  void remember_silent() {
    if (options_.silent == nullptr) return;
    for (const DeviceRow& device : found_.devices) {
      if (device.state == DeviceState::silent) options_.silent->insert(device.node);
    }
  }

  /// The path of requests to `port`; nothing if they do not reach it, or may reach another one.
  std::optional<path::Path> path_to(PortIndex port) const {
    if (options_.paths == nullptr || contested_.contains(subnet_.end_port_of(port))) return std::nullopt;
    return options_.paths->gmp(port);
  }

  void take_path(DeviceProgress& device, PortIndex port) {
    if (device.path) return;
    device.path = path_to(port);
    device.end_port = port;
  }

  void fail_without_path(PortIndex port) {
    if (options_.paths == nullptr) return;
    using Kind = subnet::Failure::Kind;
    const subnet::Node& node = subnet_.node(subnet_.port(port).node);
    const auto claimed = contested_.lower_bound(node.first_port);
    if (claimed == contested_.end() || claimed->first >= node.first_port + node.slots)
      return add_failure(Kind::no_answer, port, true, "", options_.paths->why_no_gmp(port));
    const Lid lid = claimed->second;
    add_failure(Kind::duplicate_lid, port, true, "", fmt::format("Not read: {} ports claim LID {}.", claimants(subnet_, lid), lid.value));
  }

  async::Task<> read_device(DeviceProgress& device) {
    const bool has_registers = co_await read_general(device);
    if (!is_by_port()) {
      if (has_registers && options_.wanted == ReadingScope::environment) co_await read_environment(device);
      finished();
    } else if (has_registers) {
      co_await read_port(device, found_.ports[device.rows[device.next++]]);  // shows whether the device answers
      co_await read_ports(device);
    } else {
      for (std::size_t i = 0; i < device.rows.size(); ++i) finished();
    }
  }

  /// Reads GeneralInfo. Returns whether the device has registers.
  async::Task<bool> read_general(DeviceProgress& device) {
    DeviceRow& row = found_.devices[device.row];
    const PortIndex first = device.first;
    if (!subnet::is_mellanox(subnet_.node(row.node).info)) {
      row.state = DeviceState::other_vendor;
      co_return false;
    }
    if (is_spent()) co_return false;
    if (options_.silent != nullptr && options_.silent->contains(row.node)) {
      row.state = DeviceState::silent;
      add_failure(subnet::Failure::Kind::no_answer, first, true, "GeneralInfo", "It did not answer before: no more was requested.");
      co_return false;
    }
    if (!device.path) {
      row.state = DeviceState::unreachable;
      fail_without_path(first);
      co_return false;
    }
    const bool can_send = co_await may_send(device, device.end_port, *device.path);
    if (!can_send) {
      row.state = DeviceState::unreachable;
      co_return false;
    }
    const StructInfo& info = mlx::Is4GeneralInfo::info();
    mlx::Is4GeneralInfo wanted;
    wanted.vs_key = key_of(device.end_port);
    const mad::Result<mad::Reply> answer = co_await get(device, *device.path, info, 0, wire::packed_vector(wanted));
    if (!answer) {
      const bool is_silent = mad::is_timeout(answer.error());
      row.state = is_silent ? DeviceState::silent : is_not_read(answer.error()) ? DeviceState::not_read : DeviceState::refused;
      if (is_busy(answer.error().status())) row.state = DeviceState::stopped_answering;
      // A device need not have GeneralInfo: only silence, being busy for ever, or nonsense is a failure.
      if (answer.error().status() == 0 || is_busy(answer.error().status())) add_failure(first, "GeneralInfo", answer);
      co_return false;
    }
    const auto general = mlx::Is4GeneralInfo::unpack(answer->payload());
    row.firmware = firmware_of(general);
    const bool has_registers = (general.capability_mask & mlx::general_capabilities::is_access_register_supported) != 0;
    row.state = has_registers ? DeviceState::read : DeviceState::no_registers;
    co_return has_registers;
  }

  std::uint64_t key_of(PortIndex port) const {
    if (options_.vs_keys == nullptr) return 0;
    return options_.vs_keys->of(subnet_.node(subnet_.port(port).node).guid(), subnet_.end_port_guid(port));
  }

  /// Whether the requests to a device may go to the LID of `port`, the end of `path`. A VS_Key is only for the device itself.
  async::Task<bool> may_send(DeviceProgress& device, PortIndex port, const path::Path& path) {
    const Lid lid = path.ib().dlid;
    if (key_of(port) == 0 || device.own_lids.contains(lid)) co_return true;
    path::Path to_node = path;
    if (options_.tries_once) to_node.ib().retries = 0;
    to_node.ib().expected_node_guid = subnet_.node(subnet_.port(port).node).guid();
    if (options_.smps == nullptr || !subnet::takes_smps(to_node)) {
      add_failure(subnet::Failure::Kind::no_answer, port, true, "", "The VS_Key is not sent: no SMP shows which node has the LID.");
      co_return false;
    }
    ++requests_;
    const mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(*options_.smps, to_node);
    if (found) {
      device.own_lids.insert(lid);
    } else if (const auto kind = subnet::kind_of(found.error()); kind == subnet::Failure::Kind::false_answer) {
      add_failure(kind, port, true, "NodeInfo", fmt::format("LID {} belongs to another node now: the VS_Key is not sent.", lid.value));
    } else {
      add_failure(port, "NodeInfo", found);
    }
    co_return static_cast<bool>(found);
  }

  /// Reads the ports that are not read yet, two at a time, and the environment. A device that is slow is left for the last round.
  async::Task<> read_ports(DeviceProgress& device) {
    async::Loop& loop = co_await async::current_loop;
    async::TaskGroup group(loop);
    group.spawn(walk(device));
    group.spawn(walk(device));
    co_await group.join();
    device.is_left = device.is_slow && !is_last_round_;
    if (device.is_left) co_return;
    const bool is_switch = subnet_.node(found_.devices[device.row].node).kind() == subnet::NodeKind::sw;
    if (options_.wanted == ReadingScope::ports_and_environment && is_switch) co_await read_environment(device);
  }

  async::Task<> read_what_is_left(DeviceProgress& device) {
    if (device.is_left) co_await read_ports(device);
  }

  async::Task<> walk(DeviceProgress& device) {
    while (device.next < device.rows.size() && (is_last_round_ || !device.is_slow)) {
      const std::size_t at = device.rows[device.next++];
      co_await read_port(device, found_.ports[at]);
    }
  }

  async::Task<> read_port(DeviceProgress& device, PortRow& row) {
    if (wants(row, Part::operation)) co_await read<reg::PddrOperation>(device, row);
    if (wants(row, Part::troubleshooting)) co_await read<reg::PddrTroubleshooting>(device, row);
    if (wants(row, Part::module)) co_await read<reg::PddrModule>(device, row);
    if (wants(row, Part::link_down)) co_await read<reg::PddrLinkDown>(device, row);
    if (wants(row, Part::physical)) co_await read<reg::PpcntPhysical>(device, row);
    if (wants(row, Part::statistics)) co_await read<reg::PpcntStatistics>(device, row);
    if (options_.histogram) {
      co_await read<reg::Pphcr>(device, row);
      co_await read<reg::PpcntFecHistogram>(device, row);
    }
    finished();
  }

  template <class T>
  async::Task<> read(DeviceProgress& device, PortRow& row) {
    T wanted;
    wanted.local_port = subnet_.port(row.port).number;
    wanted.pnat = reg::PortNumberKind::ib_port;
    wanted.plane_ind = row.plane;
    const std::optional<T> value = co_await request<T>(device, row.port, wanted, [](const T& answer, const T& sent) {
      return answer.local_port == sent.local_port && answer.plane_ind == sent.plane_ind;
    });
    if (value) take(row, *value);
  }

  /// Reads one register, unless the device is silent or its type is known not to have the register. `is_of` says whether the answer is for
  /// the port, sensor or fan that is wanted.
  template <class T>
  async::Task<std::optional<T>> request(
      DeviceProgress& device, PortIndex port, T wanted = {},
      bool (*is_of)(const T& answer, const T& wanted) = [](const T&, const T&) { return true; }) {
    const StructInfo& info = T::info();
    if (is_stopped(device) || is_spent() || unsupported_.contains({device.type, &info})) co_return std::nullopt;
    const std::optional<path::Path> own = path_to(port);
    const path::Path path = own ? *own : *device.path;  // a port that is down has no LID of its own; of another one it may be contested
    const PortIndex end_port = own ? port : device.end_port;
    const bool can_send = co_await may_send(device, end_port, path);
    if (!can_send) co_return std::nullopt;
    wanted.vs_key = key_of(end_port);
    const mad::Result<mad::Reply> answer = co_await get(device, path, info, T::register_id, wire::packed_vector(wanted));
    if (!answer && !is_of_other_register(answer.error())) {
      fail(device, port, info, answer);
      co_return std::nullopt;
    }
    ++device.answers;
    if (answer && answer->header().attribute_modifier() == T::register_id && is_layout(answer->payload(), info)) {
      const T value = T::unpack(answer->payload());
      if (is_of(value, wanted)) co_return value;
    }
    constexpr std::uint16_t no_status = 0;
    if (device.refused.insert(no_status).second)
      add_failure(subnet::Failure::Kind::false_answer, port, false, info.title, "The answer is of another register or index.");
    co_return std::nullopt;
  }

  async::Task<> read_environment(DeviceProgress& device) {
    EnvironmentRow row;
    row.node = found_.devices[device.row].node;
    co_await read_sensors(device, row);
    if (subnet_.node(row.node).kind() == subnet::NodeKind::sw) co_await read_fans(device, row);
    if (options_.board) co_await read_board(device, row);
    if (!row.sensors.empty() || !row.fans.empty()) found_.environments.push_back(std::move(row));
  }

  /// Reads the sensors that MTCAP names: 0 is the ASIC, others are on the board.
  async::Task<> read_sensors(DeviceProgress& device, EnvironmentRow& row) {
    const std::optional<reg::Mtcap> capabilities = co_await request<reg::Mtcap>(device, device.first);
    if (!capabilities) co_return;
    for (unsigned index = 0; index < 64; ++index) {
      if ((capabilities->sensor_map >> index & 1U) == 0) continue;
      reg::Mtmp wanted;
      wanted.sensor_index = static_cast<std::uint16_t>(index);
      const std::optional<reg::Mtmp> answer = co_await request<reg::Mtmp>(
          device, device.first, wanted, [](const reg::Mtmp& is, const reg::Mtmp& sent) { return is.sensor_index == sent.sensor_index; });
      if (!answer) continue;
      Sensor sensor{.index = wanted.sensor_index, .name = padded_text(answer->sensor_name), .celsius = sensor_celsius(answer->temperature)};
      sensor.raw_celsius = answer->temperature;
      sensor.raw_greatest = answer->max_temperature;
      sensor.raw_limit = answer->temperature_threshold_hi;
      if (answer->max_temperature != 0) sensor.greatest = sensor_celsius(answer->max_temperature);
      if (answer->temperature_threshold_hi != 0) sensor.limit = sensor_celsius(answer->temperature_threshold_hi);
      row.sensors.push_back(std::move(sensor));
    }
  }

  async::Task<> read_board(DeviceProgress& device, EnvironmentRow& row) {
    const std::optional<reg::Msgi> board = co_await request<reg::Msgi>(device, device.first);
    if (!board) co_return;
    row.part_number = padded_text(board->part_number);
    row.serial_number = padded_text(board->serial_number);
  }

  /// Reads the fans whose tachometers MFCR calls active. Adapters have none.
  async::Task<> read_fans(DeviceProgress& device, EnvironmentRow& row) {
    const std::optional<reg::Mfcr> active = co_await request<reg::Mfcr>(device, device.first);
    const unsigned tachometers = active ? active->tacho_active | unsigned{active->tacho_active_msb} << 10 : 0;
    if (tachometers == 0) co_return;
    const std::optional<reg::Fore> limits = co_await request<reg::Fore>(device, device.first);
    const unsigned below = limits ? limits->fan_under_limit | unsigned{limits->fan_under_limit_msb} << 10 : 0;
    for (unsigned index = 0; index < 16; ++index) {
      if ((tachometers >> index & 1U) == 0) continue;
      reg::Mfsm wanted;
      wanted.tacho = static_cast<std::uint8_t>(index);
      const std::optional<reg::Mfsm> answer = co_await request<reg::Mfsm>(
          device, device.first, wanted, [](const reg::Mfsm& is, const reg::Mfsm& sent) { return is.tacho == sent.tacho; });
      Fan fan{.index = static_cast<std::uint8_t>(index), .rpm = answer ? fan_rpm(answer->rpm) : std::nullopt};
      if (answer) fan.raw_rpm = answer->rpm;
      if (limits) fan.is_below_limit = (below >> index & 1U) != 0;
      row.fans.push_back(fan);
    }
  }

  async::Task<mad::Result<mad::Reply>> get(DeviceProgress& device, path::Path path, const StructInfo& info, std::uint32_t modifier,
                                           std::vector<std::uint8_t> value) {
    async::Loop& loop = co_await async::current_loop;
    if (options_.tries_once) path.ib().retries = 0;
    for (unsigned attempt = 1;; ++attempt) {
      ++requests_;
      const mad::Request request = mad::attribute_request(path, info, mad::method::get, modifier, value);
      mad::Result<mad::Reply> answer = co_await transactor_.try_call(request);
      const bool has_to_wait = !answer && is_busy(answer.error().status());
      device.is_slow = device.is_slow || has_to_wait || (!answer && mad::is_timeout(answer.error()));
      if (!has_to_wait || attempt == busy_tries || options_.is_stored || is_spent()) co_return answer;
      co_await loop.sleep_for(busy_pause * attempt);
    }
  }

  /// Keeps what the error of a register says of the device.
  void fail(DeviceProgress& device, PortIndex port, const StructInfo& info, const mad::Result<mad::Reply>& answer) {
    const std::uint16_t status = answer.error().status();
    if (is_not_read(answer.error())) {
      if (std::exchange(found_.devices[device.row].state, DeviceState::not_read) != DeviceState::not_read)
        add_failure(port, info.title, answer);
      return;
    }
    if (status == register_not_supported) {
      ++device.answers;
      unsupported_.emplace(device.type, &info);
      return;
    }
    if (is_busy(status)) {  // for seconds: each further request would take as long
      if (is_stopped(device)) return;
      found_.devices[device.row].state = DeviceState::stopped_answering;
      add_failure(port, info.title, answer);
      return;
    }
    if (!mad::is_timeout(answer.error())) {
      ++device.answers;
      if (!device.refused.insert(status).second) return;
      const bool is_cut = status == 0;
      const auto kind = is_cut ? subnet::Failure::Kind::false_answer : subnet::kind_of(answer.error());
      add_failure(kind, port, false, info.title, is_cut ? "The answer is cut." : answer.error().message(), answer.shared_error());
      return;
    }
    if (is_stopped(device)) return;
    ++device.timeouts;
    if (device.answers == 0) {
      found_.devices[device.row].state = DeviceState::silent;
    } else if (device.timeouts == most_timeouts) {
      found_.devices[device.row].state = DeviceState::stopped_answering;
    }
    if (device.timeouts == 1) add_failure(port, info.title, answer);
  }

  template <class T>
  void add_failure(PortIndex port, std::string_view attribute, const mad::Result<T>& answer) {
    add_failure(subnet::kind_of(answer.error()), port, true, attribute, answer.error().message(), answer.shared_error());
  }
  void add_failure(subnet::Failure::Kind kind, PortIndex port, bool whole_node, std::string_view attribute, std::string why,
                   std::shared_ptr<const Error> error = {}) {
    const subnet::Port& at = subnet_.port(port);
    found_.failures.push_back({.kind = kind,
                               .node = at.node,
                               .port = whole_node ? -1 : at.number,
                               .attribute = std::string(attribute),
                               .why = std::move(why),
                               .error = std::move(error)});
  }

  bool is_by_port() const { return options_.wanted == ReadingScope::ports || options_.wanted == ReadingScope::ports_and_environment; }
  bool wants(const PortRow& row, Part part) const {
    return ((row.plane == 0 ? options_.parts : options_.plane_parts) >> static_cast<unsigned>(part) & 1U) != 0;
  }
  bool is_spent() const { return requests_ >= options_.most_requests; }
  bool is_stopped(const DeviceProgress& device) const { return found_.devices[device.row].state != DeviceState::read; }
  void finished() {
    if (options_.progress) options_.progress(++done_, is_by_port() ? found_.ports.size() : devices_.size());
  }

  Reading& found_;
  mad::Transactor& transactor_;
  const subnet::Subnet& subnet_;
  const std::vector<PortIndex>& ports_;
  const ReadingOptions& options_;
  std::vector<DeviceProgress> devices_;
  std::set<std::pair<std::uint64_t, const StructInfo*>> unsupported_;
  ContestedPorts contested_;
  std::size_t done_{}, requests_{};
  bool is_last_round_{};
};

}  // namespace

ContestedPorts contested_ports(const subnet::Subnet& subnet) {
  ContestedPorts contested;
  for (const auto& [lid, ports] : subnet::contested_lids(subnet)) {
    for (const PortIndex port : ports) contested.try_emplace(port, Lid{lid});
  }
  return contested;
}

std::size_t claimants(const subnet::Subnet& subnet, Lid lid) {
  const auto claims = subnet::contested_lids(subnet);
  const auto claim = claims.find(lid.value);
  return claim == claims.end() ? 0 : claim->second.size();
}

async::Task<> read_phy_into(Reading& into, mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<PortIndex> ports,
                            ReadingOptions options) {
  async::Loop& loop = co_await async::current_loop;
  mad::Pace pace(loop, options.per_second, [] { return std::uint64_t{0}; });
  mad::PacedTransactor paced(transactor, &pace);
  Reader reader(into, paced, subnet, ports, options);
  co_await reader.run();
}

async::Task<Reading> read_phy(mad::Transactor& transactor, const subnet::Subnet& subnet, std::vector<PortIndex> ports,
                              ReadingOptions options) {
  Reading found;
  co_await read_phy_into(found, transactor, subnet, std::move(ports), std::move(options));
  co_return found;
}

}  // namespace ib::phy
