# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What may differ between a recorded text and one that is printed now, and by how much. All else is compared byte for byte.

Each golden case meets a fabric of its own, on which nothing but the case asks: counters, counts of activity and differences of counters
are the same each time. What is left is here: dates and times, process numbers, transaction IDs, addresses in memory, sizes of files; and
counters of data and packets in those cases that say so, since they send requests at once and count what is on its way."""
import re


def anything(_recorded, _now):
    """Any value of that form."""
    return True


def between(low, high):
    """A number from low to high times the recorded one."""
    return lambda recorded, now: low * float(recorded) <= float(now) <= high * float(recorded)


def at_most(limit):
    return lambda _recorded, now: float(now) <= limit


def is_other_simulator(recorded, now):
    """The capabilities of an end port in sysfs, which umad2sim writes: those of ibsim 0.12 lack IsVendorClassSupported, which the ports of
    0.10 have. ibtest-packets.so mends that in MADs."""
    if "Is" in now:
        return set(recorded.split(",")) ^ set(now.split(",")) == {"IsVendorClassSupported"}
    return int(recorded, 0) ^ int(now, 0) == 1 << 20


def is_transaction(_recorded, now):
    """A transaction ID in a dump of a packet is the same number twice: decimal and, on the next line, as the bytes of the packet."""
    high, decimal, low = re.fullmatch(r"([0-9A-F]{8}) transactionID=(\d+)\n +\d+ ([0-9A-F]{8})", now).groups()
    return int(decimal) == int(high + low, 16)


class OneToOne:
    """Each recorded value has one counterpart, and that is the counterpart of no other."""

    def __init__(self):
        self.there, self.back = {}, {}

    def __call__(self, recorded, now):
        return self.there.setdefault(recorded, now) == now and self.back.setdefault(now, recorded) == recorded


# The variable part of each is the group `value`, or all of it: (expression, makes the function that says whether a value may stand for
# the recorded one).
CHANGES = [(re.compile(expression, re.MULTILINE), make) for expression, make in (
    (r"generated on (?P<value>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})$", lambda: anything),
    (r"\"time\": \"(?P<value>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\"", lambda: anything),
    (r"^ib\w+: \[(?P<value>\d+)\] ", lambda: anything),
    (r"\[pid (?P<value>\d+)\]", lambda: anything),
    (r"^\[(?P<value>\d+)\] \w+: ", lambda: anything),
    (r"[0-9A-F]{8} transactionID=\d+\n +\d+ [0-9A-F]{8}", lambda: is_transaction),
    (r"\"transaction_id\": (?P<value>\d+|\"0x[0-9a-f]{16}\")", lambda: anything),
    # libibnetdisc's nodes and ports in memory; ours have numbers instead.
    (r"; linking: 0x[0-9a-f]+ (?P<value>0x[0-9a-f]{12})->", OneToOne),
    (r" and 0x[0-9a-f]+ (?P<value>0x[0-9a-f]{12})->", OneToOne),
    (r"->(?P<value>0x[0-9a-f]{12}):", OneToOne),
    (r"\bnode (?P<value>0x[0-9a-f]{12})\b", OneToOne),
    (r"\b(?:port|remoteport) (?P<value>0x[0-9a-f]{12})\b", OneToOne),
    # A buffer of a reply, which may be another one each time.
    (r" data (?P<value>0x[0-9a-f]{12})$", lambda: anything),
    (r" tr(?:y|ies) in (?P<value>\d+\.\d) s\b", lambda: at_most(20)),
    (r"(?:\btime |[=/] ?)(?P<value>\d+\.\d{3})(?=(?:/[\d.]+)* ?ms\b)", lambda: at_most(20000)),
    (r" packet loss, time (?P<value>\d+) ms$", lambda: at_most(20000)),
    (r"\"(?:time_ms|(?:\w+_)?rtt_ms)\": (?P<value>\d[\d.e-]*)", lambda: at_most(20000)),
    (r"\"(?:seconds|elapsed_seconds)\": (?P<value>\d[\d.e-]*)", lambda: at_most(20)),
    # A rate: what was counted is always the same. The interval is 50 ms and may be longer; it is shorter where the first answer was late.
    (r" \(\+ (?P<value>[\d.]+)/s\)$", lambda: between(0.01, 1.5)),
    (r"\"per_second\": (?P<value>\d[\d.e-]*)", lambda: between(0.01, 1.5)),
    (r"\bCapability mask: (?P<value>0x[0-9a-f]{8})$", lambda: is_other_simulator),
    (r"^ +\"capability_mask\": (?P<value>\d+)", lambda: is_other_simulator),
    (r"^ +\"capability_mask_text\": \"(?P<value>[\w,]+)\"", lambda: is_other_simulator),
    # SQLite's pages.
    (r" answers? in \S+, (?P<value>\d+) kB", lambda: between(0.9, 1.1)),
    (r"\"file_bytes\": (?P<value>\d+)", lambda: between(0.9, 1.1)),
    # Checks of health that share a reason why they were not done: there may be new ones.
    (r"[\w-]+, [\w-]+ and (?P<value>\d+) more \(", lambda: between(1, 1.5)),
)]

# A check in health's JSON that has found nothing, but for the first one.
QUIET_CHECK = re.compile(r',\n    \{\n      "check": "(?P<check>[\w-]+)",\n      "check_state": [^{}]*"finding_count": 0\b[^{}]*\n    \}')


def without_new_checks(recorded, now):
    """`now`, a document of health's, without the checks that were not there when it was recorded, if they have found nothing."""
    return QUIET_CHECK.sub(lambda match: match[0] if f'"check": "{match["check"]}"' in recorded else "", now)


WORDS_A_PACKET = 72  # of 4 bytes: what ibsim counts for a MAD with its headers
NAME = r"(?:[Pp]ort)?(?:[Xx]mi?t|[Rr]cv)(?P<what>Data|Pkts)"
TRAFFIC = [re.compile(expression) for expression in (
    rf"{NAME}[:.]\.+(?P<value>\d+)",
    rf"{NAME} is '(?P<value>\d+)'",
    r"\"port_(?:xmit|rcv)_(?P<what>data|pkts)\": (?P<value>\d+)",
    r"\"counter\": \"port_(?:xmit|rcv)_(?P<what>data|pkts)\",\s+(?:\"index\": null,\s+)?\"count\": (?P<value>\d+)",
    r"(?P<what>activity count |ActCount\.+|\"act_count\": )(?P<value>\d+)",  # MADs that the subnet manager has sent
    r"_port_(?:(?:uni|multi)cast_)?(?:transmit|receive)_(?P<what>data_bytes|packets)_total\{[^}]*\} (?P<value>\d+)",
    rf"\[{NAME} == (?P<value>\d+ \([\d.]+[KMGTPE]?B?\))\]",
)]


def in_words(what, count):
    """How infiniband-diags prints a counter: data in bytes, both in units of which each is 1024 of the one before."""
    size, units = float(4 * count if what == "Data" else count), iter(["", *"KMGTPE"])
    unit = next(units)
    while size >= 1024:
        size, unit = size / 1024, next(units)
    return f"{count} ({size:.3f}{unit}{'B' if what == 'Data' else ''})"


def is_traffic(packets, what, recorded, now):
    """Whether a counter differs by no more than so many packets, and its conversion is right."""
    before, after = (int(text.split()[0]) for text in (recorded, now))
    if "(" in now and now != in_words(what, after):
        return False
    a_packet = {"data": WORDS_A_PACKET, "data_bytes": 4 * WORDS_A_PACKET}.get(what.lower(), 1)
    return abs(after - before) <= packets * a_packet


RATE = re.compile(r" \(\+ (?P<value>[\d.]+)/s\)$", re.MULTILINE)


def settle(recorded, now, packets=0):
    """`now`, with the recorded value in each place where another one is allowed. packets: by how many packets counters of data and
    packets may differ."""
    recorded, now = recorded or "", now or ""
    if recorded == now:
        return now
    if QUIET_CHECK.search(recorded):
        now = without_new_checks(recorded, now)
    for expression, make in CHANGES:
        allowed = make()
        now = replace(expression, recorded, now, lambda match, before, after, allowed=allowed: allowed(before, after))
    for expression in TRAFFIC if packets else ():
        now = replace(expression, recorded, now, lambda match, before, after: is_traffic(packets, match["what"], before, after))
    if packets:  # what is counted besides changes the rates, too
        allowed = between(0.01, 1.5 * (1 + packets))
        now = replace(RATE, recorded, now, lambda _match, before, after: allowed(before, after))
    return now


def value_of(match):
    """Where the variable part of a match begins and ends."""
    return match.span("value" if "value" in match.re.groupindex else 0)


def replace(expression, recorded, now, allowed):
    """`now`, with the recorded value in each place that the expression finds, one after another, where `allowed` says so."""
    pieces, end = [], 0
    for before, after in zip(expression.finditer(recorded), expression.finditer(now)):
        first, last = value_of(after)
        was = recorded[slice(*value_of(before))]
        pieces += [now[end:first], was if allowed(after, was, now[first:last]) else now[first:last]]
        end = last
    return "".join(pieces) + now[end:]


def stands_for(ours, theirs):
    """Whether `ours` may be on stderr where infiniband-diags prints `theirs`: nothing for nothing, else the same, some of its lines, or one
    line of our own. Of one failure it prints several, a line for each of its libraries."""
    if ours == theirs or not ours or not theirs:
        return ours == theirs
    lines = ours.splitlines()
    return len(lines) == 1 or set(lines) <= set(theirs.splitlines())
