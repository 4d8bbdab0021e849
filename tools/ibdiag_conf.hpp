// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The site's defaults for the common options, in the file format of infiniband-diags: one NAME=VALUE a line.
// Both dialects read it: the default file before the command line, the file of -z where -z stands in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ib::tools {

inline constexpr const char* default_ibdiag_conf = "/etc/infiniband-diags/ibdiag.conf";

/// What a file says; absent members were not mentioned.
struct IbdiagConf {
  std::optional<std::string> device;                   ///< CA
  std::optional<unsigned> port;                        ///< Port
  std::optional<std::chrono::milliseconds> timeout;    ///< timeout: of one try of a MAD
  std::optional<std::uint64_t> m_key;                  ///< m_key
  std::optional<std::uint64_t> sa_key;                 ///< sa_key: the SM_Key of SA queries
  std::optional<bool> mlnx_extended_port_info;         ///< MLX_EPI: ask Mellanox ports for ExtendedPortInfo in a sweep
  std::optional<std::string> node_description_format;  ///< nd_format

  /// Reads `file`. One that is missing or can not be read says nothing: the default file is optional and so was
  /// the file of -z ever since. Throws UsageError for what is no regular file or is longer than 1 MiB.
  static IbdiagConf read(const std::string& file);
  /// As infiniband-diags reads it: a name may be longer than the word it must begin with, numbers follow C
  /// notation and end where their digits end, a line without a value says nothing.
  static IbdiagConf parse(std::string_view text);
};

}  // namespace ib::tools
