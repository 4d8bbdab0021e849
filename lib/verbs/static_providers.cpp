// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Links the providers of all devices into a static program. A shared one loads them.
#define RDMA_STATIC_PROVIDERS all
#include <infiniband/verbs.h>
