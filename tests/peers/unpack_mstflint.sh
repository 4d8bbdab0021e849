#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# unpack_mstflint.sh TREE: unpacks mstflint of Debian 13 in TREE, with the libraries that it is linked with. The first mstflint that reads
# registers in band is that one; this system's own packages stay as they are. They come from the Debian mirror that apt uses here.
set -eu
tree=$(readlink -f "$1")
keys=/usr/share/keyrings/debian-archive-keyring.gpg
site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | sort -u | head -n 1)
[ -n "$site" ] || { echo "apt has no Debian mirror" >&2; exit 1; }

work=$tree.new
rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/root/usr/bin" "$work/root/usr/sbin" "$work/root/usr/lib" \
  "$work/root/usr/lib64"
trap 'rm -rf "$work"' EXIT
for name in bin sbin lib lib64; do ln -s "usr/$name" "$work/root/$name"; done
echo "deb [signed-by=$keys] $site trixie main" >"$work/apt/sources.list"
: >"$work/apt/status"
cat >"$work/apt/apt.conf" <<END
Dir::Etc::SourceList "$work/apt/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$work/apt/lists";
Dir::State::Status "$work/apt/status";
Dir::Cache "$work/apt";
Dir::Cache::Archives "$work/apt/archives";
Debug::NoLocking "true";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
END
APT_CONFIG=$work/apt/apt.conf
export APT_CONFIG
apt-get -qq update >&2
apt-get -qq --yes --download-only install mstflint libumad2sim0 >&2
for package in "$work"/apt/archives/*.deb; do dpkg-deb --extract "$package" "$work/root"; done
[ -x "$work/root/usr/bin/mstlink" ]
rm -rf "$tree"
mv "$work/root" "$tree"
