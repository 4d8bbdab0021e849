// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The precompiled header of tools/: what a third of its files or more include of lib/, read once. See lib/pch/lib.h. No header of tools/
// belongs here.
#include <cstdio>
#include <limits>
#include <list>
#include <ranges>
#include <stdexcept>
#include <unordered_set>

#include "../../lib/pch/lib.h"
#include "async/group.hpp"
#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "iba/queries.hpp"
#include "iba/text.hpp"
#include "mad/rpc/rpc.hpp"
#include "mad/transactor.hpp"
#include "report/columns.hpp"
#include "report/json.hpp"
#include "report/sink.hpp"
#include "report/table.hpp"
#include "report/text_out.hpp"
#include "sa/subn_adm.hpp"
#include "subnet/model/columns.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/discovery.hpp"
#include "subnet/sweep/flow.hpp"
#include "subnet/sweep/survey.hpp"
#include "sys/device.hpp"
