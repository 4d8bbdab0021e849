// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a sweep or a survey could not read, and why. Failures are kept beside a model and never in it, so that a sweep that is repeated
// begins without the failures of the sweep before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mad/error.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

struct Failure {
  enum class Kind : std::uint8_t {
    no_answer,       ///< no reply to any try
    refused,         ///< a reply with an error status
    false_answer,    ///< a reply that is impossible
    duplicate_guid,  ///< two nodes claim one GUID
    duplicate_lid,   ///< two ports claim one LID
    hop_limit,       ///< the route is too long
    no_record,       ///< the SA has no record
    not_read,        ///< the answers come from a stored fabric, which does not have this answer: the request was not sent
  };
  Kind kind{};
  NodeIndex node = none;    ///< the destination of the request, or the last node before a silent one; none: the failure concerns no node
  int port = -1;            ///< the port that the request was about, or −1: the whole node, or all of its ports
  bool beyond{};            ///< the node at the other end of `port` is missing
  std::string attribute{};  ///< "NodeInfo", "PortInfo", …
  std::uint32_t modifier{};
  std::string why{};                     ///< the reason as one line for people
  std::shared_ptr<const Error> error{};  ///< the MAD error, if there was one
};

using Failures = std::vector<Failure>;

struct SweptSubnet {
  Subnet subnet;
  Failures failures;
};

std::string_view name(Failure::Kind kind);

/// The port that an SMP names in its attribute modifier. Nothing if the attribute has no port there.
std::optional<unsigned> port_in_modifier(std::uint16_t attribute, std::uint32_t modifier);

/// Sorts failures by the distance, the GUID and the port of their nodes, so that their order does not depend on the order of replies.
void sort(Failures& failures, const Subnet& subnet);

/// The kind of failure of a request that ended with `error`: no_answer, not_read, refused, no_record of the SA, or false_answer where
/// another node answered (WrongNode), or the answer contradicts itself (no MadError).
Failure::Kind kind_of(const Error& error);

/// The failure of a request that ended with `error`.
Failure failure_of(const std::shared_ptr<const mad::MadError>& error, NodeIndex node, int port, bool beyond, std::string attribute,
                   std::uint32_t modifier = 0);

/// The number of the port that the request of `error` was about, for Failure::port. The request went to an agent of `port`. −1 for an
/// attribute of the whole node (IBA 14.2.5: NodeInfo, SwitchInfo, forwarding tables), for the ClassPortInfo of a switch, which has one
/// agent for all its ports, and for PortSelect 255 (IBA 16.1.3.1).
int port_in_request(const Subnet& subnet, PortIndex port, const mad::MadError& error);

// Failures in words.

/// "0000:0000:0000:0100 'leaf'"
std::string node_text(const Subnet& subnet, NodeIndex at);
/// "node A", "3 nodes: A, B, C", "50 nodes: A, B, C and 47 more"
std::string some_of(const std::vector<std::string>& names, std::string_view one, std::string_view many);

/// The reason why a request was not sent, without the node; empty for another kind of failure.
std::string cause_of(const Failure& failure);
/// Removes from `met` the failures of requests that have failed in `known` too, for instance in a sweep and afterwards.
void remove_known(Failures& met, const Failures& known);

struct FailureLine {
  std::string text;
  std::shared_ptr<const Error> error;  ///< of the request, if details are wanted and it was sent; may be null
};
/// A line for each cause, which counts the nodes and names the first of them. Causes for which requests were not sent come first.
/// `detailed`: a line for each node and attribute of a request that was sent.
std::vector<FailureLine> failure_lines(const Subnet& subnet, const Failures& failures, bool detailed);

}  // namespace ib::subnet
