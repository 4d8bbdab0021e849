// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Forwarding tables as text: the output of dump_lfts, dump_mfts, dump_fts and ibroute (of ibtool and of infiniband-diags), any number of
// such texts one after another, and opensm's files opensm-lfts.dump, opensm.fdbs and opensm.mcfdbs. The form of a file is recognised at
// each of its tables. The tables are passed on one by one: the tables of a large fabric are gigabytes of text.
//
// The heading of a forwarding table, which names its switch, in the form of each program:
//
//     Unicast lids [0x0-0x13] of switch DR path slid 0; dlid 0; 0,1 guid 0x0002c90200400100 (leaf 1):   infiniband-diags
//     Unicast lids [0x0-0x13] of switch Lid 2 guid 0x0002c90200400100 (leaf 1):                         infiniband-diags
//     Unicast lids [0-22] of switch Lid 3 guid 0x0002c90200000010 ('leaf0'):                            opensm-lfts.dump
//     Unicast lids [0-63] of switch DR Path (0, 1) 'leaf 1'                                             ibtool
//     Unicast lids [0-63] of switch Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 'leaf 1'                        ibtool
//     dump_ucast_routes: Switch 0x0002c90200000010                                                      opensm.fdbs
//     Switch 0x0002c90200000010                                                                         opensm.mcfdbs
//
// The name stands last and may hold anything, so a line is read from its front.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "iba/types.hpp"

namespace ib::formats {

inline constexpr std::uint8_t no_port = 255;  ///< IBA 14.2.5.6: packets to the LID are discarded

struct StoredRoute {
  Lid lid;
  std::uint8_t port{};  ///< no_port: the LID is unreachable according to the file
  bool operator==(const StoredRoute&) const = default;
};

struct StoredGroup {
  Lid lid;
  std::bitset<256> ports;
  bool operator==(const StoredGroup&) const = default;
};

/// One table of a file. A switch can have several tables in a file; a later row replaces an earlier one. Files identify a switch by its
/// GUIDs, its LID, a route to it or its name: the members for what the file gives are set, at least one of them.
struct StoredForwardingTable {
  std::optional<Guid> node_guid;
  std::optional<Guid> port_guid;  ///< of switch port 0, from the row of the switch itself
  std::optional<Lid> lid;
  /// The output ports from the host that printed the table, which need not be the one where a topology begins; empty for the host itself.
  std::optional<std::vector<std::uint8_t>> directed_route;
  std::string name;  ///< untrusted, without its quotes; empty if the file has none
  bool multicast = false;
  bool not_read = false;  ///< ibtool reports that it could not read the table: no rows follow
  /// The first and the last LID of the table. opensm.fdbs and opensm.mcfdbs name none.
  std::optional<std::uint16_t> first, last;
  std::size_t line{};               ///< of the heading
  std::vector<StoredRoute> routes;  ///< of a unicast table: ascending, each LID once
  std::vector<StoredGroup> groups;  ///< of a multicast table: ascending, each MLID once

  /// A LID in this range without a row is unreachable (a group without a row has no ports). The range is empty if the file does not say
  /// that.
  std::uint16_t first_listed = 1, last_listed = 0;
  /// Whether last_listed is the top of the table: LIDs above it have no entry. Otherwise their entries are not known, and neither are those
  /// of LIDs below first_listed.
  bool to_top = false;
  /// The file has no table of a switch without entries, as opensm.mcfdbs has none.
  bool leaves_out_empty = false;

  /// Whether the file gives the entry of `of`: by a row, or by listing the range in which `of` has none.
  bool says(Lid of) const;
};

using TakeTable = std::function<void(StoredForwardingTable&&)>;

/// Reads lines. It keeps one table, and the runs of LIDs without a gap in the tables of each switch.
class ForwardingTextReader {
 public:
  /// `path` names the file in messages. `take` gets each table once it is complete.
  ForwardingTextReader(std::string path, TakeTable take) : path_(std::move(path)), take_(std::move(take)) {}

  /// Reads the next line, without its end. Throws UsageError `FILE:LINE: REASON` if it is not a line of such a file.
  void line(std::string_view text);
  /// Reads a last line that has no line end and may therefore be cut. It counts only if it is the line below the rows of a table; otherwise
  /// the table breaks off before it.
  void cut_line(std::string_view text);
  /// Passes on the last table. Throws UsageError if the file had none.
  void end();
  /// Remarks on the file for the user, `FILE:LINE: REASON` each: LIDs with two rows of one switch, of which the last counts, and tables
  /// that break off. At most most_remarks, and one more that counts the rest.
  std::vector<std::string> remarks() const;

  static constexpr std::size_t most_remarks = 16;

 private:
  /// What is known of a switch from all of its tables so far.
  struct Seen {
    std::size_t line{};                             ///< of its first table
    std::map<std::uint16_t, std::uint16_t> runs{};  ///< of LIDs that have a row: the first of each, and its last
  };
  /// The form in which the rows of a multicast table list ports.
  enum class GroupForm { numbers, columns, masks };

  [[noreturn]] void refuse(std::string_view why) const;
  void remark(std::size_t line, std::string_view text);
  void begin(std::string_view text);
  void finish();
  void break_off();
  bool is_header(std::string_view text);
  bool last_line(std::string_view text);
  void row(std::string_view text);
  void route_row(Lid lid, std::string_view rest, bool counts);
  void own_row(std::string_view rest);
  std::bitset<256> group_ports(std::string_view text, std::string_view rest) const;
  void remark_repeated();

  std::string path_;
  TakeTable take_;
  std::size_t number_ = 0, tables_ = 0;
  std::optional<StoredForwardingTable> table_;  ///< the one whose rows are being read
  bool rows_ = false;                           ///< whether rows are allowed: the line that ends the table was not there yet
  bool lists_all_ = false;                      ///< all tables of this form end with the same LID, and no line ends them
  bool breaks_off_ = false;                     ///< the file ends within the table
  std::size_t above_top_ = 0;                   ///< rows of LIDs above the last one of the heading
  std::uint16_t last_of_all_ = 0;               ///< the last LID of earlier tables with lists_all_
  GroupForm form_ = GroupForm::numbers;
  unsigned first_column_ = 0, column_step_ = 0;
  std::set<std::uint16_t> repeated_;  ///< LIDs that the table has twice, or that an earlier one of the switch has too
  std::unordered_map<std::string, Seen> seen_;
  std::vector<std::string> remarks_;
  std::size_t further_remarks_ = 0;
};

/// Reads the file `path`. Returns the remarks on it. Throws UsageError or SysError.
std::vector<std::string> read_forwarding_text(const std::string& path, const TakeTable& take);

/// The SL of a pair as ibdmchk reads it (its option -c): a line for each source and DLID, `0x0002c90200000110 6 0`. Its first column is
/// the GUID of the node of the source, so the ports of one node have the same SLs.
struct StoredServiceLevel {
  Guid node_guid;
  Lid dlid;
  std::uint8_t sl{};
};

using TakeServiceLevel = std::function<void(const StoredServiceLevel&)>;

/// Reads the file `path` line by line and hands on each pair; the pairs of a large fabric are too many to be kept here. Empty lines and
/// comments (#) are left out. Throws UsageError `FILE:LINE: REASON` for any other line, and for a file without a pair, and SysError.
void read_service_levels(const std::string& path, const TakeServiceLevel& take);

}  // namespace ib::formats
