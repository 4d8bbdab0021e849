#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs command lines by infiniband-diags' names twice on one simulated fabric, Debian's program and ours, and shows where they differ in
stdout or in the exit status (--stderr: or in stderr).

    beside.py tests/beside/*.net                                  # all lines of lines.txt on each fabric
    beside.py tests/golden/fattree.net --only ibroute             # the lines that begin with a word
    beside.py FILE.net 'ibtracert {host} {host2}' 'ibroute 7'     # these lines

A line may name what the fabric has, {switch_guid} for instance: `--names` prints them with their values. Comments in a FILE.net say what is
done to the fabric before the first line:

    # beside: no opensm                                           # no subnet manager runs
    # beside: lmc 2
    # beside: console Unlink "S-0002c90300700000"[7]              # of ibsim; opensm does not look at the fabric again
    # beside: run ibportstate -D 0,1 3 arm                        # Debian's program
    # beside: wait 0.7
    # beside: ignore PortXmitDiscards == \\d+                       # what asking changes"""
import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("golden", "support"):
    sys.path.insert(0, os.path.join(HERE, "..", folder))
import golden  # noqa: E402
import simfabric  # noqa: E402
from bounds import settle, stands_for  # noqa: E402

HELP = re.compile(r"^Usage: .*", re.MULTILINE | re.DOTALL)  # is ours, in words of our own
PACKETS = 10000  # the second program that asks finds counted what the first has sent
LINES = os.path.join(HERE, "lines.txt")
QUIET = os.path.join(HERE, "quiet.opensm.conf")
HEAD = re.compile(r"^(Switch|Ca|Rt)\s+(\d+)\s+\"[SHR]-([0-9a-f]{16})\"\s*# \"(.*)\"(.*)$")
PORT = re.compile(r"^\[(\d+)\](?:\(([0-9a-f]+)\))?\s+\"([SHR])-([0-9a-f]{16})\"\[(\d+)\].*?# (?:lid (\d+) )?")


def names(fabric):
    """What a line may name: word → text. Read from Debian's listing, so that ours has no part in it."""
    listing = fabric.run(["ibnetdiscover"]).stdout
    found = {"Switch": [], "Ca": [], "Rt": []}
    node = None
    for line in listing.splitlines():
        if match := HEAD.match(line):
            kind, ports, guid, text, rest = match.groups()
            lid = re.search(r" lid (\d+) ", rest)
            node = {"guid": "0x" + guid, "port_guid": "0x" + guid, "text": text, "lid": lid[1] if lid else "", "port": "0", "ports": ports,
                    "linked": []}
            found[kind].append(node)
        elif node and (match := PORT.match(line)):
            number, port_guid, _, _, _, lid = match.groups()
            node["linked"].append(number)
            if port_guid and not node["lid"]:
                node.update(lid=lid or "", port=number, port_guid="0x" + port_guid)
    values = {"none": "4000", "no_guid": "0x00dead00beef0000", "cache": fabric.path("fabric.cache")}
    for kind, word in (("Switch", "switch"), ("Ca", "host"), ("Rt", "router")):
        nodes = sorted((node for node in found[kind] if node["linked"]), key=lambda node: int(node["lid"] or 0))
        for suffix, chosen in (("", nodes[:1]), ("2", nodes[-1:]), ("3", nodes[len(nodes) // 2:len(nodes) // 2 + 1])):
            for node in chosen:
                name = word + suffix
                values |= {name: node["lid"], name + "_guid": node["guid"], name + "_port_guid": node["port_guid"],
                           name + "_text": node["text"],
                           name + "_port": node["port"] if word != "switch" else node["linked"][0], name + "_last_port": node["linked"][-1]}
    here = fabric.run(["ibaddr", "-L"]).stdout.split()
    values["here"] = here[-1] if here else "1"
    values["map"] = fabric.path("names.map")
    with open(values["map"], "w", encoding="utf-8") as file:
        for word in ("switch", "host", "switch2"):
            if word + "_guid" in values:
                file.write(f'{values[word + "_guid"]} "mapped {word}"\n')
    write_files(fabric, values)
    return values


def write_files(fabric, values):
    """The files that lines name: what Debian's programs stored of the fabric, thresholds, pairs of ports."""
    values["dir"] = fabric.dir
    fabric.run(["ibnetdiscover", "--cache", values["cache"]])
    pairs = [(values[a], values[b]) for a, b in (("host", "host2"), ("host2", "host"), ("host", "host3")) if a in values and b in values]
    texts = {
        "lfts": fabric.run(["dump_lfts"]).stdout,
        "listing": fabric.run(["ibnetdiscover"]).stdout,
        "thresholds": "SymbolErrorCounter=10\nLinkDownedCounter=3\nPortRcvErrors=5\n",
        "pairs": "".join(f"{a} {b}\n" for a, b in pairs),
    }
    for name, text in texts.items():
        values[name] = fabric.path("fabric." + name)
        with open(values[name], "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)


def wishes(netfile):
    """What the comments of a file ask for: [(word, rest of the line)]."""
    with open(netfile, encoding="utf-8", errors="replace") as file:
        found = (re.match(r"# beside: (\S+) (.*)", line) for line in file)
        return [(match[1], match[2].strip()) for match in found if match]


def fill(line, values):
    """The words of the line with its names replaced, None if the fabric lacks one of them."""
    if any(word not in values for word in re.findall(r"\{(\w+)\}", line)):
        return None
    return [re.sub(r"\{(\w+)\}", lambda match: values[match[1]], word) for word in shlex.split(line)]


class Bench:
    """A fabric as its file asks for, on which command lines run by Debian's program and by ours."""

    def __init__(self, netfile, lmc=0, host=None, rmpp=True):
        self.wanted = wishes(netfile)
        self.ignored = [rest for word, rest in self.wanted if word == "ignore"]
        changed = any(word in ("console", "run") for word, _ in self.wanted)
        host = host or (golden.HOSTS.get(os.path.basename(netfile)[:-4]) if "golden" in netfile else None)
        self.fabric = simfabric.Fabric(netfile, host=host, lmc=lmc or int(dict(self.wanted).get("lmc", 0)), rmpp=rmpp,
                                       sm=("no", "opensm") not in self.wanted, sm_options=("-F", QUIET, "-s", "0") if changed else ())
        self.values = {}

    def __enter__(self):
        self.fabric.__enter__()
        try:
            for word, rest in self.wanted:
                if word == "console":
                    self.fabric.console(rest)
                elif word == "run":
                    words = shlex.split(rest)
                    self.fabric.run(words, executable=simfabric.theirs(words[0]))
                elif word == "wait":
                    time.sleep(float(rest))
            self.values = names(self.fabric)
        except BaseException:
            self.fabric.close()
            raise
        return self

    def __exit__(self, *_):
        self.fabric.close()

    def differences(self, words, with_stderr=False, context=1):
        """What ours prints otherwise than Debian's, as lines of a diff with so many lines around; [] if nothing, None if Debian's does
        not end, or crashes, or if it did not wait long enough for an SA that a busy machine made slow."""
        try:
            theirs = self.fabric.run(words, executable=simfabric.theirs(words[0]), COLUMNS=80, timeout=15)
        except subprocess.TimeoutExpired:
            return None
        if theirs.returncode < 0:
            return None
        ours = self.fabric.run(words, executable=simfabric.IBTOOL, COLUMNS=80)
        if "Query SA failed: Connection timed out" in theirs.stderr and ours.returncode == 0:
            return None
        both = [[], []]
        for stream in ("stdout", "stderr") if with_stderr else ("stdout",):
            texts = [getattr(theirs, stream), getattr(ours, stream)]
            for expression in (*self.ignored, HELP):
                texts = [re.sub(expression, "", text) for text in texts]
            texts[1] = settle(texts[0], texts[1], packets=PACKETS)
            if stream == "stderr" and stands_for(texts[1], texts[0]):
                texts[1] = texts[0]
            for lines, text in zip(both, texts):
                lines += [f"# {stream}", *text.split("\n")]
        for lines, done in zip(both, (theirs, ours)):
            lines.append(f"# status {done.returncode}")
        if both[0] == both[1]:
            return []
        return list(difflib.unified_diff(*both, "Debian", "ours", lineterm="", n=context))[2:]


def lines_of_file():
    """The lines of lines.txt: (mark, line)."""
    with open(LINES, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [re.fullmatch(r"(?:(each|hand) )?(.*)", line).groups(default="") for line in lines]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", metavar="FILE.net or 'COMMAND LINE'",
                        help="fabrics, and command lines instead of those of lines.txt")
    parser.add_argument("--only", default="", metavar="REGEX", help="the lines that match at their beginning")
    parser.add_argument("--stderr", action="store_true", help="compare stderr too")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="lines of each difference that are shown (default 20)")
    parser.add_argument("--lmc", type=int, default=0)
    parser.add_argument("--host", help="the node id of the host to run on (default: the first of the file)")
    parser.add_argument("--names", action="store_true", help="print what lines may name")
    parser.add_argument("--no-rmpp", action="store_true", help="the fabric as Debian has it, where a table ends after one MAD")
    return parser.parse_args()


def compare(netfile, lines, args):
    """Compares on one fabric. Returns {program: [same, all]}."""
    tally = {}
    with Bench(netfile, args.lmc, args.host, not args.no_rmpp) as bench:
        if args.names:
            print(netfile, *(f"  {word}={text}" for word, text in bench.values.items()), sep="\n")
        for line in lines:
            filled = fill(line, bench.values)
            if filled is None or not re.match(args.only, line):
                continue
            found = bench.differences(filled, args.stderr)
            if found is None:
                print(f"\n{os.path.basename(netfile)}$ {shlex.join(filled)}\nDebian's does not end, or crashes")
                continue
            counts = tally.setdefault(filled[0], [0, 0])
            counts[0] += not found
            counts[1] += 1
            if found:
                more = [f"  … {len(found) - args.show} lines more"] if len(found) > args.show else []
                print(f"\n{os.path.basename(netfile)}$ {shlex.join(filled)}", *found[:args.show], *more, sep="\n")
    return tally


def summary(tallies):
    """Prints how many lines were the same, of each program over all fabrics, then of each fabric. Returns whether all were."""
    counts = {}
    for tally in tallies.values():
        for program, found in tally.items():
            counts.setdefault(program, []).append(found)
    lines = sorted(counts.items()) + [(os.path.basename(netfile), tally.values()) for netfile, tally in tallies.items()]
    for name, found in lines:
        print(f"{name}: {sum(same for same, _ in found)} of {sum(count for _, count in found)} the same")
    return all(same == count for found in counts.values() for same, count in found)


def main():
    args = options()
    netfiles = [word for word in args.words if os.path.exists(word)]
    lines = [word for word in args.words if word not in netfiles] or [line for _, line in lines_of_file()]
    return 0 if summary({netfile: compare(netfile, lines, args) for netfile in netfiles}) else 1


if __name__ == "__main__":
    sys.exit(main())
