#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Makes the table of help.hpp from the sources of the manual pages.

make_help_pages.py OUTPUT.cpp PAGE.1.in...

The lines between @try and @end in a page are its examples: `COMMAND LINE  # MEANING`."""
import collections
import os
import re
import sys

MOST_PAGES = 25  # a word of more pages than this leads nowhere


def examples(text):
    """(command line, meaning) of each line between @try and @end."""
    found = []
    for block in re.findall(r"^@try\n(.*?)^@end$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            command, mark, meaning = line.partition("  # ")
            if not mark or not command.startswith("ibtool ") or not meaning:
                raise SystemExit(f"make_help_pages: an example is not `ibtool …  # MEANING`: {line}")
            found.append((command.rstrip(), meaning.strip()))
    return found


def words(text):
    """The words of the prose, without sessions, examples and references."""
    text = re.sub(r"^@(?:example|try)\n.*?^@end$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r'^\.SH "?SEE ALSO.*', "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r'^(?:\.\\".*|@.*|\.(?:SH|SS|TH|TP|IP|PP|RS|RE|EX|EE|nf|fi|br)\b)', "", text, flags=re.MULTILINE)
    text = re.sub(r"^\.[A-Z]+ ", "", text, flags=re.MULTILINE)
    text = re.sub(r"\\f.|\\&|\\\(bu", "", text).replace("\\-", "-").replace("\\e", "\\")
    return set(re.findall(r"[a-z][a-z0-9_]{2,}", text.lower()))


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def split(text, width=110):
    """A string literal over several lines."""
    parts = [text[at:at + width] for at in range(0, len(text), width)] or [""]
    return "\n     ".join(quoted(part) for part in parts)


def main():
    pages = {}
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as file:
            pages[re.fullmatch(r"ibtool-(.*)\.1\.in", os.path.basename(name)).group(1)] = file.read()
    count = collections.Counter(word for text in pages.values() for word in words(text))
    out = ["// Made by make_help_pages.py from man/pages.", '#include "tools/frame/help.hpp"', "", "#include <algorithm>", "",
           "namespace ib::tools {", "namespace {", ""]
    rows = []
    for number, (name, text) in enumerate(sorted(pages.items())):
        tried = examples(text)
        if not tried:
            raise SystemExit(f"make_help_pages: the page of {name} has no examples (@try)")
        out.append(f"constexpr HelpExample examples_{number}[] = {{")
        out += [f"    {{{quoted(line)}, {quoted(meaning)}}}," for line, meaning in tried]
        out.append("};")
        rare = sorted(word for word in words(text) if count[word] <= MOST_PAGES)
        rows.append(f"    {{{quoted(name)}, examples_{number},\n     {split(''.join(' ' + word for word in rare))}}},")
    out += ["", "constexpr HelpPage pages[] = {", *rows, "};", "", "}  // namespace", "",
            "const HelpPage& help_page(std::string_view command) {", "  static constexpr HelpPage none{};",
            "  const auto* found = std::ranges::lower_bound(pages, command, {}, &HelpPage::command);",
            "  return found != std::end(pages) && found->command == command ? *found : none;", "}", "", "}  // namespace ib::tools"]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
