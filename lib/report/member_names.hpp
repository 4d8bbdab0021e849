// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The names of what a report writes into an object, for Sink::columns(): they are got from the code that writes it, at work on an example.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/sink.hpp"

namespace ib::report {

/// The names of the members that `visit` writes into an open object. "a.b" is the member b of the object a, "list[].b" the member b of the
/// elements of a list. A name that comes again is there once.
std::vector<std::string> member_names(const std::function<void(Sink&)>& visit);

/// Says which members the elements of the array that is open have, which `visit` writes for an example of an element: a table without rows
/// has its columns, too.
inline void announce(Sink& sink, const std::function<void(Sink&)>& visit) { sink.columns(member_names(visit)); }

}  // namespace ib::report
