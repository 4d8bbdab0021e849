// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Links the drivers of all devices into a static program, where they register themselves. A shared one loads them.
#define RDMA_STATIC_PROVIDERS all
#include <infiniband/verbs.h>

namespace {

[[maybe_unused]] const bool are_linked = (ibv_static_providers(nullptr, &verbs_provider_all, nullptr), true);

}  // namespace
