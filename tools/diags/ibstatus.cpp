// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibstatus of infiniband-diags: the ports of this host in sysfs's own words. It was a shell script and has no options
// in common with the other tools.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/escape.hpp"
#include "tools/diags/console.hpp"
#include "tools/diags/options.hpp"
#include "tools/diags/tools.hpp"
#include "sys/sysfs.hpp"
#include "tools/frame/emit.hpp"

namespace ib::diags {
namespace {

constexpr std::string_view usage =
    "Usage:  ibstatus  [-h] [devname[:portnum]]\n"
    "\t-h:\tthis help screen\n"
    "\tExamples:\n"
    "\t\tibstatus mthca1\t\t# shows status of all ports of 'mthca1'\n"
    "\t\tibstatus mthca0:2\t# shows status port number 2 of 'mthca0'\n"
    "\t\tibstatus\t\t# default: shows status of all 'mthca0' ports\n";

/// The entries of a directory in the order of a shell's *.
std::vector<std::string> entries(const std::string& directory) {
  std::vector<std::string> names = sys::list_directory(directory);
  std::ranges::sort(names);
  return names;
}

class Ibstatus {
 public:
  explicit Ibstatus(tools::TextOut& out) : out_(out) {}

  void show_all() const {
    const std::vector<std::string> devices = entries(base_);
    if (devices.empty()) throw Failure("main", "No devices");
    for (const std::string& device : devices) show_device(device);
  }

  /// DEVICE or DEVICE:PORT.
  void show(std::string_view word) const {
    const std::string device(word.substr(0, word.find(':')));
    const std::string_view port = word.substr(word.rfind(':') + 1);
    if (port == device) return show_device(device);
    ports_of(device);
    if (!port.empty()) show_port(device, port);
  }

 private:
  std::string ports_directory(std::string_view device) const { return fmt::format("{}/{}/ports", base_, device); }

  std::vector<std::string> ports_of(const std::string& device) const {
    const std::string directory = ports_directory(device);
    std::vector<std::string> ports = entries(directory);
    if (ports.empty()) throw Failure("main", fmt::format("device '{}': sys files not found ({})", device, directory));
    return ports;
  }

  void show_device(const std::string& device) const {
    for (const std::string& port : ports_of(device)) show_port(device, port);
  }

  void show_port(std::string_view device, std::string_view port) const {
    const std::string directory = fmt::format("{}/{}/", ports_directory(device), port);
    const auto attribute = [&](std::string_view name, const char* missing) {
      return printable(sys::read_attribute(fmt::format("{}{}", directory, name)).value_or(missing));
    };
    out_.print("Infiniband device '{}' port {} status:\n", printable(device), printable(port));
    for (const auto& [title, name] : {std::pair{"default gid:\t", "gids/0"},
                                      {"base lid:\t", "lid"},
                                      {"sm lid:\t\t", "sm_lid"},
                                      {"state:\t\t", "state"},
                                      {"phys state:\t", "phys_state"},
                                      {"rate:\t\t", "rate"}})
      out_.print("\t{} {}\n", title, attribute(name, "unknown"));
    out_.print("\tlink_layer:\t {}\n\n", attribute("link_layer", "IB"));
  }

  tools::TextOut& out_;
  std::string base_ = sys::sysfs_root() + "/class/infiniband";
};

int run(std::span<char* const> words, tools::TextOut& out) {
  if (!words.empty() && std::string_view(words[0]) == "-h") {
    out.write(usage);
    return failed_status;
  }
  const Ibstatus ibstatus(out);
  try {
    const auto end = std::ranges::find_if(words, [](const char* word) { return *word == '\0'; });  // a shell script's loop ends there
    if (end == words.begin()) ibstatus.show_all();
    for (const char* word : std::span(words.begin(), end)) ibstatus.show(word);
  } catch (const Failure& failure) {
    out.print("Fatal error:  {}\n", printable_words(failure.what()));
    return failed_status;
  }
  return 0;
}

}  // namespace

int ibstatus(std::span<char* const> words) {
  tools::TextOut out(stdout);
  const int status = run(words, out);
  return finish_output("ibstatus", out, status);
}

}  // namespace ib::diags
