// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The numbers that decide whether something is a finding. A file of --thresholds has lines NAME=NUMBER; empty lines and lines that begin
// with '#' are ignored. How each number was chosen stands in ibtool-health(1).
#pragma once

#include <string_view>

namespace ib::health {

struct Thresholds {
  double error_ratio = 1e-12;      ///< errors a bit
  double warning_ratio = 1e-14;    ///< errors a bit, on links from EDR on
  double least_errors = 3;         ///< fewer errors may be chance
  double recoveries_error = 3;     ///< link recoveries in the window, at …
  double recoveries_a_minute = 5;  ///< … this rate or more
  double events = 1;               ///< of what a good link never has: flaps, uncorrectable blocks, overruns, discards, constraint errors
  double wait_ticks = 1e6;         ///< PortXmitWait a second from which a port counts as waiting
  double congestion_heads = 10;    ///< findings of congestion at most, the greatest
  double light_loss = 7;           ///< dB from one module to the other
  double lane_times = 10;          ///< how many times the raw error ratio of a lane is that of each other lane …
  double lane_ratio = 1e-8;        ///< … if it is this or more
};

/// Changes `thresholds` as the text of a file says. Throws UsageError for a line that is wrong; `file` is its name for messages.
void read_thresholds(std::string_view text, std::string_view file, Thresholds& thresholds);

}  // namespace ib::health
