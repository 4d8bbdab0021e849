// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions of libmicrohttpd that this layer calls. The library is loaded at the first call (base/loaded_library.hpp).
#include <microhttpd.h>

#include <cstdarg>
#include <cstdint>

#include "base/loaded_library.hpp"

namespace {

constexpr ib::LoadedLibrary microhttpd{"libmicrohttpd.so.12", "libmicrohttpd12", "HTTP server"};

}  // namespace

extern "C" {

// Only for options in an array.
MHD_Daemon* MHD_start_daemon(unsigned int flags, std::uint16_t port, MHD_AcceptPolicyCallback accepts, void* accepts_closure,
                             MHD_AccessHandlerCallback handler, void* closure, ...) {
  va_list arguments;
  va_start(arguments, closure);
  const int array = va_arg(arguments, int);
  MHD_OptionItem* const options = va_arg(arguments, MHD_OptionItem*);
  va_end(arguments);
  return ib::passed_on<MHD_start_daemon, microhttpd>("MHD_start_daemon", flags, port, accepts, accepts_closure, handler, closure, array,
                                                     options, static_cast<int>(MHD_OPTION_END));
}

void MHD_stop_daemon(MHD_Daemon* daemon) { ib::passed_on<MHD_stop_daemon, microhttpd>("MHD_stop_daemon", daemon); }
MHD_Result MHD_run(MHD_Daemon* daemon) { return ib::passed_on<MHD_run, microhttpd>("MHD_run", daemon); }

MHD_Result MHD_get_timeout(MHD_Daemon* daemon, MHD_UNSIGNED_LONG_LONG* timeout) {
  return ib::passed_on<MHD_get_timeout, microhttpd>("MHD_get_timeout", daemon, timeout);
}

// Only for what needs no further argument.
const MHD_DaemonInfo* MHD_get_daemon_info(MHD_Daemon* daemon, MHD_DaemonInfoType type, ...) {
  return ib::passed_on<MHD_get_daemon_info, microhttpd>("MHD_get_daemon_info", daemon, type);
}
const MHD_ConnectionInfo* MHD_get_connection_info(MHD_Connection* connection, MHD_ConnectionInfoType type, ...) {
  return ib::passed_on<MHD_get_connection_info, microhttpd>("MHD_get_connection_info", connection, type);
}

int MHD_get_connection_values_n(MHD_Connection* connection, MHD_ValueKind kind, MHD_KeyValueIteratorN iterator, void* closure) {
  return ib::passed_on<MHD_get_connection_values_n, microhttpd>("MHD_get_connection_values_n", connection, kind, iterator, closure);
}

MHD_Response* MHD_create_response_from_callback(std::uint64_t size, std::size_t block_size, MHD_ContentReaderCallback reader, void* closure,
                                                MHD_ContentReaderFreeCallback free) {
  return ib::passed_on<MHD_create_response_from_callback, microhttpd>("MHD_create_response_from_callback", size, block_size, reader,
                                                                      closure, free);
}

MHD_Response* MHD_create_response_from_buffer(std::size_t size, void* buffer, MHD_ResponseMemoryMode mode) {
  return ib::passed_on<MHD_create_response_from_buffer, microhttpd>("MHD_create_response_from_buffer", size, buffer, mode);
}

MHD_Result MHD_add_response_header(MHD_Response* response, const char* header, const char* content) {
  return ib::passed_on<MHD_add_response_header, microhttpd>("MHD_add_response_header", response, header, content);
}

// Only without options.
MHD_Result MHD_set_response_options(MHD_Response* response, MHD_ResponseFlags flags, ...) {
  return ib::passed_on<MHD_set_response_options, microhttpd>("MHD_set_response_options", response, flags, static_cast<int>(MHD_RO_END));
}

MHD_Result MHD_queue_response(MHD_Connection* connection, unsigned int status, MHD_Response* response) {
  return ib::passed_on<MHD_queue_response, microhttpd>("MHD_queue_response", connection, status, response);
}

void MHD_destroy_response(MHD_Response* response) { ib::passed_on<MHD_destroy_response, microhttpd>("MHD_destroy_response", response); }

}  // extern "C"
