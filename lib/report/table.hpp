// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Sink that writes one list of a document as a table: CSV (RFC 4180) or tab-separated values. Each element of the list is a row. For a
// list within the elements of another list, each element of the inner list is a row, with the members of the elements around it:
//
//   nodes        one row a node
//   nodes.ports  one row a port, with the members of its node
//
// An object may be named instead of a list; it is a table of one row. A member of an object within a row has the column OBJECT.MEMBER. A
// list within a row is a cell that holds JSON. Everything else in the document is left out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/columns.hpp"
#include "report/json.hpp"

namespace ib::report {

enum class TableStyle {
  csv,      ///< RFC 4180: commas, CRLF, cells in double quotes where they need it
  tsv,      ///< tabs and newlines; in cells they are \t, \n and \r, and a backslash is \\.
  aligned,  ///< a text: columns as wide as their widest word, "-" for null
};

/// The first line names the columns: as columns() announced them, else of the first row. It is there without rows where they were
/// announced.
/// A cell has the value as in JSON: digits, true or false, a text; null is an empty cell. A text that a spreadsheet would take for a
/// formula, or that begins with an apostrophe, has an apostrophe in front. Characters that could disturb a terminal, and bytes that are not
/// UTF-8, become U+FFFD.
///
/// Rows are written when the outermost element that contains them, an element of a list of the document, is complete.
class TableSink : public Sink {
 public:
  /// `rows` is the place of the rows: "nodes.ports". `usual`, of an aligned text: names between commas of its columns where none are
  /// chosen; empty: all. `width` as for Table::write_text(). Throws as TextOut::deliver() does.
  TableSink(TextOut out, TableStyle style, std::string_view rows, TableChoice choice = {}, std::string_view usual = {},
            std::size_t width = unlimited_width);

  void begin(std::string_view key, Nest nest) override;
  void end(Nest nest) override;
  void literal(std::string_view key, std::string_view value, const Measure& measure) override;
  void text(std::string_view key, std::string_view value) override;
  void null_object(std::string_view key, const std::function<void(Sink&)>& unknown_members) override;
  /// The columns of the rows, in their order, also where there is no row.
  void columns(const std::vector<std::string>& names) override;
  /// Drops the rows of the element that is not complete.
  void unwind() override;
  bool withdraw() override { return out_.withdraw(); }

 private:
  /// The role of an open object or array.
  enum class Role {
    document,
    list,     ///< a list that contains the rows, directly or within its elements
    element,  ///< an element of such a list: the row itself, or an object around it
    inside,   ///< an object within an element
    ignored,
  };
  struct Level {
    Role role;
    std::size_t prefix = 0;     ///< of `inside`: size of the prefix of names before it
    std::size_t first_row = 0;  ///< of `element`: number of pending rows before it
  };
  struct Cell {
    std::string name, text;
  };
  using Cells = std::vector<Cell>;
  using Row = std::vector<std::shared_ptr<const Cells>>;  ///< by depth of the elements
  using Names = std::vector<std::string>;
  using Words = std::vector<std::string>;  ///< by column, encoded

  bool is_streaming() const { return style_ != TableStyle::aligned && !choice_.sort; }
  void add_line(const std::vector<std::string_view>& cells);
  void write_kept();
  Role role() const { return levels_.empty() ? Role::ignored : levels_.back().role; }
  bool holds_cells() const { return role() == Role::element || role() == Role::inside; }
  bool leads_on(std::string_view key) const;
  void begin_element();
  void end_element();
  void begin_json(std::string_view key);
  void cell(std::string_view key, std::string text);
  std::string encoded(std::string_view value) const;
  static Names names_in(const Cells& cells);
  Names names_of(const std::vector<Names>& members) const;
  Names names_of(const Row& row) const;
  std::vector<std::string_view> cells_of(const Row& row) const;
  void write_head(Names names);
  void write(const Row& row);
  void line(const std::vector<std::string_view>& cells);

  TextOut out_;
  TableStyle style_;
  TableChoice choice_;
  std::string_view usual_;
  std::size_t width_;
  std::vector<std::size_t> chosen_;  ///< the columns that are shown; empty: all
  std::size_t written_{};
  std::vector<Words> kept_;  ///< rows with all columns, where they do not go out as they come
  std::vector<std::string> path_;
  std::vector<Level> levels_;
  std::vector<Cells> open_;       ///< the cells of the elements that are open
  std::string prefix_;            ///< of the names of cells
  std::vector<Row> rows_;         ///< of the present element of the document's list
  Names columns_;                 ///< of the first line
  Names members_;                 ///< what they name, where they are of the first row
  std::vector<Names> announced_;  ///< names of members by depth, as columns() gave them
  std::string json_text_, json_name_;
  std::optional<JsonSink> json_;  ///< of a list within a row
  unsigned json_depth_ = 0;
};

}  // namespace ib::report
