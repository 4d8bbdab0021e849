# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Emitter of what <query> says: the attributes that commands read by name (lib/iba/queries.hpp). The rows hold no pointers: words are
places in one text, so that nothing is relocated when a program starts."""
from check import capabilities, query_class
from cpp import quoted

WORDS = ("name", "alias", "about", "part", "entries", "argument", "members")


def rows(model):
    """The rows as C++, and the text that they are places in."""
    text, places, out = "", {}, []

    def place(word):
        nonlocal text
        if word not in places:
            places[word] = len(text)
            text += word + "\0"
        return places[word]

    place("")
    flags = capabilities({e.qname: e for e in model.enums})
    for number, s in enumerate(model.structs):
        for q in s.queries:
            words = ", ".join(str(place(getattr(q, word))) for word in WORDS)
            out.append(f"{number}, Access::{q.access}, {query_class(s, q):#x}, {'true' if q.switches else 'false'}, "
                       f"{'true' if q.vendor else 'false'}, {'true' if q.classic else 'false'}, Trust::{q.trust or 'none'}, "
                       f"{q.modifier:#x}, "
                       f"{flags.get(q.needs, 0):#x}, {{{words}}}")
    return out, text


def definitions(model):
    lines, text = rows(model)
    pieces = "\n".join("    " + quoted(word) + r' "\0"' for word in text.split("\0")[:-1])
    return ("constexpr char query_words[] =\n" + pieces + ";\n"
            "constexpr QueryRow queries[] = {\n" + "".join(f"    {{{line}}},\n" for line in lines) + "};\n")
