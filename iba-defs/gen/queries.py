# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of what <query> says: the attributes that commands read by name (lib/iba/queries.hpp)."""
from check import capabilities, query_class

WORDS = ("name", "alias", "about", "part", "entries", "argument", "members")


def definitions(model, words):
    """The rows as C++; their texts become part of `words`."""
    flags = capabilities({e.qname: e for e in model.enums})
    rows = ""
    for number, s in enumerate(model.structs):
        for q in s.queries:
            texts = ", ".join(words.add(getattr(q, word)) for word in WORDS)
            rows += (f"    {{{{{number + 1}}}, Access::{q.access}, {query_class(s, q):#x}, {'true' if q.switches else 'false'}, "
                     f"{'true' if q.vendor else 'false'}, {'true' if q.classic else 'false'}, Trust::{q.trust or 'none'}, "
                     f"{q.modifier:#x}, {flags.get(q.needs, 0):#x}, {texts}}},\n")
    return "constexpr QueryInfo queries[] = {\n" + rows + "};\n"
