# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Debian's promtool and prometheus, and the parsers of python3-prometheus-client, as judges of what we print."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.append("/usr/lib/python3/dist-packages")  # of Debian's packages, where the first python3 of PATH is another one
import simfabric  # noqa: E402

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def missing():
    """What this machine lacks."""
    lacking = [name for name in ("promtool", "prometheus") if not simfabric.find_program(name)]
    try:
        import prometheus_client.openmetrics.parser  # noqa: F401
    except ImportError:
        lacking.append("python3-prometheus-client")
    return lacking


def promtool(*words, stdin="", status=0):
    """Runs `promtool WORDS` and returns its stdout and stderr; raises AssertionError for another status."""
    done = subprocess.run(["promtool", *words], input=stdin, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != status:
        raise AssertionError(f"promtool {' '.join(words)}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout, done.stderr


def read_samples(families):
    """{(name, frozenset of labels): value} of parsed families. Raises AssertionError for a sample that is there twice, or has a time."""
    found = {}
    for family in families:
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            if key in found:
                raise AssertionError(f"twice: {key}")
            if sample.timestamp is not None:
                raise AssertionError(f"has a time stamp: {key}")
            found[key] = float(sample.value)
    return found


def read_text(page):
    """The families of a page in text 0.0.4, which promtool has no complaint of."""
    from prometheus_client.parser import text_string_to_metric_families
    said = promtool("check", "metrics", stdin=page)
    if said != ("", ""):
        raise AssertionError(f"promtool check metrics: {said}")
    return list(text_string_to_metric_families(page))


def read_openmetrics(page):
    """The families of a page in OpenMetrics, as the strict parser reads them."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    return list(text_string_to_metric_families(page))


def test_rules(rules, tests):
    """Runs `promtool test rules`. rules: [(name, expression)]; tests: the list `tests` of promtool's file. JSON is YAML."""
    with tempfile.TemporaryDirectory(prefix="ibtool-rules.") as folder:
        groups = [{"name": "all", "rules": [{"record": name, "expr": expression} for name, expression in rules]}]
        write(folder, "rules.yml", {"groups": groups})
        write(folder, "test.yml", {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests})
        promtool("check", "rules", os.path.join(folder, "rules.yml"))
        promtool("test", "rules", os.path.join(folder, "test.yml"))


def write(folder, name, content):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False)


def run_tests():
    """Runs the tests of the calling program. Without these judges it is skipped, but not where IBTEST_NO_SKIP is set."""
    lacking = missing()
    if lacking:
        print("skipped, not installed: " + ", ".join(lacking))
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") else 77)
    simfabric.run_tests()
