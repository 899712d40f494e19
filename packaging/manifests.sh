#!/usr/bin/env bash
# Writes what names a release from the files of the release:
#
#   packaging/manifests.sh DIST v1.2.3
#
#   DIST/tap                              formula for Homebrew, manifest for Scoop, flake for Nix
#   DIST/understudy-1.2.3-chart.tgz       the Helm chart
#   DIST/understudy-1.2.3-kubernetes.yaml the manifests for kubectl
#   DIST/NOTES                            the section of the changelog
#
# The same release gives the same bytes. It needs GNU tar.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
dist=$(cd "$1" && pwd)
version=${2#v}

fill=(-e "s|@RELEASE@|https://github.com/understudy-mock/understudy/releases/download/v$version|; s|@VERSION@|$version|g")
for platform in darwin-amd64 darwin-arm64 linux-amd64 linux-arm64 windows-amd64 windows-arm64; do
	sum=$(awk -v name="understudy-$version-$platform" 'index($2, name ".") == 1 { print $1 }' "$dist/SHA256SUMS")
	[ -n "$sum" ] || { echo "manifests: $dist/SHA256SUMS has no archive understudy-$version-$platform" >&2 && exit 1; }
	fill+=(-e "s|@SUM-$platform@|$sum|")
done
rm -rf "$dist/tap" "$dist"/understudy-*-chart.tgz "$dist"/understudy-*-kubernetes.yaml
for file in Formula/understudy.rb README.md bucket/understudy.json flake.nix; do
	mkdir -p "$dist/tap/$(dirname "$file")"
	sed "${fill[@]}" "$here/manifests/$file" >"$dist/tap/$file"
done

# The version in the checkout is that of the latest release, or of the first one.
before=$(sed -n 's/^appVersion: //p' "$here/helm/understudy/Chart.yaml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$here/helm/understudy" "$work/understudy"
sed "s/^\(version\|appVersion\): .*/\1: $version/" "$here/helm/understudy/Chart.yaml" >"$work/understudy/Chart.yaml"
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@0 --directory "$work" -c understudy | gzip -n -9 >"$dist/understudy-$version-chart.tgz"
sed "s/\(version: \"\|understudy:\)${before//./\\.}\"/\1$version\"/" "$here/kubernetes/understudy.yaml" >"$dist/understudy-$version-kubernetes.yaml"

# What the release says of itself: its section of the changelog, or what is not released yet.
section() { awk -v want="## [$1]" 'index($0, "## [") == 1 { inside = index($0, want) == 1; next } inside' "$here/../CHANGELOG.md"; }
section "$version" >"$dist/NOTES"
[ -s "$dist/NOTES" ] || section Unreleased >"$dist/NOTES"
