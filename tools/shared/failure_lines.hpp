// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is printed on stderr of parts that did not answer: a line for each cause. It counts the nodes and names the first of them. With -v
// each node has lines of its own, with the details of its request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "subnet/model/failures.hpp"

namespace ib::tools {

class Host;

/// "0000:0000:0000:0100 'leaf'"
std::string node_text(const subnet::Subnet& subnet, subnet::NodeIndex at);
/// "node A", "3 nodes: A, B, C", "50 nodes: A, B, C and 47 more"
std::string some_of(const std::vector<std::string>& names, std::string_view one, std::string_view many);

/// Whether the failure is a PMA that did not answer.
bool is_silent_pma(const subnet::Failure& failure);
/// The reason why a request was not sent, without the node; empty for another kind of failure.
std::string cause_of(const subnet::Failure& failure);

/// The lines for `failures` whose request was sent (cause_of()). Failures with one cause share a line.
std::vector<std::string> failure_lines(const subnet::Subnet& subnet, const subnet::Failures& failures);

/// Prints `E:` lines for all failures.
void print_failures(const Host& host, const subnet::Subnet& subnet, const subnet::Failures& failures);

}  // namespace ib::tools
