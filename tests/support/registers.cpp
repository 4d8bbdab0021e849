// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload that gives simulated devices the vendor's agents: class 0x0a (GeneralInfo, AccessRegister) and the vendor's attributes of the
// SMA, which ibsim does not know. Loaded behind libumad2sim.so, it sends ibsim a Get of NodeInfo instead of such a request, and for a
// register of a port then one of PortInfo. What ibsim answers shows which device the request has reached, and the state of the port: the
// vendor's answer takes its place. So requests reach what they would reach, and are lost where others are.
//
//   IBTEST_REGISTERS=FILE:…      what devices answer (register_file.hpp)
//   IBTEST_REGISTERS_LOG=FILE    a line is appended for each request that reaches a device: its NodeGUID, class, method, attribute,
//                                modifier and the port, sensor or fan
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include "iba-gen/mlx.hpp"
#include "iba/registry.hpp"
#include "mad/packet.hpp"
#include "next.hpp"
#include "support/mstflint_access.hpp"
#include "support/register_file.hpp"

namespace {

using ib::Bytes;
using ib::mad::packet_size;
namespace smp = ib::smp;

/// What umad2sim and ibsim exchange: words with DLID, SLID, DQP, SQP and a status, padding, a length of 64 bits, and the MAD.
constexpr std::size_t header_size = 32, word = 4, dqp_at = 8, sqp_at = 12, length_at = 24;
constexpr std::size_t smp_data = 64, vendor_data = 24;
constexpr std::size_t most_pending = 4096;
using Packet = std::array<std::uint8_t, header_size + packet_size>;

Bytes mad_of(const Packet& packet) { return Bytes(packet).subspan(header_size); }
std::uint16_t attribute_of(Bytes mad) { return ib::load_be<std::uint16_t>(&mad[16]); }
std::uint32_t modifier_of(Bytes mad) { return ib::load_be<std::uint32_t>(&mad[20]); }
std::uint64_t transaction_of(Bytes mad) { return ib::load_be<std::uint64_t>(&mad[8]); }

/// A request that waits for what ibsim says of its device.
struct Pending {
  Packet request{};
  ibtest::VendorAgent::Mad meant{};  ///< the MAD of the request; a register that comes in TLVs as AccessRegister
  std::optional<smp::NodeInfo> node{};
};

class Devices {
 public:
  Devices() {
    const char* names = std::getenv("IBTEST_REGISTERS");
    std::istringstream list(names != nullptr ? names : "");
    for (std::string name; std::getline(list, name, ':');) read(name);
  }

  /// Whether a packet is a request for an agent of the vendor.
  static bool takes(const Packet& packet) {
    const Bytes mad = mad_of(packet);
    const bool is_request = (mad[3] & ib::mad::method::response) == 0;
    if (mad[1] == ibtest::vendor_class) return is_request;
    constexpr std::array<std::uint16_t, 5> attributes{0x001e, 0x0034, 0xff17, 0xff91, 0xff92};
    return is_request && ib::mad::is_smp(mad[1]) && std::ranges::find(attributes, attribute_of(mad)) != attributes.end();
  }

  /// Sends ibsim a Get of NodeInfo in the place of the request.
  ssize_t send(int fd, const Packet& request) {
    const std::lock_guard lock{mutex_};
    fd_ = fd;
    if (pending_.size() >= most_pending) pending_.erase(pending_.begin());
    const std::uint64_t transaction = first_transaction + next_++;
    Pending& pending = pending_[transaction];
    const Bytes mad = mad_of(request);
    pending.request = request;
    pending.meant = ibtest::has_register_tlv(mad) ? ibtest::as_access_register(mad) : ibtest::VendorAgent::Mad(mad.begin(), mad.end());
    return send_get(request, transaction, smp::NodeInfo::attribute_id, 0);
  }

  /// Makes the vendor's answer of what ibsim answers. False if the program gets nothing for it.
  bool receive(Packet& packet) {
    const std::lock_guard lock{mutex_};
    const std::uint64_t transaction = transaction_of(mad_of(packet)) & kept_bits;
    const auto place = pending_.find(transaction);
    if (place == pending_.end()) {
      say_vendor_class(packet);
      return (transaction & own_bits) != first_transaction;
    }
    Pending& pending = place->second;
    const Bytes smp_answer = mad_of(packet);
    const bool is_answer = (smp_answer[3] & ib::mad::method::response) != 0;
    if (is_answer && !pending.node) {
      pending.node = smp::NodeInfo::unpack(smp_answer.subspan(smp_data));
      const ib::StructInfo* layout = register_of(pending.meant);
      if (layout != nullptr && ib::find_field(*layout, "local_port") != nullptr) {
        const unsigned port = ibtest::index_in(Bytes(pending.meant).subspan(vendor_data), *layout);
        send_get(pending.request, place->first, smp::PortInfo::attribute_id, port);
        return false;
      }
    }
    const auto node = pending_.extract(place);
    if (!is_answer) {  // ibsim returns it: it has reached nobody
      std::copy(node.mapped().request.begin() + header_size, node.mapped().request.end(), packet.begin() + header_size);
      return true;
    }
    return answer(node.mapped(), packet);
  }

 private:
  // Of the transaction IDs of our requests. ibsim changes the first 16 bits.
  static constexpr std::uint64_t first_transaction = 0x7465'0000'0000, own_bits = 0xffff'0000'0000, kept_bits = 0xffff'ffff'ffff;

  void read(const std::string& name) {
    std::ifstream file(name);
    std::ostringstream text;
    text << file.rdbuf();
    try {
      if (!file) throw std::invalid_argument("cannot be read");
      values_.read(text.str());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "IBTEST_REGISTERS: %s: %s\n", name.c_str(), error.what());
      _exit(2);
    }
  }

  ssize_t send_get(const Packet& request, std::uint64_t transaction, std::uint16_t attribute, std::uint32_t modifier) const {
    Packet packet = request;
    std::uint8_t* const mad = packet.data() + header_size;
    if (!ib::mad::is_smp(mad[1])) {
      std::fill(packet.begin() + header_size, packet.end(), std::uint8_t{0});
      std::fill_n(packet.begin() + dqp_at, 2 * word, std::uint8_t{0});  // from QP0 to QP0
      mad[0] = 1;
      mad[1] = ib::mad::mgmt_class::smp;
      mad[2] = 1;
    }
    mad[3] = ib::mad::method::get;
    ib::store_be(mad + 8, transaction);
    ib::store_be(mad + 16, attribute);
    ib::store_be(mad + 20, modifier);
    const ssize_t sent = real_write(fd_, packet.data(), packet.size());
    return sent;
  }

  /// In an answer for an end port, sets the bit of PortInfo.CapabilityMask by which a device says that it has the vendor's class.
  static void say_vendor_class(Packet& packet) {
    std::uint8_t* const mad = packet.data() + header_size;
    const bool is_port_info =
        ib::mad::is_smp(mad[1]) && mad[3] == ib::mad::method::get_resp && attribute_of(mad_of(packet)) == smp::PortInfo::attribute_id;
    if (!is_port_info) return;
    smp::PortInfo info = smp::PortInfo::unpack(mad_of(packet).subspan(smp_data));
    if (info.capability_mask == 0) return;
    info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
    info.pack(ib::MutableBytes(packet).subspan(header_size + smp_data));
  }

  /// The layout of the register in a request; null for another request.
  static const ib::StructInfo* register_of(Bytes mad) {
    if (mad[1] != ibtest::vendor_class || attribute_of(mad) != ib::mlx::AccessRegister::attribute_id) return nullptr;
    return ib::find_register(modifier_of(mad), mad.subspan(vendor_data));
  }

  /// Puts the vendor's answer into the packet with the last answer of ibsim.
  bool answer(const Pending& pending, Packet& packet) {
    const Bytes request = pending.meant;
    const smp::NodeInfo& node = *pending.node;
    const auto agent = agents_.try_emplace(node.node_guid.value, values_.agent(node)).first;
    unsigned index = 0;
    if (const ib::StructInfo* layout = register_of(request)) {
      index = ibtest::index_in(request.subspan(vendor_data), *layout);
      const bool is_of_port = attribute_of(mad_of(packet)) == smp::PortInfo::attribute_id;
      const smp::PortInfo port = smp::PortInfo::unpack(mad_of(packet).subspan(smp_data));
      values_.fill(agent->second, *layout, index, node, is_of_port ? &port : nullptr);
    } else if (ib::mad::is_smp(request[1])) {
      index = modifier_of(request);
      const ib::StructInfo* attribute = ib::find_attribute(request[1], request[2], attribute_of(request));
      if (attribute != nullptr) values_.fill(agent->second, *attribute, index, node, nullptr);
    }
    log(node, mad_of(pending.request), index);
    agent->second.asked.clear();
    if (ibtest::ConfigSpace::is_access(request)) {
      const auto space = spaces_.try_emplace(node.node_guid.value, node.node_type).first;
      put(pending, space->second.answer(request), packet);
      return true;
    }
    const auto reply = agent->second.answer(request);
    if (!reply) return false;
    put(pending, ibtest::has_register_tlv(mad_of(pending.request)) ? ibtest::with_register_tlv(mad_of(pending.request), *reply) : *reply,
        packet);
    return true;
  }

  static void put(const Pending& pending, const ibtest::VendorAgent::Mad& reply, Packet& packet) {
    std::uint8_t* const mad = packet.data() + header_size;
    if (ib::mad::is_smp(reply[1])) {  // ibsim has moved the hop pointer of a directed route
      std::copy(reply.begin() + 4, reply.begin() + 6, mad + 4);
      std::copy(reply.begin() + 8, reply.begin() + 24, mad + 8);
      std::copy(reply.begin() + smp_data, reply.begin() + 2 * smp_data, mad + smp_data);
      return;
    }
    std::copy_n(pending.request.begin() + sqp_at, word, packet.begin() + dqp_at);
    std::copy_n(pending.request.begin() + dqp_at, word, packet.begin() + sqp_at);
    std::fill(packet.begin() + header_size, packet.end(), std::uint8_t{0});
    std::copy(reply.begin(), reply.end(), mad);
    ib::store_be(packet.data() + length_at, static_cast<std::uint64_t>(reply.size()));
  }

  static void log(const smp::NodeInfo& node, Bytes request, unsigned index) {
    const char* name = std::getenv("IBTEST_REGISTERS_LOG");
    std::FILE* file = name != nullptr ? std::fopen(name, "a") : nullptr;
    if (file == nullptr) return;
    std::fprintf(file, "0x%016llx 0x%02x 0x%02x 0x%04x 0x%04x %u\n", static_cast<unsigned long long>(node.node_guid.value), request[1],
                 request[3], attribute_of(request), modifier_of(request), index);
    std::fclose(file);
  }

  std::mutex mutex_;
  ibtest::RegisterFile values_;
  std::map<std::uint64_t, ibtest::VendorAgent> agents_;  // by NodeGUID
  std::map<std::uint64_t, ibtest::ConfigSpace> spaces_;  // by NodeGUID
  std::map<std::uint64_t, Pending> pending_;             // by transaction ID
  std::uint64_t next_ = 1;
  int fd_ = -1;  // umad2sim's socket to ibsim
};

Devices& devices() {
  static auto* const the_devices = new Devices;  // never destroyed: umad2sim's thread outlives the program's statics
  return *the_devices;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* buffer, std::size_t count) {
  if (count != sizeof(Packet)) return real_write(fd, buffer, count);
  Packet packet{};
  std::copy_n(static_cast<const std::uint8_t*>(buffer), count, packet.begin());
  return Devices::takes(packet) ? devices().send(fd, packet) : real_write(fd, buffer, count);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  for (;;) {
    const ssize_t got = real_read(fd, buffer, count);
    if (count != sizeof(Packet) || got != static_cast<ssize_t>(sizeof(Packet))) return got;
    Packet packet{};
    std::copy_n(static_cast<const std::uint8_t*>(buffer), count, packet.begin());
    const bool is_for_program = devices().receive(packet);
    std::copy(packet.begin(), packet.end(), static_cast<std::uint8_t*>(buffer));
    if (is_for_program) return got;
    pollfd more{fd, POLLIN, 0};
    while (real_poll(&more, 1, -1) < 0) {
    }
  }
}
