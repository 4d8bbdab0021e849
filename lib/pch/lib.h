// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The precompiled header of lib/: what most of its files include, read once. It saves time and nothing else: a file includes all that it
// uses and no header of its folder has, for this one is absent with -Db_pch=false. Headers of ours that change often do not belong here:
// each change builds all anew.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "async/task.hpp"
#include "base/error.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/types.hpp"
#include "path/path.hpp"
