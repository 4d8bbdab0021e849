# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A simulated fabric: Debian's ibsim and opensm on a private socket in a private directory.

with Fabric("cluster16.net", lids="cluster16.guid2lid") as fabric:
    fabric.run(["ibtool", "ibnetdiscover"])       # any program on libibumad, run as if it were on a host of the fabric
    fabric.console('Unlink "S-b8599f0300a00030"[19]')

Fabrics do not see each other, so tests run side by side; ibsim itself takes at most 10 clients at once. Every child is
killed by its own pid when the fabric ends, and by the kernel should this process die before that.
"""
import fcntl
import functools
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def built(variable, path):
    """What the build made: the file that the environment variable names (Meson sets it), or the one at that path in build/."""
    return os.path.abspath(os.environ.get(variable) or os.path.join(HERE, "..", "..", "build", path))


IBTOOL = built("IBTOOL", "tools/ibtool")
DELAY = built("IBTEST_DELAY_LIB", "tests/support/ibtest-delay.so")
REGISTERS = built("IBTEST_REGISTERS_LIB", "tests/support/ibtest-registers.so")
PROGRAMS = built("IBTEST_PROGRAMS", "tests/programs/ibtest-programs")  # its first word says which: tests/programs/programs.hpp
LEGACY = built("IBTEST_LEGACY", "tests/programs/ibtest-legacy")  # ibtool, as infiniband-diags of $IBTEST_DIAGS
PROMPT = "sim> "
SBIN_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
ASAN_SUPPRESSIONS = os.path.join(HERE, "asan.supp")


class FabricError(Exception):
    """The simulator or the subnet manager did not start, or said something unexpected."""


def unpacked():
    """The tree in which support/prepare.sh has unpacked infiniband-diags, where our own package has its place; or None."""
    home = os.environ.get("HOME") or f"/tmp/ibtool-{os.getuid()}"
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    tree = os.environ.get("IBTEST_DIAGS") or os.path.join(cache, "ibtool", "infiniband-diags")
    return tree if os.path.exists(os.path.join(tree, "usr/sbin/ibnetdiscover")) else None


def path_with_sbin():
    """PATH, and behind it the places where Debian puts opensm and infiniband-diags (users do not have them)."""
    path = os.environ.get("PATH", "/usr/bin:/bin") + ":" + SBIN_PATH
    return f"{unpacked()}/usr/sbin:{path}" if unpacked() else path


def find_program(name):
    """The absolute path of a Debian program, or None."""
    return shutil.which(name, path=path_with_sbin())


def theirs(name):
    """The absolute path of a program of infiniband-diags. Raises FabricError where it is missing, or is a link to ours."""
    program = find_program(name)
    if not program or os.path.basename(os.path.realpath(program)) == "ibtool":
        raise FabricError(f"{name} of infiniband-diags is not installed")
    return program


@functools.cache
def diags_version():
    """The version of infiniband-diags for which ours was built, "44.0": -Ddiags."""
    said = subprocess.run(["ibaddr", "-V"], executable=IBTOOL, check=True, capture_output=True, encoding="utf-8")
    return said.stderr.split()[-1]


@functools.cache
def their_release():
    """The first number of the version of Debian's infiniband-diags: 44, or 56."""
    said = subprocess.run([theirs("ibaddr"), "-V"], check=True, capture_output=True, encoding="utf-8")
    return int(re.search(r"VERSION: (\d+)", said.stderr + said.stdout)[1])


def crashes(words):
    """Whether Debian's program is known to crash of a command line: 56.1 does of each route, and of each multicast LID. It then stays a
    client of ibsim, which has room for ten."""
    crashing = {"ibqueryerrors": ("-D", "--Direct"), "ibtracert": ("-m", "--mlid")}
    return their_release() >= 56 and any(word.startswith(crashing.get(words[0], "\0")) for word in words[1:])


def umad2sim():
    """The library that carries what libibumad sends to ibsim, or None."""
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + glob.glob("/usr/lib/umad2sim/libumad2sim.so")
    return found[0] if found else None


def rmpp_libs():
    """The preloads that do RMPP as the kernel does it, before umad2sim and behind it."""
    paths = [built("IBTEST_RMPP_LIB", "tests/support/ibtest-rmpp.so"), built("IBTEST_PACKETS_LIB", "tests/support/ibtest-packets.so")]
    return [[path] for path in paths] if all(map(os.path.exists, paths)) else [[], []]


def stock_libs():
    """The preloads of a fabric without those: tables longer than one MAD arrive cut. ibsim answers as 0.10 there, too."""
    path = built("IBTEST_RELEASE_LIB", "tests/support/ibtest-release.so")
    return [[], [path] if os.path.exists(path) else []]


def registers(*files, log=None):
    """For Fabric.run() and its like: devices answer the vendor's class with the usual values, and with what these files say otherwise. log:
    the file that gets a line for each request."""
    env = {"preload": [REGISTERS], "IBTEST_REGISTERS": ":".join([os.path.join(HERE, "registers.txt"), *files])}
    return env | {"IBTEST_REGISTERS_LOG": log} if log else env


def memory_dir():
    """Where a fabric's directory belongs: in memory, as the sysfs is that umad2sim writes there for each program and removes again. On a
    disk that costs more than what the program does. None, the usual place, where TMPDIR names one or the machine has no room."""
    shm = "/dev/shm"
    roomy = os.access(shm, os.W_OK | os.X_OK) and shutil.disk_usage(shm).free > 1 << 30
    return shm if roomy and "TMPDIR" not in os.environ else None


def missing():
    """Names of the parts that this machine lacks, empty if a fabric can be simulated."""
    parts = [name for name in ("ibsim", "opensm", "setpriv") if not find_program(name)]
    return parts if umad2sim() else parts + ["libumad2sim.so"]


def need(*programs):
    """For a test or its setUpClass: skips it where one of these programs is not installed; fails it if IBTEST_NO_SKIP is set."""
    lacking = [name for name in programs if not find_program(name)]
    if not lacking:
        return
    message = "not installed: " + ", ".join(lacking)
    if os.environ.get("IBTEST_NO_SKIP"):
        raise AssertionError(message)
    raise unittest.SkipTest(message)


def first_host(netfile):
    """The node id of the first node of the file: ibsim attaches clients there by default."""
    with open(netfile, encoding="latin-1") as net:
        for line in net:
            match = re.match(r'(?:Hca|Ca|Switch|Rt)\s+\d+\s+"([^"]+)"', line)
            if match:
                return match.group(1)
    raise FabricError(f"{netfile}: no node")


def sizes(netfile):
    """ibsim's limits for a file: (nodes, switches, ports), counted from its node lines."""
    nodes = switches = ports = 0
    with open(netfile, encoding="latin-1") as net:
        for line in net:
            match = re.match(r'(Hca|Ca|Switch|Rt)\s+(\d+)\s+"', line)
            if match:
                nodes += 1
                switches += match.group(1) == "Switch"
                ports += int(match.group(2)) + 1
    return nodes + 16, switches + 16, ports + 64


def console(directory, command, timeout=30.0):
    """Gives ibsim's console one command and returns what it answers. Callable from any process."""
    log = os.path.join(directory, "ibsim.out")
    with open(os.path.join(directory, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        start = os.path.getsize(log)
        with open(os.path.join(directory, "console"), "wb", buffering=0) as fifo:
            fifo.write(command.strip().encode() + b"\n")
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with open(log, encoding="utf-8", errors="replace") as out:
                out.seek(start)
                answer = out.read()
            if answer.endswith(PROMPT):
                return answer[:-len(PROMPT)]
            time.sleep(0.005)
    raise FabricError(f"ibsim's console did not answer {command!r}")


class Fabric:
    """ibsim with one network file and, unless sm=False, opensm; a context manager.

    rmpp=False gives the fabric as Debian has it, where all that opensm answers ends after one MAD."""

    def __init__(self, netfile, *, host=None, sm=True, lids=None, lmc=0, options=(), preload=(), rmpp=True, load_timeout=300,
                 sm_options=()):
        self.netfile = os.path.abspath(netfile)
        self.host = host or first_host(self.netfile)
        self.sm, self.lids, self.lmc = sm, lids, lmc
        self.rmpp = rmpp_libs() if rmpp else stock_libs()
        self.options, self.preload, self.load_timeout = tuple(options), tuple(preload), load_timeout
        self.sm_options = tuple(sm_options)
        self.dir = None
        self.ibsim = self.opensm = None
        self.started = []

    def __enter__(self):
        lacking = missing()
        if lacking:
            raise FabricError("not installed: " + ", ".join(lacking))
        self.dir = tempfile.mkdtemp(prefix="ibsim-", dir=memory_dir())
        try:
            self._write_perl_module()
            self._start_ibsim()
            if self.sm:
                self._start_opensm()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends what runs on the fabric, opensm and ibsim by their pids and removes the directory. May be called twice."""
        for child in self.started:
            child.kill()
            child.wait()
            child.stderr.close()
        self.started.clear()
        for child in (self.opensm, self.ibsim):
            if child and child.poll() is None:
                child.send_signal(signal.SIGKILL)
            if child:
                child.wait()
        self.opensm = self.ibsim = None
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)
            self.dir = None

    def path(self, name):
        """A file in the fabric's directory."""
        return os.path.join(self.dir, name)

    def env(self, *, preload=(), host=None, **extra):
        """The environment of a program on the fabric. preload: more libraries, behind umad2sim's.

        Before it stands the one that does RMPP for Debian's programs; ibtool does its own."""
        env = dict(os.environ, PATH=path_with_sbin(), IBSIM_SOCKNAME=os.path.basename(self.dir),
                   SIM_HOST=host or self.host, IBSIM_DIR=self.dir)
        env["LD_PRELOAD"] = ":".join([*self.rmpp[0], umad2sim(), *self.rmpp[1], *self.preload, *preload])
        # For a program built with sanitizers. umad2sim defines open() and its like, as ASan does; that is no error of the program.
        env["ASAN_OPTIONS"] = f"verify_asan_link_order=0:detect_leaks=0:suppressions={ASAN_SUPPRESSIONS}"
        env["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1"
        env["PERL5LIB"] = self.path("perl5")
        if unpacked():
            env["LD_LIBRARY_PATH"] = ":".join(glob.glob(unpacked() + "/usr/lib/*"))
            env["PERL5LIB"] += f":{unpacked()}/usr/share/perl5"
        env.update({key: str(value) for key, value in extra.items()})
        return env

    def run(self, argv, *, timeout=60, stdin="", cwd=None, executable=None, **env):
        """Runs a program on the fabric; returns a CompletedProcess with text streams (undecodable bytes escaped).
        executable: the program's file, if argv[0] is to be another name.

        umad2sim leaves files in the working directory while it runs: by default that is the fabric's."""
        if unpacked() and (executable or find_program(argv[0]) or "").startswith(unpacked()):
            env.setdefault("IBPATH", unpacked() + "/usr/sbin")  # where the scripts look for the programs
        return subprocess.run(argv, executable=executable, env=self.env(**env), cwd=cwd or self.dir, input=stdin, timeout=timeout,
                              check=False, capture_output=True, encoding="utf-8", errors="backslashreplace")

    def start(self, argv, *, executable=None, **env):
        """Starts a program on the fabric; returns its Popen, stderr a pipe of bytes. It ends with the fabric at the latest."""
        child = subprocess.Popen(argv, executable=executable, env=self.env(**env), cwd=self.dir, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.started.append(child)
        return child

    def start_opensm(self, name, host, ready, *options, lids=(), config=""):
        """Starts one more opensm, at a host, and waits until its log has the words `ready`. Its files are in the folder `name`.
        lids: pairs of a port GUID and the LID that it gets. config: lines of its configuration file."""
        folder = self.path(name)
        os.mkdir(folder)
        log, conf = os.path.join(folder, "opensm.log"), os.path.join(folder, "opensm.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.write(config)
        with open(os.path.join(folder, "guid2lid"), "w", encoding="ascii") as file:
            file.writelines(f"0x{guid:016x} 0x{lid:04x} 0x{lid:04x}\n\n" for guid, lid in lids)
        # -t: one that gets no answer within 200 ms, on a busy machine, takes itself for the only one
        argv = ["opensm", "-F", conf, "-f", log, "-d", "2", "-t", "2000", *options]
        child = self.start(argv, executable=find_program("opensm"), host=host, OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder)
        said = os.path.join(name, "opensm.log")
        self._wait(lambda: os.path.exists(log) and ready in self._read(said), 60, child, f"opensm {name} does not say {ready!r}", said)
        return child

    def console(self, command):
        """One command to ibsim's console, for instance `Unlink "nodeid"[port]`; returns its answer."""
        return console(self.dir, command)

    def wait_sm(self, count=1, timeout=60.0):
        """Waits until opensm has said `SUBNET UP` at least count times."""
        self._wait(lambda: self.sweeps() >= count, timeout, self.opensm, "opensm did not bring the subnet up")

    def sweeps(self):
        """How often opensm brought the subnet up."""
        try:
            with open(self.path("opensm.log"), encoding="utf-8", errors="replace") as log:
                return log.read().count("SUBNET UP")
        except FileNotFoundError:
            return 0

    def _start_ibsim(self):
        nodes, switches, ports = sizes(self.netfile)
        fifo = self.path("console")
        os.mkfifo(fifo)
        # Opened for reading and writing: ibsim must never see an end of file on its console, it would spin.
        stdin = os.open(fifo, os.O_RDWR)
        try:
            with open(self.path("ibsim.out"), "wb") as out, open(self.path("ibsim.err"), "wb") as err:
                argv = ["ibsim", "-s", "-N", nodes, "-S", switches, "-P", ports, *self.options, self.netfile]
                self.ibsim = self._spawn(argv, stdin, out, err, env=dict(os.environ, IBSIM_SOCKNAME=os.path.basename(self.dir)))
        finally:
            os.close(stdin)
        self._wait(lambda: self._read("ibsim.out").endswith(PROMPT), self.load_timeout, self.ibsim, "ibsim did not start")
        self._wait(self._listening, 10, self.ibsim, "ibsim does not listen")

    def _write_perl_module(self):
        """Debian's scripts in Perl keep the topology in the directory that their module names, and judge it the next time, whatever fabric
        that is. Here they get one in the fabric's directory."""
        source = (unpacked() or "") + "/usr/share/perl5/IBswcountlimits.pm"
        if not os.path.exists(source):
            return
        with open(source, encoding="utf-8") as module:
            text, changes = re.subn(r"(\$IBswcountlimits::cache_dir\s*=).*", rf'\1 "{self.path("topologies")}";', module.read())
        if changes != 1:
            raise FabricError(f"{source}: names no directory of topologies")
        os.mkdir(self.path("perl5"))
        with open(os.path.join(self.path("perl5"), "IBswcountlimits.pm"), "w", encoding="utf-8") as module:
            module.write(text)

    def _listening(self):
        with open("/proc/net/unix", encoding="latin-1") as table:
            return f"@{os.path.basename(self.dir)}:out9" in table.read()

    def _start_opensm(self):
        if self.lids:
            shutil.copy(self.lids, self.path("guid2lid"))
        # -d 2: flush the log; the last of a repeated option wins
        argv = ["opensm", "-f", self.path("opensm.log"), "-s", "1", "-l", self.lmc, "-d", "2", *self.sm_options]
        env = dict(self.env(), OSM_CACHE_DIR=self.dir, OSM_TMP_DIR=self.dir)
        with open(self.path("opensm.out"), "wb") as out:
            self.opensm = self._spawn(argv, subprocess.DEVNULL, out, out, env=env)
        self.wait_sm(timeout=self.load_timeout)

    def _spawn(self, argv, stdin, stdout, stderr, env):
        words = [str(word) for word in argv]
        program = find_program(words[0])
        if not program:
            raise FabricError(f"{words[0]} is not installed")
        # setpriv makes the kernel kill the child when this process dies; it must not be simulated itself.
        preload = env.pop("LD_PRELOAD", "")
        words = ["setpriv", "--pdeathsig", "KILL", "env", f"LD_PRELOAD={preload}", program] + words[1:]
        return subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=self.dir, start_new_session=True)

    def _read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def _wait(self, condition, timeout, child, what, *more_logs):
        end = time.monotonic() + timeout
        while not condition():
            if child.poll() is not None or time.monotonic() > end:
                names = ("ibsim.out", "ibsim.err", "opensm.out", *more_logs)
                logs = [self._read(name)[-2000:] for name in names if os.path.exists(self.path(name))]
                raise FabricError(f"{what}:\n" + "\n".join(logs))
            time.sleep(0.01)


def run_tests(**options):
    """Runs the tests of the calling program, with options of unittest.main(); says so and skips where no fabric can be simulated
    (fails if IBTEST_NO_SKIP is set)."""
    lacking = missing()
    if lacking:
        print("skipped, not installed: " + ", ".join(lacking))
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") else 77)
    unittest.main(module="__main__", verbosity=2, **options)
