# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The one text that the tables' words are places in (ib::Word)."""
from cpp import quoted


class Words:
    def __init__(self):
        self.places, self.size = {}, 0

    def add(self, text):
        """The place of a text, as C++."""
        if not text:
            return "{}"
        size = len(text.encode())
        if text not in self.places:
            self.places[text] = self.size
            self.size += size
        assert size < 1 << 8 and self.size < 1 << 24, text
        return "{%d, %d}" % (self.places[text], size)

    def definition(self):
        return "constinit const char words[] =\n" + "".join(f"    {quoted(text)}\n" for text in self.places) + "    ;\n"
