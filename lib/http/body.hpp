// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The body of an answer, made while it is sent.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace ib::http {

class Body {
 public:
  virtual ~Body() = default;
  /// Puts the next part of the body in the place of what `out` holds, of about `size` bytes. False: the body has ended, and `out` is empty.
  virtual bool next(std::string& out, std::size_t size) = 0;
  /// Whether the body is too old to be sent further (Server::drop_outdated()).
  virtual bool is_outdated() const { return false; }
};

/// `body` compressed as gzip (RFC 1952).
std::unique_ptr<Body> gzip(std::unique_ptr<Body> body);

}  // namespace ib::http
