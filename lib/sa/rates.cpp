// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/rates.hpp"

#include <cmath>
#include <iterator>

namespace ib::sa {
namespace {

// The data of a rate in Mb/s, by code 0…24. Those of FDR are rounded as the data of a link at FDR is: 64b/66b coding.
constexpr double fdr = 14062.5 * 64 / 66;
constexpr double data_by_code[] = {0,      0,       2000,  8000,    24000,   4000,     16000,  32000,  48000,
                                   64000,  96000,   fdr,   4 * fdr, 8 * fdr, 12 * fdr, 25000,  100000, 200000,
                                   300000, 2 * fdr, 50000, 400000,  600000,  800000,   1200000};

// In half Gb/s of what a link with 8b/10b coding signals for the same data. Only the order matters.
constexpr double order_per_mbps = 2 * 1.25 / 1000;

}  // namespace

unsigned order_of(Rate rate) {
  const auto code = static_cast<std::size_t>(rate);
  return code < std::size(data_by_code) ? order_of_data(data_by_code[code]) : 0;
}

unsigned order_of_data(double data_mbps) { return static_cast<unsigned>(std::lround(data_mbps * order_per_mbps)); }

}  // namespace ib::sa
