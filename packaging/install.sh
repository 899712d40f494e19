#!/bin/sh
# Installs the binaries of a release after checking their checksum:
#
#   VERSION=1.2.3 INSTALL_DIR=$HOME/bin sh install.sh
#
# VERSION defaults to latest, INSTALL_DIR to /usr/local/bin. The script needs curl
# or wget, tar, and sha256sum or shasum. The development container feature needs a
# copy in its folder; a test compares the two.
set -eu

version=${VERSION:-latest}
folder=${INSTALL_DIR:-/usr/local/bin}
releases=${UNDERSTUDY_RELEASES:-https://github.com/understudy-mock/understudy/releases}

fail() {
	echo "understudy: $*" >&2
	exit 1
}

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
*) fail "no install script for $(uname -s): use the npm or the Python package" ;;
esac
case $(uname -m) in
x86_64 | amd64) machine=amd64 ;;
aarch64 | arm64) machine=arm64 ;;
*) fail "no binary for $(uname -m): must be x86_64 or arm64" ;;
esac
case $version in
latest) from=$releases/latest/download ;;
*) from=$releases/download/v${version#v} ;;
esac

fetch() { # URL FILE
	if command -v curl >/dev/null; then
		curl -fsSL --retry 3 -o "$2" "$1"
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1"
	else
		fail 'curl or wget is needed'
	fi || fail "cannot download $1"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch "$from/SHA256SUMS" "$work/SHA256SUMS"
archive=$(sed -n "s/^[0-9a-f]\{64\} [ *]\(understudy[^/]*$system[_-]$machine\.tar\.gz\)$/\1/p" "$work/SHA256SUMS")
[ -n "$archive" ] || fail "$from/SHA256SUMS lists no archive for $system on $machine"
fetch "$from/$archive" "$work/$archive"

cd "$work"
grep " [ *]$archive\$" SHA256SUMS >wanted
if command -v sha256sum >/dev/null; then
	sha256sum -c wanted >/dev/null
else
	shasum -a 256 -c wanted >/dev/null
fi || fail "$archive: the checksum differs from that in SHA256SUMS"
tar -xzf "$archive"
mkdir -p "$folder"
for name in understudy understudy-conform; do
	found=$(find . -type f -name "$name" -perm -100)
	[ -z "$found" ] || cp "$found" "$folder/$name"
done
[ -x "$folder/understudy" ] || fail "$archive has no understudy"
"$folder/understudy" version
