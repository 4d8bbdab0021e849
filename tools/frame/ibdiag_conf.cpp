// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/ibdiag_conf.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

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

/// The value of one line.
class Value {
 public:
  Value(std::string_view name, std::string_view text, ConfReader reader)
      : name_(name), text_(reader == ConfReader::ibtool ? trim(text) : text), reader_(reader) {}

  const std::string& text() const { return text_; }

  std::uint64_t number(std::uint64_t low, std::uint64_t high) const {
    if (reader_ == ConfReader::diags) return std::strtoull(text_.c_str(), nullptr, 0);
    const std::optional<std::uint64_t> value = parse_number(text_);
    if (!value || *value < low || *value > high)
      throw BadLine{fmt::format("{}: {} is not within {}…{}", name_, in_quotes(text_), low, high)};
    return *value;
  }
  std::uint64_t key() const {
    if (reader_ == ConfReader::ibtool && !parse_number(text_)) throw BadLine{fmt::format("{}: not an unsigned integer of 64 bits", name_)};
    return std::strtoull(text_.c_str(), nullptr, 0);
  }
  bool truth() const {
    const bool yes = text_.starts_with("TRUE") || text_.starts_with("true");
    if (reader_ == ConfReader::ibtool && !yes && text_ != "FALSE" && text_ != "false")
      throw BadLine{fmt::format("{}: {} is not TRUE or FALSE", name_, in_quotes(text_))};
    return yes;
  }

 private:
  std::string_view name_;
  std::string text_;
  ConfReader reader_;
};

/// Takes over NAME=VALUE. Throws BadLine.
void apply(IbdiagConf& conf, std::string_view name, const Value& value) {
  constexpr int longest_ms = std::numeric_limits<int>::max();
  if (name.starts_with("CA")) {
    conf.device = value.text();
  } else if (name.starts_with("Port")) {
    conf.port = static_cast<unsigned>(value.number(0, path::last_port));
  } else if (name.starts_with("timeout")) {
    conf.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(value.number(1, longest_ms)));
  } else if (name.starts_with("MLX_EPI")) {
    conf.mlnx_extended_port_info = value.truth();
  } else if (name.starts_with("m_key")) {
    conf.m_key = value.key();
  } else if (name.starts_with("sa_key")) {
    conf.sa_key = value.key();
  } else if (name.starts_with("nd_format")) {
    conf.node_description_format = value.text();
  } else {
    throw BadLine{fmt::format("no option is called {}", in_quotes(name))};
  }
}

void read_line(IbdiagConf& conf, std::string_view line, ConfReader reader) {
  if (line.starts_with('#') || trim(line).empty()) return;
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) throw BadLine{"not a line NAME=VALUE"};
  const std::string_view name = line.substr(0, equals);
  const Value value(name, line.substr(equals + 1), reader);
  if (value.text().empty()) throw BadLine{fmt::format("{} has no value", in_quotes(name))};
  apply(conf, name, value);
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
