#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Wrong definitions and the exact complaint that each must cause."""
import os
import subprocess
import sys
import tempfile
import unittest

GENERATOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "iba-defs", "gen", "generate.py")
STRUCT = '<struct ns="t" name="S" iba="TS" title="S" section="1" bytes="2"{more}>'


def chapter(*lines):
    return "\n".join(['<chapter title="t">', *lines, "</chapter>", ""])


def struct(*fields, more=""):
    return chapter(STRUCT.format(more=more), *fields, "</struct>")


def field(name, offset, bits, more='kind="uint" display="dec"'):
    return f'<field name="{name}" iba="{name}" offset="{offset}" bits="{bits}" {more}/>'


class Complaints(unittest.TestCase):
    def check(self, text, *complaints):
        """Runs the generator on `text`; `complaints` are (line, message)."""
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "t.xml"), "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([sys.executable, GENERATOR, "t.xml"], cwd=directory, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "".join(f"t.xml:{line}: error: {message}\n" for line, message in complaints))
        self.assertEqual(done.returncode, 1 if complaints else 0)

    def test_good(self):
        self.check(struct(field("a", "0[0]", 4), field("b", "0[4]", 12)))

    def test_identifies(self):
        self.check(struct(field("a", "0[0]", 16, 'kind="text" identifies="yes"')))
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="dec" identifies="yes"')),
                   (3, 't::S.a: identifies= goes with one text on whole bytes; GUIDs and GIDs need no mark'))

    def test_not_xml(self):
        self.check('<chapter title="t">\n<struct\n', (2, "unclosed token"))

    def test_unknown_element_and_attribute(self):
        self.check(chapter("<strict/>"), (2, "unknown element <strict>"))
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="dec" color="red"')), (3, "<field> knows no color="))

    def test_missing_attribute(self):
        self.check(chapter('<struct ns="t" name="S" iba="TS" title="S" section="1"/>'), (2, "<struct> needs bytes="))

    def test_wrong_place(self):
        self.check(chapter(field("a", "0[0]", 16)), (2, "<field> cannot stand in <chapter>"))

    def test_not_a_number(self):
        self.check(struct(field("a", "0[0]", "x")), (3, "bits is not a number: 'x'"))

    def test_bad_offset(self):
        self.check(struct(field("a", "0.0", 16)), (3, "offset= wants BYTE[BIT], not '0.0'"))

    def test_overlap(self):
        self.check(struct(field("a", "0[0]", 9), field("b", "1[0]", 8)), (4, "t::S.b at 1[0] overlaps what ends at 1[1]"))

    def test_gap(self):
        self.check(struct(field("a", "0[0]", 7), field("b", "1[0]", 8)), (4, "t::S.b at 1[0] leaves a gap from 0[7]"))

    def test_size(self):
        self.check(struct(field("a", "0[0]", 8)), (2, "t::S says 2 bytes, its fields end at 1[0]"))

    def test_twice(self):
        self.check(struct(field("a", "0[0]", 8), field("a", "1[0]", 8)),
                   (4, "t::S: 'a' is defined twice, first in line 3"), (4, "t::S: 'a' is defined twice, first in line 3"))

    def test_keyword(self):
        self.check(struct(field("union", "0[0]", 16)), (3, "'union' cannot name a member"))

    def test_kind(self):
        self.check(struct(field("a", "0[0]", 16, 'kind="float"')), (3, "t::S.a: unknown kind 'float'"))
        self.check(struct(field("a", "0[0]", 16, 'kind="guid"')), (3, "t::S.a: a guid has 64 bits, not 16"))

    def test_unaligned_bytes(self):
        self.check(struct(field("a", "0[0]", 1), field("b", "0[1]", 15, 'kind="bytes"')),
                   (4, "t::S.b: kind bytes must stand on whole bytes"))

    def test_unknown_type_and_enum(self):
        self.check(struct(field("a", "0[0]", 16, 'kind="struct" type="t::X"')), (3, "t::S.a: no structure t::X"))
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="dec" enum="E"')), (3, "t::S.a: no enum E"))

    def test_enum_range(self):
        enum = '<enum ns="t" name="E" kind="{kind}" bits="2" section="1">'
        value = '<value name="{}" number="{}" text="x"/>'
        self.check(chapter(enum.format(kind="values"), value.format("a", 4), "</enum>"), (3, "a = 4 does not fit in 2 bits"))
        self.check(chapter(enum.format(kind="flags"), value.format("a", 3), "</enum>"), (3, "a = 3 is not a single bit"))
        self.check(chapter(enum.format(kind="values"), value.format("a", 1), value.format("b", 1), "</enum>"),
                   (4, "number 1 is used twice in t::E"))

    def test_attribute_twice(self):
        one = STRUCT.format(more=' class="0x01:1" attribute="0x10"')
        two = one.replace('"S"', '"T"').replace('"TS"', '"TT"')
        fields = field("a", "0[0]", 16)
        self.check(chapter(one, fields, "</struct>", two, fields, "</struct>"),
                   (5, "t::T: class 0x01 already has attribute 0x0010: t::S, t.xml:2"))
        self.check(chapter(one, fields, "</struct>", two.replace("attribute", 'variant="v" attribute'), fields, "</struct>"))

    def test_mask_bits(self):
        record = ' class="0x03:2" attribute="0x10"'
        mask = 'kind="uint" display="dec" mask="{}"'
        self.check(struct(field("a", "0[0]", 8, mask.format(0)), field("b", "1[0]", 8, mask.format(0)), more=record),
                   (4, "t::S.b: mask bit 0 already belongs to t::S.a"))
        two = 'kind="uint" display="dec" count="2" mask="0" mask-bits="3"'
        self.check(struct(field("a", "0[0]", 8, two), more=record), (3, "t::S.a: mask-bits= of an array is 1 or its count"))
        self.check(struct(field("a", "0[0]", 16, mask.format(64)), more=record), (3, "t::S.a: mask bit 64 is outside 0..63"))
        self.check(struct(field("a", "0[0]", 16, mask.format(0))), (2, "t::S: component masks belong to class 0x03"))

    def test_method(self):
        self.check(struct(field("a", "0[0]", 16), more=' class="0x01:1" attribute="0x10" methods="Fetch"'),
                   (2, "t::S: unknown method 'Fetch'"))

    def test_trap(self):
        one = STRUCT.format(more=' traps="64"')
        two = one.replace('"S"', '"T"').replace('"TS"', '"TT"')
        fields = field("a", "0[0]", 16)
        self.check(chapter(one, fields, "</struct>", two, fields, "</struct>"), (5, "t::T: trap 64 already has t::S"))

    def test_modifier(self):
        part = '<modifier name="port" offset="0[0]" bits="8"/>'
        self.check(struct(part, field("a", "0[0]", 16), more=' class="0x01:1" attribute="0x10"'),
                   (3, "t::S: the modifier ends at 1[0], not at 4[0]"))

    def test_query(self):
        smp = ' class="0x01:1" attribute="0x10" methods="Get"'
        record = ' class="0x03:2" attribute="0x10" methods="GetTable"'
        port, whole = '<modifier name="port" offset="0[0]" bits="32"/>', field("a", "0[0]", 16)

        def query(words):
            return f"<query {words}/>"

        self.check(struct(port, query('access="port" snapshot="attributes" about="x"'), whole, more=smp))
        self.check(struct(query('access="record" name="A" alias="B"'), query('access="record" name="C"'), whole, more=record))
        for words, complaint in (
                ('access="link"', "unknown access 'link'"),
                ('access="port"', "access port needs a <modifier> called port"),
                ('access="block"', "access block needs a <modifier>"),
                ('access="record"', "access record is for attributes of class 0x03"),
                ('access="node" argument="LID" members="LID"', "argument=, members= and trust= are for records"),
                ('access="node" entries="linear_fdb_cap"',
                 "entries= names the field of smp::SwitchInfo that has the number of entries of a table in blocks")):
            self.check(struct(query(words), whole, more=smp), (3, "t::S: " + complaint))
        for words, complaint in (
                ('access="record" argument="LID"', "argument= and members= go together"),
                ('access="record" trust="some"', "unknown trust 'some'"),
                ('access="record" snapshot="lft"', "a record belongs to the part sa of a snapshot"),
                ('access="record" needs="is_sm"', "modifier=, nodes=, vendor= and needs= are not for records"),
                ('access="record" modifier="4"', "modifier=, nodes=, vendor= and needs= are not for records"),
                ('access="node"', "access node is for attributes of class 0x01 or 0x04 or 0x0a or 0x21")):
            more = record if "node" not in words else record.replace("GetTable", "Get")
            self.check(struct(query(words), whole, more=more), (3, "t::S: " + complaint))
        self.check(struct(port, query('access="port" modifier="4"'), whole, more=smp), (4, "t::S: a fixed modifier= goes with access node"))
        self.check(struct(query('access="node"'), whole, more=smp.replace("Get", "Set")),
                   (3, "t::S: what is read has the method Get"))
        self.check(struct(query('access="node" needs="is_smm"'), whole, more=smp),
                   (3, "t::S: needs= is a value of smp::CapabilityMask, not 'is_smm'"))
        counters, selected = smp.replace("0x01:1", "0x04:1"), field("port_select", "0[0]", 8) + field("a", "1[0]", 8)
        self.check(struct(query('access="port" snapshot="details"'), selected, more=counters))
        self.check(struct(query('access="port" snapshot="details"'), whole, more=counters),
                   (3, "t::S: access port of performance management is by the field port_select"))
        self.check(struct(query('access="port" snapshot="lft"'), selected, more=counters),
                   (3, "t::S: an attribute of class 0x04 belongs to the part counters or details of a snapshot"))
        self.check(struct(query('access="node" vendor="Cisco"'), whole, more=smp), (3, "vendor= is Mellanox, not 'Cisco'"))
        self.check(struct(query('access="node" name="A" alias="B"'), query('access="node" name="b"'), whole, more=smp),
                   (4, "t::S: 'b' is a name already, of line 3 in t.xml"))

    def test_secret(self):
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="hex" secret="yes" well-known="1"')))
        self.check(struct(field("a", "0[0]", 16, 'kind="bytes" secret="no"')))
        self.check(struct(field("a", "0[0]", 16, 'kind="bytes" secret="true"')), (3, "t::S.a: secret= is yes or no, not 'true'"))
        wrong = "t::S.a: secret= goes with one value on whole bytes of kind uint or gid or bytes"
        self.check(struct(field("a", "0[0]", 16, 'kind="text" secret="yes"')), (3, wrong))
        self.check(struct(field("a", "0[0]", 8, 'count="2" kind="uint" display="hex" secret="yes"')), (3, wrong))
        self.check(struct(field("b", "0[0]", 4), field("a", "0[4]", 12, 'kind="uint" display="hex" secret="yes"')), (4, wrong))
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="hex" secret="yes" reserved="yes"')),
                   (3, "t::S.a: what is reserved is no secret"))
        for more in ('kind="uint" display="hex" well-known="1"', 'kind="bytes" secret="yes" well-known="1"',
                     'kind="uint" display="hex" secret="yes" well-known="0x10000"'):
            self.check(struct(field("a", "0[0]", 16, more)), (3, "t::S.a: well-known= is a value of a secret of kind uint, at most 255"))

    def test_meaning(self):
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="dec" meaning="counter"')))
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="dec" meaning="gauge"')),
                   (3, "t::S.a: meaning= is counter, not 'gauge'"))
        for more in ('kind="bytes"', 'kind="uint" display="dec" reserved="yes"', 'kind="uint" display="hex" secret="yes"'):
            self.check(struct(field("a", "0[0]", 16, more + ' meaning="counter"')), (3, "t::S.a: a counter is a plain uint"))

    def register(self, *fields, more="", size=2, room=4):
        carrier = STRUCT.format(more=' class="0x0a:1" attribute="0x51"').replace('bytes="2"', f'bytes="{room + 1}"')
        data = field("data", "1[0]", 8 * room, 'kind="bytes"')
        return chapter(carrier, field("head", "0[0]", 8), data, "</struct>",
                       f'<register ns="t" name="R" iba="TR" title="R" section="1" bytes="{size}" id="0x10"{more}>', *fields, "</register>")

    def test_register(self):
        whole = field("a", "0[0]", 16)
        self.check(self.register(whole))
        self.check(self.register(whole, more=' selects="a=3"'))
        self.check(self.register(whole, room=1), (6, "t::R: 2 bytes do not fit in the 1 of AccessRegister"))
        self.check(self.register(whole, more=' selects="b=3"'), (6, "t::R: selects= is a field=value of it"))
        self.check(self.register(whole, more=' selects="a=0x10000"'), (6, "t::R: selects= is a field=value of it"))
        twice = self.register(whole).replace("</chapter>", '<register ns="t" name="Q" iba="TQ" title="Q" section="1" bytes="2" id="16">\n'
                                             + field("a", "0[0]", 16) + "\n</register>\n</chapter>")
        self.check(twice, (9, "t::Q: register 0x0010 has this layout already: t::R"))

    def test_changes(self):
        self.check(struct(field("a", "0[0]", 16, 'kind="uint" display="dec" changes="yes"')))
        self.check(struct(field("a", "0[0]", 16, 'kind="bytes" changes="yes"')))
        for more in ('kind="text" changes="yes"', 'kind="uint" display="hex" changes="yes" secret="yes"',
                     'kind="uint" display="dec" changes="yes" reserved="yes"'):
            self.check(struct(field("a", "0[0]", 16, more)), (3, "t::S.a: changes= goes with a plain uint or bytes"))

    def test_all_errors_at_once(self):
        self.check(struct(field("a", "0[0]", 8, 'kind="float"'), field("b", "0[7]", 9, 'kind="uint" display="red"')),
                   (3, "t::S.a: unknown kind 'float'"), (4, "t::S.b: display= must be one of dec hex gid_prefix"),
                   (4, "t::S.b at 0[7] overlaps what ends at 1[0]"))


if __name__ == "__main__":
    unittest.main()
