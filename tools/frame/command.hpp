// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// For a file that defines a command: Command, and what one stands on. Others include the parts that they use.
#pragma once

#include "tools/frame/commands.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
