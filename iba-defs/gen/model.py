# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The definitions as Python objects, read from the XML with expat so that every object knows its line."""
import re
import xml.parsers.expat
from dataclasses import dataclass, field as dc_field


class Bad(Exception):
    """One or more `file:line: error: text` lines."""

    def __init__(self, lines):
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass
class Where:
    file: str
    line: int

    def error(self, text):
        return f"{self.file}:{self.line}: error: {text}"


@dataclass
class Value:
    where: Where
    name: str
    number: int
    text: str


@dataclass
class Enum:
    where: Where
    ns: str
    name: str
    kind: str  # values | flags | constants
    bits: int
    section: str
    values: list = dc_field(default_factory=list)

    @property
    def qname(self):
        return f"{self.ns}::{self.name}"


@dataclass
class Field:
    where: Where
    name: str
    iba: str
    legacy: str
    legacy_sa: str
    legacy_perf: str
    offset: int  # bits
    bits: int
    count: int
    kind: str
    type: str
    display: str
    enum: str
    unit: str
    mask: int
    mask_bits: int  # consecutive bits from `mask` on: one per element, or all bits of one value
    libibmad: str  # libibmad's name; {} stands for the index
    libibmad_bits: int  # width of libibmad's field if that field spans more than this one
    libibmad_rank: int  # libibmad lists fields of a higher rank after those of a lower one
    dump: str  # libibmad's text function
    was: str  # the name while the field was reserved; "-" if older versions of the structure end before it
    reserved: bool
    secret: str  # "yes": a key that printers hide; otherwise empty
    well_known: int  # of a secret: the one value besides 0 that is public
    meaning: str  # "counter", or empty
    changes: bool  # a value that is not zero would change something in the device; it is read, never sent
    identifies: bool  # a name or a serial number, which is replaced where MADs are kept for others
    member_masks: list = dc_field(default_factory=list)  # (where, member, bit)
    struct: object = None  # resolved
    enumeration: object = None

    @property
    def total(self):
        return self.bits * self.count


@dataclass
class Modifier:
    """A part of the attribute modifier."""
    where: Where
    name: str
    offset: int
    bits: int


@dataclass
class Query:
    """A name by which commands read an attribute, and how it is read."""
    where: Where
    access: str  # node | port | block | record
    name: str
    alias: str
    about: str
    part: str  # of a snapshot
    entries: str  # of SwitchInfo: the field with the number of entries of a table in blocks
    argument: str  # of a record: what a command line may give without names, and the members that it means
    members: str
    trust: str  # of a record in a snapshot: whether it is read with an SM_Key; "keys": where keys in records are wanted
    modifier: int
    switches: bool  # only switches have it
    vendor: bool  # only devices of Mellanox have it
    classic: bool  # a name of python-rdma
    needs: str  # a flag of smp::CapabilityMask: only ports that have it answer


@dataclass
class Struct:
    where: Where
    ns: str
    name: str
    iba: str
    title: str
    section: str
    bytes: int
    classes: list  # (class, version)
    oui: int
    attribute: int
    methods: list
    variant: str
    format: bool
    legacy_sa: str  # saquery's name
    traps: list  # numbers of the traps whose DataDetails have this layout
    register: int = -1  # the register's ID, which is the attribute modifier of AccessRegister
    selects: tuple = ()  # (name of a field, the value for which the register has this layout)
    head: int = 0  # bits before the register, once registers.py has put them there
    fields: list = dc_field(default_factory=list)
    modifiers: list = dc_field(default_factory=list)
    queries: list = dc_field(default_factory=list)

    @property
    def qname(self):
        return f"{self.ns}::{self.name}"

    @property
    def carries_registers(self):
        """Whether this is AccessRegister."""
        cls, attribute = ACCESS_REGISTER
        return self.register < 0 and self.classes == [(cls, 1)] and self.attribute == attribute


@dataclass
class Model:
    chapters: list = dc_field(default_factory=list)  # (title, file)
    enums: list = dc_field(default_factory=list)
    structs: list = dc_field(default_factory=list)


METHODS = {"Get": 1, "Set": 2, "Send": 3, "Trap": 5, "Report": 6, "TrapRepress": 7,
           "GetTable": 18, "GetTraceTable": 19, "GetMulti": 20, "Delete": 21}
KINDS = ("uint", "guid", "gid", "lid", "text", "bytes", "struct")
SECRET_KINDS = ("uint", "gid", "bytes")
FIXED_BITS = {"guid": 64, "gid": 128, "lid": 16}
DISPLAYS = ("dec", "hex", "gid_prefix")
ACCESSES = ("node", "port", "block", "record")
TRUSTS = ("", "keys", "preferred", "required")
DUMPS = ("uint", "hex", "array", "string", "node_type", "linkdowndefstate", "linkspeed", "linkspeeden", "linkspeedsup",
         "linkspeedext", "linkspeedexten", "linkspeedextsup", "linkspeedext2", "linkspeedexten2", "linkspeedextsup2",
         "linkwidth", "linkwidthen", "linkwidthsup", "mtu", "opervls", "vlcap", "physportstate", "portstate",
         "portcapmask", "portcapmask2")

ATTRIBUTES = {  # element: (required, optional)
    "chapter": (("title",), ()),
    "enum": (("ns", "name", "kind", "bits", "section"), ()),
    "value": (("name", "number", "text"), ()),
    "struct": (("ns", "name", "iba", "title", "section", "bytes"),
               ("class", "oui", "attribute", "methods", "variant", "format", "traps", "legacy-sa")),
    "register": (("ns", "name", "iba", "title", "section", "bytes", "id"), ("selects",)),
    "field": (("name", "iba", "offset", "bits", "kind"),
              ("legacy", "legacy-sa", "legacy-perf", "count", "type", "display", "enum", "unit", "mask", "mask-bits", "was", "reserved",
               "secret", "well-known", "meaning", "changes", "identifies", "libibmad", "libibmad-bits", "libibmad-rank", "dump")),
    "modifier": (("name", "offset", "bits"), ()),
    "query": (("access",), ("name", "alias", "about", "snapshot", "entries", "argument", "members", "trust", "modifier", "nodes", "vendor",
                            "classic", "needs")),
    "mask-bit": (("member", "bit"), ()),
}
PARENTS = {"chapter": (None,), "enum": ("chapter",), "value": ("enum",), "struct": ("chapter",), "register": ("chapter",),
           "field": ("struct", "register"), "modifier": ("struct",), "query": ("struct",), "mask-bit": ("field",)}
ACCESS_REGISTER = (0x0a, 0x51)  # class and attribute of the MADs that carry registers


class Reader:
    """Reads one file into a model. Collects structural errors, so that one run shows all of them."""

    def __init__(self, model, path, shown, errors):
        self.model, self.shown, self.errors = model, shown, errors
        self.stack = []
        self.parser = xml.parsers.expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        try:
            with open(path, "rb") as f:
                self.parser.ParseFile(f)
        except xml.parsers.expat.ExpatError as e:
            errors.append(Where(shown, e.lineno).error(xml.parsers.expat.ErrorString(e.code)))

    def number(self, where, what, text, default=None):
        if text is None:
            return default
        try:
            return int(text, 0)
        except ValueError:
            self.errors.append(where.error(f"{what} is not a number: '{text}'"))
            return 0

    def start(self, tag, attrs):
        where = Where(self.shown, self.parser.CurrentLineNumber)
        parent = self.stack[-1][0] if self.stack else None
        if tag not in ATTRIBUTES:
            self.errors.append(where.error(f"unknown element <{tag}>"))
        elif parent not in PARENTS[tag]:
            self.errors.append(where.error(f"<{tag}> cannot stand in <{parent or 'the document'}>"))
        else:
            required, optional = ATTRIBUTES[tag]
            missing = [a for a in required if a not in attrs]
            for a in missing:
                self.errors.append(where.error(f"<{tag}> needs {a}="))
            for a in attrs:
                if a not in required and a not in optional:
                    self.errors.append(where.error(f"<{tag}> knows no {a}="))
            made = None if missing else getattr(self, "start_" + tag.replace("-", "_"))(where, attrs)
            self.stack.append((tag, made))
            return
        self.stack.append((tag, None))

    def end(self, _tag):
        self.stack.pop()

    def parent(self):
        return self.stack[-1][1]

    def start_chapter(self, _where, a):
        self.model.chapters.append((a["title"], self.shown))

    def start_enum(self, where, a):
        e = Enum(where, a["ns"], a["name"], a["kind"], self.number(where, "bits", a["bits"]), a["section"])
        self.model.enums.append(e)
        return e

    def start_value(self, where, a):
        if self.parent():
            self.parent().values.append(Value(where, a["name"], self.number(where, "number", a["number"]), a["text"]))

    def start_struct(self, where, a):
        classes = []
        for pair in a.get("class", "").split():
            if pair.count(":") != 1:
                self.errors.append(where.error(f"class= wants CLASS:VERSION, not '{pair}'"))
                continue
            cls, version = pair.split(":")
            classes.append((self.number(where, "class", cls), self.number(where, "version", version)))
        s = Struct(where, a["ns"], a["name"], a["iba"], a["title"], a["section"],
                   self.number(where, "bytes", a["bytes"]), classes, self.number(where, "oui", a.get("oui"), 0),
                   self.number(where, "attribute", a.get("attribute"), -1), a.get("methods", "").split(),
                   a.get("variant", ""), a.get("format") == "yes", a.get("legacy-sa", ""),
                   [self.number(where, "traps", t) for t in a.get("traps", "").split()])
        self.model.structs.append(s)
        return s

    def start_register(self, where, a):
        cls, attribute = ACCESS_REGISTER
        selects = ()
        if "selects" in a:
            name, _, value = a["selects"].partition("=")
            selects = (name, self.number(where, "selects", value))
        s = Struct(where, a["ns"], a["name"], a["iba"], a["title"], a["section"], self.number(where, "bytes", a["bytes"]), [(cls, 1)], 0,
                   attribute, ["Get"], "", False, "", [], self.number(where, "id", a["id"]), selects)
        self.model.structs.append(s)
        return s

    def offset(self, where, text):
        m = re.fullmatch(r"(\d+)\[([0-7])\]", text)
        if m:
            return int(m[1]) * 8 + int(m[2])
        self.errors.append(where.error(f"offset= wants BYTE[BIT], not '{text}'"))
        return 0

    def start_modifier(self, where, a):
        if self.parent():
            self.parent().modifiers.append(
                Modifier(where, a["name"], self.offset(where, a["offset"]), self.number(where, "bits", a["bits"])))

    def start_query(self, where, a):
        s = self.parent()
        if not s:
            return
        for name, known in (("nodes", ("switch",)), ("vendor", ("Mellanox",)), ("classic", ("yes",))):
            if name in a and a[name] not in known:
                self.errors.append(where.error(f"{name}= is {' or '.join(known)}, not '{a[name]}'"))
        s.queries.append(Query(where, a["access"], a.get("name", s.title), a.get("alias", ""), a.get("about", ""), a.get("snapshot", ""),
                               a.get("entries", ""), a.get("argument", ""), a.get("members", ""), a.get("trust", ""),
                               self.number(where, "modifier", a.get("modifier"), 0), "nodes" in a, "vendor" in a, "classic" in a,
                               a.get("needs", "")))

    def start_field(self, where, a):
        f = Field(where, a["name"], a["iba"], a.get("legacy", ""), a.get("legacy-sa", ""), a.get("legacy-perf", ""),
                  self.offset(where, a["offset"]), self.number(where, "bits", a["bits"]),
                  self.number(where, "count", a.get("count"), 1), a["kind"], a.get("type", ""), a.get("display", ""),
                  a.get("enum", ""), a.get("unit", ""), self.number(where, "mask", a.get("mask"), -1),
                  self.number(where, "mask-bits", a.get("mask-bits"), 1), a.get("libibmad", ""),
                  self.number(where, "libibmad-bits", a.get("libibmad-bits"), 0),
                  self.number(where, "libibmad-rank", a.get("libibmad-rank"), 0), a.get("dump", ""), a.get("was", ""),
                  a.get("reserved") == "yes", a.get("secret", ""), self.number(where, "well-known", a.get("well-known"), 0),
                  a.get("meaning", ""), a.get("changes") == "yes", a.get("identifies") == "yes")
        if self.parent():
            self.parent().fields.append(f)
        return f

    def start_mask_bit(self, where, a):
        if self.parent():
            self.parent().member_masks.append((where, a["member"], self.number(where, "bit", a["bit"])))


def read(paths, shown_names=None):
    """Reads all files. Raises Bad with every structural error found."""
    model, errors = Model(), []
    for path, shown in zip(paths, shown_names or paths):
        Reader(model, path, shown, errors)
    if errors:
        raise Bad(errors)
    return model
