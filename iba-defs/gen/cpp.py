# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Pure emitters of C++: each function turns a checked model into the text of one file."""
import re

from model import METHODS

SPDX = "// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB\n"
MADE = "// Generated from iba-defs/; change the definitions there.\n"
LIMIT = 140


def snake(name):
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def uint(bits):
    return next(f"std::uint{n}_t" for n in (8, 16, 32, 64) if bits <= n)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def relative(qname, ns):
    return qname.removeprefix(ns + "::")


def element_type(f, ns):
    """The C++ type of one element of a field."""
    if f.kind == "struct":
        return relative(f.struct.qname, ns)
    if f.kind in ("guid", "gid", "lid"):
        return f.kind.capitalize()
    if f.kind in ("text", "bytes"):
        return f"std::array<std::uint8_t, {f.bits // 8}>"
    if f.display == "gid_prefix":
        return "GidPrefix"
    if f.enumeration and f.enumeration.kind == "values":
        return relative(f.enumeration.qname, ns)
    return uint(f.bits)


def member_type(f, ns):
    one = element_type(f, ns)
    return f"std::array<{one}, {f.count}>" if f.count > 1 else one


def needs(structs, ns):
    """The namespaces whose headers the header of a namespace includes."""
    found = set()
    for s in structs:
        for f in s.fields:
            if f.struct:
                found.add(f.struct.ns)
            if f.enumeration and f.enumeration.kind == "values":
                found.add(f.enumeration.ns)
    return sorted(found - {ns})


def emit_enum(e):
    out = ""
    if e.kind == "values":
        out += f"/// {spec(e.section)}. A field may hold other numbers; they survive unpack and pack.\n"
        out += f"enum class {e.name} : {uint(e.bits)} {{\n"
        for v in e.values:
            out += f"  {v.name} = {v.number},\n"
        out += f"}};\n/// Descriptor of the enumeration; the argument only selects it.\nconst EnumInfo& enum_info({e.name});\n"
        out += f"/// The text of a value, empty where it has none.\nstd::string_view to_text({e.name} value);\n\n"
        return out
    what = "Single bits, to be combined" if e.kind == "flags" else "Numbers"
    out += f"/// {what} ({spec(e.section)}).\nnamespace {snake(e.name)} {{\n"
    for v in e.values:
        number = hex(v.number) if e.kind == "flags" else v.number
        out += f"inline constexpr {uint(e.bits)} {v.name} = {number}{'U' if e.bits > 16 else ''};\n"
    out += f"const EnumInfo& info();\n}}  // namespace {snake(e.name)}\n\n"
    return out


def spec(section):
    """A section as a citation: chapters and annexes are of the IBA, any other section names its source."""
    return f"IBA {section}" if re.match(r"A?\d", section) else section


def home_class(s):
    """The (class, version) of a structure that belongs to exactly one class (0x81 counts as 0x01), else (0, 0)."""
    classes = [c for c in s.classes if c[0] != 0x81 or len(s.classes) == 1]
    return classes[0] if len(classes) == 1 else (0, 0)


def method_mask(s):
    return sum(1 << METHODS[m] for m in s.methods)


def constants(s):
    out = f"  static constexpr std::size_t wire_size = {s.bytes};\n"
    if s.attribute >= 0:
        cls, version = home_class(s)
        if cls:
            out += f"  static constexpr std::uint8_t mgmt_class = {cls:#04x};\n"
            out += f"  static constexpr std::uint8_t mgmt_class_version = {version};\n"
        if s.oui:
            out += f"  static constexpr std::uint32_t vendor_oui = {s.oui:#08x};\n"
        out += f"  static constexpr std::uint16_t attribute_id = {s.attribute:#06x};\n"
        out += f"  static constexpr std::uint32_t methods = {method_mask(s):#x};\n"
    if s.register >= 0:
        out += f"  static constexpr std::uint32_t register_id = {s.register:#06x};\n"
    return out


def emit_struct(s):
    out = f"/// {s.iba} ({spec(s.section)}).\nstruct {s.name} {{\n"
    out += constants(s)
    if is_record(s):
        out += "  struct Query;\n"
    out += "\n"
    for f in s.fields:
        note = f"  ///< {f.unit}" if f.unit else ""
        value = s.selects[1] if s.selects and f.name == s.selects[0] else ""
        out += f"  {member_type(f, s.ns)} {f.name}{{{value}}};{note}\n"
    out += "\n  static const StructInfo& info();\n  void pack(MutableBytes out) const;\n"
    out += f"  static {s.name} unpack(Bytes in);\n  bool operator==(const {s.name}&) const = default;\n}};\n\n"
    return out


def is_record(s):
    return any(f.mask >= 0 or f.member_masks for f in s.fields) and any(c == 3 for c, _ in s.classes)


def setter(name, type_, path, bit, count, mask_bits):
    """A setter. For an array it takes an index; each element has its own mask bit if there are as many bits as elements."""
    by_value = not type_.startswith("std::array") and type_ not in ("Gid",) and "::" not in type_.replace("std::", "")
    arg = f"{type_} value" if by_value else f"const {type_}& value"
    if count > 1:
        shift = f"({bit}U + i)" if mask_bits == count else f"{bit}U"
        return (f"  Query& {name}(std::size_t i, {arg}) {{\n    record.{path}.at(i) = value;\n"
                f"    component_mask |= std::uint64_t{{1}} << {shift};\n    return *this;\n  }}\n")
    return (f"  Query& {name}({arg}) {{\n    record.{path} = value;\n"
            f"    component_mask |= std::uint64_t{{{(1 << mask_bits) - 1:#x}}} << {bit}U;\n    return *this;\n  }}\n")


def emit_query(s):
    out = f"/// Builds a query: each setter sets the component and its bit of the component mask.\nstruct {s.name}::Query {{\n"
    out += f"  {s.name} record{{}};\n  std::uint64_t component_mask = 0;\n\n"
    taken = {f.name for f in s.fields}
    for f in s.fields:
        if f.reserved:
            continue
        if f.mask >= 0:
            out += setter(f.name, element_type(f, s.ns), f.name, f.mask, f.count, f.mask_bits)
        for _where, member, bit in f.member_masks:
            inner = next(i for i in f.struct.fields if i.name == member)
            if inner.reserved:
                continue
            type_ = element_type(inner, s.ns)
            if inner.enumeration and inner.enumeration.kind == "values":
                type_ = relative(inner.enumeration.qname, s.ns)
            name = member if member not in taken else f"{f.name}_{member}"
            out += setter(name, type_, f"{f.name}.{member}", bit, inner.count, inner.count)
    return out + "};\n\n"


def header(model, ns):
    structs = [s for s in model.structs if s.ns == ns]
    out = SPDX + MADE + "#pragma once\n\n#include <array>\n#include <cstddef>\n#include <cstdint>\n#include <string_view>\n\n"
    out += '#include "base/bytes.hpp"\n#include "iba/struct_info.hpp"\n#include "iba/types.hpp"\n'
    for other in needs(structs, ns):
        out += f'#include "iba-gen/{other}.hpp"\n'
    out += f"\nnamespace ib::{ns} {{\n\n"
    for e in model.enums:
        if e.ns == ns:
            out += emit_enum(e)
    for s in structs:
        out += emit_struct(s)
    for s in structs:
        if is_record(s):
            out += emit_query(s)
    return out + f"}}  // namespace ib::{ns}\n"


def is_byte_array(f):
    return f.kind == "uint" and f.bits == 8 and f.count > 1 and f.offset % 8 == 0


def runs(s):
    """Splits a structure's integers into runs that begin and end at byte borders. Yields lists of (field, index, bit)."""
    run = []
    for f in s.fields:
        if f.kind != "uint" or is_byte_array(f):
            yield [(f, None, f.offset)]
            continue
        for i in range(f.count):
            at = f.offset + i * f.bits
            run.append((f, i if f.count > 1 else None, at))
            if (at + f.bits) % 8 == 0:
                yield run
                run = []


def lvalue(f, i):
    return f.name if i is None else f"{f.name}[{i}]"


def as_number(f, i):
    name = lvalue(f, i)
    if f.display == "gid_prefix":
        return name + ".value"
    if f.enumeration and f.enumeration.kind == "values":
        return f"static_cast<{uint(f.bits)}>({name})"
    return name


def pack_run(run):
    """What would change something in a device is packed as zero, whatever the member holds."""
    first, end = run[0][2], run[-1][2] + run[-1][0].bits
    size = (end - first) // 8
    sent = [part for part in run if not part[0].changes]
    if not sent:
        value = "0"
    elif len(run) == 1:
        value = as_number(run[0][0], run[0][1])
    else:
        terms = []
        for f, i, at in sent:
            shift = end - at - f.bits
            mask = f"({as_number(f, i)} & std::uint64_t{{{(1 << f.bits) - 1:#x}}})"
            terms.append(mask + (f" << {shift}" if shift else ""))
        value = " |\n                     ".join(terms)
    return f"  store_bytes<{size}>(p + {first // 8}, {value});\n"


def unpack_run(s, run):
    first, end = run[0][2], run[-1][2] + run[-1][0].bits
    size = (end - first) // 8
    out = ""
    source = f"load_bytes<{size}>(p + {first // 8})"
    if len(run) > 1:
        out += f"  const std::uint64_t w{first // 8} = {source};\n"
    for f, i, at in run:
        value = source
        if len(run) > 1:
            shift = end - at - f.bits
            value = f"w{first // 8}" + (f" >> {shift}" if shift else "") + f" & {(1 << f.bits) - 1:#x}U"
        out += f"  v.{lvalue(f, i)} = {converted(f, s.ns, value)};\n"
    return out


def converted(f, ns, value):
    type_ = element_type(f, ns)
    if f.display == "gid_prefix":
        return f"GidPrefix{{{value}}}"
    return f"static_cast<{type_}>({value})"


def pack_other(f):
    out = ""
    if f.changes:
        return f"  std::memset(p + {f.offset // 8}, 0, {f.total // 8});\n"
    if is_byte_array(f):
        return f"  std::memcpy(p + {f.offset // 8}, {f.name}.data(), {f.count});\n"
    for i in range(f.count):
        name, at, size = lvalue(f, i if f.count > 1 else None), (f.offset + i * f.bits) // 8, f.bits // 8
        if f.kind == "struct":
            out += f"  {name}.pack(out.subspan({at}, {size}));\n" if size else ""
        elif f.kind in ("guid", "lid"):
            out += f"  store_bytes<{size}>(p + {at}, {name}.value);\n"
        else:
            out += f"  std::memcpy(p + {at}, {name}{'.bytes' if f.kind == 'gid' else ''}.data(), {size});\n"
    return out


def unpack_other(s, f):
    out = ""
    if is_byte_array(f):
        return f"  std::memcpy(v.{f.name}.data(), p + {f.offset // 8}, {f.count});\n"
    for i in range(f.count):
        name, at, size = lvalue(f, i if f.count > 1 else None), (f.offset + i * f.bits) // 8, f.bits // 8
        if f.kind == "struct":
            out += f"  v.{name} = {element_type(f, s.ns)}::unpack(in.subspan({at}, {size}));\n"
        elif f.kind == "guid":
            out += f"  v.{name} = Guid{{load_bytes<{size}>(p + {at})}};\n"
        elif f.kind == "lid":
            out += f"  v.{name} = Lid{{static_cast<std::uint16_t>(load_bytes<{size}>(p + {at}))}};\n"
        else:
            out += f"  std::memcpy(v.{name}{'.bytes' if f.kind == 'gid' else ''}.data(), p + {at}, {size});\n"
    return out


def codec_struct(s):
    if not s.fields:
        return (f"void {s.name}::pack(MutableBytes) const {{}}\n\n"
                f"{s.name} {s.name}::unpack(Bytes) {{ return {{}}; }}\n\n")
    pack, unpack = "", ""
    for run in runs(s):
        f = run[0][0]
        pack += pack_run(run) if f.kind == "uint" and not is_byte_array(f) else pack_other(f)
        unpack += unpack_run(s, run) if f.kind == "uint" and not is_byte_array(f) else unpack_other(s, f)
    use = "  std::uint8_t* const p = out.data();\n" if "p + " in pack else ""
    use_in = "  const std::uint8_t* const p = in.data();\n" if "p + " in unpack else ""
    return (f"void {s.name}::pack(MutableBytes out) const {{\n"
            f"  if (out.size() < wire_size) return wire::pack_short(*this, out);\n{use}{pack}}}\n\n"
            f"{s.name} {s.name}::unpack(Bytes in) {{\n"
            f"  if (in.size() < wire_size) return wire::unpack_short<{s.name}>(in);\n  {s.name} v;\n{use_in}{unpack}  return v;\n}}\n\n")


def namespaces(model):
    return sorted({x.ns for x in model.structs} | {x.ns for x in model.enums})


def codec(model):
    out = SPDX + MADE + "#include <cstring>\n\n"
    for ns in namespaces(model):
        out += f'#include "iba-gen/{ns}.hpp"\n'
    out += '#include "iba/wire.hpp"\n\n'
    for ns in namespaces(model):
        out += f"namespace ib::{ns} {{\n\n"
        for s in model.structs:
            if s.ns == ns:
                out += codec_struct(s)
        out += f"}}  // namespace ib::{ns}\n\n"
    return out


def value_lines(f):
    """Code that reports each element of a member to the test, with its path for find_path()."""
    name = f.iba
    if f.kind == "struct":
        if f.count == 1:
            return f'  values(out, at + "{name}.", v.{f.name});\n'
        return (f'  for (std::size_t i = 0; i < v.{f.name}.size(); ++i)\n'
                f'    values(out, at + "{name}[" + std::to_string(i) + "].", v.{f.name}[i]);\n')
    if f.count == 1:
        return f'  out.emplace_back(at + "{name}", plain(v.{f.name}));\n'
    return (f'  for (std::size_t i = 0; i < v.{f.name}.size(); ++i)\n'
            f'    out.emplace_back(at + "{name}[" + std::to_string(i) + "]", plain(v.{f.name}[i]));\n')


def round_trip(model):
    """Code for the tests: every structure's members from the typed code, and its bytes after a round trip."""
    out = SPDX + MADE + '#include "defs/typed.hpp"\n\n'
    for ns in namespaces(model):
        out += f'#include "iba-gen/{ns}.hpp"\n'
    out += "\nnamespace ibtest {\nnamespace {\n\nusing namespace ib;\n\n"
    for s in inner_first(model.structs):
        used = "" if s.fields else "[[maybe_unused]] "
        out += f"void values({used}Values& out, {used}const std::string& at, {used}const {s.qname}& v) {{\n"
        out += "".join(value_lines(f) for f in s.fields) + "}\n\n"
    out += "template <class T>\nTyped typed(Bytes in) {\n  Typed t;\n  const T v = T::unpack(in);\n  values(t.values, {}, v);\n"
    out += "  t.bytes.resize(T::wire_size);\n  v.pack(t.bytes);\n  t.same = T::unpack(t.bytes) == v;\n  return t;\n}\n\n"
    out += "}  // namespace\n\nstd::span<const Entry> entries() {\n  static constexpr Entry all[] = {\n"
    out += "".join(f'      {{"{s.iba}", &typed<{s.qname}>}},\n' for s in model.structs)
    return out + "  };\n  return all;\n}\n\n}  // namespace ibtest\n"


def inner_first(structs):
    """The structures in an order in which inner structures precede those that contain them."""
    done, out = set(), []

    def visit(s):
        if s.qname in done:
            return
        done.add(s.qname)
        for f in s.fields:
            if f.struct:
                visit(f.struct)
        out.append(s)

    for s in structs:
        visit(s)
    return out
