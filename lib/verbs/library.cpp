// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions of libibverbs that this layer calls. The library is loaded at the first call (base/loaded_library.hpp): loading
// it with its dependency libnl takes longer than the rest of the start-up.
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "base/loaded_library.hpp"

// <infiniband/verbs.h> defines macros with these two names.
#undef ibv_query_port
#undef ibv_reg_mr

namespace {

constexpr ib::LoadedLibrary ibverbs{"libibverbs.so.1", "libibverbs1"};

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) { return ib::passed_on<ibv_get_device_list, ibverbs>("ibv_get_device_list", count); }
void ibv_free_device_list(ibv_device** list) { ib::passed_on<ibv_free_device_list, ibverbs>("ibv_free_device_list", list); }
const char* ibv_get_device_name(ibv_device* device) { return ib::passed_on<ibv_get_device_name, ibverbs>("ibv_get_device_name", device); }
ibv_context* ibv_open_device(ibv_device* device) { return ib::passed_on<ibv_open_device, ibverbs>("ibv_open_device", device); }
int ibv_close_device(ibv_context* context) { return ib::passed_on<ibv_close_device, ibverbs>("ibv_close_device", context); }

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  return ib::passed_on<ibv_query_device, ibverbs>("ibv_query_device", context, attributes);
}

int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
  return ib::passed_on<ibv_query_port, ibverbs>("ibv_query_port", context, port, attributes);
}

ibv_pd* ibv_alloc_pd(ibv_context* context) { return ib::passed_on<ibv_alloc_pd, ibverbs>("ibv_alloc_pd", context); }
int ibv_dealloc_pd(ibv_pd* domain) { return ib::passed_on<ibv_dealloc_pd, ibverbs>("ibv_dealloc_pd", domain); }

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* memory, std::size_t length, int access) {
  return ib::passed_on<ibv_reg_mr, ibverbs>("ibv_reg_mr", domain, memory, length, access);
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* memory, std::size_t length, std::uint64_t address, unsigned access) {
  return ib::passed_on<ibv_reg_mr_iova2, ibverbs>("ibv_reg_mr_iova2", domain, memory, length, address, access);
}

int ibv_dereg_mr(ibv_mr* region) { return ib::passed_on<ibv_dereg_mr, ibverbs>("ibv_dereg_mr", region); }

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return ib::passed_on<ibv_create_comp_channel, ibverbs>("ibv_create_comp_channel", context);
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return ib::passed_on<ibv_destroy_comp_channel, ibverbs>("ibv_destroy_comp_channel", channel);
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel, int vector) {
  return ib::passed_on<ibv_create_cq, ibverbs>("ibv_create_cq", context, entries, cq_context, channel, vector);
}

int ibv_destroy_cq(ibv_cq* queue) { return ib::passed_on<ibv_destroy_cq, ibverbs>("ibv_destroy_cq", queue); }

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) {
  return ib::passed_on<ibv_get_cq_event, ibverbs>("ibv_get_cq_event", channel, queue, cq_context);
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned count) { ib::passed_on<ibv_ack_cq_events, ibverbs>("ibv_ack_cq_events", queue, count); }
const char* ibv_wc_status_str(ibv_wc_status status) { return ib::passed_on<ibv_wc_status_str, ibverbs>("ibv_wc_status_str", status); }

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  return ib::passed_on<ibv_create_qp, ibverbs>("ibv_create_qp", domain, attributes);
}
int ibv_destroy_qp(ibv_qp* pair) { return ib::passed_on<ibv_destroy_qp, ibverbs>("ibv_destroy_qp", pair); }

int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  return ib::passed_on<ibv_modify_qp, ibverbs>("ibv_modify_qp", pair, attributes, mask);
}

ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* attributes) {
  return ib::passed_on<ibv_create_ah, ibverbs>("ibv_create_ah", domain, attributes);
}
int ibv_destroy_ah(ibv_ah* handle) { return ib::passed_on<ibv_destroy_ah, ibverbs>("ibv_destroy_ah", handle); }

}  // extern "C"
