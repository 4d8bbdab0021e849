# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Debian's prometheus, started for a test, with the example configuration that we install; and an exporter on a simulated fabric for it."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fabric")]
import case  # noqa: E402

EXAMPLES = os.path.join(HERE, "..", "..", "tools", "exporter", "installed", "examples")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def example(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return file.read()


class Prometheus:
    """A context manager: a server that scrapes `target` each second."""

    def __init__(self, target):
        self.target, self.port = target, free_port()
        self.folder = self.process = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="ibtool-prometheus.")
        config = example("prometheus.yml").replace("127.0.0.1:9315", self.target)
        config = config.replace("_interval: 30s", "_interval: 1s").replace("scrape_timeout: 10s", "scrape_timeout: 1s")
        for name, text in (("prometheus.yml", config), ("infiniband.rules.yml", example("infiniband.rules.yml"))):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        argv = ["setpriv", "--pdeathsig", "KILL", "prometheus", "--config.file", os.path.join(self.folder, "prometheus.yml"),
                "--storage.tsdb.path", os.path.join(self.folder, "data"), "--web.listen-address", f"127.0.0.1:{self.port}"]
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(argv, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.wait(lambda: self.query("up") and self.value("up") == 1, 30)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None or time.monotonic() > end:
                with open(os.path.join(self.folder, "log"), encoding="utf-8") as log:
                    raise AssertionError(f"it did not come within {seconds} s:\n{log.read()[-3000:]}")
            time.sleep(0.2)

    def query(self, expression):
        """The result of a query now: dictionaries with `metric` and `value` or `values`; None while there is no server."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is starting
                return None
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        except (urllib.error.URLError, ConnectionError):
            return None

    def value(self, expression):
        """The value of the one series of a result, or None where there is none."""
        found = self.query(expression)
        if len(found) > 1:
            raise AssertionError(f"{expression}: {found}")
        return float(found[0]["value"][1]) if found else None


class ScrapedCase(case.FabricCase):
    """A fabric, an exporter on it with the options `words`, and a prometheus that scrapes it."""
    words = ("--interval", "2", "--hcas")
    prometheus = exporter = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        port = free_port()
        cls.exporter = cls.fabric.start([case.IBTOOL, "exporter", "--listen", f"127.0.0.1:{port}", *cls.words])
        cls.prometheus = Prometheus(f"127.0.0.1:{port}")
        cls.enterClassContext_(cls.prometheus)
        cls.prometheus.wait(lambda: cls.prometheus.query("infiniband_switch_port_state"), 30)

    def wait(self, condition, seconds):
        self.prometheus.wait(condition, seconds)
        self.assertIsNone(self.exporter.poll())

    def value(self, expression):
        return self.prometheus.value(expression)
