#!/usr/bin/env bash
# Installs a published release from each registry, as users do: installed.sh v1.2.3. A registry
# may need minutes until it shows a version, so each command is tried for a while.
set -u -o pipefail
version=${1#v}
pythonic=$(sed -E 's/-(alpha|beta|rc)\.?/\1/; s/alpha/a/; s/beta/b/' <<<"$version")
work=$(mktemp -d)
cd "$work" || exit 1
failed=()

# try NAME COMMAND... runs a command until what it prints has the version.
try() {
	local name=$1 said=
	shift
	for _ in {1..20}; do
		if said=$("$@" 2>&1) && grep -qF "$version" <<<"$said"; then
			echo "ok      $name"
			return
		fi
		sleep 30
	done
	echo "FAILED  $name: $said"
	failed+=("$name")
}

wheel() { python3 -m venv --clear venv && "$(ls -d venv/bin venv/Scripts 2>/dev/null)/python" -m pip install --quiet "understudy-mock==$pythonic" && "$(ls -d venv/bin venv/Scripts 2>/dev/null)/understudy-mock" version; }
program() { GOBIN=$work/bin go install "github.com/understudy-mock/understudy/cmd/...@v$version" && bin/understudy version; }
image() { docker run --rm "ghcr.io/understudy-mock/understudy:$version" version; }
script() { curl -fsSL "https://raw.githubusercontent.com/understudy-mock/understudy/v$version/packaging/install.sh" | VERSION=$version INSTALL_DIR=$work/script sh; }
formula() { brew install --quiet understudy-mock/tap/understudy && "$(brew --prefix)/bin/understudy" version; }
flake() { nix --extra-experimental-features 'nix-command flakes' run --refresh github:understudy-mock/homebrew-tap -- version; }
# What Windows runs has no command python3.
command -v python3 >/dev/null || python3() { python "$@"; }
bucket() { scoop bucket add understudy https://github.com/understudy-mock/homebrew-tap; scoop install understudy && understudy version; }
signed() {
	gh release download "v$version" --repo understudy-mock/understudy --clobber --pattern SHA256SUMS --pattern "understudy-$version-linux-amd64.tar.gz" &&
		gh attestation verify "understudy-$version-linux-amd64.tar.gz" --repo understudy-mock/understudy && echo "$version"
}

try npm npx --yes "understudy-mock@$version" version
try PyPI wheel
try Go program
case $(uname -s) in
Linux | Darwin) try install.sh script ;;
esac
[ "$(uname -s)" != Linux ] || try image image
for client in brew:formula nix:flake scoop:bucket; do
	case $version in *-*) continue ;; esac # a prerelease is not in the tap
	if command -v "${client%%:*}" >/dev/null; then try "${client%%:*}" "${client##*:}"; else echo "not here: ${client%%:*}"; fi
done
try provenance signed
[ ${#failed[@]} -eq 0 ]
