// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Sink that writes JSON (RFC 8259) at each event. It stores only the nesting depth, so a report of a whole fabric needs
// little memory. The output is valid JSON whatever bytes the strings hold.
#pragma once

#include <vector>

#include "report/output.hpp"
#include "report/sink.hpp"

namespace ib::report {

enum class JsonStyle {
  pretty,  ///< indented by two blanks, with a newline after the document
  lines,   ///< every top-level value on a line of its own, without blanks
};

/// Integers are written in full, although some readers keep numbers as doubles, which cannot hold 64 bits. GUIDs and GIDs are
/// strings as in text output. The destructor does not complete an unfinished document.
class JsonSink : public Sink {
 public:
  /// Writes to a file in pieces, and at the end of every top-level value. Throws as Output::flush() does.
  explicit JsonSink(Output out, JsonStyle style = JsonStyle::pretty) : out_(std::move(out)), style_(style) {}

  void begin_object(std::string_view key = {}) override;
  void end_object() override;
  void begin_array(std::string_view key = {}) override;
  void end_array() override;
  void literal(std::string_view key, std::string_view value, const Measure& measure) override;
  void text(std::string_view key, std::string_view value) override;
  void unwind() override;
  bool withdraw() override { return out_.withdraw(); }

 private:
  struct Level {
    bool object;
    bool empty;
  };

  void begin(std::string_view key, bool object);
  void end(bool object);
  void place(std::string_view key);
  void new_line();
  void finish_value();

  Output out_;
  JsonStyle style_;
  std::vector<Level> levels_;
};

}  // namespace ib::report
