# `make help` lists the targets. Tools that are not in go.mod are installed in
# .tmp, which git ignores.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory

GO ?= go
ARGS ?=
WHAT ?=
DIST ?= $(CURDIR)/dist
PLATFORMS ?=
TMP := $(CURDIR)/.tmp
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
# Without C for every target, as in what is published: each package is compiled once.
export CGO_ENABLED := 0
# The time in images: that of the commit.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
BENCH ?= .
BEFORE ?=
DOCS ?=
N ?= 1000000

# This machine, as the platform of a package.
HERE = $(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/understudy and bin/understudy-conform
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: run
run: ## Build and run the stand-in; ARGS='--clock manual' adds flags
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/understudy
	exec bin/understudy serve $(ARGS)

.PHONY: test
test: ## Test what a change can break; needs only Go, and takes three minutes
	@exec .ci/tests test

.PHONY: verify
verify: ## Run `make test` and all other tests, and install what they need (Debian, as root)
	@exec .ci/tests verify

.PHONY: nightly
nightly: ## Run `make verify`, then its long forms, which take hours
	@exec .ci/tests nightly

.PHONY: lint
lint: ## Run golangci-lint, see .golangci.yml
	@exec .ci/tests lint

.PHONY: generate
generate: ## Write all generated files: generators are tests, and the second line reads what the first one writes
	$(GO) test -count=1 -run '^TestGenerated' ./spec -update
	$(GO) test -count=1 -run '^TestGenerated' ./conformance ./engine/internal/state ./internal/house ./mockserver/kv ./packaging ./cmd/understudy ./cmd/understudy-conform -update

# Each way to measure has its own benchmark; they compare separate processes in turns.
bench_go     = $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 20m ./...
bench_start  = BEFORE='$(BEFORE)' $(GO) test -run '^$$' -bench '^BenchmarkStart$$' -benchtime 15x ./cmd/understudy
bench_http   = BEFORE='$(BEFORE)' DOCS='$(if $(DOCS),$(abspath $(DOCS)))' $(GO) test -run '^$$' -bench '^BenchmarkHTTP$$' -benchtime 1x -timeout 30m ./cmd/understudy
bench_data   = $(GO) test -run '^$$' -bench '^BenchmarkData' -benchtime 1x -timeout 30m ./cmd/understudy
bench_growth = DOCS='$(CURDIR)/docs/performance.md' N=$(N) $(GO) test -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 1x -timeout 30m ./cmd/understudy
bench_build  = DOCS='$(CURDIR)/docs/contributing/development.md' $(GO) test -run '^$$' -bench '^BenchmarkBuild$$' -benchtime 1x -timeout 30m ./cmd/understudy
bench_paint  = $(GO) test -run '^$$' -bench '^Benchmark(FirstPaint|Watched)$$' -benchtime 20x -timeout 20m -tags browser ./mockserver/ui

.PHONY: bench
bench: ## Measure WHAT=http|start|data|growth|paint|build; without it, all Go benchmarks, or those of BENCH=
	$(or $(bench_$(or $(WHAT),go)),$(error WHAT=$(WHAT): must be http, start, data, growth, paint or build))

# What the suite finds, in sorted lines. $(1) is a checkout.
verdicts = cd $(1)/cmd/understudy-conform && rm -f verdicts.tmp && export VERDICTS=verdicts.tmp MUTANTS_OF_A_REQUIREMENT=20 && \
	{ $(GO) test -count=1 -timeout 1h -run '^Test(Verdicts|Latitudes|Independent)$$' . || true; $(GO) test -count=1 -timeout 3h -run '^TestMutants$$/^all$$/^($(or $(WHAT),.*))' . || true; } >&2; LC_ALL=C sort verdicts.tmp; rm verdicts.tmp

.PHONY: compare
compare: ## Compare with the commit BEFORE the verdicts of the suite, and the scenarios that find each mutant; WHAT='DLQ|RST' selects mutants
	rm -rf '$(TMP)/before' && git worktree prune && git worktree add --force --detach '$(TMP)/before' '$(or $(BEFORE),main)'
	($(call verdicts,'$(TMP)/before')) >'$(TMP)/before.txt'
	($(call verdicts,.)) >'$(TMP)/after.txt'
	git worktree remove --force '$(TMP)/before'
	diff '$(TMP)/before.txt' '$(TMP)/after.txt'

# The flags of the programs that are published, so that nothing is compiled twice.
tool             = $(GO) run -trimpath
programs         = $(tool) ./packaging/build --out '$(DIST)' --platform '$(PLATFORMS)' --version '$(VERSION)'
npm              = $(tool) ./packaging/npm --dist '$(DIST)' --out '$(DIST)/npm' --version '$(VERSION)'
pypi             = python3 packaging/pypi/wheels.py --binaries '$(DIST)' --out '$(DIST)/wheels' --version '$(VERSION)'
image            = (cd packaging/oci && $(tool) . --dist '$(DIST)' --version '$(VERSION:v%=%)' --revision "$$(git rev-parse HEAD 2>/dev/null)" --out '$(DIST)/image')
manifests        = packaging/manifests.sh '$(DIST)' '$(VERSION)'
package_archives = $(programs) --archives
package_npm      = $(programs) && $(npm)
package_pypi     = $(programs) && $(pypi)
package_image    = $(package_archives) && $(image)
package_all      = $(package_archives) && $(npm) && $(pypi) && $(image) && $(manifests)

.PHONY: package
package: ## Build what a release publishes into dist: all, or WHAT=archives|npm|pypi|image; PLATFORMS=linux/arm64,windows/amd64 builds some
	$(or $(package_$(or $(WHAT),all)),$(error WHAT=$(WHAT): must be archives, npm, pypi or image))

.PHONY: release-check
release-check: ## Prove what a tag VERSION=v1.2.3 would publish: build it, and use it by all clients without a network
	@exec packaging/release/check.sh '$(VERSION)'

local_npm  = $(npm) --platform '$(subst -,/,$(HERE))'
local_pypi = $(pypi) --platform '$(HERE)'
local_all  = $(local_npm) && $(local_pypi)

.PHONY: local
local: ## Build the npm packages and the wheel for this machine into dist, or WHAT=npm|pypi (the wheel needs python3)
	@rm -f '$(DIST)'/npm/*.tgz '$(DIST)'/wheels/*.whl
	$(programs) --platform '$(subst -,/,$(HERE))'
	$(or $(local_$(or $(WHAT),all)),$(error WHAT=$(WHAT): must be npm or pypi))

SITE_TOOLS := $(TMP)/site-tools
.PHONY: docs
docs: $(SITE_TOOLS)/.installed ## Build the documentation as a static site in dist/site, with search (needs python3)
	PYTHONPATH='$(SITE_TOOLS)' NO_MKDOCS_2_WARNING=1 python3 -m mkdocs build --strict --quiet --config-file packaging/site/mkdocs.yml --site-dir '$(DIST)/site'

$(SITE_TOOLS)/.installed: packaging/site/requirements.txt
	rm -rf '$(SITE_TOOLS)'
	python3 -m pip install --quiet --disable-pip-version-check --target '$(SITE_TOOLS)' --requirement packaging/site/requirements.txt
	touch $@

.PHONY: clean
clean: ## Remove what was built or downloaded
	rm -rf bin dist $(TMP)
	find . -name node_modules -prune -exec rm -rf {} +
