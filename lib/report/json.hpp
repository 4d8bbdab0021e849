// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Sink that writes JSON (RFC 8259) at each event. It stores only the nesting depth, so a report of a whole fabric needs
// little memory. The output is valid JSON whatever bytes the strings hold.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/sink.hpp"
#include "report/text_out.hpp"

namespace ib::report {

enum class JsonStyle {
  pretty,  ///< indented by two blanks, with a newline after the document
  lines,   ///< every top-level value on a line of its own, without blanks
};

/// Integers are written in full, although some readers keep numbers as doubles, which cannot hold 64 bits. GUIDs and GIDs are
/// strings as in text output. The destructor does not complete an unfinished document.
class JsonSink : public Sink {
 public:
  /// Writes to a file in pieces, and at the end of every top-level value. Throws as TextOut::deliver() does.
  explicit JsonSink(TextOut out, JsonStyle style = JsonStyle::pretty) : out_(std::move(out)), style_(style) {}

  void begin(std::string_view key, Nest nest) override;
  void end(Nest nest) override;
  void literal(std::string_view key, std::string_view value, const Measure& measure) override;
  void text(std::string_view key, std::string_view value) override;
  void unwind() override;
  bool withdraw() override { return out_.withdraw(); }

 private:
  struct Level {
    Nest nest;
    bool empty;
  };

  void place(std::string_view key);
  void new_line();
  void finish_value();

  TextOut out_;
  JsonStyle style_;
  std::vector<Level> levels_;
};

/// Writes one document, which must be an object. Only the current line and the last line are in memory.
class LinesSink : public Sink {
 public:
  /// `head` writes the members that begin every line. Throws as TextOut::deliver() does.
  LinesSink(TextOut out, std::function<void(Sink&)> head)
      : out_(std::move(out)), head_(std::move(head)), last_(last_text_, JsonStyle::lines) {}

  void begin(std::string_view key, Nest nest) override;
  void end(Nest nest) override;
  void literal(std::string_view key, std::string_view value, const Measure& measure) override;
  void text(std::string_view key, std::string_view value) override;
  void unwind() override;
  /// There is nothing to drop as long as no line was written.
  bool withdraw() override { return out_.withdraw(); }

 private:
  /// The kind of the current array, a direct member of the document.
  enum class Array {
    none,
    empty,  ///< has no element yet, so its kind is not known
    plain,  ///< of numbers or texts: becomes a part of the last line
    lines,  ///< of objects
  };

  template <class Write>
  void scalar(std::string_view key, Write write);
  bool at_element() const { return depth_ == 2 && array_ != Array::none; }
  /// The sink for a value inside the document.
  Sink& place() { return line_ ? static_cast<Sink&>(*line_) : last_; }
  void begin_plain();
  void begin_line();
  void end_line();
  void put(std::string& text);

  TextOut out_;
  std::function<void(Sink&)> head_;
  unsigned depth_ = 0;  ///< number of open objects and arrays
  Array array_ = Array::none;
  std::string list_;  ///< key of the current array
  std::string line_text_, last_text_;
  std::optional<JsonSink> line_;
  JsonSink last_;
};

}  // namespace ib::report
