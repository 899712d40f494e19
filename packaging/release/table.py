"""Print what a release was tested for, and what only a real push can show.

    python3 packaging/release/table.py FOLDER

FOLDER has the output of `go test -json`, a file for each suite of check.sh. The exit code is 1
if a test failed, or if a row has no test that ran.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# registry, artefact, suite, beginning of the tests, what they do, what only a real push can show
ROWS = [
    ("all", "files, NOTES", "release", "TestRelease(Files|Notes)", "exactly these files and no others; notes", ""),
    ("all", "programs", "release", "TestReleaseFormats", "format and processor, six platforms", "Gatekeeper, SmartScreen"),
    ("all", "programs", "release", "TestReleaseStarts", "print the version, also under emulation", "a start on macOS and Windows"),
    ("all", "packages", "release", "TestReleasePackages", "the same programs, NOTICE, LICENSE, size", ""),
    ("all", "README", "release", "TestReleaseReadme", "no links into a checkout", "how registries show it"),
    ("all", "bills, NOTICE", "release", "TestReleaseBills", "a known licence for each component", ""),
    ("GitHub", "archives", "archives", "TestPackagingArchive", "unpacked, run, manual page, completion", ""),
    ("GitHub", "SHA256SUMS", "release", "TestReleaseChecksums", "of all files, formula, manifest and flake", "signature, provenance"),
    ("GitHub", "bills", "archives", "TestPackagingBill", "schema of CycloneDX 1.6", ""),
    ("GitHub", "draft", "release", "TestReleaseDraft", "all files that others name; a second run", "upload, permissions"),
    ("GitHub", "release", "release", "TestReleaseAnnounce", "draft published, module proxy asked", "permissions"),
    ("GitHub", "install.sh", "install", "TestPackagingInstall", "latest, a version, a wrong checksum", "download"),
    ("npm", "7 packages", "npm", "TestRelease", "npm publish; npm, npx, yarn 1 and 4, pnpm, bun, deno", "names, trust, provenance"),
    ("PyPI", "6 wheels", "pypi", "TestRelease", "twine upload; pip, uv, uvx, pipx", "name, trust, attestations"),
    ("ghcr.io", "2 images", "image", "TestRelease", "push; pull for amd64 and arm64, labels, bills", "login, signature"),
    ("Go", "module", "release", "TestReleaseGo", "go install from a module proxy", "proxy, checksum database"),
    ("Homebrew", "formula", "release", "TestReleaseHomebrew", "valid Ruby; installs from four archives", "brew itself, deploy key"),
    ("Scoop", "manifest", "release", "TestReleaseScoop", "folder and programs of two archives", "scoop itself"),
    ("Nix", "flake", "release", "TestReleaseNix", "evaluates for four systems", "a build with nixpkgs"),
    ("Homebrew", "tap", "release", "TestReleaseTap", "one commit; a second run", "deploy key"),
    ("Kubernetes", "chart, manifest", "release", "TestReleaseKubernetes", "version, no namespace", "a cluster"),
]


def outcomes(file: Path) -> dict[str, str]:
    """Return pass, fail or skip for each test of a suite, subtests included."""
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("Action") in ("pass", "fail", "skip") and "Test" in event:
            found[event["Test"]] = event["Action"]
    return found


def printed(file: Path, tests: set[str]) -> list[str]:
    """Return what tests of a suite printed."""
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    return [e["Output"] for e in events if e.get("Action") == "output" and e.get("Test") in tests]


def main() -> None:
    folder = Path(sys.argv[1])
    failed, skipped, table = False, [], []
    for registry, artefact, suite, names, what, push in ROWS:
        wanted = names.replace("(", "|").replace(")", "|").split("|")
        tops = [wanted[0] + part for part in wanted[1:] if part] if len(wanted) > 1 else [names]
        found = {t: a for t, a in outcomes(folder / f"{suite}.json").items() if t.split("/")[0] in tops}
        ran = [a for t, a in found.items() if a != "skip"]
        result = "FAILED" if "fail" in ran or not ran else "ok"
        failed = failed or result == "FAILED"
        skipped += [t for t, a in found.items() if a == "skip"]
        table.append((result, registry, artefact, str(len(ran)), what, push))
    heading = ("result", "registry", "artefact", "tests", "what was tested here", "what only a real push can show")
    widths = [max(len(row[i]) for row in [heading, *table]) for i in range(len(heading))]
    for row in [heading, *table]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    for name in sorted(set(skipped)):
        print(f"not tested here: {name}")
    for file in sorted(folder.glob("*.json")):
        bad = {t for t, a in outcomes(file).items() if a == "fail"}
        if bad:
            print(f"\n{file.stem}:\n" + "".join(printed(file, bad)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
