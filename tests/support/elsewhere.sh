# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Run by tests/elsewhere in the root of another release: builds for architecture $1 and runs the suites of tests $2…
set -u
. /src/tests/support/prepare.sh
source=/src
cd "$source" || exit 1
git config --global --replace-all safe.directory "$source"

[ -e /etc/hosts ] || echo '127.0.0.1 localhost' >/etc/hosts

arch=$1
shift
build=$source/build-$arch options=$quick
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
  # Of the other architecture, not of the compiler, of which it warns.
  variable() { dpkg-architecture -a"$arch" -q"$1" 2>/dev/null; }
  triplet=$(variable DEB_HOST_MULTIARCH)
  cpu=$(variable DEB_HOST_GNU_CPU)
  case $cpu in
    i686) family=x86 emulator=i386 ;;
    powerpc64le) family=ppc64 emulator=ppc64le ;;
    *) family=$cpu emulator=$cpu ;;
  esac
  gnu=$(variable DEB_HOST_GNU_TYPE)
  cross=/tmp/ibtool-$arch.cross
  cat >"$cross" <<END
[binaries]
c = '$gnu-gcc'
cpp = '$gnu-g++'
ar = '$gnu-ar'
strip = '$gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = '$(command -v "qemu-$emulator-static" || command -v "qemu-$emulator")'
[properties]
pkg_config_libdir = '/usr/lib/$triplet/pkgconfig:/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$cpu'
endian = '$(variable DEB_HOST_ARCH_ENDIAN)'
END
  options="$options --cross-file $cross"
fi

logs= wanted=
for suite; do
  if [ "$suite" != package ]; then wanted="$wanted --suite $suite"; fi
done
build_in "$build" "$options ${MESON_OPTIONS:-}" || exit 1
# test_in LOG ARGUMENTS…: as in .ci/run.
test_in() {
  log=$1
  shift
  rm -f "$build/meson-logs/$log.json"
  logs="$logs $build/meson-logs/$log.json"
  meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 8 --logbase "$log" "$@"
}
if [ -n "$wanted" ]; then test_in testlog $wanted || true; fi
case " $* " in *' package '*) test_in packagelog --suite package || true ;; esac
python3 tests/support/count.py $logs
