# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Makes a register, which a chapter defines from its first byte, the whole attribute that carries it: the fields of AccessRegister before
its data precede those of the register."""
from dataclasses import replace


def add_heads(model):
    """Changes the registers of a checked model."""
    registers = [s for s in model.structs if s.register >= 0]
    if not registers:
        return
    carrier = next(s for s in model.structs if s.carries_registers)
    head = carrier.fields[:-1]
    bits = carrier.fields[-1].offset
    for s in registers:
        s.fields = [replace(f) for f in head] + [replace(f, offset=f.offset + bits) for f in s.fields]
        s.bytes += bits // 8
        s.head = bits
