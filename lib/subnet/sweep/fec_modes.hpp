// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The FEC modes of the links of a fabric, from PortInfoExtended (IBA 1.4, 14.2.5).
#pragma once

#include <map>
#include <set>
#include <vector>

#include "iba-gen/smp.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::subnet {

/// The active FEC modes of the ports of one model that report them.
using FecModes = std::map<PortIndex, smp::FecMode>;

struct FecReading {
  FecModes modes;
  std::set<PortIndex> unread;  ///< ports that did not answer
  Failures failures;
};

/// The ports of links whose nodes both say that they have PortInfoExtended.
std::vector<PortIndex> ports_with_fec(const Subnet& subnet);

/// Reads the FEC modes of `ports`. `options.way` is smp. `subnet` must outlive the task and not grow meanwhile.
async::Task<FecReading> read_fec_modes(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                       SurveyOptions options);

}  // namespace ib::subnet
