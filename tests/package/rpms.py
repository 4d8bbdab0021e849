# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The packages of ibtool.spec, made with Debian's rpmbuild of what the build of the Debian packages has installed: nothing is compiled."""
import glob
import os
import re
import shutil
import subprocess

DIAGS = "/usr/libexec/ibtool/diags"
# Where a file of a Debian package stands in an rpm.
PLACES = (
    (r"/usr/sbin/", DIAGS + "/"),
    (r"/usr/share/man/man8/", DIAGS + "/man/man8/"),
    (r"/lib/(systemd|udev)/", r"/usr/lib/\1/"),
    (r"/etc/default/", "/etc/sysconfig/"),
    (r"/usr/share/zsh/vendor-completions/", "/usr/share/zsh/site-functions/"),
    (r"(/usr/share/doc/.*)\.gz$", r"\1"),
)
# What only one of the two has: texts that a distribution wants, and files that belong to the infiniband-diags of one with rpm.
DEB_ALONE = re.compile(r"/usr/share/doc/ibtool[a-z-]*/(changelog|copyright|NEWS).*|/etc/infiniband-diags/.*|/usr/share/lintian/.*")
RPM_ALONE = re.compile(r"/usr/lib/\.build-id/.*|/usr/share/licenses/.*|/etc/profile\.d/ibtool-diags\.c?sh")


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def build(source, made, folder):
    """Packages what `made` holds by the ibtool.spec of `source`. Returns the file of each package: name → path."""
    output("rpmbuild", "-bb", "--build-in-place", "--nodeps", "-D", f"_topdir {folder}", "-D", "debug_package %{nil}", "-D", f"made {made}",
           "ibtool.spec", cwd=source, env=dict(os.environ, LC_ALL="C.UTF-8", HOME=folder))
    files = glob.glob(os.path.join(folder, "RPMS", "*", "*.rpm"))
    return {output("rpm", "--dbpath", folder, "-qp", "--qf", "%{NAME}", file): file for file in files}


def query(file, *words):
    """What rpm says of a package's file, as lines."""
    return output("rpm", "--dbpath", os.path.dirname(file), "-qp", *words, file).splitlines()


def content(file):
    """path → target of a link or "", folders left out."""
    lines = query(file, "--qf", r"[%{FILEMODES:perms} %{FILENAMES}\t%{FILELINKTOS}\n]")
    return {path: target for mode, _, rest in (line.partition(" ") for line in lines) if not mode.startswith("d")
            for path, _, target in [rest.partition("\t")]}


def place(path):
    """Where a file of a Debian package stands in an rpm."""
    for pattern, there in PLACES:
        path = re.sub("^" + pattern, there, path)
    return path


def unpack(file, folder):
    """Unpacks a package."""
    with open(file, "rb") as package:
        archive = subprocess.run(["rpm2archive", "-"], stdin=package, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-xz", "-C", folder], input=archive, check=True)


def lacking():
    return [name for name in ("rpm", "rpmbuild", "rpmspec", "rpm2archive") if not shutil.which(name)]
