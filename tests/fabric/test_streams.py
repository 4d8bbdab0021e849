# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The standard streams: what a full disk refuses is an error by every name and with every option; a closed stream is not given to
the next file or socket. No fabric is needed: a directory plays sysfs."""
import os
import shlex
import subprocess
import tempfile
import time
import unittest

import case

DEVICES, PORTS = 40, 20  # their listing is longer than any buffer on its way


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text + "\n")


def make_sysfs(root):
    for device in range(DEVICES):
        base = os.path.join(root, "class", "infiniband", f"fake{device}")
        write(os.path.join(base, "node_type"), "1: CA")
        write(os.path.join(base, "node_guid"), f"0002:c903:0000:{device:04x}")
        for port in range(1, PORTS + 1):
            directory = os.path.join(base, "ports", str(port))
            for name, text in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "40 Gb/sec (4X QDR)"), ("lid", "0x12"),
                               ("sm_lid", "0x1"), ("lid_mask_count", "2"), ("cap_mask", "0x02514868"), ("link_layer", "InfiniBand"),
                               ("gids/0", f"fe80:0000:0000:0000:0002:c903:{device:04x}:{port:04x}"), ("pkeys/0", "0xffff")):
                write(os.path.join(directory, name), text)


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        make_sysfs(cls.directory.name)
        cls.env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"} | {"SYSFS_PATH": cls.directory.name}

    def status(self, *words, closed=(), out=None, ignore_sigpipe=False):
        """The exit status and stderr with the streams `closed` by a shell."""
        redirections = " ".join({0: "<&-", 1: ">&-", 2: "2>&-"}[stream] for stream in closed)
        trap = "trap '' PIPE;" if ignore_sigpipe else ""
        script = f"{trap} exec -a {words[0]} {shlex.quote(os.path.abspath(case.IBTOOL))} {shlex.join(words[1:])} {redirections}"
        done = subprocess.run(["bash", "-c", script], env=self.env, stdout=out or subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=60)
        return done.returncode, done.stderr

    def test_ibtool_on_a_full_disk(self):
        for words in (("--version",), ("--help",), (), ("help",), ("help", "ibstat"), ("ibstat", "--help"), ("ibstat", "--version"),
                      ("ibstat",), ("ibstat", "-l"), ("ibstatus",), ("ibv_devices",), ("ibstat", "--json"), ("ibstat", "--json=lines")):
            with self.subTest(words), case.open_full_disk() as full:
                status, err = self.status("ibtool", *words, out=full)
                self.assertEqual(status, 3, err)
                self.assertRegex(err, r"\AE: .*No space left on device\n\Z")

    def test_legacy_names_on_a_full_disk(self):
        for words in (("ibstat",), ("ibstat", "-l"), ("ibstat", "fake0", "1"), ("ibstatus",), ("ibstatus", "fake0:1")):
            with self.subTest(words), case.open_full_disk() as full:
                status, err = self.status(*words, out=full)
                self.assertEqual(status, 255, err)
                self.assertEqual(err, f"{words[0]}: standard output: No space left on device\n")

    def test_a_reader_that_left_is_no_complaint(self):
        for words in (("ibtool", "ibstat"), ("ibtool", "--version"), ("ibstat",), ("ibstat", "-l"), ("ibstatus",)):
            with self.subTest(words):
                reader, writer = os.pipe()
                os.close(reader)
                with os.fdopen(writer, "w") as pipe:
                    self.assertEqual(self.status(*words, out=pipe, ignore_sigpipe=True), (0, ""))

    def test_a_closed_stdout_is_an_error(self):
        for words, expected in ((("ibtool", "--version"), 3), (("ibtool", "ibstat"), 3), (("ibstat",), 255), (("ibstatus",), 255)):
            with self.subTest(words):
                status, err = self.status(*words, closed=(1,))
                self.assertEqual(status, expected, err)
                self.assertIn("Bad file descriptor", err)

    def test_the_version_of_a_legacy_name_is_on_stderr(self):
        self.assertEqual(self.status("ibstat", "--version")[0], 0)
        self.assertEqual(self.status("ibstat", "--version", closed=(2,))[0], 255)

    def test_a_closed_stdin_can_not_be_read(self):
        status, err = self.status("ibtool", "decode_mad", closed=(0,))
        self.assertEqual(status, 3, err)
        self.assertIn("read standard input: Bad file descriptor", err)

    def test_warnings_without_stderr_change_nothing(self):
        self.assertEqual(self.status("ibstat", "-l", closed=(2,))[0], 0)
        self.assertEqual(self.status("ibtool", "ibstat", "-l", closed=(0, 2))[0], 0)

    def test_closed_streams_are_occupied_against_use(self):
        """As /proc tells while the program waits for its input."""
        reader, writer = os.pipe()
        script = f"exec {shlex.quote(os.path.abspath(case.IBTOOL))} decode_mad >&- 2>&-"
        with subprocess.Popen(["bash", "-c", script], env=self.env, stdin=reader) as child:
            os.close(reader)
            try:
                places = f"/proc/{child.pid}/fd"
                end = time.monotonic() + 20
                while time.monotonic() < end and not (os.path.exists(f"{places}/1") and os.path.exists(f"{places}/2") and
                                                      os.readlink(f"/proc/{child.pid}/exe") == os.path.realpath(case.IBTOOL)):
                    time.sleep(0.05)
                for stream in (1, 2):
                    self.assertEqual(os.readlink(f"{places}/{stream}"), "/dev/null")
                    with open(f"/proc/{child.pid}/fdinfo/{stream}", encoding="ascii") as info:
                        flags = next(line for line in info if line.startswith("flags:"))
                    self.assertEqual(int(flags.split()[1], 8) & 3, os.O_RDONLY)
            finally:
                os.close(writer)
                child.wait(20)


if __name__ == "__main__":
    unittest.main()
