// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Lines are recognized and counted exactly as infiniband-diags does it. This includes its faults.
#include "tools/check_lft_balance/dump_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace ib::tools::balance {
namespace {

constexpr unsigned last_port = 36;  // the last port that infiniband-diags reads

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// The value of a text as a number in Perl: that of the digits at its beginning, or 0.
double number(const std::string& text) {
  const std::size_t sign = text.find_first_not_of(" \t\n\r\f\v");
  const std::string_view digits = sign == std::string::npos ? std::string_view() : std::string_view(text).substr(sign);
  const std::string_view unsigned_digits = digits.substr(digits.starts_with('-') || digits.starts_with('+') ? 1 : 0);
  if (unsigned_digits.starts_with("0x") || unsigned_digits.starts_with("0X")) return 0;
  return std::strtod(text.c_str(), nullptr);
}

/// The word before " : (" of a row.
std::string port_word(std::string_view text, std::size_t colon) {
  const std::size_t blank = text.substr(0, colon).rfind(' ');
  if (colon == std::string_view::npos || blank == std::string_view::npos || blank == 0 || blank + 1 == colon) return "";
  return std::string(text.substr(blank + 1, colon - blank - 1));
}

}  // namespace

void DumpFile::line(std::string_view text) {
  if (has(text, "Unicast")) {
    heading(text);
  } else if (has(text, "Channel") || has(text, "Router")) {
    end_port(text);
  } else if (has(text, "path")) {
    further_lid(text);
  } else if (lids_per_port_ != 0) {
    ++counted_;
  }
}

void DumpFile::end() {
  if (!host_ports_.empty()) end_of_host();
  end_of_switch();
}

void DumpFile::heading(std::string_view text) {
  if (!host_ports_.empty()) end_of_host();
  if (name_) end_of_switch();
  const std::size_t close = text.rfind(')');
  const std::size_t open = close == std::string_view::npos || close < 3 ? std::string_view::npos : text.rfind(" (", close - 3);
  constexpr std::string_view before_guid = " guid ";
  const std::size_t guid = open == std::string_view::npos || open < before_guid.size() + 1
                               ? std::string_view::npos
                               : text.rfind(before_guid, open - before_guid.size() - 1);
  const auto names_path = [&](std::string_view words) {
    const std::size_t begin = text.find("Unicast lids ");
    const std::size_t at = text.rfind(words, guid);
    return begin != std::string_view::npos && at != std::string_view::npos && at > begin + 13 && at + words.size() < guid;
  };
  if (guid != std::string_view::npos && (names_path(" of switch DR path slid ") || names_path(" of switch Lid "))) {
    guid_ = text.substr(guid + before_guid.size(), open - guid - before_guid.size());
    name_ = text.substr(open + 2, close - open - 2);
  }
  direct_hosts_.clear();
  counts_.clear();
  host_ports_.clear();
  lids_per_port_ = counted_ = 0;
}

void DumpFile::end_port(std::string_view text) {
  const std::size_t colon = text.rfind(" : (");
  const std::size_t name = text.rfind(": '"), end = text.rfind("')");
  const bool is_row = colon != std::string_view::npos && has(text.substr(colon), " portguid ") && name != std::string_view::npos &&
                      end != std::string_view::npos && end > name + 3;
  std::string port = is_row ? port_word(text, colon) : "";
  host_ = port.empty() ? "" : std::string(text.substr(name + 3, end - name - 3));
  ++counts_[port];
  if (!host_ports_.empty()) end_of_host();
  host_ports_ = {std::move(port)};
  ++(lids_per_port_ == 0 ? lids_per_port_ : counted_);
}

/// "0x0005 001 : (path #2 out of 4: portguid 0x0002c90300001491)". Like infiniband-diags, this reads numbers of one digit only.
void DumpFile::further_lid(std::string_view text) {
  constexpr std::string_view before = " : (path #", between = " out of ", behind = ": portguid ";
  const std::size_t colon = text.rfind(before);
  std::string port;
  if (colon != std::string_view::npos) {
    const std::string_view rest = text.substr(colon + before.size());
    const bool is_row = rest.size() > 2 + between.size() + behind.size() && rest.substr(1).starts_with(between) &&
                        rest.substr(2 + between.size()).starts_with(behind) && rest.find(')') != std::string_view::npos;
    if (is_row) port = port_word(text, colon);
  }
  ++counts_[port];
  if (counted_ == 0) ++lids_per_port_;
  host_ports_.push_back(std::move(port));
}

void DumpFile::end_of_host() {
  if (host_ports_.size() != lids_per_port_) return;
  for (const std::string& port : host_ports_) {
    if (number(port) != number(host_ports_.front())) return;
  }
  direct_hosts_.push_back(host_);
}

/// Whether an end port is at the other end of the link. infiniband-diags tries to compare names here. In fact it compares numbers: the
/// digits at the beginning of a name, or 0.
bool DumpFile::is_direct(const std::string& port) const {
  const auto count = counts_.find(port);
  if (count == counts_.end() || count->second != lids_per_port_ || direct_hosts_.empty()) return false;
  const auto link = find_(guid_, static_cast<unsigned>(number(port)));
  if (!link || !link->active) return false;
  for (const std::string& host : direct_hosts_) {
    if (number(host) == 0) return true;
  }
  return false;
}

void DumpFile::end_of_switch() {
  SwitchUse found{name_.value_or(""), guid_, {}, 0, false};
  for (unsigned number = 1; number <= last_port; ++number) {
    const std::string port = fmt::format("{:03}", number);
    const unsigned lids = counts_[port];
    if (lids == 0) {
      const auto link = find_(guid_, number);
      if (!link || link->down) continue;
    }
    ++found.in_use;
    if (!is_direct(port)) found.ports.push_back({number, lids});
  }
  judge(found, deeper_);
  switches_.push_back(std::move(found));
}

}  // namespace ib::tools::balance
