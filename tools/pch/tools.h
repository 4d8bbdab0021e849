// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The precompiled header of tools/: what most of its files include of lib/, read once. See lib/pch/lib.h. No header of tools/ belongs here.
#include "../../lib/pch/lib.h"
#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "mad/rpc/rpc.hpp"
#include "mad/transactor.hpp"
#include "report/sink.hpp"
#include "subnet/sweep/discovery.hpp"
#include "sys/device.hpp"
