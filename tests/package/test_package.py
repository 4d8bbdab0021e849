# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The Debian packages: built with Debian's own tools in a clean clone of what is committed, judged by lintian, installed in the place of
infiniband-diags in an unpacked root, run, removed again. Of what that build installed, rpms are made and compared with them.

With IBTEST_PACKAGES=DIRECTORY the packages there are taken, and none is built."""
import functools
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import rpms

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
NEEDED = ("dpkg-buildpackage", "dpkg-deb", "dh", "lintian", "fakeroot", "git", "meson", "rpm", "rpmbuild", "rpmspec", "rpm2archive")
# What infiniband-diags 44 of Debian installs as programs.
THEIR_PROGRAMS = """check_lft_balance dump_fts dump_lfts dump_mfts ibaddr ibcacheedit ibccconfig ibccquery ibfindnodesusing ibhosts
    ibidsverify iblinkinfo ibnetdiscover ibnodes ibping ibportstate ibqueryerrors ibroute ibrouters ibstat ibstatus ibswitches ibsysstat
    ibtracert perfquery saquery sminfo smpdump smpquery vendstat""".split()

THEIR_CONFFILES = ("/etc/infiniband-diags/error_thresholds", "/etc/infiniband-diags/ibdiag.conf")
# Where Debian's shells look for completions.
COMPLETIONS = {
    "bash": "/usr/share/bash-completion/completions/ibtool",
    "fish": "/usr/share/fish/vendor_completions.d/ibtool.fish",
    "zsh": "/usr/share/zsh/vendor-completions/_ibtool",
}


def legacy_names():
    """The programs of infiniband-diags that tools/meson.build names."""
    with open(os.path.join(SOURCE, "tools", "meson.build"), encoding="utf-8") as file:
        lists = re.findall(r"'legacy': \[([^\]]*)\]", file.read())
    return sorted(name for words in lists for name in re.findall(r"'([^']+)'", words))


def run(*command, ok=True, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if ok and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def build(folder):
    """Builds the packages in `folder` and returns how long that took."""
    clone = os.path.join(folder, "ibtool")
    run("git", "clone", "-q", "--no-hardlinks", SOURCE, clone)
    # Not optimized, which takes half of the time. Each file is a translation unit of its own here, unlike where tests/run builds: one that
    # lacks an include fails, and warnings are errors.
    env = dict(os.environ, LC_ALL="C.UTF-8", DEB_BUILD_OPTIONS=f"parallel={os.cpu_count()} noautodbgsym noopt",
               DEB_CXXFLAGS_STRIP="-g", DEB_CXXFLAGS_APPEND="-Werror")
    for name in ("CXX", "CXXFLAGS", "MESON_TESTTHREADS"):
        env.pop(name, None)
    begin = time.monotonic()
    run("dpkg-buildpackage", "-us", "-uc", "-b", cwd=clone, env=env)
    return time.monotonic() - begin


def content(package):
    """path → (mode, target of a link or "") of what a package installs, folders left out."""
    found = {}
    for line in run("dpkg-deb", "--contents", package).stdout.splitlines():
        mode, _, _, _, _, rest = line.split(None, 5)
        path, _, target = rest.partition(" -> ")
        if not mode.startswith("d"):
            found[path.removeprefix(".")] = mode, target
    return found


class Root:
    """A tree in which dpkg installs. The packages of this host count as installed there, but for infiniband-diags, what needs that, and
    ours."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "root")
        admin = os.path.join(self.path, "var/lib/dpkg")
        for name in ("info", "updates", "triggers"):
            os.makedirs(os.path.join(admin, name))
        with open("/var/lib/dpkg/status", encoding="utf-8", errors="surrogateescape") as file:
            packages = file.read().split("\n\n")
        mine = re.compile(r"^Package: (infiniband-diags|ibtool|ibtool-diags)$|^(Pre-)?Depends: .*\binfiniband-diags\b", re.MULTILINE)
        with open(os.path.join(admin, "status"), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n\n".join(package for package in packages if not mine.search(package)))
        with open(os.path.join(admin, "available"), "w", encoding="ascii"):
            pass
        self.log = os.path.join(folder, "dpkg.log")

    def dpkg(self, *words, ok=True):
        command = ["dpkg", "--root=" + self.path, "--log=" + self.log, *words]
        return run(*(command if os.getuid() == 0 else ["fakeroot", *command]), ok=ok, stdin=subprocess.DEVNULL)

    def files(self):
        """Everything but what dpkg keeps for itself."""
        found = set()
        for where, folders, names in os.walk(self.path):
            relative = os.path.relpath(where, self.path)
            if relative == "var/lib/dpkg":
                folders.clear()
                continue
            found.update(os.path.normpath(os.path.join(relative, name)) for name in folders + names)
        return found

    def at(self, path):
        return os.path.join(self.path, path.lstrip("/"))

    def is_installed(self, package):
        admin = os.path.join(self.path, "var/lib/dpkg")
        status = run("dpkg-query", "--admindir=" + admin, "-W", "-f", "${db:Status-Status}", package, ok=False)
        return status.stdout == "installed"


class Packages(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="ibtool-packages.")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        made = os.environ.get("IBTEST_PACKAGES")
        if not made:
            print(f"packages built in {build(cls.folder):.0f} s", flush=True)
            made = cls.folder
        cls.made = made
        cls.changes = glob.glob(os.path.join(made, "ibtool_*.changes"))[0]
        cls.ibtool = glob.glob(os.path.join(made, "ibtool_*.deb"))[0]
        cls.diags = glob.glob(os.path.join(made, "ibtool-diags_*.deb"))[0]
        cls.exporter = glob.glob(os.path.join(made, "ibtool-exporter_*.deb"))[0]

    def field(self, package, name):
        return run("dpkg-deb", "--field", package, name).stdout.strip()

    def needing_package(self):
        """A package that needs infiniband-diags, as Debian's opensm does."""
        tree = os.path.join(self.folder, "needing")
        if not os.path.isdir(tree):
            os.makedirs(os.path.join(tree, "DEBIAN"))
            self.write_control(tree, "needs-diags", "Depends: infiniband-diags (>= 40)\n")
        return tree + ".deb"

    @staticmethod
    def write_control(tree, name, more=""):
        with open(os.path.join(tree, "DEBIAN/control"), "w", encoding="ascii") as file:
            file.write(f"Package: {name}\nVersion: 44.0-2\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\n{more}"
                       "Description: a stand-in\n")
        run("dpkg-deb", "--root-owner-group", "--build", tree, tree + ".deb")

    def their_package(self):
        """A package that stands for Debian's infiniband-diags: the same names, and a configuration file."""
        tree = os.path.join(self.folder, "theirs")
        if not os.path.isdir(tree):
            for name in ("DEBIAN", "usr/sbin", "etc/infiniband-diags"):
                os.makedirs(os.path.join(tree, name))
            for name in THEIR_PROGRAMS:
                with open(os.path.join(tree, "usr/sbin", name), "w", encoding="ascii") as file:
                    file.write("#!/bin/sh\necho theirs\n")
                os.chmod(file.name, 0o755)
            for name in THEIR_CONFFILES:
                with open(tree + name, "w", encoding="ascii") as file:
                    file.write("# as it was shipped\n")
            with open(os.path.join(tree, "DEBIAN/conffiles"), "w", encoding="ascii") as file:
                file.write("".join(name + "\n" for name in THEIR_CONFFILES))
            self.write_control(tree, "infiniband-diags")
        return tree + ".deb"

    def test_lintian_finds_no_error(self):
        user = [] if os.getuid() else ["--allow-root"]
        judged = run("lintian", *user, "--fail-on", "error", self.changes, ok=False)
        self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)

    def test_the_programs_are_those_of_the_list_of_commands(self):
        names = legacy_names()
        self.assertTrue(names)
        self.assertEqual(set(names) - set(THEIR_PROGRAMS), set())
        found, pages = content(self.diags), content(self.ibtool)
        links = {os.path.basename(path): target for path, (_, target) in found.items() if path.startswith("/usr/sbin/")}
        self.assertEqual(links, {name: "../bin/ibtool" for name in names})
        for name in names:
            _, target = found[f"/usr/share/man/man8/{name}.8.gz"]
            self.assertIn(os.path.normpath(os.path.join("/usr/share/man/man8", target)), pages)

    def test_ibtool_stands_beside_infiniband_diags(self):
        self.assertEqual(self.field(self.ibtool, "Conflicts") + self.field(self.ibtool, "Replaces"), "")
        self.assertEqual(set(content(self.ibtool)) & set(content(self.diags)), set())
        theirs = run("dpkg-query", "-L", "infiniband-diags", ok=False).stdout.split("\n")
        self.assertEqual(set(content(self.ibtool)) & set(theirs), set())

    def test_ibtool_diags_owns_the_conffiles_of_infiniband_diags(self):
        """As far as Debian's package is installed here, its own list is compared too."""
        folder = tempfile.mkdtemp(dir=self.folder)
        run("dpkg-deb", "--control", self.diags, folder)
        with open(os.path.join(folder, "conffiles"), encoding="ascii") as file:
            ours = set(file.read().split())
        theirs = run("dpkg-query", "-W", "-f=${Conffiles}", "infiniband-diags", ok=False).stdout
        self.assertEqual(ours, set(THEIR_CONFFILES))
        self.assertLessEqual({line.split()[0] for line in theirs.splitlines() if line.strip()}, ours)

    def test_ibtool_diags_takes_the_place_of_infiniband_diags(self):
        for name in ("Provides", "Conflicts", "Replaces"):
            self.assertIn("infiniband-diags", self.field(self.diags, name))
        version = self.field(self.ibtool, "Version")
        self.assertIn(f"ibtool (= {version})", self.field(self.diags, "Depends"))

    def test_the_exporter_is_installed_and_not_started(self):
        found = {re.sub("^/lib/", "/usr/lib/", path) for path in content(self.exporter)}  # in /lib on Debian 12
        for path in ("/usr/lib/systemd/system/ibtool-exporter.service", "/usr/lib/udev/rules.d/60-ibtool-exporter.rules",
                     "/usr/lib/sysusers.d/ibtool-exporter.conf", "/etc/default/ibtool-exporter"):
            self.assertIn(path, found)
        self.assertEqual([path for path in found if path.endswith(".wants")], [])
        folder = tempfile.mkdtemp(dir=self.folder)
        run("dpkg-deb", "--control", self.exporter, folder)
        with open(os.path.join(folder, "postinst"), encoding="ascii") as file:
            script = file.read()
        self.assertIn("systemd-sysusers", script)
        self.assertNotIn("deb-systemd-invoke", script)
        self.assertIn("was-enabled", script)  # only what the site has enabled stays so
        self.assertIn("/usr/share/doc/ibtool/examples/exporter/dashboard.json", content(self.ibtool))

    @functools.cached_property
    def rpms(self):
        """name → file of the rpms, which are made of what the build of the Debian packages installed."""
        source = os.path.join(self.made, "ibtool")
        return rpms.build(source, os.path.join(source, "debian", "tmp"), tempfile.mkdtemp(dir=self.folder))

    def test_rpms(self):
        """One test, since the rpms are made once: each part of it fails alone."""
        self.assertEqual(set(self.rpms), {"ibtool", "ibtool-diags", "ibtool-exporter"})
        for check in (self.compare_files, self.check_beside_infiniband_diags, self.check_unpacked):
            with self.subTest(check.__name__):
                check()

    def compare_files(self):
        for name, deb in (("ibtool", self.ibtool), ("ibtool-diags", self.diags), ("ibtool-exporter", self.exporter)):
            ours = {path for path in rpms.content(self.rpms[name]) if not rpms.RPM_ALONE.fullmatch(path)}
            self.assertEqual(ours, {rpms.place(path) for path in content(deb) if not rpms.DEB_ALONE.fullmatch(path)}, name)

    def check_beside_infiniband_diags(self):
        """The infiniband-diags of these distributions has a library that others need: it must be able to stay."""
        for file in self.rpms.values():
            self.assertEqual(rpms.query(file, "--obsoletes") + rpms.query(file, "--conflicts"), [])
            self.assertFalse([line for line in rpms.query(file, "--provides") if "infiniband" in line])
            for path in rpms.content(file):
                self.assertNotRegex(path, "^(/usr/sbin|/usr/share/man/man8|/etc/infiniband-diags)/")
        self.assertIn("libmicrohttpd.so.12", " ".join(rpms.query(self.rpms["ibtool"], "--recommends")))
        self.assertIn("libmicrohttpd.so.12", " ".join(rpms.query(self.rpms["ibtool-exporter"], "--requires")))

    def check_unpacked(self):
        tree = tempfile.mkdtemp(dir=self.folder)
        for file in self.rpms.values():
            rpms.unpack(file, tree)
        for path, target in (each for file in self.rpms.values() for each in rpms.content(file).items()):
            if target and not rpms.RPM_ALONE.fullmatch(path):
                self.assertTrue(os.path.exists(tree + os.path.normpath(os.path.join(os.path.dirname(path), target))), path)
        self.assertEqual(run(tree + rpms.DIAGS + "/ibaddr", "-V").stderr.split()[1:3], ["BUILD", "VERSION:"])
        script = tree + "/etc/profile.d/ibtool-diags.sh"
        for before, after in (("/usr/sbin:/usr/bin", f"{rpms.DIAGS}:/usr/sbin:/usr/bin"), (f"/bin:{rpms.DIAGS}",) * 2):
            self.assertEqual(run("/bin/sh", "-c", f'. "{script}"; . "{script}"; echo "$PATH"', env={"PATH": before}).stdout.strip(), after)
        with open(tree + "/usr/lib/systemd/system/ibtool-exporter.service", encoding="ascii") as unit:
            self.assertIn("\nEnvironmentFile=-/etc/sysconfig/ibtool-exporter\n", unit.read())

    def test_spec_builds_what_the_sources_are(self):
        """What the rpms of the test do not go through: the section %build, and what that needs."""
        spec = os.path.join(SOURCE, "ibtool.spec")
        with open(os.path.join(SOURCE, "meson.build"), encoding="utf-8") as file:
            meson = file.read()
        with open(os.path.join(SOURCE, "meson_options.txt"), encoding="utf-8") as file:
            options = re.findall(r"^option\('(\w+)'", file.read(), re.MULTILINE)
        words = re.search(r"^meson setup build ((?:.*\\\n)*.*)$", rpms.output("rpmspec", "-P", spec), re.MULTILINE)[1]
        named = re.findall(r"-D(\w+)=", words)
        self.assertLessEqual({"tests", "legacy_names"}, set(named))
        self.assertLessEqual(set(named), set(options))
        self.assertEqual(rpms.output("rpmspec", "-q", "--qf", "%{VERSION}\n", spec).split()[0], re.search(r"version: '([\d.]+)'", meson)[1])
        needed = set(re.findall(r"dependency\('(\w+)'", meson)) | {"libibmad"}  # that only tools/meson.build names
        self.assertEqual(set(re.findall(r"pkgconfig\((\w+)\)", rpms.output("rpmspec", "-q", "--buildrequires", spec))), needed)

    def test_installed_run_and_removed(self):
        root = Root(tempfile.mkdtemp(dir=self.folder))
        before = root.files()
        root.dpkg("--install", self.ibtool)
        version = self.field(self.ibtool, "Version")
        self.assertEqual(run(root.at("/usr/bin/ibtool"), "--version").stdout, f"ibtool {version}\n")
        self.assertIn("ibnetdiscover", run(root.at("/usr/bin/ibtool"), "help").stdout)
        with gzip.open(root.at("/usr/share/man/man1/ibtool.1.gz"), "rt", encoding="utf-8") as page:
            self.assertIn(".TH IBTOOL 1", page.read())
        for shell, path in COMPLETIONS.items():
            with open(root.at(path), encoding="ascii") as script:
                self.assertEqual(script.read(), run(root.at("/usr/bin/ibtool"), "completion", shell).stdout)
        root.dpkg("--install", self.diags)
        for name in legacy_names():
            program = root.at("/usr/sbin/" + name)
            self.assertEqual(os.path.realpath(program), root.at("/usr/bin/ibtool"))
            said = run(program, "--help", ok=False)
            self.assertTrue(said.stdout + said.stderr, name)
            self.assertNotIn("Bad command", said.stdout + said.stderr)
            self.assertTrue(os.path.exists(root.at(f"/usr/share/man/man8/{name}.8.gz")), name)
        release = run(root.at("/usr/sbin/smpquery"), "-V").stderr.split()[-1]
        self.assertEqual(self.field(self.diags, "Provides"), f"infiniband-diags (= {release})")
        refused = root.dpkg("--remove", "ibtool", ok=False)
        self.assertNotEqual(refused.returncode, 0, "ibtool-diags needs it")
        root.dpkg("--purge", "ibtool-diags", "ibtool")
        self.assertEqual(root.files() - before, set())

    def test_a_site_switches_and_switches_back(self):
        root = Root(tempfile.mkdtemp(dir=self.folder))
        before = root.files()
        conf, program = root.at("/etc/infiniband-diags/ibdiag.conf"), root.at("/usr/sbin/ibstat")
        root.dpkg("--install", self.their_package(), self.needing_package(), self.ibtool)
        self.assertEqual(run(program).stdout, "theirs\n")
        with open(conf, "a", encoding="ascii") as file:
            file.write("timeout=50\n")
        root.dpkg("--force-confdef", "--force-confold", "--install", self.diags)  # the site keeps its words
        self.assertFalse(root.is_installed("infiniband-diags"))
        self.assertEqual(os.path.realpath(program), root.at("/usr/bin/ibtool"))
        self.assertEqual(set(os.listdir(root.at("/usr/sbin"))), set(legacy_names()), "no program of theirs is left")
        with open(conf, encoding="ascii") as file:
            self.assertEqual(file.read(), "# as it was shipped\ntimeout=50\n", "the site's words stay")
        self.assertTrue(root.is_installed("needs-diags"))
        root.dpkg("--purge", "infiniband-diags")  # what was left of it
        with open(conf, encoding="ascii") as file:
            self.assertEqual(file.read(), "# as it was shipped\ntimeout=50\n", "a file of ibtool-diags")
        for name in THEIR_CONFFILES:
            self.assertTrue(os.path.exists(root.at(name)), name)
        root.dpkg("--force-depends", "--remove", "ibtool-diags")  # as apt does, which knows what comes next
        root.dpkg("--force-confdef", "--force-confold", "--install", self.their_package())
        self.assertEqual(run(program).stdout, "theirs\n")
        with open(conf, encoding="ascii") as file:
            self.assertEqual(file.read(), "# as it was shipped\ntimeout=50\n")
        self.assertTrue(root.is_installed("ibtool"))
        root.dpkg("--purge", "needs-diags", "infiniband-diags", "ibtool", "ibtool-diags")
        self.assertEqual(root.files() - before, set())


if __name__ == "__main__":
    lacking = [name for name in NEEDED if not shutil.which(name)]
    if lacking or not os.path.isdir(os.path.join(SOURCE, ".git")):
        print("skipped, not installed: " + ", ".join(lacking or ["a clone of git"]))
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") else 77)
    unittest.main(verbosity=2)
