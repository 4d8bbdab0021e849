# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The files of ours/: what we print for command lines of our own choice, a file a command, in a form that a person reads in a diff.

    # why What was found makes the exit status 1; python-rdma ended with 0.
    # man ibtool-ibcheckerrs(1)

    $ [fattree] ibtool ibcheckerrs 5
    + console PerformanceSet "Switch1"[3] PortCounters.SymbolErrorCounter=70
    $ [net traffic=64] ibtool ibcheckerrs 2
    | what is on stdout
    ! what is on stderr
    status 1

    # --json

    $ [fattree] ibtool ibcheckerrs 5
    . command: "ibcheckerrs"
    . ports [3]
    .   lid: 5
    .   port_num: 1, 2, 3

`# why` and `# man` hold for all below them, up to the next ones; what stands before the first has no reason, and needs none. A command line
begins with its fabric and with the members of Case that are not as by default; the steps before it (`+`) stand above it. Command lines that
follow each other have one result: text that is the same stands once. `= [fattree] ibtool ibcheckerrs 5` is the stdout of that command line,
further up. A command line without a result is not recorded yet.

Below `# --json` is what the command lines print with --json besides: each stands above, too. JSON (`.`) has a key a line: of an array of
objects that line has the values of all of them; `[2, 3]` says how many the arrays hold, `*3` that a value comes three times, `-` that an
object has no such key. What all documents of a file begin with stands once, directly below `# --json`.

Each line of text is behind its mark and a blank. Where a line has what a terminal does not show, or ends in a blank, a backslash takes the
place of that blank: then it has \\xNN, \\uNNNN, \\n and \\\\ in it. \\c is the end of a text without a newline."""
import collections
import dataclasses
import itertools
import json
import os
import re
import shlex
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
OURS = os.path.join(HERE, "ours")
SUFFIX = ".txt"
WIDTH = 140
JSON_SECTION = "# --json"
REPEATED = 3  # so many lines of stdout do not stand twice in a file


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
    why, man     why we differ from a reference, and the manual page whose section DIFFERENCES has it
    err_changes  stderr is different each time: it is not recorded, but must not be empty
    out, err, json  the text on stdout and on stderr, and with --json on stdout, None where there is none. An empty json is to be recorded
    diags        the version of infiniband-diags in whose place it runs, where the versions differ
    ref          the reference that printed `out`, where that is not ours
    name         the file in ours/, without its ending"""
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

    def key(self):
        """What tells this case from all others of its sort."""
        return self.fabric, self.rmpp, self.cmd, self.stdin, self.lmc, tuple(self.prep), self.loss

    def title(self):
        """The case as people name it: how it stands in its file, without the steps before it."""
        return head(self).partition(" ")[2]


# The members of Case that stand in brackets before the command line, if they are not as by default.
WORDS = {field.name: field for field in dataclasses.fields(Case)
         if field.name not in ("fabric", "cmd", "prep", "rc", "ref", "why", "man", "out", "err", "json", "name")}


def file_name(case):
    """The file of a case without its ending: its command, or the legacy name of a tool; what shows ibtool's help is `ibtool help`'s."""
    if re.fullmatch(r"ibtool|ibtool (\w+ )?(-h|--help)", case.cmd.strip()):
        return "ibtool-help"
    return re.match(r"ibtool [a-z]\w*|[^ ]+", case.cmd)[0].replace(" ", "-")


# --- a line behind its mark

def is_shown(character):
    return character.isprintable() or character == "\t"


def escaped(character):
    """A character as it stands behind a mark with a backslash."""
    code = ord(character)
    if character in "\\\n":
        return {"\\": "\\\\", "\n": "\\n"}[character]
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def quote(mark, text, ends=True):
    """A line of text behind its mark; `ends`: there is a newline after it."""
    bare = text.rstrip()
    if ends and text == bare and all(map(is_shown, text)):
        return f"{mark} {text}" if text else mark
    shown = "".join(c if is_shown(c) and c != "\\" else escaped(c) for c in bare)
    return mark + "\\" + shown + "".join(map(escaped, text[len(bare):])) + ("" if ends else "\\c")


def unquote(line):
    """A quoted line → the text behind its mark, and whether a newline follows."""
    if line[1:2] in ("", " "):
        return line[2:], True
    if line[1] != "\\":
        raise ValueError("a mark is followed by a blank or by a backslash")
    text, ends = line[2:], True
    bare = re.fullmatch(r"((?:[^\\]|\\[^c])*)\\c", text)
    if bare:
        text, ends = bare[1], False
    return re.sub(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|n|\\)",
                  lambda found: {"n": "\n", "\\": "\\"}.get(found[1]) or chr(int(found[1][1:], 16)), text), ends


def text_lines(mark, text):
    """A text as quoted lines, none where there is none."""
    if not text:
        return []
    lines = text.split("\n")
    return [quote(mark, line) for line in lines[:-1]] + ([quote(mark, lines[-1], ends=False)] if lines[-1] else [])


def joined(lines):
    """The text of quoted lines."""
    return "".join(text + ("\n" if ends else "") for text, ends in map(unquote, lines))


# --- JSON, a key a line

ABSENT = object()


def counted(values):
    """`1, 2 *3`: a list of values of JSON with what repeats counted."""
    texts = ["-" if value is ABSENT else json.dumps(value, ensure_ascii=False) for value in values]
    runs = [(text, len(list(same))) for text, same in itertools.groupby(texts)]
    return [text if count == 1 else f"{text} *{count}" for text, count in runs]


def are_objects(values):
    return all(isinstance(value, dict) for value in values)


def are_arrays(values):
    """Whether all are arrays of objects, and there is an object."""
    return all(isinstance(value, list) and are_objects(value) for value in values) and any(map(len, values))


def columns(rows, indent=""):
    """Objects, one beside the other, as lines."""
    lines = []
    for key in dict.fromkeys(itertools.chain.from_iterable(rows)):
        values = [row.get(key, ABSENT) for row in rows]
        word = indent + (key if re.fullmatch(r"[\w.-]+", key) else json.dumps(key))
        if are_objects(values) and any(values):
            lines += [word + " {}", *columns(values, indent + "  ")]
        elif are_arrays(values):
            lengths = ", ".join(counted(map(len, values)))
            lines += [f"{word} [{lengths}]", *columns(list(itertools.chain.from_iterable(values)), indent + "  ")]
        else:
            texts = counted(values)
            line = f"{word}: {', '.join(texts)}"
            # Sentences are read one below the other.
            sentences = len(texts) > 1 and len(line) > WIDTH and len(line) > 40 * len(texts)
            lines += [word + ":", *(f"{indent}  {text}" for text in texts)] if sentences else [line]
    return lines


def uncounted(text):
    """What counted() made, joined by commas → the values."""
    values, at, decoder = [], 0, json.JSONDecoder()
    while at < len(text):
        if text[at] == "-" and text[at + 1:at + 2] in ("", ",", " "):
            value, at = ABSENT, at + 1
        else:
            value, at = decoder.raw_decode(text, at)
        rest = re.compile(r"(?: \*(\d+))?(?:, |$)").match(text, at)
        if not rest:
            raise ValueError(f"not a list of values: {text[at:at + 20]}")
        values += [value] * int(rest[1] or 1)
        at = rest.end()
    return values


def objects(lines, count):
    """The lines of columns() → that many objects."""
    rows = [{} for _ in range(count)]
    lines = collections.deque(lines)
    while lines:
        line = lines.popleft()
        found = re.fullmatch(r'([\w.-]+|"(?:[^"\\]|\\.)*")(?:: (.+)|(:)| \{(\})| \[(.*)\])', line)
        if not found:
            raise ValueError(f"not a line of JSON: {line}")
        key = json.loads(found[1]) if found[1].startswith('"') else found[1]
        inner = []
        while lines and lines[0].startswith("  "):
            inner.append(lines.popleft()[2:])
        if found[2] or found[3]:
            values = uncounted(found[2] or ", ".join(inner))
        elif found[4]:
            values = objects(inner, count)
        else:
            lengths = uncounted(found[5])
            items = iter(objects(inner, sum(lengths)))
            values = [list(itertools.islice(items, length)) for length in lengths]
        if len(values) != count:
            raise ValueError(f"{key}: {len(values)} values for {count} objects")
        for row, value in zip(rows, values):
            if value is not ABSENT:
                row[key] = value
    return rows


def document(lines):
    """The text of a document of JSON that stands with a key a line."""
    return json.dumps(objects([unquote(line)[0] for line in lines], 1)[0], indent=2, ensure_ascii=False) + "\n"


def json_lines(text):
    """A document of JSON as quoted lines; as it is, where it cannot be had back from a key a line."""
    try:
        lines = [quote(".", line) for line in columns([json.loads(text)])]
        if lines and document(lines) == text:
            return lines
    except (ValueError, AttributeError, TypeError):
        pass
    return text_lines("|", text)


# --- a file

def head(case):
    """The line that begins a case."""
    words = [f"{name}={shlex.quote(value) if field.type is str else json.dumps(value)}" for name, field in WORDS.items()
             for value in [getattr(case, name)] if value != field.default]
    return quote("$", f"[{' '.join([case.fabric, *words])}] {case.cmd}")


def steps(case):
    return [quote("+", step) for step in case.prep]


def entry(cases, result):
    return "\n".join([*(line for case in cases for line in [*steps(case), head(case)]), *result])


def grouped(cases, result):
    """The entries of cases: those with one result, (lines…), stand together, in the order of the first of each."""
    entries = {}
    for case in sorted(cases, key=lambda case: (case.fabric, case.cmd, steps(case), head(case))):
        entries.setdefault(tuple(result(case)), []).append(case)
    return entries


def reason(why, man):
    return textwrap.wrap(why, WIDTH - 20, initial_indent="# why ", subsequent_indent="#     ", break_long_words=False,
                         break_on_hyphens=False) + ([f"# man {man}"] if man else [])


def common(documents):
    """The lines that all documents begin with, of several; what has lines of its own below it is none of them."""
    if len(documents) < 2:
        return []
    same = itertools.takewhile(lambda lines: len(set(lines)) == 1 and re.match(r"\. \S+: ", lines[0]), zip(*documents))
    return [lines[0] for lines in same]


def text_of(cases):
    """The cases of a command as the text of its file. It depends on the cases only, and not on their order."""
    blocks, reasons = [], {}
    known, titles = {}, collections.Counter(case.title() for case in cases)
    for case in cases:
        reasons.setdefault((case.why, case.man), []).append(case)
    for (why, man), members in sorted(reasons.items()):
        if why or man:
            blocks.append("\n".join(reason(why, man)))
        recorded = grouped(members, lambda case: [*text_lines("|", case.out), *text_lines("!", case.err), f"status {case.rc}"])
        for result, alike in recorded.items():
            out = tuple(line for line in result if line[0] == "|")
            if out in known:
                result = (quote("=", known[out]), *result[len(out):])
            elif len(out) >= REPEATED:
                names = [case.title() for case in alike if titles[case.title()] == 1]
                known |= {out: name for name in names[:1]}
            blocks.append(entry(alike, result))
    documents = grouped([case for case in cases if case.json is not None], lambda case: json_lines(case.json) if case.json else [])
    if documents:
        shared = common([result for result in documents if result and result[0].startswith(".")])
        blocks.append("\n".join([JSON_SECTION, *shared]))
        blocks += [entry(alike, result[len(shared):] if result[:1] and result[0].startswith(".") else result)
                   for result, alike in documents.items()]
    return "\n\n".join(blocks) + "\n"


def parse_head(line, **more):
    """The line that begins a case → the case, with more members."""
    text, _ = unquote(line)
    found = re.fullmatch(r"\[([^]]*)\] (.*)", text, re.DOTALL)
    fabric, *words = shlex.split(found[1]) if found else [""]
    if not fabric:
        raise ValueError("a command line is `$ [FABRIC] COMMAND…`")
    for word in words:
        name, equals, value = word.partition("=")
        if name not in WORDS or not equals:
            raise ValueError(f"unknown: {word}")
        more[name] = value if WORDS[name].type is str else json.loads(value)
    return Case(fabric=fabric, cmd=found[2], **more)


class Parser:
    """Reads the text of a file."""

    def __init__(self, name):
        self.name = name
        self.cases = []
        self.why = self.man = ""
        self.shared = None  # what all documents begin with, once `# --json` was there
        self.begin()

    def begin(self):
        """A new entry."""
        self.members, self.prep, self.lines, self.out = [], [], {"|": [], "!": [], ".": []}, None

    def end(self, status=0):
        """The end of an entry: what stands there is the result of its command lines."""
        if self.prep:
            raise ValueError("a step before no command line")
        out, err = (joined(self.lines[mark]) for mark in "|!")
        for case in self.members:
            if self.shared is None:
                case.rc, case.out, case.err = status, self.out or out or None, err or None
                self.cases.append(case)
                continue
            whose = [known for known in self.cases if known.key() == case.key()]
            if len(whose) != 1:
                raise ValueError(f"not once above {JSON_SECTION}: {case.title()}")
            whose[0].json = document(self.shared + self.lines["."]) if self.lines["."] else out
        self.begin()

    def line(self, line):
        """The next line."""
        mark = line[:1]
        if mark == "":
            self.end()
        elif mark == "#":
            self.end()
            self.comment(line)
        elif mark == "+" and not self.is_recorded():
            self.prep.append(unquote(line)[0])
        elif mark == "$" and not self.is_recorded():
            self.members.append(parse_head(line, prep=self.prep, name=self.name, why=self.why, man=self.man))
            self.prep = []
        elif mark == "." and self.shared is not None and not self.members:
            self.shared.append(line)
        elif self.members and mark in self.marks():
            self.result(mark, line)
        else:
            raise ValueError("not a line that can stand here")

    def is_recorded(self):
        return self.out or any(self.lines.values())

    def marks(self):
        """What lines of a result begin with, here."""
        if self.shared is not None:
            return "|" if self.lines["|"] else "." if self.lines["."] else "|."
        return "!s" if self.out or self.lines["!"] else "|!s" if self.is_recorded() else "=|!s"

    def result(self, mark, line):
        """A line of a result."""
        if mark == "=":
            name = unquote(line)[0]
            self.out = next((case.out for case in self.cases if case.title() == name), None)
            if not self.out:
                raise ValueError(f"nothing above is recorded of {name}")
        elif mark == "s":
            if not re.fullmatch(r"status -?\d+", line):
                raise ValueError("the status is a number")
            self.end(int(line.split()[1]))
        else:
            self.lines[mark].append(line)

    def comment(self, line):
        word, text = line[2:5], line[6:]
        if line == JSON_SECTION:
            self.shared = []
        elif word == "why":
            self.why, self.man = text, ""
        elif word == "man":
            self.man = text
        elif line.startswith("#     ") and self.why:
            self.why += " " + text
        else:
            raise ValueError("`# why`, `# man` or `# --json`")


def read(text, name=""):
    """The cases of a file."""
    parser = Parser(name)
    number = 0
    try:
        for number, line in enumerate(text.split("\n"), 1):
            parser.line(line)
        parser.end()
    except ValueError as error:
        raise ValueError(f"{name}{SUFFIX}:{number}: {error}") from error
    return parser.cases


def read_all(directory=OURS):
    """All cases, file by file."""
    cases = []
    for file in sorted(os.listdir(directory)):
        if file.endswith(SUFFIX):
            with open(os.path.join(directory, file), encoding="utf-8", newline="") as stream:
                cases += read(stream.read(), file[:-len(SUFFIX)])
    return cases


def write_all(cases, directory=OURS):
    """Writes the files of the commands that have a case in the list, which has all of those commands."""
    files = {}
    for case in cases:
        files.setdefault(case.name, []).append(case)
    os.makedirs(directory, exist_ok=True)
    for name, members in files.items():
        with open(os.path.join(directory, name + SUFFIX), "w", encoding="utf-8", newline="") as stream:
            stream.write(text_of(members))


def deviations(cases):
    """The cases that differ from a reference, a line of JSON each: fabric, cmd and what stands before them; what is printed; the reason."""
    lines = []
    for case in sorted((case for case in cases if case.why), key=lambda case: (case.name, case.fabric, case.cmd, case.prep)):
        line = {"fabric": case.fabric, "cmd": case.cmd, "rc": case.rc, "out": case.out or "", "why": case.why, "man": case.man}
        line |= {name: getattr(case, name) for name in ("prep", "lmc", "stdin") if getattr(case, name)}
        lines.append(json.dumps(line, ensure_ascii=False))
    return "".join(line + "\n" for line in lines)
