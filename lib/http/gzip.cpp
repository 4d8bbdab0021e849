// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Pages of metrics repeat themselves from line to line. A window of 4 KiB is enough for that; with it, a stream takes 40 KiB of memory in
// place of 270, of which a thousand clients would take a thousand.
#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <stdexcept>

#include "http/body.hpp"

namespace ib::http {
namespace {

constexpr int window_bits = 12, memory_level = 6, gzip_format = 16;

class GzipBody final : public Body {
 public:
  explicit GzipBody(std::unique_ptr<Body> body) : body_(std::move(body)) {
    const int code = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, window_bits + gzip_format, memory_level, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) throw std::runtime_error(fmt::format("deflateInit2: {}", code));
  }
  ~GzipBody() override { deflateEnd(&stream_); }
  GzipBody(const GzipBody&) = delete;
  GzipBody& operator=(const GzipBody&) = delete;

  bool next(std::string& out, std::size_t size) override {
    out.clear();
    while (out.size() < size && !has_ended_) {
      if (stream_.avail_in == 0 && !is_last_) read(size);
      compress(out);
    }
    return !out.empty();
  }
  bool is_outdated() const override { return body_->is_outdated(); }

 private:
  void read(std::size_t size) {
    is_last_ = !body_->next(piece_, size);
    stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_in = static_cast<uInt>(piece_.size());
  }
  void compress(std::string& out) {
    std::array<char, 16384> room;
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = room.size();
    has_ended_ = deflate(&stream_, is_last_ ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    out.append(room.data(), room.size() - stream_.avail_out);
  }

  std::unique_ptr<Body> body_;
  std::string piece_;
  z_stream stream_{};
  bool is_last_{}, has_ended_{};
};

}  // namespace

std::unique_ptr<Body> gzip(std::unique_ptr<Body> body) { return std::make_unique<GzipBody>(std::move(body)); }

}  // namespace ib::http
