// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/ibdiag_conf.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba/text.hpp"
#include "path/path.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t longest_file = std::size_t{1} << 20;  // bytes

/// Thrown within this file: what is wrong with a line.
struct BadLine {
  std::string why;
};

/// Takes over NAME=VALUE. What `text` holds is checked for ibtool, and read as C reads it. Throws BadLine.
void apply(IbdiagConf& conf, std::string_view name, const std::string& text, ConfReader reader) {
  const std::uint64_t number = std::strtoull(text.c_str(), nullptr, 0);
  const bool is_number = parse_number(text).has_value(), is_true = text.starts_with("TRUE") || text.starts_with("true");
  const auto require = [reader](bool is_right, std::string why) {
    if (reader == ConfReader::ibtool && !is_right) throw BadLine{std::move(why)};
  };
  const auto require_within = [&](std::uint64_t low, std::uint64_t high) {
    require(is_number && number >= low && number <= high, fmt::format("{}: {} is not within {}…{}", name, in_quotes(text), low, high));
  };
  const bool is_key = name.starts_with("m_key") || name.starts_with("sa_key");
  if (is_key) require(is_number, fmt::format("{}: not an unsigned integer of 64 bits", name));
  if (name.starts_with("CA")) {
    conf.device = text;
  } else if (name.starts_with("Port")) {
    require_within(0, path::last_port);
    conf.port = static_cast<unsigned>(number);
  } else if (name.starts_with("timeout")) {
    require_within(1, std::numeric_limits<int>::max());
    conf.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(number));
  } else if (name.starts_with("MLX_EPI")) {
    require(is_true || text == "FALSE" || text == "false", fmt::format("{}: {} is not TRUE or FALSE", name, in_quotes(text)));
    conf.mlnx_extended_port_info = is_true;
  } else if (is_key) {
    (name.starts_with("m_key") ? conf.m_key : conf.sa_key) = number;
  } else if (name.starts_with("nd_format")) {
    conf.node_description_format = text;
  } else {
    throw BadLine{fmt::format("no option is called {}", in_quotes(name))};
  }
}

void read_line(IbdiagConf& conf, std::string_view line, ConfReader reader) {
  if (line.starts_with('#') || trim(line).empty()) return;
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) throw BadLine{"not a line NAME=VALUE"};
  const std::string_view name = line.substr(0, equals);
  const std::string_view value = line.substr(equals + 1);
  const std::string text(reader == ConfReader::ibtool ? trim(value) : value);
  if (text.empty()) throw BadLine{fmt::format("{} has no value", in_quotes(name))};
  apply(conf, name, text, reader);
}

}  // namespace

IbdiagConf IbdiagConf::parse(std::string_view text, ConfReader reader) {
  IbdiagConf conf;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    try {
      read_line(conf, line, reader);
    } catch (const BadLine& bad) {
      conf.mistakes.push_back({number, bad.why});
    }
  }
  return conf;
}

IbdiagConf IbdiagConf::read(const std::string& file, ConfReader reader) { return parse(read_regular_file(file, longest_file), reader); }

IbdiagConf IbdiagConf::read_if_any(const std::string& file, ConfReader reader) {
  try {
    return read(file, reader);
  } catch (const SysError&) {
    return {};
  }
}

}  // namespace ib::tools
