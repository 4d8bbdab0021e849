# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The definitions as Python objects, read from the XML with expat so that every object knows its line."""
import re
from xml.parsers import expat
from dataclasses import MISSING, dataclass, field as dc_field, fields


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


def xml(default=MISSING, name=None, read=None, of=None):
    """A member that an attribute of the element has, under the name of the member or `name`. Without a default it must be there. It is a
    text, a number or yes, as the type of the member is; or one of the words `read`; or what the function `read` returns. `of` is the only
    element that has it, where several make one class."""
    return dc_field(default=default, metadata={"xml": name or "", "read": read, "of": of})


def attributes(cls, tag):
    """The members of a class that attributes of an element have, by the names of these."""
    return {f.metadata["xml"] or f.name.replace("_", "-"): f
            for f in fields(cls) if "xml" in f.metadata and f.metadata["of"] in (None, tag)}


def offset(reader, where, _name, text):
    m = re.fullmatch(r"(\d+)\[([0-7])\]", text)
    if m:
        return int(m[1]) * 8 + int(m[2])
    reader.errors.append(where.error(f"offset= wants BYTE[BIT], not '{text}'"))
    return 0


def words(_reader, _where, _name, text):
    return text.split()


def numbers(reader, where, name, text):
    return [reader.number(where, name, word) for word in text.split()]


def classes(reader, where, _name, text):
    found = []
    for pair in text.split():
        if pair.count(":") != 1:
            reader.errors.append(where.error(f"class= wants CLASS:VERSION, not '{pair}'"))
            continue
        cls, version = pair.split(":")
        found.append((reader.number(where, "class", cls), reader.number(where, "version", version)))
    return found


def selection(reader, where, name, text):
    field, _, value = text.partition("=")
    return (field, reader.number(where, name, value))


@dataclass
class Chapter:
    where: Where
    title: str = xml()


@dataclass
class Value:
    where: Where
    name: str = xml()
    number: int = xml()
    text: str = xml()


@dataclass
class Enum:
    where: Where
    ns: str = xml()
    name: str = xml()
    kind: str = xml()  # values | flags | constants
    bits: int = xml()
    section: str = xml()
    values: list = dc_field(default_factory=list)

    @property
    def qname(self):
        return f"{self.ns}::{self.name}"


@dataclass
class MaskBit:
    where: Where
    member: str = xml()
    bit: int = xml()


@dataclass
class Field:
    where: Where
    name: str = xml()
    iba: str = xml()
    offset: int = xml(read=offset)  # bits
    bits: int = xml()
    kind: str = xml()
    legacy: str = xml("")
    legacy_sa: str = xml("")
    legacy_perf: str = xml("")
    count: int = xml(1)
    type: str = xml("")
    display: str = xml("")
    enum: str = xml("")
    unit: str = xml("")
    mask: int = xml(-1)
    mask_bits: int = xml(1)  # consecutive bits from `mask` on: one per element, or all bits of one value
    libibmad: str = xml("")  # libibmad's name; {} stands for the index
    libibmad_bits: int = xml(0)  # width of libibmad's field if that field spans more than this one
    libibmad_rank: int = xml(0)  # libibmad lists fields of a higher rank after those of a lower one
    dump: str = xml("")  # libibmad's text function
    was: str = xml("")  # the name while the field was reserved; "-" if older versions of the structure end before it
    reserved: bool = xml(False)
    secret: str = xml("")  # "yes": a key that printers hide; otherwise empty
    well_known: int = xml(0)  # of a secret: the one value besides 0 that is public
    meaning: str = xml("")  # "counter", or empty
    changes: bool = xml(False)  # a value that is not zero would change something in the device; it is read, never sent
    identifies: bool = xml(False)  # a name or a serial number, which is replaced where MADs are kept for others
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
    name: str = xml()
    offset: int = xml(read=offset)
    bits: int = xml()


@dataclass
class Query:
    """A name by which commands read an attribute, and how it is read."""
    where: Where
    access: str = xml()  # node | port | block | record
    name: str = xml("")
    alias: str = xml("")
    about: str = xml("")
    part: str = xml("", name="snapshot")  # of a snapshot
    entries: str = xml("")  # of SwitchInfo: the field with the number of entries of a table in blocks
    argument: str = xml("")  # of a record: what a command line may give without names, and the members that it means
    members: str = xml("")
    trust: str = xml("")  # of a record in a snapshot: whether it is read with an SM_Key; "keys": where keys in records are wanted
    modifier: int = xml(0)
    switches: bool = xml(False, name="nodes", read=("switch",))  # only switches have it
    vendor: bool = xml(False, read=("Mellanox",))  # only devices of Mellanox have it
    classic: bool = xml(False, read=("yes",))  # a name of python-rdma
    needs: str = xml("")  # a flag of smp::CapabilityMask: only ports that have it answer


@dataclass
class Struct:
    where: Where
    ns: str = xml()
    name: str = xml()
    iba: str = xml()
    title: str = xml()
    section: str = xml()
    bytes: int = xml()
    classes: list = xml((), name="class", read=classes, of="struct")  # (class, version)
    oui: int = xml(0, of="struct")
    attribute: int = xml(-1, of="struct")
    methods: list = xml((), read=words, of="struct")
    variant: str = xml("", of="struct")
    format: bool = xml(False, of="struct")
    legacy_sa: str = xml("", of="struct")  # saquery's name
    traps: list = xml((), read=numbers, of="struct")  # numbers of the traps whose DataDetails have this layout
    register: int = xml(-1, name="id", of="register")  # the register's ID, which is the attribute modifier of AccessRegister
    selects: tuple = xml((), read=selection, of="register")  # (name of a field, the value for which the register has this layout)
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
        return self.register < 0 and list(self.classes) == [(cls, 1)] and self.attribute == attribute


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

ELEMENTS = {  # element: (its class, the elements in which it may stand)
    "chapter": (Chapter, (None,)), "enum": (Enum, ("chapter",)), "value": (Value, ("enum",)), "struct": (Struct, ("chapter",)),
    "register": (Struct, ("chapter",)), "field": (Field, ("struct", "register")), "modifier": (Modifier, ("struct",)),
    "query": (Query, ("struct",)), "mask-bit": (MaskBit, ("field",)),
}
ACCESS_REGISTER = (0x0a, 0x51)  # class and attribute of the MADs that carry registers


class Reader:
    """Reads one file into a model. Collects structural errors, so that one run shows all of them."""

    def __init__(self, model, path, shown, errors):
        self.model, self.shown, self.errors = model, shown, errors
        self.stack = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = lambda _tag: self.stack.pop()
        try:
            with open(path, "rb") as f:
                self.parser.ParseFile(f)
        except expat.ExpatError as e:
            errors.append(Where(shown, e.lineno).error(expat.ErrorString(e.code)))

    def number(self, where, what, text):
        try:
            return int(text, 0)
        except ValueError:
            self.errors.append(where.error(f"{what} is not a number: '{text}'"))
            return 0

    def value(self, where, name, member, text):
        """What an attribute says."""
        read = member.metadata["read"]
        if isinstance(read, tuple) and text not in read:
            self.errors.append(where.error(f"{name}= is {' or '.join(read)}, not '{text}'"))
        if read and not isinstance(read, tuple):
            return read(self, where, name, text)
        if member.type is bool:
            return bool(read) or text == "yes"
        return self.number(where, name, text) if member.type is int else text

    def start(self, tag, attrs):
        where = Where(self.shown, self.parser.CurrentLineNumber)
        parent, inside = self.stack[-1] if self.stack else (None, None)
        made = None
        if tag not in ELEMENTS:
            self.errors.append(where.error(f"unknown element <{tag}>"))
        elif parent not in ELEMENTS[tag][1]:
            self.errors.append(where.error(f"<{tag}> cannot stand in <{parent or 'the document'}>"))
        else:
            cls, parents = ELEMENTS[tag]
            known = attributes(cls, tag)
            missing = [name for name, member in known.items() if member.default is MISSING and name not in attrs]
            self.errors += [where.error(f"<{tag}> needs {name}=") for name in missing]
            self.errors += [where.error(f"<{tag}> knows no {name}=") for name in attrs if name not in known]
            if not missing and (inside or parents[0] in (None, "chapter")):
                made = cls(where, **{known[name].name: self.value(where, name, known[name], text)
                                     for name, text in attrs.items() if name in known})
                self.add(tag, made, inside)
        self.stack.append((tag, made))

    def add(self, tag, made, inside):
        """Puts an object where it belongs."""
        if tag == "chapter":
            self.model.chapters.append((made.title, self.shown))
        elif tag == "enum":
            self.model.enums.append(made)
        elif tag == "mask-bit":
            inside.member_masks.append((made.where, made.member, made.bit))
        elif tag in ("struct", "register"):
            self.model.structs.append(made)
        else:
            getattr(inside, {"query": "queries"}.get(tag, tag + "s")).append(made)
        if tag == "register":
            made.classes, made.attribute, made.methods = [(ACCESS_REGISTER[0], 1)], ACCESS_REGISTER[1], ["Get"]
        if tag == "query":
            made.name = made.name or inside.title


def read(paths, shown_names=None):
    """Reads all files. Raises Bad with every structural error found."""
    model, errors = Model(), []
    for path, shown in zip(paths, shown_names or paths):
        Reader(model, path, shown, errors)
    if errors:
        raise Bad(errors)
    return model
