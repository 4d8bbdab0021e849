// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See ibdiag_conf.hpp.
#include "ibdiag_conf.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "base/file.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t longest_file = std::size_t{1} << 20;  // bytes

void apply(IbdiagConf& conf, std::string_view name, const std::string& value) {
  const auto number = [&] { return std::strtoull(value.c_str(), nullptr, 0); };
  if (name.starts_with("CA")) {
    conf.device = value;
  } else if (name.starts_with("Port")) {
    conf.port = static_cast<unsigned>(number());
  } else if (name.starts_with("timeout")) {
    conf.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(number()));
  } else if (name.starts_with("MLX_EPI")) {
    conf.mlnx_extended_port_info = value.starts_with("TRUE") || value.starts_with("true");
  } else if (name.starts_with("m_key")) {
    conf.m_key = number();
  } else if (name.starts_with("sa_key")) {
    conf.sa_key = number();
  } else if (name.starts_with("nd_format")) {
    conf.node_description_format = value;
  }
}

}  // namespace

IbdiagConf IbdiagConf::parse(std::string_view text) {
  IbdiagConf conf;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    const auto equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos || equals + 1 == line.size()) continue;
    apply(conf, line.substr(0, equals), std::string(line.substr(equals + 1)));
  }
  return conf;
}

IbdiagConf IbdiagConf::read(const std::string& file) {
  std::string text;
  try {
    text = read_regular_file(file, longest_file);
  } catch (const SysError&) {
  }
  return parse(text);
}

}  // namespace ib::tools
