// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Helpers of the definition tests: the data directory, hex, reproducible random bytes.
#pragma once

#include <cstdint>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace ibtest {

inline std::ifstream open_data(const std::string& name) {
  std::ifstream in(std::string(DEFS_DATA) + '/' + name);
  if (!in) throw std::runtime_error("cannot open " + name);
  return in;
}

inline std::vector<std::uint8_t> from_hex(const std::string& hex) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return out;
}

inline std::vector<std::uint8_t> random_bytes(std::mt19937_64& random, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  for (auto& byte : out) byte = static_cast<std::uint8_t>(random());
  return out;
}

}  // namespace ibtest
