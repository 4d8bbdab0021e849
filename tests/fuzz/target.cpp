// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Targets and path specs: parsing throws UsageError or gives a path; a path goes through its spec and back.
#include "base/error.hpp"
#include "fuzz.hpp"
#include "path/parse.hpp"
#include "support/fake_sysfs.hpp"

namespace ibtest::fuzz_target {

using namespace ib;

namespace {

struct Host {
  Host() {
    sysfs.device("ibsim0");
    sysfs.port("ibsim0", {.umad = "umad0"});
    sysfs.device("mlx5_1", "0002:c903:0000:2000");
    sysfs.port("mlx5_1", {.number = 2, .gid = "2001:db8::2:c903:0:2001", .umad = "umad1"});
    devices = sys::DeviceList::read();
  }
  ibtest::FakeSysfs sysfs;
  sys::DeviceList devices;
};

const Host& host() {
  static const Host instance;
  return instance;
}

void check(path::Path path) {
  ibtest::must(!to_text(path).empty(), "a path without text");
  path.ib().m_key = path.ib().cc_key = 0;  // never written
  if (path.directed() != nullptr) ibtest::must(path.directed()->hops <= path::max_hops, "a route too long");
  const auto spec = to_spec(path);
  ibtest::must(path::parse_spec(spec, &host().devices) == path, spec.c_str());
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  path::ParseOptions options;
  options.devices = &host().devices;
  options.default_end_port = &host().devices.default_end_port();
  options.form = static_cast<path::Form>(data[0] % 4);
  if ((data[0] & 4) != 0) options.require_end_port = options.default_end_port;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const path::ParsedTarget parsed = path::parse_target(text, options);
    ibtest::must(parsed.path.has_value() == parsed.why.empty(), "neither a path nor a reason");
    if (parsed.path) check(*parsed.path);
  } catch (const UsageError& error) {
    ibtest::must(!error.message().empty(), "an error without a message");
  }
  const sys::Device* within = (data[0] & 8) != 0 ? host().devices.devices()[0].get() : nullptr;
  try {
    static_cast<void>(host().devices.find_end_port(text, within));
  } catch (const UsageError&) {
  }
  try {
    static_cast<void>(host().devices.find_device(text));
  } catch (const UsageError&) {
  }
  return 0;
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const char* text :
       {"12", "0xc", "0,1,7,2,", "fe80::2:c903:0:1491", "fe80::1%ibsim0/1", "2001:db8::1", "0002:c903:0000:1491", "0x0002c90300001491",
        "IBPath(end_port='ibsim0/1', DGID=GID('fe80::2:c903:0:14e1'), DLID=18, MTU=4, SLID=1, SMKey=1, dqpn=1, packet_life_time=18, "
        "qkey=0x80010000, rate=3, sqpn=1, has_grh=True, pkey=0x7fff)",
        "IBDRPath(end_port='mlx5_1/2', DLID=2, SLID=1, drPath=0:7:, drSLID=1, drDLID=3, timeout_us=5)"}) {
    for (char form = 0; form < 16; ++form) all.push_back(form + std::string(text));
  }
  return all;
}

}  // namespace ibtest::fuzz_target
