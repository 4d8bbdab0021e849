# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Sourced by tests/demo, tests/run, tests/shell and .ci/run: installs what is missing and builds.
# Sets $source (the project) and $build (where it is built).

source=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

build_packages='g++ meson ninja-build pkg-config libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev
  libibumad-dev libibverbs-dev libmicrohttpd-dev libsqlite3-dev zlib1g-dev'
test_packages='catch2 libibmad-dev ibsim-utils libumad2sim0 opensm infiniband-diags python3'
# Compiles and links in two thirds of the time that g++ takes. Where a release lacks these, g++ it is.
fast_packages='clang-16 lld-16'
# For the suite `kernel`, which without them is skipped: about 100 MB, and 70 more in the user's cache.
kernel_packages='qemu-system-x86 busybox-static iproute2 ibverbs-providers ibverbs-utils util-linux'
# For the suite `peers`, which without them is skipped, and for completions in other shells: .ci/run installs them, tests/run does not.
peers_packages='chromium fish ibutils prometheus python3-prometheus-client systemd zsh'
# For the suite `package`, which without them is skipped.
package_packages='build-essential debhelper dpkg-dev fakeroot git lintian rpm'
# For tests/elsewhere, in the root of another release: what tests/run takes for granted, what builds for another architecture, and libraries
# of that.
elsewhere_packages='ca-certificates dpkg-dev git perl procps python3-prometheus-client'
cross_tools='g++ libcli11-dev meson ninja-build nlohmann-json3-dev pkg-config python3 qemu-user-static'
cross_packages='libcatch2-dev libc6-dev libfmt-dev libibmad-dev libibumad-dev libibverbs-dev libmicrohttpd-dev libspdlog-dev libsqlite3-dev
  zlib1g-dev'

# Options of a build that is made to try and to test, not to measure or to develop: half the time of one goes into debug information and
# optimization, and half of the rest into reading the same headers for each file.
quick='-Ddebug=false -Doptimization=1 -Dunity=on -Dunity_size=40'

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 1; }

is_installed() { dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^.i'; }

# Where our own ibtool-diags has the place of infiniband-diags, that is unpacked for the tests alone, which look for it there.
unpack_theirs() {
  theirs=${XDG_CACHE_HOME:-${HOME:-/tmp/ibtool-$(id -u)}/.cache}/ibtool/infiniband-diags
  [ ! -e "$theirs/usr/sbin/ibnetdiscover" ] || return 0
  say "ibtool-diags is installed: unpacking infiniband-diags in $theirs"
  mkdir -p "$theirs"
  (cd "$theirs" && apt-get download -q infiniband-diags libibnetdisc5 libibmad5 >&2 &&
    for package in *.deb; do dpkg-deb -x "$package" . || exit; done && rm -- *.deb) || die "Could not unpack infiniband-diags"
}

# forbid_services, allow_services: Debian starts a service as it is installed, unless policy-rc.d forbids that. One that the host has of its
# own stays as it is.
policy=/usr/sbin/policy-rc.d
forbids=
forbid_services() {
  [ ! -e $policy ] || return 0
  forbids=yes
  trap allow_services EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' | $root sh -c "cat >$policy && chmod 755 $policy" || die "Could not write $policy"
}
allow_services() {
  [ -n "$forbids" ] || return 0
  forbids=
  trap - EXIT HUP INT TERM
  $root rm -f $policy
}

# install PACKAGE…: installs those that are missing, asking for root only then.
install() {
  command -v dpkg-query >/dev/null || { say "This is no Debian: taking for granted that these are installed: $*"; return 0; }
  lacking=
  for package; do
    if is_installed "$package"; then continue; fi
    if [ "$package" = infiniband-diags ] && is_installed ibtool-diags; then unpack_theirs; continue; fi
    lacking="$lacking $package"
  done
  [ -n "$lacking" ] || return 0
  case " $lacking " in *' opensm '*)
    # Debian starts opensm as it is installed. Here that would put a subnet manager on a real fabric.
    [ ! -e /sys/class/infiniband_mad/abi_version ] ||
      die "This host has InfiniBand hardware, and installing opensm would start a subnet manager on its fabric." \
          "To install it without: systemctl mask opensm && apt-get install opensm" ;;
  esac
  if [ "$(id -u)" = 0 ]; then root=
  elif command -v sudo >/dev/null; then root=sudo
  else die "Missing:$lacking. Run as root: apt-get install$lacking"; fi
  say "Installing$lacking"
  $root apt-get update -qq || say "apt-get update failed; trying with the package lists that are there"
  case " $lacking " in *' prometheus '*) forbid_services ;; esac
  $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking >&2 ||
    { allow_services; die "Could not install:$lacking"; }
  allow_services
}

# build_in DIRECTORY OPTIONS TARGET…: configures (once) and builds the targets, all of them if none is named.
build_in() (
  directory=$1 options=$2
  shift 2
  say "Building in $directory"
  # A directory that was set up for a checkout in another place is of no use here.
  if [ -e "$directory/source" ] && [ "$(cat "$directory/source")" != "$source" ]; then rm -rf "$directory"; fi
  if [ ! -e "$directory/build.ninja" ]; then
    mkdir -p "$directory"
    # The faster linker, where it is installed.
    if command -v ld.lld >/dev/null; then CXX_LD=${CXX_LD:-lld} && export CXX_LD; fi
    printf %s "$source" >"$directory/source"
    meson setup "$directory" "$source" $options >"$directory/setup.log" 2>&1 ||
      { cat "$directory/setup.log" >&2; die "meson setup failed"; }
  fi
  ninja -C "$directory" "$@" >&2 || die "The build failed."
)

# choose_compiler: clang for a build that is not set up yet, unless CXX names a compiler, or the release has no such clang.
choose_compiler() {
  if [ -n "${CXX:-}" ] || [ -e "$build/build.ninja" ]; then return 0; fi
  if apt-cache show clang-16 >/dev/null 2>&1; then (install $fast_packages) || say "Building with g++, which takes longer."; fi
  if command -v clang++-16 >/dev/null && command -v ld.lld-16 >/dev/null; then
    CXX=clang++-16 CXX_LD=lld
    export CXX CXX_LD
  fi
}

# prepare TARGET…: everything installed, and the targets built in $build.
prepare() {
  install $build_packages $test_packages
  build=$source/build
  # Another user's checkout: build in a place of one's own.
  if [ -e "$build" ]; then [ -w "$build" ]; else [ -w "$source" ]; fi ||
    build=${XDG_CACHE_HOME:-${HOME:-/tmp/ibtool-$(id -u)}/.cache}/ibtool/build$(printf %s "$source" | tr / -)
  choose_compiler
  build_in "$build" "$quick ${MESON_OPTIONS:-}" "$@"
}
