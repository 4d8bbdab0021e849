# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks well-formed definitions for all other errors, and resolves names to objects."""
from model import ACCESSES, DISPLAYS, DUMPS, FIXED_BITS, KINDS, METHODS, SECRET_KINDS, TRUSTS, Bad

KEYWORDS = set("""alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default
delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq""".split())
SMP, SA, PERFORMANCE = 0x01, 0x03, 0x04
# The parts of a snapshot for the attributes of a class that are not records; of SMPs any.
PARTS = {SMP: (), PERFORMANCE: ("counters", "details"), 0x0a: ("vendor",), 0x21: ("congestion",)}
OWN_NAMES = {"info", "pack", "unpack", "wire_size", "methods", "mgmt_class_version", "Query"}  # members that the generator adds


def is_identifier(name, lower):
    return name.isidentifier() and (not lower or name == name.lower()) and not name.startswith("_")


def show(bit):
    return f"{bit // 8}[{bit % 8}]"


def storage(bits):
    return next(n for n in (8, 16, 32, 64, bits) if bits <= n)


def check_enum(e, errors):
    if e.kind not in ("values", "flags", "constants"):
        errors.append(e.where.error(f"enum {e.qname}: unknown kind '{e.kind}'"))
    if not 1 <= e.bits <= 64:
        errors.append(e.where.error(f"enum {e.qname}: {e.bits} bits"))
        return
    names, numbers = set(), set()
    for v in e.values:
        if v.name in KEYWORDS or not is_identifier(v.name, True):
            errors.append(v.where.error(f"'{v.name}' is no C++ name"))
        if v.name in names:
            errors.append(v.where.error(f"value '{v.name}' is defined twice"))
        if v.number in numbers:
            errors.append(v.where.error(f"number {v.number} is used twice in {e.qname}"))
        if not 0 <= v.number < 1 << e.bits:
            errors.append(v.where.error(f"{v.name} = {v.number} does not fit in {e.bits} bits"))
        if e.kind == "flags" and bin(v.number).count("1") != 1:
            errors.append(v.where.error(f"{v.name} = {v.number} is not a single bit"))
        names.add(v.name)
        numbers.add(v.number)


def check_kind(s, f, structs, enums, bad):
    if f.kind not in KINDS:
        return bad(f"unknown kind '{f.kind}'")
    if f.bits < 1 or f.count < 1:
        return bad("bits= and count= must be positive")
    if f.kind == "uint" and f.bits > 64:
        bad("an integer has at most 64 bits")
    if f.kind in FIXED_BITS and f.bits != FIXED_BITS[f.kind]:
        bad(f"a {f.kind} has {FIXED_BITS[f.kind]} bits, not {f.bits}")
    if f.kind != "uint" and (f.offset % 8 or f.bits % 8):
        bad(f"kind {f.kind} must stand on whole bytes")
    if f.kind == "uint" and f.display not in DISPLAYS:
        bad(f"display= must be one of {' '.join(DISPLAYS)}")
    if f.kind != "uint" and f.display and (f.kind, f.display) != ("lid", "hex"):
        bad(f"kind {f.kind} takes no display={f.display}")
    if bool(f.libibmad) != bool(f.dump) or f.dump and f.dump not in DUMPS:
        bad("libibmad= goes with a known dump=")
    if (f.kind == "struct") != bool(f.type):
        bad("type= goes with kind struct, and only with it")
    if f.kind == "struct" and f.type:
        f.struct = structs.get(f.type)
        if not f.struct:
            bad(f"no structure {f.type}")
        elif f.struct.bytes * 8 != f.bits:
            bad(f"{f.type} has {f.struct.bytes * 8} bits, not {f.bits}")
    if f.enum:
        f.enumeration = enums.get(f.enum if "::" in f.enum else f"{s.ns}::{f.enum}")
        if not f.enumeration:
            bad(f"no enum {f.enum}")
        elif f.kind != "uint":
            bad("enum= goes with kind uint")
        elif f.enumeration.kind == "values" and storage(f.enumeration.bits) != storage(f.bits):
            bad(f"{f.enumeration.qname} of {f.enumeration.bits} bits cannot hold {f.bits} bits")
        elif any(v.number >> f.bits for v in f.enumeration.values):
            bad(f"a value of {f.enumeration.qname} does not fit in {f.bits} bits")
    return None


def check_meaning(f, bad):
    """The marks of a field but secret=."""
    if f.meaning not in ("", "counter"):
        bad(f"meaning= is counter, not '{f.meaning}'")
    elif f.meaning and (f.kind != "uint" or f.reserved or f.enum or f.secret == "yes"):
        bad("a counter is a plain uint")
    if f.changes and (f.kind not in ("uint", "bytes") or f.reserved or f.secret == "yes"):
        bad("changes= goes with a plain uint or bytes")
    if f.identifies and (f.kind != "text" or f.reserved or f.count != 1 or f.offset % 8 or f.bits % 8):
        bad("identifies= goes with one text on whole bytes; GUIDs and GIDs need no mark")


def check_secret(f, bad):
    if f.secret not in ("", "yes", "no"):
        bad(f"secret= is yes or no, not '{f.secret}'")
    if f.secret == "yes" and (f.kind not in SECRET_KINDS or f.count != 1 or f.offset % 8 or f.bits % 8):
        bad(f"secret= goes with one value on whole bytes of kind {' or '.join(SECRET_KINDS)}")
    if f.secret == "yes" and f.reserved:
        bad("what is reserved is no secret")
    if f.well_known and (f.secret != "yes" or f.kind != "uint" or f.well_known >> min(f.bits, 8)):
        bad("well-known= is a value of a secret of kind uint, at most 255")


def check_names(s, errors):
    names, ibas = {}, {}
    for f in s.fields:
        if f.name in KEYWORDS or f.name in OWN_NAMES or not is_identifier(f.name, True):
            errors.append(f.where.error(f"'{f.name}' cannot name a member"))
        for table, name in ((names, f.name), (ibas, f.iba)):
            if name in table:
                errors.append(f.where.error(f"{s.qname}: '{name}' is defined twice, first in line {table[name].where.line}"))
            table[name] = f
    if s.attribute >= 0 and any(n in ("attribute_id", "mgmt_class") for n in names):
        errors.append(s.where.error(f"{s.qname}: a member is named like a constant of its attribute"))


def check_layout(s, errors):
    at = 0
    for f in s.fields:
        if f.offset < at:
            errors.append(f.where.error(f"{s.qname}.{f.name} at {show(f.offset)} overlaps what ends at {show(at)}"))
        elif f.offset > at:
            errors.append(f.where.error(f"{s.qname}.{f.name} at {show(f.offset)} leaves a gap from {show(at)}"))
        at = f.offset + f.total
    if at != s.bytes * 8:
        errors.append(s.where.error(f"{s.qname} says {s.bytes} bytes, its fields end at {show(at)}"))


def check_modifier(s, errors):
    at = 0
    for m in s.modifiers:
        if m.offset < at:
            errors.append(m.where.error(f"{s.qname}: modifier part {m.name} overlaps what ends at {show(at)}"))
        at = m.offset + m.bits
    if s.modifiers and at != 32:
        errors.append(s.modifiers[-1].where.error(f"{s.qname}: the modifier ends at {show(at)}, not at 4[0]"))
    if s.modifiers and s.attribute < 0:
        errors.append(s.where.error(f"{s.qname}: modifier layout without attribute="))


def check_masks(s, errors):
    used = {}

    def take(where, what, first, count):
        for bit in range(first, first + count):
            if not 0 <= bit <= 63:
                errors.append(where.error(f"{what}: mask bit {bit} is outside 0..63"))
            elif bit in used:
                errors.append(where.error(f"{what}: mask bit {bit} already belongs to {used[bit]}"))
            used[bit] = what

    for f in s.fields:
        if f.mask_bits != 1 and f.count != 1 and f.mask_bits != f.count:
            errors.append(f.where.error(f"{s.qname}.{f.name}: mask-bits= of an array is 1 or its count"))
        if f.mask >= 0:
            take(f.where, f"{s.qname}.{f.name}", f.mask, f.mask_bits)
        for where, member, bit in f.member_masks:
            inner = next((i for i in f.struct.fields if i.name == member), None) if f.struct else None
            if not inner:
                errors.append(where.error(f"{s.qname}.{f.name} has no member '{member}'"))
            else:
                take(where, f"{s.qname}.{f.name}.{member}", bit, inner.count)
    if used and not any(c == 3 for c, _ in s.classes):
        errors.append(s.where.error(f"{s.qname}: component masks belong to class 0x03"))


def check_attributes(structs, errors):
    seen = {}
    traps = {}
    for s in structs:
        for t in s.traps:
            if t in traps:
                errors.append(s.where.error(f"{s.qname}: trap {t} already has {traps[t].qname}"))
            traps[t] = s
        for m in s.methods:
            if m not in METHODS:
                errors.append(s.where.error(f"{s.qname}: unknown method '{m}'"))
        if s.attribute >= 0 and not s.classes:
            errors.append(s.where.error(f"{s.qname}: attribute= needs class="))
        if s.format and (s.attribute >= 0 or not any(f.name == "data" for f in s.fields)):
            errors.append(s.where.error(f"{s.qname}: a format has a member 'data' and no attribute="))
        if (s.attribute < 0 and not s.format) or s.variant or s.register >= 0:
            continue
        for cls, _version in s.classes:
            key = (cls, s.oui, s.attribute)
            if key in seen:
                what = "a format" if s.format else f"attribute {s.attribute:#06x}"
                errors.append(s.where.error(f"{s.qname}: class {cls:#04x} already has {what}: {seen[key].qname}, "
                                            f"{seen[key].where.file}:{seen[key].where.line}"))
            seen[key] = s


def check_registers(structs, errors):
    """Each register has one layout without selects=, and one for each value that selects= names."""
    carrier = next((s for s in structs if s.carries_registers), None)
    room = carrier.fields[-1].total if carrier and carrier.fields else 0
    seen = {}
    for s in structs:
        if s.register < 0:
            continue
        if s.bytes * 8 > room:
            errors.append(s.where.error(f"{s.qname}: {s.bytes} bytes do not fit in the {room // 8} of AccessRegister"))
        if s.selects:
            field = next((f for f in s.fields if f.name == s.selects[0]), None)
            if not field or field.kind != "uint" or field.count != 1 or s.selects[1] >> field.bits:
                errors.append(s.where.error(f"{s.qname}: selects= is a field=value of it"))
        key = (s.register, s.selects)
        if key in seen:
            errors.append(s.where.error(f"{s.qname}: register {s.register:#06x} has this layout already: {seen[key].qname}"))
        seen[key] = s


def capabilities(enums):
    """What PortInfo says of a port: name → number."""
    mask = enums.get("smp::CapabilityMask")
    return {v.name: v.number for v in mask.values} if mask else {}


def query_class(s, q):
    """The class in which an attribute with a <query> is read, or -1: that of records for a record, else the first one that may be."""
    return next((c for c, _ in s.classes if (c == SA) == (q.access == "record") and (c == SA or c in PARTS)), -1)


def check_query(s, q, structs, enums, errors):
    """What one <query> says."""
    def bad(text):
        errors.append(q.where.error(f"{s.qname}: {text}"))

    if q.access not in ACCESSES:
        return bad(f"unknown access '{q.access}'")
    is_record = q.access == "record"
    home = query_class(s, q)
    if s.attribute < 0 or s.variant or home < 0:
        return bad(f"access {q.access} is for attributes of class {' or '.join(f'{c:#04x}' for c in ([SA] if is_record else PARTS))}")
    if not is_record and "Get" not in s.methods:
        bad("what is read has the method Get")
    if q.trust not in TRUSTS:
        bad(f"unknown trust '{q.trust}'")
    if (q.argument or q.members or q.trust) and not is_record:
        bad("argument=, members= and trust= are for records")
    if bool(q.argument) != bool(q.members):
        bad("argument= and members= go together")
    if (q.modifier or q.switches or q.vendor or q.needs) and is_record:
        bad("modifier=, nodes=, vendor= and needs= are not for records")
    if PARTS.get(home) and q.part not in PARTS[home]:
        bad(f"an attribute of class {home:#04x} belongs to the part {' or '.join(PARTS[home])} of a snapshot")
    if q.needs and not is_record and q.needs not in capabilities(enums):
        bad(f"needs= is a value of smp::CapabilityMask, not '{q.needs}'")
    if q.modifier and q.access in ("port", "block"):
        bad("a fixed modifier= goes with access node")
    if home == PERFORMANCE and q.access == "port" and not any(f.name == "port_select" for f in s.fields):
        bad("access port of performance management is by the field port_select")
    elif q.access in ("port", "block") and home != PERFORMANCE and not any(m.name == "port" or q.access == "block" for m in s.modifiers):
        bad(f"access {q.access} needs a <modifier>" + (" called port" if q.access == "port" else ""))
    if is_record and q.part not in ("", "sa"):
        bad("a record belongs to the part sa of a snapshot")
    if q.entries:
        info = structs.get("smp::SwitchInfo")
        if q.access != "block" or not info or not any(f.name == q.entries for f in info.fields):
            bad("entries= names the field of smp::SwitchInfo that has the number of entries of a table in blocks")


def check_queries(structs, errors, by_name, enums):
    """The words by which attributes are read: each means one of them, among those of a class."""
    seen = {}
    for s in structs:
        for q in s.queries:
            check_query(s, q, by_name, enums, errors)
            for word in filter(None, (q.name, q.alias)):
                key = (query_class(s, q), word.lower())
                if key in seen and seen[key] is not q:
                    errors.append(q.where.error(f"{s.qname}: '{word}' is a name already, of line {seen[key].where.line} "
                                                f"in {seen[key].where.file}"))
                seen[key] = q


def check(model):
    """Raises Bad with every error found; afterwards field.struct and field.enumeration are objects."""
    errors = []
    structs, enums, dump_names = {}, {}, {}
    for group, table in ((model.enums, enums), (model.structs, structs)):
        for item in group:
            if item.qname in enums or item.qname in structs:
                errors.append(item.where.error(f"{item.qname} is defined twice"))
            if not is_identifier(item.name, False) or item.name in KEYWORDS:
                errors.append(item.where.error(f"'{item.name}' is no C++ name"))
            table[item.qname] = item
    for e in model.enums:
        check_enum(e, errors)
    for s in model.structs:
        if s.iba in dump_names:
            errors.append(s.where.error(f"{s.iba} is defined twice"))
        dump_names[s.iba] = s
        for f in s.fields:
            def bad(text, s=s, f=f):
                errors.append(f.where.error(f"{s.qname}.{f.name}: {text}"))

            check_kind(s, f, structs, enums, bad)
            check_meaning(f, bad)
            check_secret(f, bad)
        check_names(s, errors)
        check_layout(s, errors)
        check_modifier(s, errors)
        check_masks(s, errors)
    check_attributes(model.structs, errors)
    check_registers(model.structs, errors)
    check_queries(model.structs, errors, structs, enums)
    order = {s.qname: i for i, s in enumerate(model.structs)}
    for s in model.structs:
        for f in s.fields:
            if f.struct and f.struct.ns == s.ns and order[f.struct.qname] >= order[s.qname]:
                errors.append(f.where.error(f"{f.struct.qname} must be defined before {s.qname}"))
    if errors:
        raise Bad(errors)
