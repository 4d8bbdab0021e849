# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of what other programs call the fields (lib/iba/dialects.hpp), for those fields that have such names."""
from cpp import MADE, SPDX, quoted


def dialects(model):
    words, size = {"": 0}, 1  # text: its place

    def place(text):
        nonlocal size
        if text not in words:
            words[text] = size
            size += len(text.encode()) + 1
        return words[text]

    rows = ""
    for at, f in enumerate(f for s in model.structs for f in s.fields):
        names = (f.legacy, f.legacy_sa, f.legacy_perf, f.libibmad, f.was)
        if any(names) or f.dump:
            places = ", ".join(str(place(name)) for name in names)
            rows += f"    {{{at}, {places}, LibibmadText::{f.dump or 'none'}, {f.libibmad_bits}, {f.libibmad_rank}}},\n"
    texts = "".join(f"    {quoted(text)[:-1]}\\0\"\n" for text in words)
    return (SPDX + MADE + '#include "iba/tables.hpp"\n\nnamespace ib::detail {\nnamespace {\n\n'
            + "constexpr DialectRow dialect_table[] = {\n" + rows + "};\n\nconstexpr char dialect_words[] =\n" + texts
            + "    ;\n\n}  // namespace\n\nDialectRows dialect_rows() { return {dialect_table, dialect_words}; }\n\n"
            + "}  // namespace ib::detail\n")
