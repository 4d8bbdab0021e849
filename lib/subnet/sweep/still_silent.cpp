// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/still_silent.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "async/group.hpp"
#include "iba-gen/smp.hpp"
#include "mad/error.hpp"
#include "mad/packet.hpp"
#include "subnet/model/port_paths.hpp"

namespace ib::subnet {
namespace {

constexpr std::size_t most_at_once = 1024;
constexpr mad::Reason requested_again = "silent nodes of a stored fabric tried again";

struct SilentPlace {
  path::Path path;
  std::uint16_t attribute = smp::NodeInfo::attribute_id;
  std::uint32_t modifier{};
};

/// The request that ended with `failure`, by the route of the model. Nothing if the model does not have the route.
std::optional<SilentPlace> place_of(const Subnet& subnet, const Failure& failure, const path::Path& start) {
  if (failure.node == none) return std::nullopt;
  SilentPlace place{smp_path(subnet, failure.node, start)};
  if (failure.beyond) {
    const auto longer = route_from(place.path).advance(static_cast<std::uint8_t>(failure.port));
    if (failure.port < 0 || !longer) return std::nullopt;
    place.path = *longer;
  } else if (const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
             error != nullptr && error->request().size() >= mad::header_size) {
    const mad::HeaderView header(error->request());
    place.attribute = header.attribute_id();
    place.modifier = header.attribute_modifier();
  }
  place.path.ib().retries = 0;
  return place;
}

async::Task<> request_again(mad::Transactor& transactor, const SilentPlace& place, bool& silent) {
  const mad::Request request{.path = place.path,
                             .mgmt_class = mad::smp_class(place.path),
                             .attribute_id = place.attribute,
                             .attribute_modifier = place.modifier,
                             .payload = {},
                             .reason = requested_again};
  const mad::Result<mad::Reply> answer = co_await transactor.try_call(request);
  silent = silent && !answer && mad::is_timeout(answer.error());
}

}  // namespace

async::Task<bool> are_still_silent(mad::Transactor& transactor, const Subnet& subnet, std::vector<Failure> failures, path::Path start) {
  std::vector<SilentPlace> places;
  for (const Failure& failure : failures) {
    if (failure.kind != Failure::Kind::no_answer) continue;
    std::optional<SilentPlace> place = place_of(subnet, failure, start);
    if (!place) co_return false;
    places.push_back(std::move(*place));
  }
  bool silent = true;
  const auto request_one = [&](const SilentPlace& place) { return request_again(transactor, place, silent); };
  co_await async::for_each(places, most_at_once, request_one);
  co_return silent;
}

}  // namespace ib::subnet
