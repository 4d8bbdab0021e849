// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Sink that writes a document as JSON lines. Each object of an array that is a direct member of the document becomes a line
// of its own, written as soon as the object is complete. The rest of the document is one last line:
//
//   {"command":"ibhosts","schema":3,"list":"nodes","item":{"node_guid":…}}
//   {"command":"ibhosts","schema":3,"unreachable":[],"status":0}
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "report/json.hpp"

namespace ib::report {

/// Writes one document, which must be an object. Only the current line and the last line are in memory.
class LinesSink : public Sink {
 public:
  /// `head` writes the members that begin every line. Throws as Output::flush() does.
  LinesSink(Output out, std::function<void(Sink&)> head)
      : out_(std::move(out)), head_(std::move(head)), last_(last_text_, JsonStyle::lines) {}

  void begin_object(std::string_view key = {}) override;
  void end_object() override;
  void begin_array(std::string_view key = {}) override;
  void end_array() override;
  void literal(std::string_view key, std::string_view value, const Measure& measure) override;
  void text(std::string_view key, std::string_view value) override;
  /// Drops the current line.
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

  Output out_;
  std::function<void(Sink&)> head_;
  unsigned depth_ = 0;  ///< number of open objects and arrays
  Array array_ = Array::none;
  std::string list_;  ///< key of the current array
  std::string line_text_, last_text_;
  std::optional<JsonSink> line_;
  JsonSink last_;
};

}  // namespace ib::report
