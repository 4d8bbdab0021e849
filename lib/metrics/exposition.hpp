// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Samples as Prometheus reads them: its text format 0.0.4, and OpenMetrics 1.0. A family of metrics is begun, then its samples follow; the
// comments of a family are written with its first sample, so that an empty family leaves no trace. Text is appended to a buffer, which
// its owner empties from time to time: no page is ever whole in memory.
//
//   Exposition page(Format::text, constant_labels({}));
//   page.begin(family);
//   page.sample().label("guid", guid).label("switch", name).value(1);
//   page.end();
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba/types.hpp"
#include "report/sink.hpp"

namespace ib::metrics {

enum class Format : std::uint8_t { text, openmetrics };

/// The value of the header Content-Type.
std::string_view content_type(Format format);

/// What all samples of one name have in common.
struct FamilyHead {
  std::string name;         ///< as it stands in samples: the name of a counter ends with "_total"
  report::Measure measure;  ///< a counter or a gauge. OpenMetrics has the unit where the name (without "_total") ends with it
  std::string help;         ///< one line without backslashes and quotes
};

/// Appends `text` as the value of a label, without its quotes. What is not UTF-8 becomes U+FFFD: Prometheus would drop the whole page.
/// Backslash, quote and newline are escaped. Other control characters except tabs become U+FFFD too: some readers fail on CR and NUL, and
/// terminals obey them.
void append_label_value(std::string& out, std::string_view text);

/// Whether `name` may be the name of a label that a user adds: [a-zA-Z_][a-zA-Z0-9_]*, and not reserved by two leading underscores.
bool is_label_name(std::string_view name);

/// The text of labels that all samples bear: `fabric="hpc1",`, empty where there are none.
std::string constant_labels(const std::vector<std::pair<std::string, std::string>>& labels);

class Exposition;

/// One sample while it is written: labels, then the value, which ends it.
class Sample {
 public:
  Sample& label(std::string_view name, std::string_view text);
  /// As "0x" and 16 digits.
  Sample& label(std::string_view name, Guid guid);
  Sample& label(std::string_view name, unsigned number);
  template <std::integral T>
  void value(T number) {
    value_text(std::to_string(number));
  }
  void value(double value);

 private:
  friend class Exposition;
  explicit Sample(std::string& out) : out_(out) {}
  void begin_label(std::string_view name);
  void value_text(std::string_view text);

  std::string& out_;
};

/// The text of a page, piece by piece.
class Exposition {
 public:
  /// `labels` as constant_labels() makes them.
  Exposition(Format format, std::string labels) : format_(format), labels_(std::move(labels)) {}

  /// Begins a family. `head` must outlive its samples.
  void begin(const FamilyHead& head);
  Sample sample();
  void end();

  /// What was written and not taken yet.
  std::string& buffer() { return out_; }

 private:
  void write_comments();

  Format format_;
  std::string labels_;
  std::string out_;
  const FamilyHead* head_{};
  bool has_comments_{};  ///< of head_
};

}  // namespace ib::metrics
