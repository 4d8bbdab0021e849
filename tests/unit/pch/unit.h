// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The precompiled header of the unit tests: what most of them include, read once. See lib/pch/lib.h.
#include <nlohmann/json.hpp>

#include "../../../lib/pch/lib.h"
#include "../../support/catch.hpp"
#include "iba-gen/rmpp.hpp"
#include "iba-gen/sa.hpp"
#include "mad/channel/channel.hpp"
#include "mad/transactor.hpp"
