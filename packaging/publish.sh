#!/usr/bin/env bash
# Publishes a part of a release from the files that `make package` wrote:
#
#   packaging/publish.sh draft|npm|pypi|image|tap|announce DIST v1.2.3
#
# Each part may run again: what has been published is left as it is. The clients get their
# credentials from the workflow; tests run the same commands against registries on loopback.
set -eu -o pipefail
part=$1
dist=$(cd "$2" && pwd)
tag=$3
version=${tag#v}
here=$(cd "$(dirname "$0")" && pwd)
repository=${REPOSITORY:-ghcr.io/understudy-mock/understudy}

prerelease() { case $version in *-*) true ;; *) false ;; esac }

# A release stays a draft, which only maintainers see, until everything else is published.
draft() {
	gh release view "$tag" >/dev/null 2>&1 ||
		gh release create "$tag" --draft --verify-tag --title "$tag" --notes-file "$dist/NOTES" $(prerelease && echo --prerelease)
	gh release upload "$tag" --clobber "$dist"/understudy-* "$dist"/SHA256SUMS* "$dist/NOTICE" "$dist"/image/understudy*.tar
}

# The launcher is last: it depends on the packages of the platforms.
npm_packages() {
	local file
	for file in "$dist"/npm/understudy-mock-{darwin,linux,win32}-*-"$version.tgz" "$dist/npm/understudy-mock-$version.tgz"; do
		name=$(basename "$file" "-$version.tgz")
		[ "$(npm view "$name@$version" version 2>/dev/null)" = "$version" ] && echo "$name $version is published" && continue
		npm publish "$file" --access public --tag "$(prerelease && echo next || echo latest)"
	done
}

# The attestations say which workflow built the wheels; they need its identity.
pypi() {
	local attested=() more=()
	if [ -n "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ]; then
		pypi-attestations sign "$dist"/wheels/*.whl
		attested=("$dist"/wheels/*.attestation) more=(--attestations)
	fi
	[ -n "${TWINE_REPOSITORY_URL:-}" ] || more+=(--skip-existing) # other registries do not know it
	twine upload --non-interactive --disable-progress-bar "${more[@]}" "$dist"/wheels/*.whl "${attested[@]}"
}

# It prints the tags with their digests, which are signed afterwards.
image() {
	local more=()
	prerelease || more+=(--latest)
	(cd "$here/oci" && CGO_ENABLED=0 go run -trimpath . --version "$version" --out "$dist/image" --push "$repository" "${more[@]}")
}

# TAP is the address of the repository with the formula.
tap() {
	local work
	work=$(mktemp -d)
	git clone --quiet --depth 1 "$TAP" "$work"
	cp -R "$dist/tap/." "$work"
	git -C "$work" add --all
	git -C "$work" diff --cached --quiet && echo "the tap has $version" && return
	git -C "$work" -c user.name=release -c user.email=release@users.noreply.github.com commit --quiet --message "understudy $version"
	git -C "$work" push --quiet origin HEAD
}

# The module proxy fetches a version when somebody asks for it.
announce() {
	gh release edit "$tag" --draft=false $(prerelease || echo --latest)
	(cd / && GOPROXY=${PROXY:-https://proxy.golang.org} go list -m "github.com/understudy-mock/understudy@$tag")
}

case $part in
draft | pypi | image | announce) "$part" ;;
npm) npm_packages ;;
tap) if prerelease; then echo 'a prerelease is not in the tap'; else tap; fi ;;
*) echo "publish: invalid part $part: must be draft, npm, pypi, image, tap or announce" >&2 && exit 2 ;;
esac
