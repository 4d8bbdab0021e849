// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Server answers requests that arrive at the channel of an Rpc. The Rpc can send requests at the same time. Handlers are
// registered by class, method and attribute. A request without a handler is refused as IBA 13.4.7 says.
//
//   mad::Server server(rpc);
//   server.serve(mad::service_of<ofa::SysStatPing>());
//   server.on<ofa::SysStatPing>(method::get, [](const ofa::SysStatPing& ping, const mad::Incoming&) { return ping; });
//   co_await server.run();
//
// A handler refuses a request by throwing: `throw incoming.error(status::invalid_attribute_or_modifier, "…")`. Answers and
// malformed MADs are never answered, so that two servers cannot answer each other endlessly.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "async/event.hpp"
#include "mad/error.hpp"
#include "mad/rpc/rpc.hpp"

namespace ib::mad {

/// A received request. It owns its bytes; a copy can be kept to answer after the handler has returned.
class Incoming {
 public:
  Incoming(Bytes mad, const Source& source, const sys::EndPort& end_port);

  Bytes bytes() const { return bytes_; }
  HeaderView header() const { return HeaderView(bytes_); }
  /// The data area of the class, or more if the request came in segments.
  Bytes payload() const { return bytes().subspan(data_area(bytes_[1]).offset); }
  template <class T>
  T as() const {
    return T::unpack(payload());
  }
  /// The path that the request took, from its sender to this port.
  const path::Path& path() const { return path_; }
  path::Path reply_path() const;
  /// An error for a handler to throw. The request is then answered with `reply_status`.
  MadError error(std::uint16_t reply_status, std::string message) const;

 private:
  std::vector<std::uint8_t> bytes_;
  path::Path path_;
};

/// The Service for requests of attributes like T: the class, version and OUI of T, and all methods.
template <class T>
constexpr Service service_of() {
  Service service;
  service.mgmt_class = T::mgmt_class;
  service.class_version = T::mgmt_class_version;
  if constexpr (requires { T::vendor_oui; }) service.oui = T::vendor_oui;
  return service;
}

/// The differences between the headers of an answer and of its request.
struct ReplyHeader {
  std::uint16_t status{};
  std::optional<std::uint16_t> attribute_id{};        ///< the request's if absent
  std::optional<std::uint32_t> attribute_modifier{};  ///< the request's if absent
  std::uint16_t attribute_offset{};                   ///< SA: distance between records, in units of 8 bytes (IBA 15.2.1.1)
};

/// Answers the requests that arrive at the channel of an Rpc.
class Server final {
 public:
  using Handler = std::function<void(const Incoming&)>;

  /// Makes the one server of `rpc`, which must outlive it.
  explicit Server(Rpc& rpc);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Lets requests of `service` arrive. All of them are answered; a request without a handler is refused. To be called once for
  /// each class and OUI. Throws SysError: EINVAL if another program of this host serves the class.
  void serve(const Service& service);

  /// Registers `handler` for requests with this class, method and attribute. The handler answers with send_reply(), at once or
  /// later, or throws. A MadError gives the status of the refusal; any other exception also refuses the request.
  void on(std::uint8_t mgmt_class, std::uint8_t method, std::uint16_t attribute_id, Handler handler);
  /// Registers a handler for an attribute T of one class. `fn(const T&, const Incoming&)` returns the answer.
  template <class T, class Fn>
  void on(std::uint8_t method, Fn fn) {
    on<T>(T::mgmt_class, method, std::move(fn));
  }
  /// Registers such a handler for an attribute T of many classes.
  template <class T, class Fn>
  void on(std::uint8_t mgmt_class, std::uint8_t method, Fn fn) {
    on(mgmt_class, method, T::attribute_id,
       [this, fn = std::move(fn)](const Incoming& incoming) { send_reply(incoming, fn(incoming.as<T>(), incoming)); });
  }

  /// Answers with `payload`, followed by zeros. An answer that cannot be sent is reported, not thrown. Throws
  /// std::invalid_argument if the payload is too long for its class.
  void send_reply(const Incoming& incoming, Bytes payload, const ReplyHeader& header = {});
  template <class T>
  requires requires { T::wire_size; }
  void send_reply(const Incoming& incoming, const T& value, const ReplyHeader& header = {}) {
    send_reply(incoming, Bytes(wire::packed(value)), header);
  }
  /// Answers with `payload` of any length, in segments (IBA 13.6). The requester must expect this; for subnet administration
  /// only SubnAdmGetTable and similar methods do. The answer is a refusal with the status busy if the payload exceeds what
  /// other transfers leave of RmppOutbox::most_bytes. Throws std::invalid_argument for classes without RMPP.
  void send_rmpp_reply(const Incoming& incoming, Bytes payload, const ReplyHeader& header = {});
  /// Answers with the request itself, without its RMPP header, and with `status`. Does nothing for methods that have no answer
  /// (IBA 13.4.5).
  void refuse(const Incoming& incoming, std::uint16_t status);

  /// Waits until stop(). Throws the error that made the channel fail.
  Task<> run();
  void stop() { stopped_.set(); }

  /// Sets a function that receives every refusal and every answer that could not be sent.
  void set_reporter(std::function<void(const Error&)> reporter) { reporter_ = std::move(reporter); }
  struct Counts {
    std::uint64_t answered{};
    std::uint64_t refused{};
    std::uint64_t ignored{};  ///< malformed MADs, and MADs of a class that is not served
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Key {
    std::uint8_t mgmt_class, method;
    std::uint16_t attribute_id;
    auto operator<=>(const Key&) const = default;
  };

  friend class Rpc;
  /// A request came. `mad` has at least header_size bytes and no R bit. A request that came in segments is complete.
  void requested(Bytes mad, const Source& source);
  /// The channel has failed.
  void broken(std::exception_ptr error);
  const Service* find_service(Bytes mad) const;
  const Handler& find_handler(const Incoming& incoming, const Service& service) const;
  bool transmit(const Incoming& incoming, Bytes mad);
  std::uint16_t report_caught() const;
  void report(const Error& error) const;

  Rpc& rpc_;
  std::vector<Service> services_;
  std::map<Key, Handler> handlers_;
  std::function<void(const Error&)> reporter_;
  Counts counts_;
  async::Event stopped_;
  std::exception_ptr broken_;
};

}  // namespace ib::mad
