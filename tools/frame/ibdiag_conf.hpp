// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The site's defaults for the common options, in the file format of infiniband-diags: one NAME=VALUE a line.
// Both dialects read it: the default file before the command line, the file of -z where -z stands in it (ibtool: before the other
// options).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools {

inline constexpr const char* default_ibdiag_conf = "/etc/infiniband-diags/ibdiag.conf";

/// Whose habits the file is read with.
enum class ConfReader : std::uint8_t {
  diags,   ///< a number ends where its digits end, and a value that is not a number is 0
  ibtool,  ///< a value with any mistake is ignored
};

/// An invalid line. It sets nothing.
struct ConfMistake {
  std::size_t line;  ///< from 1
  std::string text;  ///< what is wrong; repeats no key
};

/// The settings of a file. A member is absent if the file does not set it.
struct IbdiagConf {
  std::optional<std::string> device;                   ///< CA
  std::optional<unsigned> port;                        ///< Port
  std::optional<std::chrono::milliseconds> timeout;    ///< timeout: of one try of a MAD
  std::optional<std::uint64_t> m_key;                  ///< m_key
  std::optional<std::uint64_t> sa_key;                 ///< sa_key: the SM_Key of SA queries
  std::optional<bool> mlnx_extended_port_info;         ///< MLX_EPI: request ExtendedPortInfo of Mellanox ports in a sweep
  std::optional<std::string> node_description_format;  ///< nd_format
  std::vector<ConfMistake> mistakes;                   ///< in the order of the lines

  /// Reads `file`. Throws SysError if it cannot be opened or read, UsageError if it is not a regular file or is longer than 1 MiB.
  static IbdiagConf read(const std::string& file, ConfReader reader);
  /// Reads `file`. A file that is missing or cannot be read sets nothing: the default file is optional, and so was the file of -z in
  /// infiniband-diags. Throws UsageError as read() does.
  static IbdiagConf read_if_any(const std::string& file, ConfReader reader);
  /// A name may be longer than the word it must begin with, as in infiniband-diags, and numbers follow C notation.
  static IbdiagConf parse(std::string_view text, ConfReader reader);
};

}  // namespace ib::tools
