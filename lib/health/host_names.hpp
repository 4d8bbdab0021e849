// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of a node's description besides the host name, which HostNames extracts (health/hosts.hpp): "compute07 mlx5_2" is the HCA
// mlx5_2 of the host compute07.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "subnet/model/model.hpp"

namespace ib::health {

/// Whether a description does not distinguish its node from others: it is missing, is that of the chip, or has no name of a host.
bool has_default_description(const subnet::Node& node);

/// The number N of an HCA where the description of its node names a device that ends in `_N` (mlx5_2) beside `host`, the name of its host.
/// Nothing where `host` is empty, or no device is named.
std::optional<unsigned> hca_number(const subnet::Node& node, std::string_view host);

/// A name with '#' for each row of digits: nodes of one pattern are siblings.
std::string name_pattern(std::string_view name);

}  // namespace ib::health
