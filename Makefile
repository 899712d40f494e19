# `make help` lists the targets. Tools that are not in go.mod are installed in
# .tmp, which git ignores.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory

GO ?= go
ARGS ?=
DIST ?= $(CURDIR)/dist
PLATFORMS ?=
TMP := $(CURDIR)/.tmp
BIN := $(TMP)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X main.version=$(VERSION)
# The linter is pinned here, because in go.mod it would triple the module graph.
GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
# So is the check for known vulnerabilities, with the database of the Go project.
GOVULNCHECK_VERSION := v1.1.4
GOVULNCHECK := $(BIN)/govulncheck-$(GOVULNCHECK_VERSION)
VULN_DB ?= https://vuln.go.dev
# So is Helm, which tests the chart.
HELM_VERSION := v3.18.4
HELM := $(BIN)/helm-$(HELM_VERSION)
BENCH ?= .
BEFORE ?=
DOCS ?=
CONTRACT ?=
SOAK ?= 10m
LIVES ?= 10000
ROUNDS ?= 20
KILLS ?= 200
N ?= 1000000
TIMES ?= 10
NIGHTLY_TIMES ?= 5

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-20s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/understudy and bin/understudy-conform
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: binaries
binaries: ## Build the programs for all platforms into dist; all packages are made from them
	$(GO) run ./packaging/build --out '$(DIST)' --version '$(VERSION)'

.PHONY: release
release: ## Build programs, archives, checksums and bills of materials into dist; PLATFORMS=linux/arm64,windows/amd64 builds some
	$(GO) run ./packaging/build --out '$(DIST)' --platform '$(PLATFORMS)' --version '$(VERSION)' --archives

# Each package has a target that builds it and a target that tests it. `local`
# builds from this checkout what the registries offer after a release.
HERE = $(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)

.PHONY: local
local: ## Build the npm packages and the wheel for this machine into dist (the wheel needs python3)
	@rm -f '$(DIST)'/npm/*.tgz '$(DIST)'/wheels/*.whl
	$(GO) run ./packaging/build --out '$(DIST)' --platform '$(subst -,/,$(HERE))' --version '$(VERSION)'
	$(GO) run ./packaging/npm --dist '$(DIST)' --out '$(DIST)/npm' --platform '$(subst -,/,$(HERE))' --version '$(VERSION)'
	python3 packaging/pypi/wheels.py --binaries '$(DIST)' --platform '$(HERE)' --out '$(DIST)/wheels' --version '$(VERSION)'

.PHONY: package
package: ## Build everything that a release publishes into dist
	@$(MAKE) release
	@$(MAKE) tarballs
	@$(MAKE) wheels
	@$(MAKE) image

.PHONY: packages
packages: ## Build for all platforms or PLATFORMS, then install and test each package like a user
	@echo '== packages'
	@$(MAKE) release
	DIST='$(DIST)' $(GO) test -count=1 -timeout 25m -run '^TestPackaging' ./packaging/build
	@DIST='$(DIST)' $(MAKE) -j2 npm pypi image-test

.PHONY: image
image: ## Build container images for amd64 and arm64 into dist/image, from the binaries in dist
	cd packaging/oci && $(GO) run . --dist '$(DIST)' --version '$(VERSION:v%=%)' --out '$(DIST)/image'

.PHONY: image-test
image-test: ## Test the images, and the files for CI services, Compose and Kubernetes
	@echo '== image'
	cd packaging/oci && $(GO) vet . && $(GO) test -count=1 -timeout 20m .
	@echo '== recipes'
	$(GO) test -count=1 -timeout 20m -run '^TestPackaging' ./packaging

.PHONY: helm
helm: $(HELM) ## Test the chart with Helm itself, which takes minutes to build
	HELM='$(HELM)' $(GO) test -count=1 -timeout 20m -v -run '^TestPackagingHelm$$' ./packaging

$(HELM):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) GOFLAGS= $(GO) install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	@mv $(BIN)/helm $@

.PHONY: run
run: build ## Run the stand-in; ARGS='--clock manual' adds flags
	exec bin/understudy serve $(ARGS)

# This one, and the other systems with the largest programs: each takes a minute to compile.
SOME_PLATFORMS = $(subst -,/,$(HERE)),darwin/amd64,windows/arm64

# Stages with processes, clusters and browsers: on a machine that is busy with something else,
# a deadline may pass. Such a stage runs once more, and what passed in the first run is cached.
# A test that passes only then is a defect of the test or of the product: the line names the stage.
TWICE = twice() { $(MAKE) "$$@" || { echo "== FAILED ONCE: make $$*. It runs again; a test that passes now is unreliable and must be mended"; $(MAKE) "$$@"; }; }; twice

.PHONY: test
test: ## Run everything that must pass, fast checks first
	@$(MAKE) fmt vet check
	@$(MAKE) house
	@$(MAKE) vuln
	@$(TWICE) tools
	@$(TWICE) race
	@$(TWICE) apart
	@$(MAKE) simulate LIVES=4000 N=400000
	@$(TWICE) conform
	@$(TWICE) memory TIMES=4
	@$(TWICE) crash KILLS=20
	@$(TWICE) fleet
	@$(TWICE) -j2 clients contract
	@$(TWICE) packages PLATFORMS='$(SOME_PLATFORMS)'

# Without network the check is skipped with a message and does not fail.
.PHONY: vuln
vuln: ## Check the called code for known vulnerabilities, if the database is reachable
	@echo '== known vulnerabilities'
	@if ! curl -sSf --max-time 5 -o /dev/null '$(VULN_DB)/index/modules.json' 2>/dev/null; then echo 'not checked: the vulnerability database cannot be reached ($(VULN_DB))'; exit 0; fi; \
	if [ ! -x $(GOVULNCHECK) ]; then mkdir -p $(BIN); \
		if ! GOBIN=$(BIN) GOFLAGS= timeout 120 $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) 2>/dev/null; then echo 'not checked: govulncheck cannot be installed'; exit 0; fi; \
		mv $(BIN)/govulncheck $(GOVULNCHECK); fi; \
	code=0; said=$$(timeout 300 $(GOVULNCHECK) -db '$(VULN_DB)' ./... 2>&1) || code=$$?; \
	case $$code in \
	0) echo "$$said" | tail -1;; \
	3) echo "$$said"; exit 1;; \
	*) echo "not checked: $$(echo "$$said" | tail -1)";; esac

.PHONY: fmt
fmt: ## Fail if a file is not formatted
	@echo '== gofmt'
	@stale=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$stale" ]; then echo "not formatted, run gofmt -w on:"; echo "$$stale"; exit 1; fi

.PHONY: vet
vet: ## Run go vet
	@echo '== go vet'
	$(GO) vet ./...

.PHONY: check
check: ## Fail if a generated file is stale
	@echo '== generated files'
	@mkdir -p $(TMP)
	@grep -rl --include='*.go' --include='*.py' --include='*.d.ts' --exclude-dir=node_modules --exclude-dir=.tmp '^\(//\|#\) Code generated .* DO NOT EDIT' . | cat - <(ls spec/openapi.json spec/control.json docs/operations.md docs/control.md docs/commands.md docs/files.md docs/steps.md docs/life-of-a-message.svg docs/life-of-a-run.svg spec/config.schema.json spec/stubs.schema.json) | sort -u | xargs sha256sum > $(TMP)/generated.sum
	$(GO) generate ./...
	@sha256sum --check --quiet $(TMP)/generated.sum || { echo 'these files were stale and are now up to date: commit them'; exit 1; }

.PHONY: generate
generate: ## Regenerate all generated files
	$(GO) generate ./...

.PHONY: house
house: ## Check the house rules: imports, locks, goroutines, clock, names
	@echo '== house rules'
	$(GO) test ./internal/house

.PHONY: unit
unit: ## Run the Go tests without the race detector and without the real clients
	@echo '== go test'
	$(GO) test -skip '^(TestHouse|TestClient|TestContract|TestPackaging|TestMutants$$|TestLatitudes|TestIndependent$$|TestMemoryStays)' ./...

# Packages that test separate processes, or the page in a browser: there the race
# detector would check only the test itself.
APART = ./cmd/understudy ./mockserver/ui ./packaging/...

.PHONY: race
race: ## Run the Go tests with the race detector, without the real clients
	@echo '== go test -race'
	$(GO) test -race -timeout 25m -skip '^(TestHouse|TestClient|TestContract|TestPackaging|TestMutants$$|TestLatitudes|TestIndependent$$|TestConform)' $$($(GO) list ./... | grep -vxF "$$($(GO) list $(APART))")

.PHONY: apart
apart: ## Run the Go tests of programs, packages and the page, which use separate processes
	@echo '== go test of separate processes'
	$(GO) test -timeout 25m -skip '^(TestClient|TestContract|TestPackaging|TestMemoryStays|TestCrash|TestDamagedFolder|TestFullDisk|TestSyncComesFirst|TestFleet)' $(APART)

.PHONY: soak
soak: ## Send random traffic under the race detector; SOAK=1h runs longer than 10m
	@echo '== soak, $(SOAK)'
	SOAK=$(SOAK) $(GO) test -race -count=1 -v -timeout 24h -run '^TestSoak$$' ./mockserver

.PHONY: simulate
simulate: ## Run random sequences of commands, compare their replays; N=10000000 commands with faults
	@echo '== simulation, $(LIVES) lives and $(N) commands'
	LIVES=$(LIVES) N=$(N) $(GO) test -count=1 -v -timeout 24h -run '^TestSimulate' ./engine

.PHONY: crash
crash: ## Kill a busy server with --data KILLS=200 times at random moments, and damage its data at 100 places
	@echo '== $(KILLS) kills'
	KILLS=$(KILLS) $(GO) test -count=1 -v -timeout 20m -run '^(TestCrash|TestDamagedFolder|TestFullDisk|TestSyncComesFirst)$$' ./cmd/understudy

.PHONY: fleet
fleet: ## Test three servers and a JetStream cluster of three, with ROUNDS=20 faults, and docs/fleet.md
	@echo '== fleet, $(ROUNDS) rounds'
	ROUNDS=$(ROUNDS) $(GO) test -count=1 -v -timeout 20m -run '^TestFleet' ./cmd/understudy

.PHONY: memory
memory: ## Send a server TIMES=10 times as much data as it may keep, and check its resident memory
	@echo '== memory'
	TIMES=$(TIMES) $(GO) test -count=1 -v -timeout 30m -run '^TestMemoryStaysBelowItsBound$$' ./cmd/understudy

# In parallel: the suite and the independent server wait in real time.
.PHONY: conform
conform: ## Run the suite against the built-in stand-in, a separate process, mutants and an independent server
	@$(MAKE) -j3 conform-own conform-mutants conform-independent

.PHONY: conform-own
conform-own: ## Run the suite against the built-in stand-in and against a separate process
	@echo '== conformance'
	$(GO) test -count=1 -timeout 20m -run '^TestConform' ./cmd/understudy-conform

.PHONY: conform-mutants
conform-mutants: ## Run parts of the suite against broken and unusual implementations
	@echo '== mutants and latitudes'
	$(GO) test -count=1 -timeout 20m -parallel 8 -run '^(TestMutants|TestLatitudes)' ./cmd/understudy-conform

.PHONY: conform-independent
conform-independent: ## Run the suite against an independent server (needs python3)
	@echo '== an independent server'
	$(GO) test -count=1 -timeout 20m -run '^TestIndependent$$' ./cmd/understudy-conform

.PHONY: mutants
mutants: ## Run the whole suite against every broken and every unusual implementation, and print a table
	@cd cmd/understudy-conform && MUTANTS=full $(GO) test -count=1 -parallel 8 -timeout 20m -run '^(TestMutants|TestLatitudes)' # in the directory of the package, go test prints the table
	MUTANTS=full $(GO) test -count=1 -parallel 4 -timeout 90m -run '^TestIndependent$$' ./cmd/understudy-conform

.PHONY: nightly
nightly: ## Run every broken implementation in real time, NIGHTLY_TIMES=5 times each; all verdicts must agree
	@cd cmd/understudy-conform && MUTANTS=profile LIVE=1 TIMES=$(NIGHTLY_TIMES) $(GO) test -count=1 -parallel 12 -timeout 6h -run '^TestMutants$$'

.PHONY: clients
clients: ## Run the published client packages against the stand-in (needs node and python3)
	@echo '== real clients'
	$(GO) test -count=1 -timeout 20m -v -run '^TestClient' ./cmd/understudy ./mockserver/kv

.PHONY: tarballs
tarballs: ## Build the npm packages into dist/npm, from the binaries in dist
	$(GO) run ./packaging/npm --dist '$(DIST)' --out '$(DIST)/npm' --version '$(VERSION)'

.PHONY: npm
npm: ## Install the npm packages without network and test them (needs node)
	@echo '== npm packages'
	$(GO) test -count=1 -timeout 25m -run '^TestPackaging' ./packaging/npm

.PHONY: wheels
wheels: ## Build the PyPI packages into dist/wheels, from the binaries in dist (needs python3)
	python3 packaging/pypi/wheels.py --binaries '$(DIST)' --out '$(DIST)/wheels' --version '$(VERSION)'

.PHONY: pypi
pypi: ## Install the wheel of the PyPI package without an index and test it (needs python3)
	@echo '== PyPI package'
	$(GO) test -count=1 -timeout 25m -run '^TestPackaging' ./packaging/pypi

.PHONY: contract
contract: ## Test the server against its own documents with schemathesis (needs python3); CONTRACT=200 tries more examples
	@echo '== contract'
	CONTRACT=$(CONTRACT) $(GO) test -count=1 -v -timeout 2h -run '^TestContract' ./cmd/understudy

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint, see .golangci.yml
	$(GOLANGCI_LINT) run ./...

$(GOLANGCI_LINT):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(BIN)/golangci-lint $@

.PHONY: bench
bench: ## Run benchmarks; BENCH=Publish selects some
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 20m ./...

.PHONY: bench-start
bench-start: ## Measure the time from the start of a server to its first answer; BEFORE=FILE compares with another build
	BEFORE='$(BEFORE)' $(GO) test -run '^$$' -bench '^BenchmarkStart$$' -benchtime 15x ./cmd/understudy

# Takes about two minutes; ROUNDS=3 runs fewer rounds, PEERS=no omits other programs.
.PHONY: bench-http
bench-http: ## Compare servers with a bare handler, a bare relay and other stand-ins, as processes; DOCS=docs/performance.md writes the table there
	DOCS='$(if $(DOCS),$(abspath $(DOCS)))' $(GO) test -run '^$$' -bench '^BenchmarkHTTP$$' -benchtime 1x -timeout 30m ./cmd/understudy

.PHONY: growth
growth: ## Measure operations with 1,000 to N=1000000 stored messages; writes table and plot to docs/performance.md
	DOCS='$(CURDIR)/docs/performance.md' N=$(N) $(GO) test -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 1x -timeout 30m ./cmd/understudy

.PHONY: bench-data
bench-data: ## Compare servers with --data and servers in memory, as processes; and their start with stored data
	$(GO) test -run '^$$' -bench '^BenchmarkData' -benchtime 1x -timeout 30m ./cmd/understudy

.PHONY: bench-paint
bench-paint: ## Measure the time to the first paint of the page with 100,000 messages, in ms (needs chromium)
	$(GO) test -run '^$$' -bench '^BenchmarkFirstPaint$$' -benchtime 20x -timeout 5m ./mockserver/ui

.PHONY: bench-watched
bench-watched: ## Compare the rate of deliveries with two open pages and without (needs chromium)
	$(GO) test -run '^$$' -bench '^BenchmarkWatched$$' -benchtime 3x -timeout 10m ./mockserver/ui

.PHONY: cover
cover: ## Measure the coverage of every package by all tests
	@mkdir -p $(TMP)
	$(GO) test -skip '^(TestHouse|TestClient|TestContract|TestPackaging)' -coverpkg=./... -coverprofile=$(TMP)/cover.out ./...
	@$(GO) tool cover -func=$(TMP)/cover.out | tail -1

# chromium is large, so it is installed only if a test uses it.
.PHONY: tools
tools: ## Install what some tests need besides Go and node (Debian, as root)
	@echo '== tools'
	@missing=''; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; \
	if command -v python3 >/dev/null && ! python3 -c 'import ensurepip' 2>/dev/null; then missing="$$missing python3-venv"; fi; \
	for tool in strace man; do if [ "$$(uname)" = Linux ] && ! command -v $$tool >/dev/null; then missing="$$missing $${tool/%man/man-db}"; fi; done; \
	if grep -rqw --include='*_test.go' chromium . && ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then missing="$$missing chromium"; fi; \
	if [ -z "$$missing" ]; then echo 'nothing is missing'; exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then echo "missing:$$missing (what needs them is skipped, or fails with CI=true)"; exit 0; fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get update -q && apt-get install -qy --no-install-recommends $$missing; } >/dev/null || echo "could not install:$$missing"

.PHONY: screenshot
screenshot: ## Regenerate the screenshot of the README (needs chromium)
	SHOTS=$(CURDIR)/docs $(GO) test -count=1 -timeout 20m -run '^TestScreenshot$$' ./mockserver/ui

SITE_TOOLS := $(TMP)/site-tools
.PHONY: site
site: $(SITE_TOOLS)/.installed ## Build the documentation as a static site in dist/site, with search (needs python3)
	PYTHONPATH='$(SITE_TOOLS)' NO_MKDOCS_2_WARNING=1 python3 -m mkdocs build --strict --quiet --config-file packaging/site/mkdocs.yml --site-dir '$(DIST)/site'

$(SITE_TOOLS)/.installed: packaging/site/requirements.txt
	rm -rf '$(SITE_TOOLS)'
	python3 -m pip install --quiet --disable-pip-version-check --target '$(SITE_TOOLS)' --requirement packaging/site/requirements.txt
	touch $@

.PHONY: clean
clean: ## Remove what was built or downloaded
	rm -rf bin dist $(TMP)
	find . -name node_modules -prune -exec rm -rf {} +
