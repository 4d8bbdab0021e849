# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the tests with recorded command lines share: the fabrics, the cases, and how a case is run.

Each case is run with the real program on Debian's ibsim and opensm, on a fabric of its own, where opensm looks around once: what is
counted is the same each time. Texts are compared byte for byte but for what support/bounds.py names. There are two sorts of cases.

recorded.jsonl  theirs: what python-rdma's ibtool and infiniband-diags 44.0 printed, a line of JSON a case. Of python-rdma, which prints
                its complaints on stdout, `out` has both streams; of infiniband-diags `err` is there too, if anything was on stderr.
recorded56.jsonl  the same command lines of infiniband-diags 56.1, as far as it prints something else. The program takes the place of one
                of the two (-Ddiags); these lines are run as either.
complaints.txt  ours: what we say on stderr, and our status, where a recording does not settle that: where python-rdma failed, since
                it has one status for all failures and often no reason, and where infiniband-diags shows its help.
ours/COMMAND.txt  ours: what we print where we differ on purpose, and our JSON. recordings.py says how it is written.

record.py writes the last two."""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import re
import shlex
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import recordings  # noqa: E402
import simfabric  # noqa: E402
from bounds import settle, stands_for  # noqa: E402
from recordings import Case  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
COMPLAINTS = os.path.join(HERE, "complaints.txt")
PARTS = ("out", "err", "json")  # what a command line prints on stdout and on stderr, and with --json on stdout
PACKETS = 10**6  # no counter of a fabric here differs by more from what is recorded of it
AT_ONCE = int(os.environ.get("IBTEST_AT_ONCE", "3"))  # so many cases run side by side: a fabric that starts mostly waits
HOSTS = {"net": "Hca1", "fattree": "H-0002c90300001490"}  # the node of each fabric on which the commands run


# Those of infiniband-diags that print counters which their own MADs move. It asks one thing after another, and more than we do
# (ibtool-ibqueryerrors(1), DIFFERENCES).
MOVED_COUNTERS = re.compile(r"ibqueryerrors --(data|counters)\b")
# perfquery -r reads counters that it resets right afterwards. Before that ours asks the node who it is: a packet (ibtool-perfquery(1),
# DIFFERENCES). So does each reading of ibswportwatch (ibtool-ibswportwatch(1), DIFFERENCES).
IDENTIFIED = re.compile(r"(perfquery -r|ibtool ibswportwatch)\b")


def is_debugged(words):
    """Whether a command line by a legacy name asks for what infiniband-diags prints with -d: its requests, in its order and with addresses
    in its memory. Ours has other requests, and prints its own trace on stderr (ibtool(1), LEGACY NAMES): the two are not compared. To
    iblinkinfo -d is --down."""
    return words[0] not in ("ibtool", "iblinkinfo") and any(re.fullmatch("-d+|--debug", word) for word in words[1:])


def read_recorded(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as lines:
        return [Case(**json.loads(line)) for line in lines if line.strip()]


def recorded():
    """The cases of the references, but for those with -d by a legacy name."""
    cases, later = read_recorded("recorded.jsonl"), read_recorded("recorded56.jsonl")
    differ = {case.key() for case in later}
    for case in cases:
        if case.ref == "infiniband-diags" and case.key() in differ:
            case.diags = "44.0"
    for case in later:
        case.diags = "56.1"
    cases = [case for case in cases + later if not is_debugged(case.cmd.split())]
    for case in cases:
        case.traffic = 64 if MOVED_COUNTERS.match(case.cmd) else 1 if IDENTIFIED.match(case.cmd) else case.traffic
    return cases


def ours():
    """Our cases, file by file."""
    return recordings.read_all()


def program_of(case):
    """The file of the program that runs a case, and what its environment has besides: ours, where it was built for that version."""
    if case.diags in ("", simfabric.diags_version()):
        return simfabric.IBTOOL, {}
    return simfabric.LEGACY, {"IBTEST_DIAGS": case.diags}


def shows_help(case):
    """Whether it is a case of infiniband-diags that shows its help, whose words are our own."""
    return case.ref == "infiniband-diags" and re.search("^Usage: ", case.err or "", re.MULTILINE) is not None


def needs_complaint(case):
    """Whether the recording of a case does not say what is to be on stderr, and which status."""
    return shows_help(case) or case.ref == "python-rdma" and case.rc != "0"


def complaint_name(case):
    """The line of complaints.txt that names a case."""
    return f"{case.fabric}$ {case.cmd}" + (f" <{case.stdin}" if case.stdin else "")


def complaint(done):
    """The lines of complaints.txt below the name: what a run says on stderr, and its status."""
    lines = [line and f"    {line}" for line in done.stderr.splitlines()]
    return "\n".join([*lines, f"    status {done.returncode}"])


def complaints():
    """complaints.txt: complaint_name() → complaint()."""
    with open(COMPLAINTS, encoding="utf-8") as file:
        blocks = re.split(r"\n\n(?=\S)", file.read().rstrip("\n"))
    return {name: rest for name, _, rest in (block.partition("\n") for block in blocks)}


# A complaint of python-rdma, and the path that some have on a line of its own.
COMPLAINT = re.compile(r"^[DE]:.*\n(?: +IB\w*Path\(.*\n)?", re.MULTILINE)


def streams(case):
    """What a recorded case says that is to be on stdout and on stderr; of help only what stands before it."""
    if case.ref == "infiniband-diags":
        return case.out, case.err.partition("Usage: ")[0] if shows_help(case) else case.err or ""
    text = re.sub(r"\bu('|\")", r"\1", case.out)  # Python 2's mark of Unicode strings
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)  # its colours, which go to files too
    return COMPLAINT.sub("", text), "".join(COMPLAINT.findall(text))


def end_port_first(case, err):
    """The stderr of a case, where it is compared with python-rdma's with the line that names the end port at the beginning: with -d we
    open the port when the first request needs it, python-rdma before it reads its operands."""
    if case.ref != "python-rdma":
        return err
    return "".join(sorted(err.splitlines(keepends=True), key=lambda line: not line.startswith("D: Using end port ")))


def open_fabric(name, rmpp=True, lmc=0):
    """The fabric of that name, not yet started. Its LIDs are always the same."""
    path = os.path.join(HERE, name)
    lids = path + (f".lmc{lmc}" if lmc else "") + ".guid2lid"
    return simfabric.Fabric(path + ".net", host=HOSTS[name], lmc=lmc, lids=lids, rmpp=rmpp, sm_options=("-s", "0"))


def prepare(fabric, step):
    """Does one step of a case's preparation."""
    word, _, rest = step.partition(" ")
    if word == "console":
        fabric.console(rest)
    elif word == "wait":
        time.sleep(float(rest))
    elif word == "server":
        host, *words = shlex.split(rest)
        fabric.start(words, executable=simfabric.IBTOOL, host=host)
    elif word == "until":
        for _ in range(100):
            if fabric.run(shlex.split(rest), executable=simfabric.IBTOOL).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError(f"{rest}: still failing")
    else:
        fabric.run(shlex.split(step), executable=simfabric.IBTOOL)


def run(case, *options, expected=""):
    """Runs ours as the case says, with more options, on a new fabric.

    On a busy machine, once in a thousand times, a MAD is sent again, by opensm or by us, and counted; or opensm hears from a switch over
    another of two links first, and all that it sends there is counted at the other one. Where counters of data and packets differ from
    what is expected, there is another try on another fabric, up to three."""
    for _ in range(3):
        with open_fabric(case.fabric, case.rmpp, case.lmc) as fabric:
            for step in case.prep:
                prepare(fabric, step)
            done = run_line(fabric, case, options)
        if settle(expected, done.stdout, case.traffic) == settle(expected, done.stdout, PACKETS):
            break
    return done


def run_line(fabric, case, options):
    """Runs the command line of a case on a fabric that is ready for it."""
    stdin, env = "", {"COLUMNS": 80}
    if case.stdin:
        with open(os.path.join(HERE, case.stdin), encoding="ascii") as text:
            stdin = text.read()
    if case.loss:
        env |= {"preload": [simfabric.DELAY], "IBTEST_DROP": case.loss, "IBTEST_COUNT_FILE": fabric.path("count")}
    words = [word.replace("inputs/", os.path.join(HERE, "inputs", "")) for word in shlex.split(case.cmd)]
    program, more = program_of(case)
    done = fabric.run([*words, *options], executable=program, stdin=stdin, **env, **more)
    if case.loss:
        with open(fabric.path("count"), encoding="ascii") as counts:
            if not json.loads(counts.readlines()[-1])["lost"]:
                raise AssertionError(f"{case.cmd}: nothing was lost")
    done.stderr = done.stderr.replace(fabric.dir, "DIRECTORY").replace(HERE, "GOLDEN")
    return done


def run_ours(case):
    """What we print now for one of our cases: a copy of the case with rc, out and err, and json where the case has that. Where a value
    may differ from the recorded one, the recorded one stands."""
    done = run(case, expected=case.out)
    if case.err_changes and not done.stderr:
        raise AssertionError(f"{case.cmd}: nothing on stderr")
    err = None if case.err_changes else settle(case.err, done.stderr)
    now = dataclasses.replace(case, rc=done.returncode, out=settle(case.out, done.stdout, case.traffic) or None, err=err or None)
    if case.json is not None:
        done = run(case, "--json", expected=case.json)
        now.json = settle(case.json, done.stdout, case.traffic)
        if done.returncode != now.rc:
            raise AssertionError(f"{case.cmd}: status {now.rc}, but {done.returncode} with --json")
    return now


def side_by_side(function, cases):
    """Calls the function with each case, several at a time. Yields each case, in their order, and a function that returns, or raises, what
    came of it."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(function, case) for case in cases]
        for case, future in zip(cases, futures):
            yield case, future.result


class FabricCases(unittest.TestCase):
    """The cases on one fabric."""
    fabric_name, rmpp, cases = None, True, ()
    maxDiff = 4000

    def test_cases(self):
        for case, checked in side_by_side(self.check, self.cases):
            with self.subTest(case.title()):
                checked()

    def check(self, case):
        """Fails unless the case holds."""
        raise NotImplementedError

    def assert_as_recorded(self, case, done):
        """Fails unless a run ended, and printed on stdout, as is recorded of a reference."""
        self.assertNotIn("AddressSanitizer", done.stderr)
        if case.ref == "infiniband-diags":
            self.assertEqual(done.returncode, int(case.rc), done.stderr)
        else:  # python-rdma knew one failure, 100, where we tell them apart
            self.assertEqual(done.returncode == 0, case.rc == "0", f"status {done.returncode}\n{done.stderr}")
        out, _ = streams(case)
        self.assertEqual(settle(out, done.stdout, case.traffic), out)

    def assert_err(self, case, done):
        """Fails unless a run of any case printed on stderr what is recorded of it, if that is recorded, or what stands for it."""
        err = streams(case)[1] if case.ref else case.err or ""
        if shows_help(case):
            self.assertEqual(done.stderr[:len(err)], err)
        elif not case.err_changes and (err or not needs_complaint(case)):
            now, then = (end_port_first(case, text) for text in (done.stderr, err))
            now = settle(then, now)
            if case.ref != "infiniband-diags" or not stands_for(now, then):
                self.assertEqual(now, then)


def by_fabric(cases):
    """(fabric, rmpp) → its cases, for each that has any."""
    groups = {}
    for case in cases:
        groups.setdefault((case.fabric, case.rmpp), []).append(case)
    return groups


def main(base, cases):
    """Runs the tests of the calling program, and those of `base` once a fabric that has cases. Words on the command line are regular
    expressions: only the cases run whose command line or file one of them matches."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("only", nargs="*", metavar="REGEX")
    wanted = parser.parse_args().only
    chosen = [case for case in cases if matches(case, wanted)]
    # Where each run takes long, under sanitizers: always the same part of the cases.
    chosen = chosen[::int(os.environ.get("IBTEST_GOLDEN_STEP", "1"))]
    if not chosen:
        sys.exit("no such case")
    module = sys.modules["__main__"]
    delattr(module, base.__name__)  # has no fabric of its own
    for (name, rmpp), members in by_fabric(chosen).items():
        title = name.capitalize() + ("" if rmpp else "WithoutRmpp")
        setattr(module, title, type(title, (base,), {"fabric_name": name, "rmpp": rmpp, "cases": members, "__module__": "__main__"}))
    simfabric.run_tests(argv=sys.argv[:1])


def matches(case, wanted):
    """Whether one of the regular expressions `wanted` matches the case. All cases match none."""
    return not wanted or any(re.search(word, case.cmd) or re.search(word, case.name) for word in wanted)
