# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the tests with recorded command lines share: the fabrics, the cases, how a case is run, and what changes from run to run.

Each case is run with the real program on Debian's ibsim and opensm. There are two sorts.

recorded.jsonl  theirs: what python-rdma's ibtool and infiniband-diags 44 printed, a line of JSON a case.
complaints.txt  ours: what we say on stderr, and our status, where a reference failed without a word on stdout. Without it any
                failure would do.
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

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "ours")
COMPLAINTS = os.path.join(HERE, "complaints.txt")
PARTS = ("out", "err", "json")  # what a command line prints on stdout and on stderr, and with --json on stdout
HOSTS = {"net": "Hca1", "fattree": "H-0002c90300001490"}  # the node of each fabric on which the commands run


@dataclasses.dataclass
class Case:
    """A command line, the fabric that it meets, and what is recorded of it. cmd begins with `ibtool` or with the legacy name of a tool.
    inputs/FILE in it is a file of this directory.

    prep         what comes before. A step is `console LINE` (of ibsim), `wait SECONDS`, `server NODE COMMAND…` (it runs on that node
                 until the fabric ends), `until COMMAND…` (again and again till its status is 0), or a command line
    lmc          the LMC of all ports. A case with prep or lmc gets a fabric of its own
    stdin        the file in inputs/ that the command reads
    rmpp         false: the fabric as Debian has it, where a table ends after one MAD
    loss         the fraction of our MADs that gets lost, always the same ones
    rc           the exit status
    why, man     why we differ from a reference, and the manual page whose section DIFFERENCES tells of it
    err_changes  stderr is different each time: it is not recorded, but must not be empty
    out, err, json  the text of those files, None where there is none
    ref          the reference that printed `out`, where that is not ours
    name         the folder below ours/"""
    fabric: str
    cmd: str
    prep: list = dataclasses.field(default_factory=list)
    lmc: int = 0
    stdin: str = ""
    rmpp: bool = True
    loss: float = 0
    err_changes: bool = False
    rc: int = 0
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

    def own_fabric(self):
        """Whether the command or what comes before it changes the fabric, or may do so, or needs one whose error counters nobody touched.
        What ibsim's PMA does not know silences opensm."""
        changes = (r"(ibtool )?(ibportstate|init_all_ports|set_guid|set_port_state) |(ibtool )?(ibclear|ibqueryerrors|ibcheckerr)"
                   r"|ibtool perfquery (-X|-S|--vl-congestion)\b|ibtool snapshot ")
        return bool(self.prep or self.lmc or re.match(changes, self.cmd))


def recorded():
    """The cases of the references."""
    with open(os.path.join(HERE, "recorded.jsonl"), encoding="utf-8") as lines:
        return [Case(**json.loads(line)) for line in lines if line.strip()]


def ours():
    """Our cases, in the order of their names."""
    return [Case.read(folder) for folder in sorted(folder for folder, _, files in os.walk(OURS) if "case.json" in files)]


def fails_silently(case):
    """Whether the reference failed and printed nothing on stdout, so that its recording says nothing of why."""
    return case.rc != "0" and not case.out.strip()


def complaint_name(case):
    """The line of complaints.txt that names a case."""
    return f"{case.fabric}$ {case.cmd}" + (f" <{case.stdin}" if case.stdin else "")


def complaint(done):
    """The lines of complaints.txt below the name: what a run says on stderr, and its status."""
    lines = [f"    {line}".rstrip() for line in steady(done.stderr).splitlines()]
    return "\n".join([*lines, f"    status {done.returncode}"])


def complaints():
    """complaints.txt: complaint_name() → complaint()."""
    with open(COMPLAINTS, encoding="utf-8") as file:
        blocks = re.split(r"\n\n(?=\S)", file.read().rstrip("\n"))
    return {name: rest for name, _, rest in (block.partition("\n") for block in blocks)}


def steady(text):
    """A text with fixed values for what differs from run to run."""
    text = re.sub(r"generated on .*", "generated on DATE", text)
    text = re.sub(r"0x[0-9a-f]{12}->0x[0-9a-f]{12}:", "0x000000000000->0x000000000000:", text)  # addresses in libibnetdisc's memory
    text = re.sub(r"\b(node|port|remoteport) 0x[0-9a-f]{10,12}\b", r"\1 0x000000000000", text)  # in that of -d
    text = re.sub(r"activity count \d+", "activity count 0", text)
    text = re.sub(r"(act_count|ActCount|ActivityCount)(\.*:?|\": ) *\d+", r"\1\g<2>0", text)
    text = re.sub(r"( tr(?:y|ies) in )[\d.]+( s\b)", r"\g<1>0\2", text)
    text = re.sub(r"(transactionID=)\d+", r"\g<1>0", text)
    text = re.sub(r"(\"transaction_id\": \"0x)[0-9a-f]{16}", r"\g<1>0000000000000000", text)
    text = re.sub(r"(\d{2,3} )0000[0-9A-F]{4}( transactionID)", r"\g<1>00000000\2", text)
    text = re.sub(r"(\btime |= )[\d.]+(/[\d.]+)*( ?ms)\b", r"\g<1>0\3", text)
    text = re.sub(r"(\"(time_ms|(?:\w+_)?rtt_ms)\": )\d[\d.e-]*", r"\g<1>0", text)
    text = re.sub(r"(transactionID=0\n +\d+ )[0-9A-F]{8}", r"\g<1>00000000", text)
    # What the subnet manager sends each second is counted too: traffic as perfquery, packet dumps and JSON show it. So is what goes
    # astray in other cases on the same fabric.
    text = re.sub(r"((?:Port)?(?:RcvSwitchRelayErrors|RcvSwRelayErrors|XmitDiscards|XmtDiscards)[:.]\.+)\d+", r"\g<1>0", text)
    text = re.sub(r"((?:Xmit|Xmt|Rcv)(?:Data|Pkts)[:.]\.+|\"port_(?:xmit|rcv)_(?:data|pkts)\": )\d+", r"\g<1>0", text)
    text = re.sub(r"(\[Port(?:Xmit|Rcv)(?:Data|Pkts) == )\d+ \([\d.]+[KMGTPE]?B?\)", r"\g<1>0", text)
    text = re.sub(r"((?:[Xx]mit|[Rr]cv)(?:Data|Pkts) is ')\d+", r"\g<1>0", text)
    text = re.sub(r"(\"counter\": \"port_(?:xmit|rcv)_(?:data|pkts)\",\s+(?:\"index\": null,\s+)?\"count\": )\d+", r"\g<1>0", text)
    text = re.sub(r" +\(\+ [\d.]+/s\)$", "", text, flags=re.MULTILINE)  # a rate
    text = re.sub(r"(\"(?:seconds|elapsed_seconds|file_bytes|delta|per_second)\": )\d[\d.e+-]*", r"\g<1>0", text)
    text = re.sub(r"(\"time\": \")\d{4}-\d\d-\d\dT[\d:.]+Z", r"\g<1>2001-09-09T01:46:40.000Z", text)
    text = re.sub(r"( answers? in \S+, )[\d,]+ [kMG]B", r"\g<1>0 kB", text)
    text = re.sub(r"^( *\d+ )[0-9A-F]{8}( port(?:Xmit|Rcv)(?:Data|Pkts)=)\d+", r"\g<1>00000000\g<2>0", text, flags=re.MULTILINE)
    return re.sub(r"^(ib\w+): \[\d+\]", r"\1: [0]", text, flags=re.MULTILINE)


def lines_of(text):
    """The lines of a text as they are compared with a reference's: without what differs from run to run, or in blanks alone."""
    text = re.sub(r"\bu('|\")", r"\1", steady(text))  # Python 2's mark of Unicode strings
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)  # python-rdma's colours, which go to files too
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def open_fabric(name, rmpp=True, lmc=0):
    """The fabric of that name, not yet started. Its LIDs are always the same."""
    path = os.path.join(HERE, name)
    lids = path + (f".lmc{lmc}" if lmc else "") + ".guid2lid"
    return simfabric.Fabric(path + ".net", host=HOSTS[name], lmc=lmc, lids=lids, rmpp=rmpp)


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


def run(fabric, case, *options):
    """Runs ours as the case says, with more options: on `fabric`, or on a new one if the case is to have its own."""
    if case.own_fabric():
        with open_fabric(case.fabric, case.rmpp, case.lmc) as own:
            for step in case.prep:
                prepare(own, step)
            return run_line(own, case, options)
    return run_line(fabric, case, options)


def run_line(fabric, case, options):
    """Runs the command line of a case on a fabric that is ready for it."""
    stdin, env = "", {"COLUMNS": 80}
    if case.stdin:
        with open(os.path.join(HERE, case.stdin), encoding="ascii") as text:
            stdin = text.read()
    if case.loss:
        env |= {"preload": [simfabric.DELAY], "IBTEST_DROP": case.loss, "IBTEST_COUNT_FILE": fabric.path("count")}
    words = [word.replace("inputs/", os.path.join(HERE, "inputs", "")) for word in shlex.split(case.cmd)]
    done = fabric.run([*words, *options], executable=simfabric.IBTOOL, stdin=stdin, **env)
    if case.loss:
        with open(fabric.path("count"), encoding="ascii") as counts:
            if not json.loads(counts.readlines()[-1])["lost"]:
                raise AssertionError(f"{case.cmd}: nothing was lost")
    done.stderr = done.stderr.replace(fabric.dir, "DIRECTORY").replace(HERE, "GOLDEN")
    return done


def run_ours(fabric, case):
    """What we print now for one of our cases: a copy of the case with rc, out and err, and json where the case has that. A text that
    differs from the recorded one only in what steady() makes equal is the recorded one."""
    done = run(fabric, case)
    if case.err_changes and not done.stderr:
        raise AssertionError(f"{case.cmd}: nothing on stderr")
    fixed = (lambda text: text) if case.stdin else steady  # what is read from stdin is always the same
    err = None if case.err_changes else fixed(done.stderr)
    now = dataclasses.replace(case, rc=done.returncode, out=fixed(done.stdout) or None, err=err or None)
    if case.json is not None:
        done = run(fabric, case, "--json")
        now.json = fixed(done.stdout)
        if done.returncode != now.rc:
            raise AssertionError(f"{case.cmd}: status {now.rc}, but {done.returncode} with --json")
    for part in PARTS:
        recorded_text = getattr(case, part)
        if recorded_text and fixed(recorded_text) == getattr(now, part):
            setattr(now, part, recorded_text)
    return now


class FabricCases(unittest.TestCase):
    """The cases of one fabric, one after another on one fabric: they only look at it."""
    fabric_name, rmpp, cases = None, True, ()
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.fabric = open_fabric(cls.fabric_name, cls.rmpp)
        cls.addClassCleanup(cls.fabric.close)
        cls.fabric.__enter__()

    def test_cases(self):
        for case in self.cases:
            with self.subTest(case.name or case.cmd, stdin=case.stdin):
                self.check(case)

    def check(self, case):
        """Fails unless the case holds."""
        raise NotImplementedError


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
