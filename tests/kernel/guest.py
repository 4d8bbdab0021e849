# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs commands in a guest with two RoCE ports of a real kernel: rxe0 and rxe1, over a pair of veth devices, with umad
and verbs. All commands of a test file run in one boot; what each of them wrote comes back over a second serial line, and
a boot that does not come to its end, by its own word, is a failure and not an empty result."""
import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from dataclasses import dataclass

import image

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ("ip", "rdma", "setpriv", "ibstat", "ibv_devices", "ibv_devinfo")
SCRIPTS = ("ibstatus",)
HOST_TOOLS = ("qemu-system-x86_64", "busybox", "apt-get", "dpkg-deb", "ldd")
BOOT_LIMIT = 600  # seconds; 10 to 100 are usual, three times as many on a busy machine
DONE = 33  # qemu's exit status: what the guest wrote to the exit device (16), times two, plus one


@dataclass
class Result:
    """What a command did in the guest."""
    status: int
    out: str
    err: str
    seconds: float

    def __str__(self):
        return f"status {self.status} after {self.seconds:.1f} s\n{self.out}{self.err}"


# ibtool, and as a static program where the build has one.
IBTOOLS = {name: os.environ[variable] for name, variable in (("ibtool", "IBTOOL"), ("ibtool-static", "IBTOOL_STATIC"))
           if variable in os.environ}


def find(name):
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise image.Unavailable(name)
    return path


def providers():
    found = glob.glob("/usr/lib/*/libibverbs/librxe-rdmav*.so")
    if not found:
        raise image.Unavailable("librxe (ibverbs-providers)")
    return found


def make_initramfs(path, kernel, programs, commands):
    """programs: {name in the guest: path here}. commands: {name: shell text}, run in this order."""
    archive = image.Initramfs()
    archive.program(find("busybox"), "usr/bin/busybox")
    archive.entry("usr/bin/sh", 0o120777, b"busybox")
    archive.file(os.path.join(HERE, "init"), "init")
    for name in PROGRAMS:
        archive.program(find(name), "usr/bin/" + name)
    for name in SCRIPTS:
        archive.file(find(name), "usr/bin/" + name)
    for provider in providers():
        archive.program(provider)
    archive.file("/etc/libibverbs.d/rxe.driver")
    for name, program in programs.items():
        archive.program(program, "usr/bin/" + name)
    for module in glob.glob(os.path.join(kernel, "*.ko")):
        archive.file(module, "modules/" + os.path.basename(module))
    for number, (name, text) in enumerate(commands.items()):
        archive.entry(f"commands/{number:03}-{name}", 0o100644, text.encode() + b"\n")
    archive.save(path)


def boot(kernel, initramfs, results, log):
    """Runs the guest to its end; qemu's exit status, or None after BOOT_LIMIT seconds. KVM is not used: in a guest itself it
    is unreliable, and emulation is the same everywhere."""
    qemu = [find("qemu-system-x86_64"), "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "qemu64", "-smp", "1", "-m", "1536",
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-device", "isa-debug-exit,iobase=0xf4,iosize=4",
            "-serial", "stdio", "-serial", f"file:{results}", "-kernel", os.path.join(kernel, "vmlinux"), "-initrd", initramfs,
            "-append", "console=ttyS0 quiet panic=-1 mitigations=off"]
    with open(log, "wb") as out, subprocess.Popen(qemu, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as process:
        try:
            return process.wait(BOOT_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            return None


def read_results(path, commands):
    """{name: Result} out of the tar archive that the guest sent. Raises tarfile.TarError where it is damaged."""
    files = {}
    with tarfile.open(path, "r:") as tar:
        for member in tar:
            if member.isfile():
                files[os.path.basename(member.name)] = tar.extractfile(member).read().decode("utf-8", "backslashreplace")
    return {name: Result(int(files[name + ".status"]), files[name + ".out"], files[name + ".err"], float(files[name + ".seconds"]))
            for name in commands}


def run(programs, commands):
    """Boots a guest with `programs` and returns {name: Result} of its `commands`. Raises RuntimeError with the end of the
    guest's console where it did not get to the end, image.Unavailable where this host lacks something."""
    started = time.monotonic()
    for tool in HOST_TOOLS:
        find(tool)
    kernel = image.kernel()
    with tempfile.TemporaryDirectory(prefix="ibtool-kernel-") as work:
        initramfs, results, log = (os.path.join(work, name) for name in ("initramfs", "results", "console"))
        make_initramfs(initramfs, kernel, programs, commands)
        status = boot(kernel, initramfs, results, log)
        with open(log, encoding="utf-8", errors="backslashreplace") as console:
            text = console.read()
        print(f"guest: {os.path.basename(kernel)}, {len(commands)} commands, {time.monotonic() - started:.0f} s", file=sys.stderr)
        if status != DONE:
            ended = f"qemu ended with {status}" if status is not None else f"it was stopped after {BOOT_LIMIT:.0f} s"
            raise RuntimeError(f"The guest did not get to its end: {ended}. Its console:\n{text[-6000:]}")
        try:
            return read_results(results, commands)
        except (tarfile.TarError, KeyError, ValueError) as error:
            raise RuntimeError(f"The guest's results are damaged ({error!r}). Its console:\n{text[-6000:]}") from error


class GuestCase(unittest.TestCase):
    """A class of tests on the results of one boot. `programs` and `commands` say what is run."""
    programs, commands = {}, {}
    results = {}
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.results = run(cls.programs, cls.commands)

    def result(self, name, status=0):
        """What the command `name` did; its exit status must be `status`."""
        done = self.results[name]
        self.assertEqual(done.status, status, f"{name}: {done}")
        return done


def main():
    """Runs the tests of the calling program. Where the guest cannot be had says so and skips, or, with IBTEST_NO_SKIP set, fails."""
    try:
        for tool in (*HOST_TOOLS, *PROGRAMS, *SCRIPTS):
            find(tool)
        providers()
        image.kernel()
    except image.Unavailable as lacking:
        print(f"SKIPPED: nothing was tested on a real kernel, for this host lacks {lacking}", file=sys.stderr)
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") else 77)
    unittest.main(verbosity=2)
