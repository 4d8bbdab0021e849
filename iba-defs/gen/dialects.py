# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of what other programs call the fields (lib/iba/dialects.hpp), for those fields that have such names."""


def definitions(model, words):
    """The rows as C++; their texts become part of `words`."""
    rows = ""
    for at, f in enumerate(f for s in model.structs for f in s.fields):
        names = (f.legacy, f.legacy_sa, f.legacy_perf, f.libibmad, f.was)
        if any(names) or f.dump:
            texts = ", ".join(words.add(name) for name in names)
            rows += f"    {{{at}, {{{texts}, LibibmadText::{f.dump or 'none'}, {f.libibmad_bits}, {f.libibmad_rank}}}}},\n"
    return "constexpr DialectRow renamed[] = {\n" + rows + "};\n"
