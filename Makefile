# `make help` lists the targets. Everything that a target needs and that is not
# in go.mod goes to .tmp, which git ignores.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory

GO ?= go
ARGS ?=
DIST ?= $(CURDIR)/dist
TMP := $(CURDIR)/.tmp
BIN := $(TMP)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X main.version=$(VERSION)
# The linter is pinned here and not in go.mod, whose graph it would treble.
GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
# So is the check for known vulnerabilities; its database is that of the Go project.
GOVULNCHECK_VERSION := v1.1.4
GOVULNCHECK := $(BIN)/govulncheck-$(GOVULNCHECK_VERSION)
VULN_DB ?= https://vuln.go.dev
# And Helm, for its chart.
HELM_VERSION := v3.18.4
HELM := $(BIN)/helm-$(HELM_VERSION)
BENCH ?= .
BEFORE ?=
CONTRACT ?=
SOAK ?= 10m
LIVES ?= 10000
N ?= 1000000
TIMES ?= 10
NIGHTLY_TIMES ?= 5

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/understudy and bin/understudy-conform
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: binaries
binaries: ## The programs for all platforms in dist, from which all packages are made
	$(GO) run ./packaging/build --out '$(DIST)' --version '$(VERSION)'

.PHONY: release
release: ## The same with archives, checksums and bills of materials
	$(GO) run ./packaging/build --out '$(DIST)' --version '$(VERSION)' --archives

# Each package has a line here that makes it, and one below that tries it.
.PHONY: package
package: ## Everything that a release publishes, in dist
	@$(MAKE) release
	@$(MAKE) tarballs
	@$(MAKE) wheels
	@$(MAKE) image

.PHONY: packages
packages: ## Build for all platforms, and try each package as its users do
	@echo '== packages'
	@$(MAKE) release
	DIST='$(DIST)' $(GO) test -count=1 -timeout 15m -run '^TestPackaging' ./packaging/build
	@DIST='$(DIST)' $(MAKE) npm
	@DIST='$(DIST)' $(MAKE) pypi
	@DIST='$(DIST)' $(MAKE) image-test

.PHONY: image
image: ## Container images for amd64 and arm64 in dist/image, from the binaries in dist
	cd packaging/oci && $(GO) run . --dist '$(DIST)' --version '$(VERSION:v%=%)' --out '$(DIST)/image'

.PHONY: image-test
image-test: ## The images, and what CI services, Compose and Kubernetes read
	@echo '== image'
	cd packaging/oci && $(GO) vet . && $(GO) test -count=1 .
	@echo '== recipes'
	$(GO) test -count=1 -run '^TestPackaging' ./packaging

.PHONY: helm
helm: $(HELM) ## The chart against Helm itself, which takes minutes to build
	HELM='$(HELM)' $(GO) test -count=1 -v -run '^TestPackagingHelm$$' ./packaging

$(HELM):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) GOFLAGS= $(GO) install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)
	@mv $(BIN)/helm $@

.PHONY: run
run: build ## Run the stand-in; ARGS='--clock manual' adds flags
	exec bin/understudy serve $(ARGS)

.PHONY: test
test: ## Everything that must pass, fast checks first
	@$(MAKE) fmt vet check
	@$(MAKE) house
	@$(MAKE) vuln
	@$(MAKE) tools
	@$(MAKE) race
	@$(MAKE) simulate
	@$(MAKE) conform
	@$(MAKE) memory TIMES=4
	@$(MAKE) clients
	@$(MAKE) contract
	@$(MAKE) packages

# Without network nothing fails: one line says that nothing was checked.
.PHONY: vuln
vuln: ## Known vulnerabilities in what the code calls, if the database can be reached
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
vet: ## go vet
	@echo '== go vet'
	$(GO) vet ./...

.PHONY: check
check: ## Fail if a generated file is stale
	@echo '== generated files'
	@mkdir -p $(TMP)
	@grep -rl --include='*.go' --include='*.py' --include='*.d.ts' --exclude-dir=node_modules --exclude-dir=.tmp '^\(//\|#\) Code generated .* DO NOT EDIT' . | cat - <(ls spec/openapi.json spec/control.json README.md docs/operations.md docs/steps.md) | sort -u | xargs sha256sum > $(TMP)/generated.sum
	$(GO) generate ./...
	@sha256sum --check --quiet $(TMP)/generated.sum || { echo 'these were stale; they are fresh now: commit them'; exit 1; }

.PHONY: generate
generate: ## Write all generated files anew
	$(GO) generate ./...

.PHONY: house
house: ## The house rules: imports, locks, goroutines, clock, names, sizes
	@echo '== house rules'
	$(GO) test ./internal/house

.PHONY: unit
unit: ## Go tests without the race detector and without the real clients
	@echo '== go test'
	$(GO) test -skip '^(TestHouse|TestClient|TestContract|TestPackaging|TestMutants$$|TestLatitudes|TestIndependent$$|TestMemoryStays)' ./...

.PHONY: race
race: ## Go tests under the race detector, without the real clients
	@echo '== go test -race'
	$(GO) test -race -timeout 15m -skip '^(TestHouse|TestClient|TestContract|TestPackaging|TestMutants$$|TestLatitudes|TestIndependent$$|TestConformProcess)' ./...

.PHONY: soak
soak: ## Random traffic under the race detector; SOAK=1h takes longer than 10m
	@echo '== soak, $(SOAK)'
	SOAK=$(SOAK) $(GO) test -race -count=1 -v -timeout 24h -run '^TestSoak$$' ./mockserver

.PHONY: simulate
simulate: ## Random lives, replayed to the same bytes, cut and continued; N=10000000 commands with faults
	@echo '== simulation, $(LIVES) lives and $(N) commands'
	LIVES=$(LIVES) N=$(N) $(GO) test -count=1 -v -timeout 24h -run '^TestSimulate' ./engine

.PHONY: memory
memory: ## TIMES=10 times as much of everything as a server may keep, and its resident memory
	@echo '== memory'
	TIMES=$(TIMES) $(GO) test -count=1 -v -timeout 30m -run '^TestMemoryStaysBelowItsBound$$' ./cmd/understudy

.PHONY: conform
conform: ## The suite against a stand-in of its own, then against a separate process
	@echo '== conformance'
	$(GO) test -count=1 -run '^TestConform' ./cmd/understudy-conform
	@echo '== mutants and latitudes'
	$(GO) test -count=1 -parallel 8 -run '^(TestMutants|TestLatitudes)' ./cmd/understudy-conform
	@echo '== an independent server'
	$(GO) test -count=1 -run '^TestIndependent$$' ./cmd/understudy-conform

.PHONY: mutants
mutants: ## Every broken and every unusual implementation against the whole suite, as a table
	@cd cmd/understudy-conform && MUTANTS=full $(GO) test -count=1 -parallel 8 -timeout 20m -run '^(TestMutants|TestLatitudes)' # in its folder, go test prints the table
	MUTANTS=full $(GO) test -count=1 -parallel 4 -timeout 90m -run '^TestIndependent$$' ./cmd/understudy-conform

.PHONY: nightly
nightly: ## Every broken implementation in real time, NIGHTLY_TIMES=5 times each; all verdicts must agree
	@cd cmd/understudy-conform && MUTANTS=profile LIVE=1 TIMES=$(NIGHTLY_TIMES) $(GO) test -count=1 -parallel 12 -timeout 6h -run '^TestMutants$$'

.PHONY: clients
clients: ## The published client packages against the stand-in (needs node and python3)
	@echo '== real clients'
	$(GO) test -count=1 -v -run '^TestClient' ./cmd/understudy ./mockserver/kv

.PHONY: tarballs
tarballs: ## The npm packages in dist/npm, from the binaries in dist
	$(GO) run ./packaging/npm --dist '$(DIST)' --out '$(DIST)/npm' --version '$(VERSION)'

.PHONY: npm
npm: ## The npm packages, installed without network and used (needs node)
	@echo '== npm packages'
	$(GO) test -count=1 -timeout 15m -run '^TestPackaging' ./packaging/npm

.PHONY: wheels
wheels: ## The PyPI packages in dist/wheels, from the binaries in dist (needs python3)
	python3 packaging/pypi/wheels.py --binaries '$(DIST)' --out '$(DIST)/wheels' --version '$(VERSION)'

.PHONY: pypi
pypi: ## The PyPI package: its wheel, installed without an index and used (needs python3)
	@echo '== PyPI package'
	$(GO) test -count=1 -timeout 15m -run '^TestPackaging' ./packaging/pypi

.PHONY: contract
contract: ## The server against its own documents, by schemathesis (needs python3); CONTRACT=200 makes more examples
	@echo '== contract'
	CONTRACT=$(CONTRACT) $(GO) test -count=1 -v -timeout 2h -run '^TestContract' ./cmd/understudy

.PHONY: lint
lint: $(GOLANGCI_LINT) ## golangci-lint, see .golangci.yml
	$(GOLANGCI_LINT) run ./...

$(GOLANGCI_LINT):
	@mkdir -p $(BIN)
	GOBIN=$(BIN) GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(BIN)/golangci-lint $@

.PHONY: bench
bench: ## Benchmarks; BENCH=Publish picks some
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 20m ./...

.PHONY: bench-start
bench-start: ## From the start of a server to its first answer; BEFORE=FILE compares with another build
	BEFORE='$(BEFORE)' $(GO) test -run '^$$' -bench '^BenchmarkStart$$' -benchtime 15x ./cmd/understudy

.PHONY: cover
cover: ## Coverage of every package by all tests
	@mkdir -p $(TMP)
	$(GO) test -skip '^(TestHouse|TestClient|TestContract|TestPackaging)' -coverpkg=./... -coverprofile=$(TMP)/cover.out ./...
	@$(GO) tool cover -func=$(TMP)/cover.out | tail -1

# chromium is large, and wanted only once a test of the page asks for it.
.PHONY: tools
tools: ## Install what some tests need beside Go and node (Debian, as root)
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
screenshot: ## Make the picture of the README anew (needs chromium)
	SHOTS=$(CURDIR)/docs $(GO) test -count=1 -run '^TestScreenshot$$' ./mockserver/ui

.PHONY: clean
clean: ## Remove what was built or downloaded
	rm -rf bin dist $(TMP)
	find . -name node_modules -prune -exec rm -rf {} +
