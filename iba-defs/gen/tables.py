# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of the descriptor tables and of the registry's index."""
from cpp import MADE, SPDX, home_class, inner_first, method_mask, namespaces, quoted, snake

DISPLAY = {"guid": "guid", "gid": "gid", "lid": "dec", "text": "text", "bytes": "bytes", "struct": "bytes"}


def ident(qname):
    return qname.replace("::", "_")


def enum_table(e):
    out = f"constexpr EnumValue values_{ident(e.qname)}[] = {{\n"
    for v in e.values:
        out += f"    {{{quoted(v.name)}, {quoted(v.text)}, {v.number}U}},\n"
    out += f"}};\nconstexpr EnumInfo enum_{ident(e.qname)}{{{quoted(e.qname)}, {'true' if e.kind == 'flags' else 'false'}, "
    return out + f"values_{ident(e.qname)}}};\n"


def field_row(s, f):
    display = f.display or DISPLAY[f.kind]
    kind = "structure" if f.kind == "struct" else f.kind
    masks = f"masks_{ident(s.qname)}_{f.name}" if f.member_masks else "{}"
    return (f"    {{{quoted(f.name)}, {quoted(f.iba)}, {quoted(f.legacy)}, {f.offset}, {f.bits}, {f.count}, FieldKind::{kind}, "
            f"Display::{display}, {'true' if f.reserved else 'false'}, {f.mask}, "
            f"{'&enum_' + ident(f.enumeration.qname) if f.enumeration else 'nullptr'}, "
            f"{'&struct_' + ident(f.struct.qname) if f.struct else 'nullptr'}, {quoted(f.unit)}, {quoted(f.legacy_sa)}, "
            f"{quoted(f.legacy_perf)}, {masks}, {quoted(f.was)}, "
            f"{quoted(f.libibmad)}, LibibmadText::{f.dump or 'none'}, {f.libibmad_bits}, {f.libibmad_rank}, "
            f"{f.mask_bits if f.mask >= 0 else 0}, {'true' if f.secret == 'yes' else 'false'}, {f.well_known}, "
            f"{'true' if f.meaning == 'counter' else 'false'}}},\n")


def struct_table(s):
    out = ""
    for f in s.fields:
        if f.member_masks:
            out += f"constexpr MemberMask masks_{ident(s.qname)}_{f.name}[] = {{\n"
            out += "".join(f"    {{{quoted(m)}, {bit}}},\n" for _w, m, bit in f.member_masks) + "};\n"
    if s.fields:
        out += f"constexpr FieldInfo fields_{ident(s.qname)}[] = {{\n{''.join(field_row(s, f) for f in s.fields)}}};\n"
    if s.modifiers:
        out += f"constexpr ModifierInfo modifier_{ident(s.qname)}[] = {{\n"
        out += "".join(f"    {{{quoted(m.name)}, {m.offset}, {m.bits}}},\n" for m in s.modifiers) + "};\n"
    cls, version = home_class(s)
    out += (f"constexpr StructInfo struct_{ident(s.qname)}{{{quoted(s.qname)}, {quoted(s.iba)}, {quoted(s.title)}, "
            f"{quoted(s.section)}, {s.bytes}, {s.attribute}, {cls:#x}, {version}, {method_mask(s):#x}, "
            f"{'fields_' + ident(s.qname) if s.fields else '{}'}, {'true' if s.format else 'false'}, {quoted(s.variant)}, "
            f"{'modifier_' + ident(s.qname) if s.modifiers else '{}'}, {quoted(s.legacy_sa)}, {s.oui:#x}}};\n")
    return out


def tables(model):
    out = SPDX + MADE + '#include <array>\n\n#include "iba/registry_index.hpp"\n'
    for ns in namespaces(model):
        out += f'#include "iba-gen/{ns}.hpp"\n'
    out += "\nnamespace ib {\nnamespace {\n\n"
    out += "".join(enum_table(e) for e in model.enums) + "\n"
    out += "".join(struct_table(s) for s in inner_first(model.structs)) + "\n"
    out += "constexpr const StructInfo* all[] = {\n" + "".join(f"    &struct_{ident(s.qname)},\n" for s in model.structs) + "};\n"
    out += "constexpr detail::IndexRow index[] = {\n"
    for s in model.structs:
        if s.attribute >= 0 or s.format:
            for cls, version in s.classes:
                out += f"    {{{cls:#x}, {version}, {s.oui:#x}, {s.attribute}, &struct_{ident(s.qname)}}},\n"
    out += "};\nconstexpr detail::TrapRow traps[] = {\n"
    out += "".join(f"    {{{t}, &struct_{ident(s.qname)}}},\n" for s in model.structs for t in s.traps)
    out += "};\n}  // namespace\n\n"
    out += "std::span<const StructInfo* const> detail::all_structs() { return all; }\n"
    out += "std::span<const detail::IndexRow> detail::index_rows() { return index; }\n"
    out += "std::span<const detail::TrapRow> detail::trap_rows() { return traps; }\n\n"
    for s in model.structs:
        out += f"const StructInfo& {s.qname}::info() {{ return struct_{ident(s.qname)}; }}\n"
    for e in model.enums:
        if e.kind == "values":
            out += (f"const EnumInfo& {e.ns}::enum_info({e.qname}) {{ return enum_{ident(e.qname)}; }}\n"
                    f"std::string_view {e.ns}::to_text({e.qname} value) {{\n  switch (value) {{\n")
            out += "".join(f"    case {e.qname}::{v.name}: return {quoted(v.text)};\n" for v in e.values)
            out += "  }\n  return {};\n}\n"
        else:
            out += f"const EnumInfo& {e.ns}::{snake(e.name)}::info() {{ return enum_{ident(e.qname)}; }}\n"
    return out + "\n}  // namespace ib\n"
