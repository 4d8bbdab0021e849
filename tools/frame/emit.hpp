// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The output of results. A command fetches data, fills a Report (report.hpp) and passes it to Emit, which prints it as text or as JSON on
// stdout. Most commands emit once, repeating ones many times.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "tools/frame/report.hpp"

namespace ib {
class Log;
}
namespace ib::report {
struct TableChoice;
}

namespace ib::tools {

enum class Dialect : std::uint8_t;

/// The version of the dictionary of JSON (man/json_words.hpp), which every document names. It is raised when a key changes its type or
/// meaning, or goes.
inline constexpr std::uint64_t json_schema = 3;

/// The form of a result on stdout.
enum class Format : std::uint8_t {
  text,
  json,   ///< one document
  lines,  ///< JSON lines: report::LinesSink
  csv,
  tsv,
};

/// The names of the formats for --format, in the order of the enumeration.
std::vector<std::string> format_names();
/// The format of that name.
std::optional<Format> format_named(std::string_view name);
/// Whether the output is a document: JSON or JSON lines.
constexpr bool is_document(Format format) { return format == Format::json || format == Format::lines; }
constexpr bool is_table(Format format) { return format == Format::csv || format == Format::tsv; }

/// The only way to stdout. In JSON a run is one object: the members of the reports, then `error` if the run failed, then `status`. A table
/// (CSV, TSV) is a part of that object: see report::TableSink.
class Emit {
 public:
  /// `file` and `log` as of TextOut.
  Emit(Dialect dialect, Format format, std::string_view command, std::FILE* file, const Log* log = nullptr)
      : dialect_(dialect), format_(format), command_(command), file_(file), log_(log), text_(file, log) {}

  /// The place of the rows in the object of the run: Command::table_rows(). Throws UsageError if `rows` is empty and the format is a table.
  /// To be called before anything is emitted. `of_each`: of each of several targets.
  void set_table_rows(std::string_view rows, bool of_each = false);

  /// Shows the rows as `choice` has it: a text as a table with the columns `usual`, names between commas, where none are chosen, that fits
  /// `width`. `choice` must outlive the run. To be called before anything is emitted.
  void show_table(const report::TableChoice& choice, std::string_view usual, std::size_t width);

  // The results of a command that runs once for each of several targets: in text each below a line with the target, else in the list that
  // is open.
  /// `heading` is for the text, `name` for the rest.
  void begin_target(std::string_view heading, std::string_view name);
  /// `failure`: the end of the run for this target; null if it did not fail.
  void end_target(const Error* failure);

  void operator()(const Report& report);
  /// Emits what was found before a failure that is thrown next, for infiniband-diags; ibtool prints a whole result or nothing.
  void so_far(const Report& report);
  /// A line that announces a result before it is fetched, as python-rdma prints them; only in text.
  void heading(std::string_view line);
  /// For text that belongs to no report; nothing in JSON.
  TextOut& text() { return text_; }
  /// Whether reports go to sink(): as JSON, or as a table that is a part of it.
  bool json() const { return format_ != Format::text || choice_ != nullptr; }
  /// Drops the output, so that the run can begin again. Returns false, and does nothing, if a part of it has been written already.
  bool withdraw();
  /// The open object, for reports that come row by row. Precondition: json().
  report::Sink& sink();
  /// Worsens the exit status (findings win over incomplete).
  void raise(Exit status);
  Exit status() const { return status_; }
  /// Sets the exit status of a program of infiniband-diags that ends without giving up.
  void set_diags_status(int status) { diags_status_ = status; }
  int diags_status() const { return diags_status_; }
  /// Pushes all text out. Throws as TextOut::finish() does.
  void flush() { text_.finish(); }
  /// Ends a run that did not fail. Throws as flush() does.
  void finish();
  /// Ends a run that failed. Text printed so far appears before the complaint on a terminal.
  void fail(const Error& error);

 private:
  void end(Exit status);

  Dialect dialect_;
  Format format_;
  std::string table_rows_, usual_;
  const report::TableChoice* choice_{};  ///< see show_table()
  std::size_t width_{};
  std::string command_;
  std::FILE* file_;
  const Log* log_;
  TextOut text_;
  std::unique_ptr<report::Sink> sink_;
  bool ended_{}, has_target_{};
  Exit status_ = Exit::ok;
  int diags_status_ = 0;
};

}  // namespace ib::tools
