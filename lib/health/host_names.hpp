// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What descriptions of nodes tell of places: "compute07 mlx5_2" is the HCA mlx5_2 of the host compute07.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "subnet/model.hpp"

namespace ib::health {

/// Whether a node says nothing by which it could be told from others: it has no description, that of its chip, or a host without a name.
bool has_default_description(const subnet::Node& node);

/// The name of the host of a channel adapter: the first word of its description. Empty if that says nothing, and for Aggregation Nodes.
std::string_view host_name(const subnet::Node& node);

/// The number N of an HCA whose description is `HOST mlx5_N`; nothing if it says none.
std::optional<unsigned> hca_number(const subnet::Node& node);

/// A name with '#' for each row of digits: nodes of one pattern are siblings.
std::string name_pattern(std::string_view name);

}  // namespace ib::health
