// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A small picture of a fabric: its switches in tiers by how far they are from hosts, the links between them, and which links have findings.
#pragma once

#include <string>

#include "metrics/fabric.hpp"

namespace ib::tools::exporter {

/// `text` for HTML: nothing of it is markup, controls are visible, and what is longer than a name should be is cut.
std::string html(std::string_view text);

/// The picture as an SVG element. A tier of a large fabric has one mark for several switches, so that the size is bounded whatever the size
/// of the fabric. Empty for a fabric without switches.
std::string tier_picture(const metrics::SweptFabric& fabric, const metrics::PortStates& states, const metrics::Findings* findings);

}  // namespace ib::tools::exporter
