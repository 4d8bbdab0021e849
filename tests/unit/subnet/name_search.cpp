// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How words match the names of nodes.
#include "subnet/model/name_search.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace subnet_name_search_tests {

using namespace ib::subnet;

namespace {

NameMatch match(std::string_view word, std::string_view name) { return NameWord(std::string(word)).match(name); }

}  // namespace

TEST_CASE("name match: whole words before other cases, hosts, patterns and pieces") {
  CHECK(match("compute01 mlx5_0", "compute01 mlx5_0") == NameMatch::whole);
  CHECK(match("compute01", "compute01 mlx5_0") == NameMatch::word);
  CHECK(match("leaf1", "MF0;leaf1:SB7800/U1") == NameMatch::word);
  CHECK(match("COMPUTE01 MLX5_0", "compute01 mlx5_0") == NameMatch::whole_any_case);
  CHECK(match("Compute01", "compute01 mlx5_0") == NameMatch::word_any_case);
  CHECK(match("compute01.example.org", "compute01 mlx5_0") == NameMatch::host);
  CHECK(match("compute01", "compute01.example.org mlx5_0") == NameMatch::host);
  CHECK(match("compute02.example.org", "compute01 mlx5_0") == NameMatch::no_match);
  CHECK(match("leaf1", "leaf10") == NameMatch::piece);
  CHECK(match("LEAF1", "leaf10") == NameMatch::piece);
  CHECK(match("caf\\xe9", "caf\xe9 HCA-1") == NameMatch::word);  // as it is printed
  CHECK(match("", "leaf10") == NameMatch::no_match);
}

TEST_CASE("name match: patterns and ranges") {
  CHECK(match("compute[01-16]", "compute07 mlx5_0") == NameMatch::pattern);
  CHECK(match("compute[01-16]", "compute7 mlx5_0") == NameMatch::no_match);
  CHECK(match("compute[01-16]", "compute17 mlx5_0") == NameMatch::no_match);
  CHECK(match("luna-0001*", "luna-00012 mlx5_0") == NameMatch::pattern);
  CHECK(match("LUNA-000?", "luna-0001 mlx5_0") == NameMatch::pattern);
  CHECK(match("luna-0001*", "luna-0002") == NameMatch::no_match);
  CHECK(match("leaf*", "MF0;leaf01:SB7800/U1") == NameMatch::pattern);
  CHECK(match("eaf*", "MF0;leaf01:SB7800/U1") == NameMatch::no_match);
  CHECK(match("compute[01-02]", "compute01.example.org") == NameMatch::pattern);
  CHECK(match("odd*name", "odd*name") == NameMatch::whole);
  CHECK_THROWS_AS(NameWord("n[5-3]"), ib::UsageError);
}

TEST_CASE("name match: NODE/PORT and NODE@PORT") {
  CHECK(split_port("leaf01/20").node == "leaf01");
  CHECK(split_port("leaf01/20").port == "20");
  CHECK(split_port("0002:c902:0040:0100@7").port == "7");
  for (const char* word : {"leaf01", "MF0;leaf01:SB7800/U1", "fe80::1%mlx5_0/1", "/1", "leaf/", "leaf/1234", "IBPath(DLID=1)/2"}) {
    CAPTURE(word);
    CHECK(split_port(word).node == word);
    CHECK(split_port(word).port.empty());
  }
}

TEST_CASE("name match: the nearest names, three at most") {
  const std::vector<std::string> names{"compute01 mlx5_0", "compute02 mlx5_0", "compute03 mlx5_0", "compute04 mlx5_0", "leaf01"};
  CHECK(nearest_names("leef01", names) == ": did you mean 'leaf01'?");
  CHECK(nearest_names("leef02", {"MF0;leaf02:SB7800/U1"}) == ": did you mean 'MF0;leaf02:SB7800/U1'?");
  CHECK(nearest_names("zzz", names).empty());
  const std::string text = nearest_names("compute00", names);
  CHECK(std::ranges::count(text, '\'') == 6);
}

TEST_CASE("only whole words of a name choose what is set") {
  CHECK(may_choose_sets(NameMatch::word_any_case));
  CHECK_FALSE(may_choose_sets(NameMatch::host));
}

}  // namespace subnet_name_search_tests
