// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The program's own tables of commands, options and words of JSON as JSON, from which the manual's tables are made: what
// stands in a page is what the program takes and prints.
#include <cstdio>
#include <string>

#include "out/json.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/help.hpp"
#include "tools/frame/json_words.hpp"

namespace {

using namespace ib::tools;
using ib::out::Sink;

void put_option(Sink& sink, const Option& option) {
  sink.begin_object();
  sink.begin_array("names");
  if (option.letter != 0) sink.value("", std::string("-") + option.letter);
  for (const std::string& name : option.names) sink.value("", "--" + name);
  sink.end_array();
  sink.value("value", option.has_value ? option.metavar : "");
  sink.value("optional", option.value_optional);
  sink.value("help", option.help);
  sink.value("common", option.common);
  sink.end_object();
}

void put_command(Sink& sink, const CommandInfo& info) {
  const auto command = info.make();
  OptionSet set;
  CommonOptions common;
  General general;
  add_options(info, *command, set, common, general);
  sink.begin_object();
  sink.value("name", info.name);
  sink.value("group", group_heading(info.group));
  sink.value("summary", info.summary);
  sink.value("operands", set.operand_line());
  sink.value("changes", info.changes);
  sink.value("legacy", info.diags);
  sink.begin_array("options");
  for (const Option& option : set.options()) {
    if (option.letter != 0 || !option.names.empty()) put_option(sink, option);  // else all of it is the command's own
  }
  sink.end_array();
  sink.end_object();
}

void put_word(Sink& sink, const JsonWord& word) {
  sink.begin_object();
  sink.value("key", word.key);
  sink.value("type", type_name(word));
  sink.value("coded", word.coded);
  sink.value("meaning", word.meaning);
  sink.end_object();
}

}  // namespace

int main() {
  ib::out::JsonSink sink(stdout);
  sink.begin_object();
  sink.begin_array("commands");
  for (const CommandInfo* info : commands()) put_command(sink, *info);
  sink.end_array();
  sink.begin_array("json_words");
  for (const JsonWord& word : json_words()) put_word(sink, word);
  sink.end_array();
  sink.end_object();
}
