# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of the tables of descriptors (lib/iba/struct_info.hpp) and of the registry's index (lib/iba/tables.hpp)."""
from check import capabilities, query_class
from cpp import MADE, SPDX, home_class, method_mask, namespaces, quoted, snake
from words import Words

QUERY_WORDS = ("name", "alias", "about", "part", "entries", "argument", "members")
DISPLAY = {"guid": "guid", "gid": "gid", "lid": "dec", "text": "text", "bytes": "bytes", "struct": "bytes"}


class Rows:
    """A table that is filled part by part."""

    def __init__(self, row_type, name):
        self.row_type, self.name, self.rows = row_type, name, []

    def add(self, rows):
        """The rows as a span."""
        rows = list(rows)
        first = len(self.rows)
        self.rows += rows
        return "{%s + %d, %d}" % (self.name, first, len(rows)) if rows else "{}"

    def definition(self, specifiers="constexpr", is_scalar=False):
        rows = self.rows if is_scalar else [f"{{{row}}}" for row in self.rows]
        return f"{specifiers} {self.row_type} {self.name}[] = {{\n" + "".join(f"    {row},\n" for row in rows) + "};\n"


def text(words):
    """A text, or the view of none: a pointer to an empty text would be one more that the loader has to adjust in each process."""
    return quoted(words) if words else "{}"


def truth(value):
    return "true" if value else "false"


class Tables:
    def __init__(self, model):
        self.words = Words()
        self.values, self.enums = Rows("EnumValue", "values"), Rows("EnumInfo", "enums")
        self.masks, self.fields = Rows("MemberMask", "masks"), Rows("FieldInfo", "fields")
        self.modifiers, self.structs = Rows("ModifierInfo", "modifiers"), Rows("StructInfo", "structs")
        self.identities = Rows("const FieldInfo* const", "identities")
        self.index, self.traps = Rows("IndexRow", "indexed"), Rows("TrapRow", "traps")
        self.queries, self.dialects = Rows("QueryInfo", "queries"), Rows("DialectRow", "renamed")
        self.flags = capabilities({e.qname: e for e in model.enums})
        self.enum_rows = {e.qname: row for row, e in enumerate(model.enums)}
        self.struct_rows = {s.qname: row for row, s in enumerate(model.structs)}
        self.enums.add(self.enum_row(e) for e in model.enums)
        self.structs.add(self.struct_row(s) for s in model.structs)
        for s in model.structs:
            place = f"structs + {self.struct_rows[s.qname]}"
            if s.attribute >= 0 or s.format:
                self.index.add(f"{cls:#x}, {version}, {s.oui:#x}, {s.attribute}, {place}" for cls, version in s.classes)
            self.traps.add(f"{trap}, {place}" for trap in s.traps)
            self.queries.add(self.query_row(s, q) for q in s.queries)
        for at, f in enumerate(f for s in model.structs for f in s.fields):
            names = (f.legacy, f.legacy_sa, f.legacy_perf, f.libibmad, f.was)
            if any(names) or f.dump:
                texts = ", ".join(self.words.add(name) for name in names)
                self.dialects.add([f"{at}, {{{texts}, LibibmadText::{f.dump or 'none'}, {f.libibmad_bits}, {f.libibmad_rank}}}"])

    def enum_row(self, e):
        values = self.values.add(f"{self.words.add(v.name)}, {self.words.add(v.text)}, {v.number}U" for v in e.values)
        return f"{truth(e.kind == 'flags')}, {values}"

    def field_row(self, f):
        display = f.display or DISPLAY[f.kind]
        kind = "structure" if f.kind == "struct" else f.kind
        masks = [f"{self.words.add(member)}, {bit}" for _width, member, bit in f.member_masks or ()]
        first_mask = len(self.masks.rows) if masks else 0
        self.masks.add(masks)
        names = ", ".join(self.words.add(name) for name in (f.name, f.iba, f.unit))
        return (f"{names}, {f.offset}, {f.bits}, {f.count}, FieldKind::{kind}, Display::{display}, "
                f"{truth(f.reserved)}, {truth(f.meaning == 'counter')}, {truth(f.changes)}, {truth(f.secret == 'yes')}, "
                f"{f.mask}, {f.mask_bits if f.mask >= 0 else 0}, {f.well_known}, {len(masks)}, {first_mask}, "
                f"{{{self.enum_rows[f.enumeration.qname] + 1 if f.enumeration else 0}}}, "
                f"{{{self.struct_rows[f.struct.qname] + 1 if f.struct else 0}}}")

    def struct_row(self, s):
        first = len(self.fields.rows)
        fields = self.fields.add([self.field_row(f) for f in s.fields])
        self.identities.add(f"fields + {first + at}" for at, f in enumerate(s.fields) if f.identifies)
        modifier = self.modifiers.add(f"{text(m.name)}, {m.offset}, {m.bits}" for m in s.modifiers or ())
        cls, version = home_class(s)
        names = [f.name for f in s.fields]
        selector = f"{names.index(s.selects[0])}, {s.selects[1]:#x}" if s.selects else "-1, 0"
        return (f"{text(s.qname)}, {text(s.iba)}, {text(s.title)}, {text(s.section)}, {s.bytes}, {s.attribute}, {cls:#x}, "
                f"{version}, {method_mask(s):#x}, {fields}, {truth(s.format)}, {text(s.variant)}, {modifier}, "
                f"{text(s.legacy_sa)}, {s.oui:#x}, {s.register}, {selector}")

    def query_row(self, s, q):
        texts = ", ".join(self.words.add(getattr(q, word)) for word in QUERY_WORDS)
        return (f"{{{self.struct_rows[s.qname] + 1}}}, Access::{q.access}, {query_class(s, q):#x}, {truth(q.switches)}, {truth(q.vendor)}, "
                f"{truth(q.classic)}, Trust::{q.trust or 'none'}, {q.modifier:#x}, {self.flags.get(q.needs, 0):#x}, {texts}")

    def definitions(self):
        return (self.values.definition() + self.enums.definition("constinit const") + self.masks.definition() + self.fields.definition()
                + self.modifiers.definition() + self.structs.definition("constinit const") + self.index.definition()
                + self.traps.definition() + self.identities.definition(is_scalar=True) + self.queries.definition()
                + self.dialects.definition() + self.words.definition())


def tables(model):
    made = Tables(model)
    out = SPDX + MADE + '#include "iba/queries.hpp"\n#include "iba/tables.hpp"\n'
    for ns in namespaces(model):
        out += f'#include "iba-gen/{ns}.hpp"\n'
    out += "\nnamespace ib {\nnamespace detail {\n\n" + made.definitions() + "\nconst Tables& tables() {\n"
    out += ("  static constexpr Tables tables{structs, fields, indexed, traps, identities, masks, queries, renamed};\n"
            "  return tables;\n}\n\n}  // namespace detail\n\n")
    for s in model.structs:
        out += f"const StructInfo& {s.qname}::info() {{ return detail::structs[{made.struct_rows[s.qname]}]; }}\n"
    for e in model.enums:
        place = f"detail::enums[{made.enum_rows[e.qname]}]"
        if e.kind == "values":
            out += (f"const EnumInfo& {e.ns}::enum_info({e.qname}) {{ return {place}; }}\n"
                    f"std::string_view {e.ns}::to_text({e.qname} value) {{\n  switch (value) {{\n")
            out += "".join(f"    case {e.qname}::{v.name}: return {quoted(v.text)};\n" for v in e.values)
            out += "  }\n  return {};\n}\n"
        else:
            out += f"const EnumInfo& {e.ns}::{snake(e.name)}::info() {{ return {place}; }}\n"
    return out + "\n}  // namespace ib\n"
