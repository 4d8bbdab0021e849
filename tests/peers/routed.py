# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A simulated fabric that opensm has routed with one of its engines, and the files that ibdmchk and `ibtool check_routes` read of it."""
import os
import re
import shutil
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))
import nets  # noqa: E402
import simfabric  # noqa: E402

FROM_OPENSM = ("opensm-subnet.lst", "opensm.fdbs", "opensm-lfts.dump", "opensm.mcfdbs")


class Routed:
    """A context manager: the fabric runs, its hosts have joined two multicast groups, and `directory` has opensm's files, psl and slvl."""

    def __init__(self, name, engine, lmc=0):
        self.name, self.engine, self.lmc = name, engine, lmc
        self.links = nets.FABRICS[name]()
        self.guids = nets.guids(self.links)
        self.directory = None
        self.fabric = None

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="ibtool-peers-")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.fabric:
            self.fabric.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name):
        with open(self.path(name), encoding="latin-1") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="latin-1") as file:
            file.write(text)

    def _options(self):
        # -D 0x43: errors, remarks, and the files; -Q: SL2VL tables are set; the last of a repeated option wins
        options = ["-R", f"{self.engine},no_fallback", "-Q", "-D", "0x43", "-s", "0"]
        if self.engine == "updn" and self.name in nets.ROOTS:
            self.write("roots", f"0x{self.guids[nets.ROOTS[self.name]]:016x}\n")
            options += ["-a", self.path("roots")]
        if self.engine == "torus-2QoS":
            self.write("torus.conf", nets.torus_config(self.links))
            options += ["--torus_config", self.path("torus.conf")]
        return options

    def _start(self):
        self.write("net", nets.netlist(self.links))
        self.fabric = simfabric.Fabric(self.path("net"), lmc=self.lmc, sm_options=self._options(), load_timeout=60)
        self.fabric.__enter__()
        with open(self.fabric.path("opensm.log"), encoding="utf-8", errors="replace") as log:
            if "No routing engine able" in log.read():
                raise simfabric.FabricError(f"{self.engine} does not route {self.name}")
        self.ask("join")
        before = self.fabric.sweeps()
        os.kill(self.fabric.opensm.pid, signal.SIGHUP)
        self.fabric.wait_sm(before + 1)
        self.write("psl", self.ask("psl"))
        self.write("slvl", self.ask("slvl"))
        for name in FROM_OPENSM:
            shutil.copy(self.fabric.path(name), self.path(name))
        self.write("topology", self.run("ibnetdiscover"))

    def ask(self, word):
        done = self.fabric.run([simfabric.PROGRAMS, "ask-opensm", word])
        if done.returncode != 0:
            raise simfabric.FabricError(f"ask-opensm {word}: {done.stderr}")
        return done.stdout

    def run(self, *words):
        """The output of `ibtool WORDS` on the fabric."""
        done = self.fabric.run([simfabric.IBTOOL, *words])
        if done.returncode != 0:
            raise simfabric.FabricError(f"ibtool {' '.join(words)}: {done.stderr}")
        return done.stdout

    def uses_sls(self):
        """Whether any pair has an SL other than 0."""
        return bool(re.search(r" [1-9]\d*$", self.read("psl"), re.MULTILINE))
