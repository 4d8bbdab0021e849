#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Makes a manual page from its hand-written source and the program's own option tables.

make_page.py TABLES.json SOURCE.N.in OUTPUT.N VERSION

Lines of the source that begin with '@' are replaced:
  @header TITLE     the .TH line, of section N
  @synopsis NAME    how command NAME is called
  @commands         every command and its summary, by group
  @changes          the commands that can change something
  @options NAME     the options of command NAME that are its own, and a list of the common ones that it takes
  @common           the common options, each once, with the text of the first command that has it
  @legacy           the names by which the program speaks infiniband-diags' dialect
  @queries KIND     the attributes that smpquery (KIND smp) or the records that saquery (KIND sa) reads by name, or the attributes in the
                    part KIND of a snapshot
  @json_words       the dictionary of JSON keys
  @source FILE      a source file of this project, without the two lines of its licence and with its first comment as text
  @example ... @end the lines between are printed as they are: a session that begins with "$ COMMAND"
  @try ... @end     examples, `COMMAND LINE  # MEANING`, which `ibtool help NAME` prints too (tools/frame/make_help_pages.py)
Everything else is roff and stays as it is.
"""
import itertools
import json
import os
import re
import sys


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def roff(text):
    """Text for roff: backslashes and hyphens kept as they are, no line that looks like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def spelled(option):
    """`-C CA, --Ca=CA` in bold and italics."""
    value, forms = option.get("value"), []
    for name in option["names"]:
        form = "\\fB" + roff(name) + "\\fR"
        if value and option.get("optional"):
            form += "[=\\fI" + roff(value) + "\\fR]"
        elif value:
            form += ("=" if name.startswith("--") else " ") + "\\fI" + roff(value) + "\\fR"
        forms.append(form)
    return ", ".join(forms)


def table(options):
    out = []
    for option in options:
        out += [".TP", spelled(option), roff(" ".join(option["help"].split()))]
    return out


def short_name(option):
    return "\\fB" + roff(option["names"][0]) + "\\fR"


def listed(words):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def find(tables, name):
    for command in tables["commands"]:
        if command["name"] == name:
            return command
    raise SystemExit(f"make_page: no command is called {name}")


def options_of(tables, name):
    command = find(tables, name)
    own = [o for o in command["options"] if not o["common"]]
    common = [o for o in command["options"] if o["common"]]
    out = table(own)
    if common:
        out += [".PP", ("It also takes" if own else "It takes") + " the common options",
                listed([short_name(o) for o in common]) + ";", "see", ".BR ibtool (1)."]
    return out


def common_options(tables):
    seen, merged = set(), []
    for command in tables["commands"]:
        for option in command["options"]:
            key = tuple(n for n in option["names"] if n.startswith("--"))
            if option["common"] and key and key not in seen:  # no key: the command took its long names for itself
                seen.add(key)
                merged.append(option)
    merged.sort(key=lambda o: [n for n in o["names"] if n.startswith("--")][0].lower())
    return table(merged)


def commands(tables):
    out = []
    for group in tables["groups"]:
        members = [c for c in tables["commands"] if c["group"] == group]
        if members:
            out.append(".SS " + roff(group))
        for command in members:
            out += [".TP", "\\fB" + roff(command["name"]) + "\\fR", roff(command["summary"])]
    return out


def changes(tables):
    return [listed(["\\fB" + roff(c["name"]) + "\\fR" for c in tables["commands"] if c["changes"]]) + "."]


def synopsis(tables, name):
    command = find(tables, name)
    words = [("\\fI" + roff(word) + "\\fR") if re.fullmatch(r"[A-Z_]+", word) else roff(word)
             for word in re.split(r"([A-Z_]{2,})", command["operands"])]
    return ["\\fBibtool " + roff(name) + "\\fR [\\fIOPTION\\fR ...] " + "".join(words)]


def legacy(tables):
    return [listed(["\\fB" + roff(c["name"]) + "\\fR" for c in tables["commands"] if c["legacy"]] or ["no name"])]


def query_entry(query):
    """An attribute that a command reads by name: its names, its operand, what it holds and where the IBA has it."""
    names = ", ".join("\\fB" + roff(name) + "\\fR" for name in (query["name"], query["alias"]) if name)
    form = "[\\fI{}\\fR]" if query["by_smp"] else "{}"
    operand = " " + form.format(roff(query["operand"])) if query["operand"] else ""
    section = f" (IBA {query['section']})" if re.fullmatch(r"A?[\d.]+", query["section"]) else ""
    return [".TP", names + operand, roff(query["about"] + section)]


def queries(tables, kind):
    """The attributes that smpquery (smp) or saquery (sa) reads by name, or those in a part of a snapshot."""
    if kind in ("smp", "sa"):
        return [line for q in tables["queries"] if q["by_smp"] == (kind == "smp") for line in query_entry(q)]
    return [listed([roff(q["name"]) for q in tables["queries"] if q["part"] == kind]) + "."]


def json_words(tables):
    out = []
    for word in tables["json_words"]:
        measure = (f", {word['measure']}" if word["measure"] else "") + (f" in {word['unit']}" if word["unit"] else "")
        kind = word["type"] + roff(measure) + (f", with \\fB{word['key']}_text\\fR" if word["coded"] else "")
        out += [".TP", f"\\fB{word['key']}\\fR ({kind})", roff(word["meaning"])]
    return out


def source_text(name):
    """What a program is for, from the comment at its top, then the program."""
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        lines = file.read().splitlines()[1:]
    comment = [line[3:] for line in itertools.takewhile(lambda line: line.startswith("// "), lines)]
    return [roff(" ".join(comment)), ".PP", ".EX", *[roff(line) for line in lines[len(comment):]], ".EE"]


def tried(line):
    """An example and its meaning."""
    command, _, meaning = line.partition("  # ")
    return [".TP", "\\fB" + roff(command) + "\\fR", roff(meaning)]


INDENT, COLUMNS = 7, 80  # of text in a page, and of a terminal


def visible(text):
    """How many columns a line of roff takes."""
    return len(re.sub(r"\\(?:\(..|[-e])", "x", re.sub(r"\\f(?:\[.*?\]|.)|\\&", "", text)))


def without_tabs(line):
    """A literal line with blanks for tabs, up to the next of every eighth column."""
    text = ""
    for part in line.split("\t"):
        text += " " * (-visible(text) % 8 or 8 if text else 0) + part
    return text


def folded(line, width):
    """A literal line as several, broken at blanks, or behind commas. Those after the first are indented by four more."""
    line = without_tabs(line)
    lead = len(line) - len(line.lstrip(" "))
    parts = []
    while visible(line) > width:
        fitting = [at for at in range(lead + 5, len(line)) if visible(line[:at]) <= width]
        cuts = [at for at in fitting if line[at] == " "] or [at for at in fitting if line[at - 1] == ","]
        if not cuts:
            break
        parts.append(line[:cuts[-1]])
        line = " " * (lead + 4) + line[cuts[-1]:].lstrip(" ")
    return parts + [line]


def fit(out):
    """Literal blocks that are too wide begin at the left margin, and lines that are still too long are folded: no line is wider than a
    terminal."""
    fitting, at = [], 0
    while at < len(out):
        fitting.append(out[at])
        end = {".EX": ".EE", ".nf": ".fi"}.get(out[at])
        at += 1
        if end is None:
            continue
        stop = out.index(end, at)
        block = out[at:stop]
        wide = any(visible(without_tabs(line)) > COLUMNS - 2 * INDENT for line in block if not line.startswith("."))
        lines = [part for line in block for part in ([line] if line.startswith(".") else folded(line, COLUMNS - 1))]
        fitting += [".in 0", *[line for line in lines if line not in (".RS", ".RE")], ".in"] if wide else block
        at = stop
    return fitting


def page(tables, source, version, section):
    out, literal, in_try = [], False, False
    for line in source:
        word, _, rest = line.partition(" ")
        if word == "@try":
            in_try = True
            continue
        if in_try:
            in_try = word != "@end"
            out += tried(line) if in_try else [".PP"]
            continue
        if literal and word != "@end":
            out.append(roff(line))
            continue
        if word in ("@example", "@end"):
            literal = word == "@example"
            out += [".PP", ".EX"] if literal else [".EE"]
            continue
        if word == "@header":
            out.append(f'.TH {rest} {section} "" "ibtool {version}" "InfiniBand diagnostics"')
        elif word == "@commands":
            out += commands(tables)
        elif word == "@changes":
            out += changes(tables)
        elif word == "@synopsis":
            out += synopsis(tables, rest.strip())
        elif word == "@options":
            out += options_of(tables, rest.strip())
        elif word == "@common":
            out += common_options(tables)
        elif word == "@queries":
            out += queries(tables, rest.strip())
        elif word == "@json_words":
            out += json_words(tables)
        elif word == "@source":
            out += source_text(rest.strip())
        elif word == "@legacy":
            out += legacy(tables)
        elif word.startswith("@"):
            raise SystemExit(f"make_page: unknown directive {word}")
        else:
            out.append(line)
    return "\n".join(fit("\n".join(out).split("\n"))) + "\n"


def main():
    tables_file, source_file, output_file, version = sys.argv[1:5]
    with open(tables_file, encoding="utf-8") as file:
        tables = json.load(file)
    with open(source_file, encoding="utf-8") as file:
        source = file.read().splitlines()
    with open(output_file, "w", encoding="utf-8") as file:
        file.write(page(tables, source, version, output_file[-1]))


if __name__ == "__main__":
    main()
