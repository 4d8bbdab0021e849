// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// For the files that define commands: Command, and what one stands on. Others include the parts that they use.
#pragma once

#include "tools/frame/command_info.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
