#!/usr/bin/env bash
# Proves on one machine what a tag would publish: `make release-check VERSION=v1.2.3`. It builds
# the release into dist/release, publishes it to registries on loopback, and uses it by all
# clients, without a network where the system can take it away. Tools are installed first.
set -u -o pipefail
cd "$(dirname "$0")/../.."
version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?$ ]] || { echo "release-check: invalid value \"$version\": VERSION must be a version such as v1.2.3 or v1.2.3-rc.1" >&2 && exit 2; }
export RELEASE=$PWD/dist/release RELEASE_VERSION=$version DIST=$PWD/dist/release
results=$PWD/.tmp/release-check
began=$SECONDS

rm -rf "$RELEASE" "$results" && mkdir -p "$results"
make package VERSION="$version" DIST="$RELEASE" || exit 1
printf 'built in %d s: %s in %d files\n' $((SECONDS - began)) "$(du -sh "$RELEASE" | cut -f1)" "$(find "$RELEASE" -type f | wc -l)"

# The tests need these: without them, they would be skipped.
TOOLS=1 go test -count=1 -run '^TestReleaseTools$' ./packaging/npm ./packaging/pypi || exit 1

alone=()
if unshare --net true 2>/dev/null && command -v ip >/dev/null; then
	alone=(unshare --net sh -c 'ip link set lo up && exec "$@"' sh)
	echo 'the tests have no network except loopback'
else
	echo 'the network cannot be taken away here: the tests could use it'
fi
began=$SECONDS
suite() { # NAME FOLDER TESTS
	(cd "$2" && "${alone[@]}" go test -count=1 -timeout 20m -json -run "$3" .) >"$results/$1.json"
}
suite release packaging/release '^TestRelease'
suite npm packaging/npm '^TestRelease$'
suite pypi packaging/pypi '^TestRelease$'
suite image packaging/oci '^TestRelease$'
suite archives packaging/build '^TestPackaging(Archive|Checksums|Bill)$'
suite install packaging '^TestPackagingInstall$'
printf 'tested in %d s\n\n' $((SECONDS - began))

exec python3 packaging/release/table.py "$results"
