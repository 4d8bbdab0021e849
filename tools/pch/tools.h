// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The precompiled header of tools/: what most of its files include, read once. See lib/pch/lib.h.
#include "../../lib/pch/lib.h"
#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "path/json.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/session.hpp"
