# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of the tables of descriptors, which hold numbers only (see lib/iba/stored_structs.hpp), and of the registry's index."""
from cpp import LIMIT, MADE, SPDX, home_class, method_mask, namespaces, quoted, snake

DISPLAY = {"guid": "guid", "gid": "gid", "lid": "dec", "text": "text", "bytes": "bytes", "struct": "bytes"}




class Texts:
    """One long text, and where each text stands in it."""

    def __init__(self):
        self.places, self.literals, self.size = {}, [], 0

    def place(self, text):
        if text not in self.places:
            size = len(text.encode())
            assert size < 256, text
            self.places[text] = (self.size, size)
            self.literals.append(quoted(text))
            self.size += size
        return "{%d, %d}" % self.places[text]

    def definition(self):
        assert self.size < 1 << 24
        lines, line = [], "   "
        for literal in self.literals:
            if len(line) + 1 + len(literal) > LIMIT:
                lines.append(line)
                line = "   "
            line += " " + literal
        return "constexpr char texts[] =\n" + "\n".join(lines + [line]) + ";\n"


class Rows:
    """A table that is filled part by part."""

    def __init__(self, row_type, name):
        self.row_type, self.name, self.rows = row_type, name, []

    def add(self, rows):
        """The place of the rows: the first and how many."""
        rows = list(rows)
        first = len(self.rows) if rows else 0
        self.rows += rows
        return "{%d, %d}" % (first, len(rows))

    def definition(self):
        return f"constexpr {self.row_type} {self.name}[] = {{\n" + "".join(f"    {{{row}}},\n" for row in self.rows) + "};\n"


def truth(value):
    return "true" if value else "false"


class Tables:
    def __init__(self, model):
        self.text = Texts()
        self.values, self.enums = Rows("StoredEnumValue", "values"), Rows("StoredEnum", "enums")
        self.masks, self.fields = Rows("StoredMask", "masks"), Rows("StoredField", "fields")
        self.modifiers, self.structs = Rows("StoredModifier", "modifiers"), Rows("StoredStruct", "structs")
        self.index, self.traps = Rows("IndexRow", "indexed"), Rows("TrapRow", "traps")
        self.enum_rows = {e.qname: row for row, e in enumerate(model.enums)}
        self.struct_rows = {s.qname: row for row, s in enumerate(model.structs)}
        self.enums.add(self.enum_row(e) for e in model.enums)
        self.structs.add(self.struct_row(s) for s in model.structs)
        for s in model.structs:
            row = self.struct_rows[s.qname]
            if s.attribute >= 0 or s.format:
                self.index.add(f"{cls:#x}, {version}, {s.oui:#x}, {s.attribute}, {row}" for cls, version in s.classes)
            self.traps.add(f"{trap}, {row}" for trap in s.traps)

    def enum_row(self, e):
        place = self.text.place
        values = self.values.add(f"{place(v.name)}, {place(v.text)}, {v.number}U" for v in e.values)
        return f"{place(e.qname)}, {truth(e.kind == 'flags')}, {values}"

    def field_row(self, f):
        place = self.text.place
        display = f.display or DISPLAY[f.kind]
        kind = "structure" if f.kind == "struct" else f.kind
        masks = self.masks.add(f"{place(member)}, {bit}" for _width, member, bit in f.member_masks or ())
        return (f"{place(f.name)}, {place(f.iba)}, {place(f.legacy)}, {f.offset}, {f.bits}, {f.count}, FieldKind::{kind}, "
                f"Display::{display}, {truth(f.reserved)}, {f.mask}, "
                f"{self.enum_rows[f.enumeration.qname] if f.enumeration else -1}, "
                f"{self.struct_rows[f.struct.qname] if f.struct else -1}, {place(f.unit)}, {place(f.legacy_sa)}, "
                f"{place(f.legacy_perf)}, {masks}, {place(f.was)}, "
                f"{place(f.libibmad)}, LibibmadText::{f.dump or 'none'}, {f.libibmad_bits}, {f.libibmad_rank}, "
                f"{f.mask_bits if f.mask >= 0 else 0}, {truth(f.secret == 'yes')}, {f.well_known}, "
                f"{truth(f.meaning == 'counter')}")

    def struct_row(self, s):
        place = self.text.place
        fields = self.fields.add([self.field_row(f) for f in s.fields])
        modifier = self.modifiers.add(f"{place(m.name)}, {m.offset}, {m.bits}" for m in s.modifiers or ())
        cls, version = home_class(s)
        return (f"{place(s.qname)}, {place(s.iba)}, {place(s.title)}, {place(s.section)}, {s.bytes}, {s.attribute}, {cls:#x}, "
                f"{version}, {method_mask(s):#x}, {fields}, {truth(s.format)}, {place(s.variant)}, {modifier}, "
                f"{place(s.legacy_sa)}, {s.oui:#x}")

    def all(self):
        return [self.values, self.enums, self.masks, self.fields, self.modifiers, self.structs, self.index, self.traps]


def tables(model):
    made = Tables(model)
    out = SPDX + MADE + '#include "iba/stored_structs.hpp"\n'
    for ns in namespaces(model):
        out += f'#include "iba-gen/{ns}.hpp"\n'
    out += '\n#pragma GCC diagnostic ignored "-Woverlength-strings"\n\nnamespace ib {\nnamespace {\n\nusing namespace detail;\n\n'
    out += made.text.definition() + "".join(table.definition() for table in made.all())
    out += "\n}  // namespace\n\nconst StoredTables& detail::stored_tables() {\n"
    out += f"  static constexpr StoredTables tables{{texts, {', '.join(table.name for table in made.all())}}};\n  return tables;\n}}\n\n"
    for s in model.structs:
        out += f"const StructInfo& {s.qname}::info() {{ return structure({made.struct_rows[s.qname]}); }}\n"
    for e in model.enums:
        row = made.enum_rows[e.qname]
        if e.kind == "values":
            out += (f"const EnumInfo& {e.ns}::enum_info({e.qname}) {{ return enumeration({row}); }}\n"
                    f"std::string_view {e.ns}::to_text({e.qname} value) {{\n  switch (value) {{\n")
            out += "".join(f"    case {e.qname}::{v.name}: return {quoted(v.text)};\n" for v in e.values)
            out += "  }\n  return {};\n}\n"
        else:
            out += f"const EnumInfo& {e.ns}::{snake(e.name)}::info() {{ return enumeration({row}); }}\n"
    return out + "\n}  // namespace ib\n"
