# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of the reference page: every structure and enumeration in Markdown."""
from check import SA, SMP, query_class, show


def cell(text):
    return str(text).replace("|", "\\|")


def table(head, rows):
    out = "| " + " | ".join(head) + " |\n|" + " --- |" * len(head) + "\n"
    return out + "".join("| " + " | ".join(cell(c) for c in row) + " |\n" for row in rows) + "\n"


def field_row(s, f):
    kind = f"[{f.struct.iba}](#{f.struct.iba.lower()})" if f.struct else f.kind
    if f.count > 1:
        kind += f" × {f.count}"
    notes = []
    if f.enumeration:
        notes.append(f"{f.enumeration.qname}")
    if f.meaning:
        notes.append(f.meaning)
    if f.unit:
        notes.append(f.unit)
    if f.mask >= 0:
        notes.append(f"mask bit {f.mask}")
    if f.member_masks:
        notes.append(f"mask bits {f.member_masks[0][2]}…{f.member_masks[-1][2]}")
    if f.libibmad and f.libibmad != f.iba:
        notes.append(f"libibmad `{f.libibmad}`")
    if f.secret == "yes":
        notes.append("secret")
    if f.identifies:
        notes.append("identifies")
    if f.changes:
        notes.append("changes something: never sent")
    if f.was and f.was != "-":
        notes.append(f"once {f.was}")
    offset = show(f.offset - s.head) if f.offset >= s.head else ""
    return (offset, f.bits, f"`{f.iba}`", "" if f.reserved else f"`{f.name}`", kind, "; ".join(notes))


def struct_section(s):
    out = f"### {s.iba}\n\n`ib::{s.qname}`, {s.bytes} bytes, section {s.section}"
    if s.classes:
        out += ", class " + ", ".join(f"{c:#04x} version {v}" for c, v in s.classes)
    if s.oui:
        out += f", OUI {s.oui:06x}"
    if s.attribute >= 0:
        out += f", attribute {s.attribute:#06x}"
    if s.register >= 0:
        out += f", register {s.register:#06x}" + (f" with {s.selects[0]} {s.selects[1]:#x}" if s.selects else "")
    if s.methods:
        out += ", " + ", ".join(s.methods)
    if s.variant:
        out += f" (variant: {s.variant})"
    out += ".\n\n"
    if s.modifiers:
        parts = [f"{m.name} (bits {31 - m.offset}…{32 - m.offset - m.bits})" for m in s.modifiers]
        out += f"Attribute modifier: {', '.join(parts)}.\n\n"
    for q in s.queries:
        command = {SA: "saquery", SMP: "smpquery"}.get(query_class(s, q))
        if command:
            out += f"`{command} {q.name}`" + (f" (`{q.alias}`)" if q.alias else "") + (f": {q.about}" if q.about else "") + ".\n\n"
        if q.part:
            out += f"A snapshot has it in its part `{q.part}`.\n\n"
    if s.fields:
        out += table(("offset", "bits", "IBA name", "member", "kind", "notes"), [field_row(s, f) for f in s.fields])
    return out


def page(model):
    out = "# IBA structures\n\nGenerated from iba-defs/. Offsets are byte[bit], bit 0 being the most significant.\n\n"
    for title, file in model.chapters:
        out += f"## {title}\n\n"
        for e in model.enums:
            if e.where.file == file:
                out += f"### enum {e.qname}\n\n{e.kind}, {e.bits} bits, section {e.section}.\n\n"
                out += table(("number", "name", "text"), [(hex(v.number), f"`{v.name}`", v.text) for v in e.values])
        out += "".join(struct_section(s) for s in model.structs if s.where.file == file)
    return out
