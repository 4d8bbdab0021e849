# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a guest with a real RDMA stack boots from: Debian's kernel, taken from its package without installing it, and an
initramfs of the host's own programs. The kernel is kept in the user's cache; the initramfs is made anew each time."""
import glob
import io
import lzma
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile

# In this order: rxe needs crc32, which its dependencies do not name.
MODULES = ("crc32_generic", "rdma_rxe", "ib_umad", "veth")


class Unavailable(Exception):
    """Something that the guest needs is not to be had on this host."""


def kernel_package():
    """The package that Debian's generic kernel depends on: linux-image-6.1.0-…-amd64. The cloud flavour lacks rxe."""
    listing = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"Depends: (linux-image-\S+)", listing)
    if not match:
        raise Unavailable("a kernel package: apt-cache does not know linux-image-amd64")
    return match[1]


def dependencies(modules, names):
    """The paths of `names` and of all that they depend on, in the order in which they can be loaded. What a name does not
    lead to is built in. modules: {name: path}."""
    ordered = []

    def add(name):
        path = modules.get(name.replace("-", "_"))
        if path is None or path in ordered:
            return
        with open(path, "rb") as module:
            found = re.search(rb"\0depends=([^\0]*)\0", module.read())
        for needed in filter(None, found[1].decode().split(",") if found else ()):
            add(needed)
        ordered.append(path)

    for name in names:
        add(name)
    return ordered


def elf_kernel(image):
    """The kernel inside a bzImage. The guest would spend 5 s of emulation on decompressing it itself."""
    start = image.index(b"\xfd7zXZ\0")
    kernel = lzma.LZMADecompressor(format=lzma.FORMAT_XZ).decompress(image[start:])
    if not kernel.startswith(b"\x7fELF"):
        raise Unavailable("a kernel that is compressed with xz")
    return kernel


def unpack(package, target):
    """Puts `vmlinux` and the modules of a kernel package into `target`."""
    found = set()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as dpkg:
        with tarfile.open(fileobj=dpkg.stdout, mode="r|") as tar:
            for member in tar:
                name = os.path.basename(member.name)
                if name.startswith("vmlinuz-"):
                    with open(os.path.join(target, "vmlinux"), "wb") as out:
                        out.write(elf_kernel(tar.extractfile(member).read()))
                elif re.search(r"/kernel/(crypto|lib|net|drivers/(net|infiniband)|fs/configfs)/.*\.ko$", member.name):
                    found.add(name)
                    with open(os.path.join(target, name.replace("-", "_")), "wb") as out:
                        out.write(tar.extractfile(member).read())
    lacking = [name for name in MODULES if name + ".ko" not in found]
    if lacking or not os.path.exists(os.path.join(target, "vmlinux")):
        raise Unavailable(f"a kernel with {' '.join(lacking) or 'an image'}: {os.path.basename(package)} has none")


def kernel():
    """The directory with `vmlinux` and the modules that the guest loads, named as they are to be loaded: 00-…"""
    package = kernel_package()
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ibtool", "kernel")
    place = os.path.join(cache, package)
    if os.path.exists(os.path.join(place, "vmlinux")):
        return place
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        got = subprocess.run(["apt-get", "download", "-q", package], cwd=work, capture_output=True, text=True, check=False)
        files = glob.glob(os.path.join(work, "*.deb"))
        if not files:
            raise Unavailable(f"{package}, which apt-get could not download: {(got.stderr.strip() or 'no reason given').splitlines()[-1]}")
        everything, ready = os.path.join(work, "all"), os.path.join(work, "ready")
        os.mkdir(everything)
        os.mkdir(ready)
        unpack(files[0], everything)
        modules = {os.path.basename(path)[:-3]: path for path in glob.glob(everything + "/*.ko")}
        for number, path in enumerate(dependencies(modules, MODULES)):
            shutil.copy(path, os.path.join(ready, f"{number:02}-{os.path.basename(path)}"))
        shutil.copy(os.path.join(everything, "vmlinux"), ready)
        try:
            os.rename(ready, place)
        except OSError:  # another test run was faster
            if not os.path.exists(os.path.join(place, "vmlinux")):
                raise
    return place


class Initramfs:
    """A cpio archive in the kernel's format (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self):
        self.out = io.BytesIO()
        self.names = set()
        for name in ("usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"):
            self.entry(name, stat.S_IFDIR | 0o755)
        for name in ("bin", "sbin", "lib", "lib64"):
            self.entry(name, stat.S_IFLNK | 0o777, f"usr/{name}".encode())

    def entry(self, name, mode, data=b""):
        if name in self.names:
            return
        parent = os.path.dirname(name)
        if parent and parent not in self.names:
            self.entry(parent, stat.S_IFDIR | 0o755)
        self.names.add(name)
        self.write(name, mode, data)

    def write(self, name, mode, data):
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name.encode()) + 1, 0)
        self.out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0")
        self.pad()
        self.out.write(data)
        self.pad()

    def pad(self):
        self.out.write(b"\0" * (-self.out.tell() % 4))

    def file(self, path, name=None):
        """The host's file at `path`, under the same name or `name`. Links in its directory are followed, that to itself is not kept."""
        if name is None:
            name = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))[1:]
        with open(path, "rb") as source:
            self.entry(name, stat.S_IFREG | 0o755, source.read())

    def program(self, path, name=None):
        """A program, or a library, and the libraries that it needs."""
        self.file(path, name)
        listing = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(/\S+) \(0x", listing):
            self.file(library)

    def save(self, path):
        self.write("TRAILER!!!", 0, b"")
        with open(path, "wb") as archive:
            archive.write(self.out.getvalue())
