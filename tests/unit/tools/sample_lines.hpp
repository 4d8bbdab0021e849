// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sample lines of commands, for what is tested of all of them: the files of tests/lines, whose README says what each property means.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ibtest {

using Line = std::vector<std::string>;

struct SampleLine {
  Line arguments;  ///< of the property
  Line words;      ///< the command and its words
};

/// The lines of a property, file by file. `{NAME}` in a word is the place of that name.
std::vector<SampleLine> sample_lines(std::string_view property, const std::map<std::string, std::string>& places = {});
/// Whether a command has a line of a property.
bool has_sample(std::string_view property, std::string_view command);

/// The command lines that are run on a fabric that lies: of ibtool, and by the names of infiniband-diags. The argument of the latter is one
/// more status with which that program may end.
const std::vector<SampleLine>& our_lines();
const std::vector<SampleLine>& diags_lines();

}  // namespace ibtest
