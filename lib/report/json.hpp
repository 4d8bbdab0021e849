// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Sink that writes JSON (RFC 8259) at each event. It stores only the nesting depth, so a report of a whole fabric needs
// little memory. The output is valid JSON whatever bytes the strings hold.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "report/sink.hpp"

namespace ib::report {

enum class JsonStyle {
  pretty,  ///< indented by two blanks, with a newline after the document
  lines,   ///< every top-level value on a line of its own, without blanks
};

/// The shortest text that reads back as `value`: 100000 and 25781.25, not 1e+05. "null" for a value that is not finite.
std::string real_text(double value);

/// Integers are written in full, although some readers keep numbers as doubles, which cannot hold 64 bits. GUIDs and GIDs are
/// strings as in text output. A real number that is not finite becomes null; other real numbers have no exponent unless they
/// are tiny or huge. The destructor does not complete an unfinished document.
class JsonSink : public Sink {
 public:
  /// Appends to `out`, which must outlive the sink.
  explicit JsonSink(std::string& out, JsonStyle style = JsonStyle::pretty);
  /// Writes to `file` in pieces, and at the end of every top-level value. Throws SysError if a write fails (EPIPE, ENOSPC).
  explicit JsonSink(std::FILE* file, JsonStyle style = JsonStyle::pretty);
  ~JsonSink() override;
  JsonSink(const JsonSink&) = delete;
  JsonSink& operator=(const JsonSink&) = delete;

  void begin_object(std::string_view key = {}) override;
  void end_object() override;
  void begin_array(std::string_view key = {}) override;
  void end_array() override;
  void null(std::string_view key) override;
  void boolean(std::string_view key, bool value) override;
  void integer(std::string_view key, std::int64_t value, const Measure& measure) override;
  void unsigned_integer(std::string_view key, std::uint64_t value, const Measure& measure) override;
  void real(std::string_view key, double value, const Measure& measure) override;
  void text(std::string_view key, std::string_view value) override;
  void guid(std::string_view key, Guid value) override;
  void gid(std::string_view key, const Gid& value) override;
  void unwind() override;
  bool withdraw() override;

 private:
  struct Level {
    bool object;
    bool empty;
  };

  void begin(std::string_view key, bool object);
  void end(bool object);
  void scalar(std::string_view key, std::string_view literal);
  void place(std::string_view key);
  void new_line();
  void finish_value();
  void flush();

  std::string own_;
  std::string& out_;
  std::FILE* file_ = nullptr;
  bool written_{};  // something of it
  JsonStyle style_;
  std::vector<Level> levels_;
};

}  // namespace ib::report
