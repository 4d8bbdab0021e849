# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What treydock's infiniband_exporter 0.10.0 exports, and recording rules of the form that its users have: dashboards live on these names,
labels and types."""
TRAFFIC = """transmit_data_bytes receive_data_bytes transmit_packets receive_packets unicast_transmit_packets unicast_receive_packets
    multicast_transmit_packets multicast_receive_packets""".split()
ERRORS = """symbol_error link_error_recovery link_downed receive_errors receive_remote_physical_errors receive_switch_relay_errors
    transmit_discards transmit_constraint_errors receive_constraint_errors local_link_integrity_errors excessive_buffer_overrun_errors
    vl15_dropped transmit_wait qp1_dropped""".split()
COUNTERS = TRAFFIC + ERRORS
DETAILS = """local_physical_errors malformed_packet_errors buffer_overrun_errors dli_mapping_errors vl_mapping_errors
    looping_errors""".split()
PORT = {"guid", "port"}


def families(*, hcas, details, run_once):
    """{name: (type, labels)} of a page."""
    found = {}
    for kind in ("switch", "hca") if hcas else ("switch",):
        prefix = f"infiniband_{kind}"
        for name in COUNTERS + (DETAILS if details else []):
            found[f"{prefix}_port_{name}_total"] = ("counter", PORT)
        rate, labels = ("port_rate", PORT) if kind == "switch" else ("rate", {"guid"})
        found[f"{prefix}_{rate}_bytes_per_second"] = ("gauge", labels)
        found[f"{prefix}_{rate.replace('rate', 'raw_rate')}_bytes_per_second"] = ("gauge", labels)
        uplink = {f"uplink{part}" for part in ("", "_guid", "_type", "_port", "_lid")}
        found[f"{prefix}_uplink_info"] = ("gauge", PORT | {kind} | uplink)
        found[f"{prefix}_info"] = ("gauge", {"guid", kind, "lid"})
        for name in ("duration_seconds", "error", "timeout"):
            found[f"{prefix}_collect_{name}"] = ("gauge", {"guid", "collector"})
    for name in ("collector_duration_seconds", "collect_errors", "collect_timeouts") + (("last_execution",) if run_once else ()):
        found[f"infiniband_exporter_{name}"] = ("gauge", {"collector"})
    return found


def recording_rules():
    """[(name, expression)]: rates and changes of each port with the names of both of its ends, and their sums by switch."""
    ports, sums = [], []
    join = "* on(guid,port) group_left(switch, host, uplink, uplink_port) infiniband_switch_uplink_info"
    for name in COUNTERS:
        for function in ("irate", "rate", "delta") if name in ERRORS else ("irate", "rate"):
            ports.append((f"infiniband:switch_port_{name}:{function}5m", f"{function}(infiniband_switch_port_{name}_total[5m]) {join}"))
        for function in ("irate", "rate"):
            sums.append((f"infiniband:switch_port_{name}:switch_{function}5m",
                         f"sum(infiniband:switch_port_{name}:irate5m) without (host, port, uplink, uplink_port)"))
    return ports + sums
