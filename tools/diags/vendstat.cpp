// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// vendstat of infiniband-diags. It says on stderr which request failed, and with -i, -c, -R and -W succeeds all the same.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tools/diags/console.hpp"
#include "tools/diags/fabric.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/tools.hpp"
#include "tools/vendstat/mlnx_vendor.hpp"

namespace ib::diags {
namespace {

namespace mlnx = tools::mlnx;
using async::Task;
using Data = std::optional<std::vector<std::uint8_t>>;

constexpr Option options[]{
    {"N", 'N', nullptr, "show IS3 or IS4 general information"},
    {"w", 'w', nullptr, "show IS3 port xmit wait counters"},
    {"i", 'i', nullptr, "show IS4 counter group info"},
    {"c", 'c', "<num,num>", "configure IS4 counter groups"},
    {"Read", 'R', "<addr,mask>", "Read configuration space record at addr"},
    {"Write", 'W', "<addr,val,mask>", "Write configuration space record at addr"},
};
constexpr const char* examples[]{
    "-N 6\t\t# read IS3 or IS4 general information",
    "-w 6\t\t# read IS3 port xmit wait counters",
    "-i 6 12\t# read IS4 port 12 counter group info",
    "-c 0,1 6 12\t# configure IS4 port 12 counter groups for PortXmitDataSL",
    "-c 2,8 6 12\t# configure IS4 port 12 counter groups for PortRcvDataSL",
};
constexpr Tool vendstat_tool{"vendstat", "<lid|guid> [port]", "DKy", options, examples};

template <class T>
std::vector<std::uint8_t> packed(const T& value) {
  std::vector<std::uint8_t> bytes(T::wire_size);
  value.pack(bytes);
  return bytes;
}

class Vendstat : public Legacy {
 public:
  const Tool& tool() const override { return vendstat_tool; }

  void option(int letter, const char* value, Settings& /*settings*/) override {
    if (letter == 'N') general_ = true;
    if (letter == 'w') wait_ = true;
    if (letter == 'i') groups_ = true;
    if (letter == 'c') take_groups(value);
    if (letter == 'R') take_record(reads_, value, false);
    if (letter == 'W') take_record(writes_, value, true);
  }

  Task<> run(Context& context) override {
    Fabric fabric(context);
    const bool self = context.arguments.empty();
    std::optional<Target> target;
    if (self) {
      target = fabric.self();
    } else {
      target = co_await fabric.resolve(context.arguments[0]);
      if (!target) throw Failure("main", fmt::format("can't resolve destination port {}", context.arguments[0]));
    }
    const auto port = static_cast<std::uint32_t>(self ? static_cast<long>(fabric.end_port().number) : context.number(1));
    if (groups_) co_return co_await show_groups(context, fabric, *target, port);
    if (set_groups_) co_return co_await set_groups(context, fabric, *target, port);
    if (!reads_.empty() || !writes_.empty()) {
      if (!reads_.empty()) co_await space(context, fabric, *target, reads_, false);
      if (!writes_.empty()) co_await space(context, fabric, *target, writes_, true);
      co_return;
    }
    if (!general_ && !wait_) throw Failure("main", "at least one of -N and -w must be specified");
    co_await show_device(context, fabric, *target);
  }

 private:
  void take_groups(const char* text) {
    set_groups_ = true;
    if (std::sscanf(text, "%d,%d", &group0_, &group1_) != 2) throw Stop{2, usage_text(vendstat_tool)};
  }
  static void take_record(std::vector<mlx::ConfigRecord>& records, const char* text, bool write) {
    if (records.size() >= mlnx::most_records) return;
    mlx::ConfigRecord record{0, 0, ~0U};
    const int got = write ? std::sscanf(text, "%x,%x,%x", &record.address, &record.data, &record.mask)
                          : std::sscanf(text, "%x,%x", &record.address, &record.mask);
    if (got < (write ? 2 : 1)) throw Stop{2, usage_text(vendstat_tool)};
    records.push_back(record);
  }

  /// A vendor MAD; nothing after the complaint.
  static Task<Data> vendor(Fabric& fabric, const Target& target, std::uint8_t method, std::uint16_t attribute, std::uint32_t modifier,
                           Bytes data) {
    Data answer = co_await fabric.gmp(target, mlnx::vendor_class, method, attribute, modifier, data);
    if (!answer) tell(fmt::format("vendstat: method {}, attribute {} failure\n", method, attribute));
    co_return answer;
  }

  static Task<> show_groups(Context& context, Fabric& fabric, const Target& target, std::uint32_t port) {
    const Data answer = co_await vendor(fabric, target, mad::method::get, mlx::CounterGroupInfo::attribute_id, port, {});
    if (answer) {
      context.out.write(mlnx::counter_group_lines(*answer));
    } else {
      tell("counter group info query failure\n");
    }
  }

  Task<> set_groups(Context& context, Fabric& fabric, const Target& target, std::uint32_t port) const {
    context.out.print("counter_groups_config: configuring group0 {} group1 {}\n", group0_, group1_);
    mlx::ConfigCounterGroups wanted;
    wanted.group_selects[0].group_select = static_cast<std::uint8_t>(group0_);
    wanted.group_selects[1].group_select = static_cast<std::uint8_t>(group1_);
    const auto bytes = packed(wanted);
    const Data set = co_await vendor(fabric, target, mad::method::set, mlx::ConfigCounterGroups::attribute_id, port, bytes);
    if (!set) {
      tell("config counter group set failure\n");
      co_return;
    }
    const Data get = co_await vendor(fabric, target, mad::method::get, mlx::ConfigCounterGroups::attribute_id, port, {});
    if (!get) tell("config counter group query failure\n");
  }

  static Task<> space(Context& context, Fabric& fabric, const Target& target, const std::vector<mlx::ConfigRecord>& records, bool write) {
    mlx::ConfigSpaceAccess wanted;
    std::copy(records.begin(), records.end(), wanted.record.begin());
    const auto bytes = packed(wanted);
    const Data answer = co_await vendor(fabric, target, write ? mad::method::set : mad::method::get, mlx::ConfigSpaceAccess::attribute_id,
                                        mlnx::config_space_modifier(records.size()), bytes);
    if (answer) {
      context.out.write(mlnx::config_space_lines(mlx::ConfigSpaceAccess::unpack(*answer), records.size()));
    } else {
      tell(fmt::format("cannot {} config space records\n", write ? "set" : "get"));
    }
  }

  Task<> show_device(Context& context, Fabric& fabric, const Target& target) const {
    const Data class_info = co_await vendor(fabric, target, mad::method::get, mlx::ClassPortInfo::attribute_id, 0, {});
    if (!class_info) throw Failure("main", "classportinfo query");
    const Data answer = co_await vendor(fabric, target, mad::method::get, mlx::GeneralInfo::attribute_id, 0, {});
    if (!answer) throw Failure("main", "generalinfo query");
    if (general_) context.out.write(mlnx::general_info_lines(*answer));
    if (!wait_) co_return;
    const std::uint16_t device = mlx::GeneralInfo::unpack(*answer).device_id;
    if (device != mlnx::infini_scale3) throw Failure("main", fmt::format("Unsupported device ID 0x{:x}", device));
    for (unsigned request = 0; request < mlnx::wait_requests; ++request) {
      const auto bytes = packed(mlnx::wait_request(request));
      const Data counters = co_await vendor(fabric, target, mad::method::get, mlx::ConfigSpaceAccess::attribute_id,
                                            mlnx::config_space_modifier(mlnx::wait_records(request)), bytes);
      if (!counters) throw Failure("main", "vendstat");
      context.out.write(mlnx::wait_lines(request, mlx::ConfigSpaceAccess::unpack(*counters)));
    }
  }

  bool general_{}, wait_{}, groups_{}, set_groups_{};
  int group0_{}, group1_{};
  std::vector<mlx::ConfigRecord> reads_, writes_;
};

}  // namespace

int vendstat(std::span<char* const> words) { return run_legacy<Vendstat>(words); }

}  // namespace ib::diags
