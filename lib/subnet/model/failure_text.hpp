// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Failures in words: a line for each cause. It counts the nodes and names the first of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "subnet/model/failures.hpp"

namespace ib::subnet {

/// "0000:0000:0000:0100 'leaf'"
std::string node_text(const Subnet& subnet, NodeIndex at);
/// "node A", "3 nodes: A, B, C", "50 nodes: A, B, C and 47 more"
std::string some_of(const std::vector<std::string>& names, std::string_view one, std::string_view many);

/// The reason why a request was not sent, without the node; empty for another kind of failure.
std::string cause_of(const Failure& failure);
/// Removes from `met` the failures of requests that have failed in `known` too, for instance in a sweep and afterwards.
void remove_known(Failures& met, const Failures& known);

/// A line for all attributes that were not read for one reason (cause_of()), whatever the number of nodes is.
std::vector<std::string> unread_lines(const Failures& failures);
/// The lines for `failures` whose request was sent. Failures with one cause share a line.
std::vector<std::string> failure_lines(const Subnet& subnet, const Failures& failures);
/// As above, with a line for each node and attribute, and the error of its request, which may be null.
std::vector<std::pair<std::string, std::shared_ptr<const Error>>> detailed_lines(const Subnet& subnet, const Failures& failures);

}  // namespace ib::subnet
