// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/saquery/two_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/escape.hpp"

namespace ib::tools::saquery {
namespace {

/// Divisions of SRC:DST into two targets.
struct Divisions {
  std::vector<TwoEnds> exact;    ///< both ends are addresses or whole words of a name
  std::vector<TwoEnds> inexact;  ///< the others

  const std::vector<TwoEnds>& best() const { return exact.empty() ? inexact : exact; }
};

enum class EndKind { none, inexact, exact };

async::Task<EndKind> kind_of(Targets& targets, std::string word, bool may_sweep) {
  constexpr std::size_t guid_colons = 3, guid_size = 19;
  if (word.empty()) co_return EndKind::exact;
  // A GUID has four digits in each group here: 3:0000:0000:0000 is no GUID, but a LID and the beginning of one.
  if (std::ranges::count(word, ':') == guid_colons && word.size() < guid_size) co_return EndKind::none;
  const Targets::Meaning meaning = co_await targets.meaning(std::move(word), may_sweep);
  if (!meaning.path) co_return EndKind::none;
  co_return meaning.is_exact ? EndKind::exact : EndKind::inexact;
}

async::Task<Divisions> divide(Targets& targets, std::string text, bool may_sweep) {
  Divisions found;
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
    TwoEnds ends{text.substr(0, at), text.substr(at + 1)};
    const EndKind source = co_await kind_of(targets, ends.source, may_sweep);
    if (source == EndKind::none) continue;
    const EndKind destination = co_await kind_of(targets, ends.destination, may_sweep);
    if (destination == EndKind::none) continue;
    const bool is_exact = source == EndKind::exact && destination == EndKind::exact;
    (is_exact ? found.exact : found.inexact).push_back(std::move(ends));
  }
  co_return found;
}

}  // namespace

async::Task<TwoEnds> two_ends(Targets& targets, std::string text) {
  const std::size_t first = text.find(':');
  if (text.find(':', first + 1) == std::string::npos) {  // what is wrong with an end is said where it is used
    TwoEnds only{text.substr(0, first), text.substr(first + 1)};
    co_return only;
  }
  Divisions found = co_await divide(targets, text, false);
  if (found.best().empty()) found = co_await divide(targets, text, true);
  if (found.best().empty())
    throw UsageError(
        fmt::format("--src-to-dst: {} has no colon with a target on either side (a LID, a GUID or the name of a node)", in_quotes(text)));
  if (found.best().size() > 1) {
    std::string list;
    for (const TwoEnds& ends : found.best())
      list += fmt::format("{}{} to {}", list.empty() ? "" : ", or ", in_quotes(ends.source), in_quotes(ends.destination));
    throw UsageError(fmt::format("--src-to-dst: {} can be divided in several ways: {}: give LIDs", in_quotes(text), list));
  }
  co_return found.best().front();
}

}  // namespace ib::tools::saquery
