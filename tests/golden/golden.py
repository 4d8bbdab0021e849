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
ours/TOOL/NAME/ ours: what we print where we differ on purpose, and our JSON. A folder a case.

record.py writes the last two."""
import argparse
import dataclasses
import json
import os
import re
import shlex
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import simfabric  # noqa: E402
from bounds import settle, stands_for  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "ours")
COMPLAINTS = os.path.join(HERE, "complaints.txt")
PARTS = ("out", "err", "json")  # what a command line prints on stdout and on stderr, and with --json on stdout
PACKETS = 10**6  # no counter of a fabric here differs by more from what is recorded of it
HOSTS = {"net": "Hca1", "fattree": "H-0002c90300001490"}  # the node of each fabric on which the commands run


@dataclasses.dataclass
class Case:
    """A command line, the fabric that it meets, and what is recorded of it. cmd begins with `ibtool` or with the legacy name of a tool.
    inputs/FILE in it is a file of this directory.

    prep         what comes before. A step is `console LINE` (of ibsim), `wait SECONDS`, `server NODE COMMAND…` (it runs on that node
                 until the fabric ends), `until COMMAND…` (again and again till its status is 0), or a command line
    lmc          the LMC of all ports
    stdin        the file in inputs/ that the command reads
    rmpp         false: the fabric as Debian has it, where a table ends after one MAD
    loss         the fraction of our MADs that gets lost, always the same ones
    traffic      by how many packets counters of data and packets may differ from the recorded ones: the case sends requests at once,
                 and how many of them a port has counted when it is asked is luck. Error counters are never other ones
    rc           the exit status
    why, man     why we differ from a reference, and the manual page whose section DIFFERENCES tells of it
    err_changes  stderr is different each time: it is not recorded, but must not be empty
    out, err, json  the text of those files, None where there is none
    diags        the version of infiniband-diags in whose place it runs, where the versions differ
    ref          the reference that printed `out`, where that is not ours
    name         the folder below ours/"""
    fabric: str
    cmd: str
    prep: list = dataclasses.field(default_factory=list)
    lmc: int = 0
    stdin: str = ""
    rmpp: bool = True
    loss: float = 0
    traffic: int = 0
    err_changes: bool = False
    rc: int = 0
    diags: str = ""
    ref: str = ""
    why: str = ""
    man: str = ""
    out: str = None
    err: str = None
    json: str = None
    name: str = ""

    @staticmethod
    def read(folder):
        """The case in a folder of ours/; its name is the folder's path below ours/."""
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
            case = Case(**json.load(file), name=os.path.relpath(folder, OURS))
        for part in PARTS:
            path = os.path.join(folder, part)
            if os.path.exists(path):
                with open(path, encoding="utf-8", newline="") as file:
                    setattr(case, part, file.read())
        return case

    def write(self):
        """Writes the folder of this case. What is as by default is left out, and so is the file of a stream that stays empty."""
        folder = os.path.join(OURS, self.name)
        told = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name not in (*PARTS, "name")}
        told = {key: value for key, value in told.items() if value or key == "rc"}
        if self.rmpp:
            del told["rmpp"]
        else:
            told["rmpp"] = False
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
            json.dump(told, file, indent=2, ensure_ascii=False)
            file.write("\n")
        for part in PARTS:
            path = os.path.join(folder, part)
            if getattr(self, part):
                with open(path, "w", encoding="utf-8", newline="") as file:
                    file.write(getattr(self, part))
            elif os.path.exists(path):
                os.unlink(path)

    def key(self):
        """What tells this case from all others of its sort."""
        return self.fabric, self.rmpp, self.cmd, self.stdin, self.lmc, tuple(self.prep), self.loss

    def program(self):
        """The file of the program that runs it, and what its environment has besides: ours, where it was built for that version."""
        if self.diags in ("", simfabric.diags_version()):
            return simfabric.IBTOOL, {}
        return simfabric.LEGACY, {"IBTEST_DIAGS": self.diags}


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
    """Our cases, in the order of their names."""
    return [Case.read(folder) for folder in sorted(folder for folder, _, files in os.walk(OURS) if "case.json" in files)]


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
    program, more = case.program()
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


class FabricCases(unittest.TestCase):
    """The cases on one fabric."""
    fabric_name, rmpp, cases = None, True, ()
    maxDiff = 4000

    def test_cases(self):
        for case in self.cases:
            with self.subTest(case.name or case.cmd, stdin=case.stdin):
                self.check(case)

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
    expressions: only the cases run whose command line or name one of them matches."""
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
