# The workshop of agent-pipelines. `make` alone prints the targets. Everything here needs Go, git and make; what needs
# more says so. Nothing outside this directory is written except by `install` and into the user's cache directory.

GO         ?= go
BIN        ?= bin
PREFIX     ?= $(HOME)/.local
FUZZTIME   ?= 60s
FUZZ_GUIDED ?= -fuzz .
PARITY_DIR ?= ../shared/parity
CACHE      ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agent-pipelines
LINT_VERSION := v2.15.0
GORELEASER_VERSION := v2.16.0
SBOM_VERSION := v1.10.0
BUF_VERSION := v1.75.0

# A module's path is this prefix and its directory, so the workspace itself lists the directories.
MODULE_PREFIX := github.com/dodo-digital/agent-pipelines
MODULES    = $(or $(patsubst $(MODULE_PREFIX)/%,%,$(shell $(GO) list -m)),$(error no modules found: is Go installed?))
PACKAGES   = $(MODULES:%=./%/...)
# The packages with a line that matches the pattern $(1) in a test, or in a file named like $(2); it is an error if there are none.
packages_with = $(or $(sort $(patsubst %/,./%,$(dir $(shell grep -rlE '$(1)' --include='$(or $(2),*_test.go)' $(MODULES))))),$(error no file matches $(1)))
PLUGINS   := $(notdir $(patsubst %/go.mod,%,$(wildcard plugins/*/go.mod)))

# The version is the command's last tag; before the first one, a development version that names the commit.
TAGGED   = $(shell git describe --tags --dirty --match 'cmd/agent-pipelines/v*' 2>/dev/null)
COMMIT   = $(shell git describe --always --dirty=.dirty --exclude '*' 2>/dev/null)
REVISION = $(shell git rev-parse HEAD 2>/dev/null)
VERSION ?= $(or $(TAGGED:cmd/agent-pipelines/v%=%),0.0.0-dev$(COMMIT:%=+g%))

# The version above says which commit it is; Go need not ask git, which may refuse a checkout of another owner.
STATIC = CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags '-s -w -X $(MODULE_PREFIX)/cmd/agent-pipelines/internal/cli.Version=$(VERSION) -X $(MODULE_PREFIX)/cmd/agent-pipelines/internal/cli.commit=$(REVISION)'
LINT   = $(CACHE)/tools/golangci-lint-$(LINT_VERSION)/golangci-lint
GORELEASER = $(CACHE)/tools/goreleaser-$(GORELEASER_VERSION)/goreleaser
SBOM   = $(CACHE)/tools/cyclonedx-gomod-$(SBOM_VERSION)/cyclonedx-gomod
BUF    = $(CACHE)/tools/buf-$(BUF_VERSION)/buf
# A slow or busy machine may need longer for a package than the ten minutes that Go allows by default.
PATIENT = -timeout 40m
E2E    = AGENT_PIPELINES_BIN='$(CURDIR)/$(BIN)/agent-pipelines' $(GO) test $(PATIENT) -count=1 -tags e2ereal
# Packages begin in the order of the command line. The tests of these mostly wait, beside others that compute.
ALL_TESTS = ./test/faults ./engine/internal/sandbox ./plugin-sdk/verify work
# The race detector needs cgo, the programs that tests build do not. It otherwise sleeps one second at the end of every
# plugin process. Step vet has read the tests already.
RACE   = CGO_ENABLED=1 GORACE='atexit_sleep_ms=0' $(GO) test $(PATIENT) -vet=off -race -p 4 -exec 'env CGO_ENABLED=0'

# A sync to a disk takes milliseconds, and tests wait for thousands of them. Where a file system in memory can be written,
# has 4 GiB free and runs programs, tests have their files there; make IN_MEMORY= keeps them on the disk. GOTMPDIR must be
# empty: T.TempDir and testscript prefer it to TMPDIR.
IN_MEMORY = $(if $(shell test ! -w /dev/shm || grep -qsE ' /dev/shm .*noexec' /proc/mounts || df -Pk /dev/shm 2>/dev/null | awk 'NR > 1 && $$4 >= 4 * 1024 * 1024'),\
	GOTMPDIR= TMPDIR=/dev/shm)

# The steps of `make check`, cheap ones first.
CHECKS = gofmt imports tidy vet modules lint size proto-check proto-breaking build characterise conformance cover crash-short writers demo darwin fuzz e2e-smoke python dist-check bench-gate
# The build tag under which the kernel's numbered crash points exist.
CRASH_TAG = crashpoints
# Every build tag of ours, so that vet also reads what ordinary builds leave out.
TAGS = $(CRASH_TAG) dist e2ereal python parity

.DEFAULT_GOAL := help
.PHONY: help build share demo test characterise hostile characterise-record race cover crash crash-units writers orphans soak fuzz bench bench-gate bench-baseline golden proto parity recordings e2e-real e2e-smoke install clean snapshot dist-check release \
	fmt check words $(CHECKS) FORCE

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' Makefile

# Tests build programs with the flags of a release. With the same flags for the tests, each package is compiled once, and
# without the tables of a debugger and a linker, which neither needs.
check test hostile race cover crash crash-short: export GOFLAGS = -trimpath -gcflags=all=-dwarf=false -ldflags=-s
check test hostile race cover crash crash-short: export CGO_ENABLED = 0

## Building

build: $(BIN)/agent-pipelines $(PLUGINS:%=$(BIN)/plugins/agent-plugin-%) ## build the command and the plugins, static, into bin/

$(BIN)/agent-pipelines: FORCE
	$(STATIC) -o $@ ./cmd/agent-pipelines

$(BIN)/plugins/agent-plugin-%: FORCE
	$(STATIC) -o $@ ./plugins/$*

demo: build ## run the demonstration pipeline with the mock provider, in a fresh directory
	@dir=$$(mktemp -d "$${TMPDIR:-/tmp}/agent-pipelines-demo.XXXXXX") && cp -R cmd/agent-pipelines/gallery/demo/. "$$dir" && \
	bin=$$(cd $(BIN) && pwd) && cd "$$dir" && \
	MOCK_CONFIG=.claude/mock.json "$$bin/agent-pipelines" pipeline demo demo --foreground && \
	session="$$dir/.claude/pipeline-runs/demo" && echo "Plugin processes:" && \
	sed -n 's|.*"type":"plugin_started".*"pid":\([0-9]*\),"plugin":"[^"]*/\([^"/]*\)".*|  \2 (PID \1)|p' "$$session/events.jsonl" | grep . && \
	echo "The session is in $$session"

share: $(BIN)/agent-pipelines ## write what man and shells read, the manual and the completion, into bin/share/
	umask 022 && rm -rf '$(BIN)/share' && \
	mkdir -p '$(BIN)/share/bash-completion/completions' '$(BIN)/share/zsh/site-functions' '$(BIN)/share/fish/vendor_completions.d' && \
	$(BIN)/agent-pipelines completion bash >'$(BIN)/share/bash-completion/completions/agent-pipelines' && \
	$(BIN)/agent-pipelines completion zsh >'$(BIN)/share/zsh/site-functions/_agent-pipelines' && \
	$(BIN)/agent-pipelines completion fish >'$(BIN)/share/fish/vendor_completions.d/agent-pipelines.fish' && \
	$(BIN)/agent-pipelines man-pages '$(BIN)/share/man/man1'

install: build share ## install below PREFIX (default ~/.local): bin/, lib/agent-pipelines/plugins/, share/
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/agent-pipelines/plugins' '$(DESTDIR)$(PREFIX)/share'
	install -m 755 $(BIN)/agent-pipelines '$(DESTDIR)$(PREFIX)/bin/'
	install -m 755 $(PLUGINS:%=$(BIN)/plugins/agent-plugin-%) '$(DESTDIR)$(PREFIX)/lib/agent-pipelines/plugins/'
	umask 022 && cp -R '$(BIN)/share/.' '$(DESTDIR)$(PREFIX)/share/'
	@case ":$$PATH:" in *':$(PREFIX)/bin:'*) ;; *) echo "The shell does not look into $(PREFIX)/bin yet: export PATH=\"$(PREFIX)/bin:\$$PATH\"";; esac

clean: ## remove what was built
	rm -rf $(BIN) dist

## Releasing

snapshot: $(GORELEASER) $(SBOM) ## the archives, packages and checksums of a release, of this tree, into dist/; publishes nothing
	PATH='$(dir $(SBOM))':"$$PATH" '$(GORELEASER)' release --snapshot --clean

dist-check: snapshot ## inspect them: static, for four systems, run from an empty directory, equal when they are built again
	GORELEASER='$(GORELEASER)' $(GO) test $(PATIENT) -count=1 -tags dist ./test/dist

# The main line keeps the replace directives by which the modules find each other; a released module can have none.
release: ## prepare RELEASE=v0.1.0: a commit beside the main line that carries the tags of all modules; pushes nothing
	@case '$(RELEASE)' in v[0-9]*.[0-9]*.[0-9]*) ;; *) echo "say which: make release RELEASE=v0.1.0" >&2; exit 1;; esac; \
	test -z "$$(git status --porcelain)" || { echo "there are changes that are not committed: git status" >&2; exit 1; }; \
	grep -qF '## [$(RELEASE:v%=%)]' CHANGELOG.md || { echo "CHANGELOG.md has no section '## [$(RELEASE:v%=%)]': move there what is under [Unreleased]" >&2; exit 1; }; \
	for tag in $(TAGS_OF_RELEASE); do \
		! git rev-parse -q --verify "refs/tags/$$tag" >/dev/null || { echo "tag $$tag is there already" >&2; exit 1; }; \
	done; \
	tree=$$(mktemp -d) && trap 'git worktree remove --force "$$tree"' EXIT && git worktree add -q --detach "$$tree" HEAD && \
	cd "$$tree" && for m in $(MODULES); do \
		for needed in $(MODULES); do \
			! grep -q '$(MODULE_PREFIX)/'"$$needed v" "$$m/go.mod" || \
				$(GO) mod edit -require='$(MODULE_PREFIX)/'"$$needed@$(RELEASE)" -dropreplace='$(MODULE_PREFIX)/'"$$needed" "$$m/go.mod" || exit 1; \
		done; \
		! grep '=>' "$$m/go.mod" || { echo "$$m/go.mod replaces a module, which a release cannot: remove the replacement" >&2; exit 1; }; \
	done && git commit -qam 'release: $(RELEASE)' && \
	for tag in $(TAGS_OF_RELEASE); do git tag "$$tag" || exit 1; done && \
	echo "commit $$(git rev-parse HEAD) has the tags of $(RELEASE). Publish it:" && \
	echo "  git push origin $(TAGS_OF_RELEASE)" && echo "  git checkout $(RELEASE) && goreleaser release"

TAGS_OF_RELEASE = $(RELEASE) $(MODULES:%=%/$(RELEASE))

# With the flags of our own programs, so that the standard library is compiled once.
INSTALL_TOOL = GOFLAGS=-trimpath CGO_ENABLED=0 $(GO) install

# The newest release of each that Go 1.26 builds from what the module proxy has.
$(GORELEASER):
	@echo "installing goreleaser $(GORELEASER_VERSION) (once, a few minutes)"
	GOBIN='$(@D)' $(INSTALL_TOOL) github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

$(SBOM):
	GOBIN='$(@D)' $(INSTALL_TOOL) github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(SBOM_VERSION)

## Testing

# Tests copy these programs instead of linking them again. The go command does not see that: the second variable keeps it
# from answering out of its cache of test results when the programs have changed.
TESTED = $(BIN)/tested
test: imports ## run every test of every module; `make check` also runs vet
	$(MAKE) -s build BIN='$(TESTED)' VERSION=0.0.0-dev REVISION=
	AGENT_PIPELINES_BUILT='$(CURDIR)/$(TESTED)' AGENT_PIPELINES_BUILT_SUM="$$(cat $(TESTED)/agent-pipelines $(TESTED)/plugins/* | cksum)" \
	$(IN_MEMORY) $(GO) test $(PATIENT) -vet=off -p 4 $(ALL_TESTS)

# -count=1: the go command does not see that a test starts a binary.
CHARACTERISE = $(GO) test $(PATIENT) -count=1 -parallel 2 ./test/characterise -args -characterise.bin='$(CURDIR)/$(BIN)'

characterise: build ## compare the behaviour of the built command with the records in test/characterise
	$(CHARACTERISE)

# About ten minutes on two processors; make test runs each attack once.
hostile: ## run the attacks of testdata/hostile in each sandbox mode, as root and as another user, and print the results
	@mkdir -p '$(BIN)' && rm -f '$(HOSTILE_TABLE)'
	@$(IN_MEMORY) $(GO) test $(PATIENT) -vet=off -count=1 -run '^TestHostile$$' ./cmd/agent-pipelines -args -hostile.table='$(HOSTILE_TABLE)'; \
	code=$$?; cat '$(HOSTILE_TABLE)' && exit $$code

HOSTILE_TABLE = $(CURDIR)/$(BIN)/hostile.txt

characterise-record: build ## rewrite the records of characterise; review the diff
	$(CHARACTERISE) -characterise.record

race: imports ## the same with the race detector (needs a C compiler)
	$(IN_MEMORY) $(RACE) $(ALL_TESTS)

CRASH = cd test/crash && $(IN_MEMORY) $(GO) test -timeout 2h -count=1 -tags $(CRASH_TAG)

crash: crash-units ## kill the kernel at every numbered crash point of every shape, and compare the resumed runs (half an hour)
	$(CRASH) -args -crash.least=2000

crash-short: crash-units ## the same at each kind of point of each shape, in minutes
	$(CRASH) -args -crash.short -crash.least=200

crash-units: # single packages when they are killed
	$(GO) test -count=1 -tags $(CRASH_TAG) -run '^TestCrash' $(filter-out ./test/crash,$(call packages_with,^func TestCrash))

writers: ## let 8 processes with 4 branches each write 10000 events a branch, and check every line
	$(GO) test -count=1 -run '^TestManyWriters$$' ./engine -writers.events=10000

orphans: ## cancel ORPHANS (default 1000) times work with process trees, and count the survivors (Linux)
	$(GO) test $(PATIENT) -count=1 -v -run '^TestOrphans$$' ./test/orphans -orphans.cancels=$(or $(ORPHANS),1000)

soak: ## run sessions for SOAKTIME (default 1h), kill some, and see that nothing is lost, left or grows (Linux)
	$(GO) test -timeout 0 -count=1 -v -run '^TestSoak$$' ./test/soak -soak.time=$(or $(SOAKTIME),1h)

# One build of a package serves all its targets. What they try is kept where `go test -fuzz` keeps it, too.
# At the end of its time the fuzzer of Go 1.26 now and then reports its own deadline, and nothing else, as a failure.
fuzz: ## run every fuzz target for FUZZTIME (default 60s)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && kept="$$($(GO) env GOCACHE)/fuzz/$(MODULE_PREFIX)" && \
	for pkg in $(call packages_with,^func Fuzz); do \
		$(GO) test -c -vet=off $(FUZZ_GUIDED) -o "$$dir/fuzz.test" $$pkg || exit 1; \
		names=$$(cd $$pkg && "$$dir/fuzz.test" -test.list '^Fuzz' | grep '^Fuzz') || { echo "no fuzz target found in $$pkg" >&2; exit 1; }; \
		for name in $$names; do \
			echo "$$pkg $$name"; \
			(cd $$pkg && "$$dir/fuzz.test" -test.run '^$$' -test.fuzz "^$$name\$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzminimizetime 10x -test.fuzzcachedir "$$kept/$$pkg" || echo failed) 2>&1 | tee "$$dir/log"; \
			if tail -n 1 "$$dir/log" | grep -q '^failed' && ! tail -n 3 "$$dir/log" | grep -q '^ *context deadline exceeded$$'; then exit 1; fi; \
		done; \
	done

# The coverage of a package counts all tests of kernel and engine: a package is often tested through the one above it. It
# also counts the command's scripts; AGENT_PIPELINES_SCRIPTS_COVER makes them build the binary with -cover. The tests of
# kernel and engine run twice, since their counters would take most of the time under the race detector: there -short leaves
# long searches by one goroutine to the second run.
cover: COVERED = $(MODULE_PREFIX)/kernel/...,$(MODULE_PREFIX)/engine/...
cover: imports ## race, and check that the tests and the command's scripts cover 90 % of each package of kernel and engine
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && mkdir "$$dir/tests" "$$dir/scripts" && \
	AGENT_PIPELINES_SCRIPTS_COVER="$$dir/scripts" $(IN_MEMORY) $(RACE) -short $(ALL_TESTS) && \
	$(IN_MEMORY) $(GO) test $(PATIENT) -vet=off -count=1 -p 4 -exec "env GOCOVERDIR=$$dir/tests" -coverpkg='$(COVERED)' ./kernel/... ./engine/... -args -test.gocoverdir="$$dir/tests" && \
	$(GO) tool covdata percent -i="$$dir/tests,$$dir/scripts" -pkg='$(COVERED)' | $(ENOUGH)

# Fails where a package, as covdata prints it, has less, and where there is no package.
ENOUGH = awk '{ print } $$3 + 0 < 90 && /%/ { low++ } \
	END { if (low || !NR) { print low + 0 " of " NR " packages have less than 90 % of their statements covered"; exit 1 } }'

bench: ## print the table of figures beside their floors; BENCH_OUT=docs/performance.md also puts it there, BENCH_BASH=FILE adds the Bash engine
	$(GO) run ./bench $(BENCH_OUT:%=-update '%') $(BENCH_BASH:%=-bash '%')

bench-gate: ## fail where a ratio of bench/baseline.json has become worse than its tolerance allows
	$(GO) run ./bench -gate bench/baseline.json

bench-baseline: ## record the ratios of bench/baseline.json again; on a quiet machine, and with a reason
	$(GO) run ./bench -gate bench/baseline.json -record

# Only packages that define -update have golden files; the flag is an error elsewhere.
golden: ## rewrite the golden files; review the diff
	$(GO) test $(call packages_with,flag[.]Bool."update") -update

# Plans first, then whole runs. This repository does not contain the recordings.
parity: recordings build ## compare with the recorded runs of the Bash engine in PARITY_DIR (needs python3)
	$(GO) test -count=1 -tags parity -run '^TestParity' ./kernel/compile -parity-dir '$(abspath $(PARITY_DIR))'
	python3 '$(PARITY_DIR)/check.py' --bin '$(abspath $(BIN))/agent-pipelines' --parity '$(PARITY_DIR)' -j 2

recordings:
	@test -f '$(PARITY_DIR)/check.py' || { echo "PARITY_DIR is '$(PARITY_DIR)', where no recorded runs of the Bash engine are (check.py," \
		"cases/, corpus-bash/): make parity PARITY_DIR=<the folder that holds them>" >&2; exit 1; }

e2e-real: build ## drive the real agent CLIs from npm against a local stub model (needs npm, network for the install)
	$(E2E) -run '^TestReal' ./test/e2ereal

e2e-smoke: build ## the few of these that show that the CLIs work at all, in seconds
	$(E2E) -run '^TestReal(LoopbackCheck|Sandbox)?$$' ./test/e2ereal -args -smoke

conformance: build ## hold every plugin in bin/plugins to the plugin protocol, each with the cases of its module
	@printf '%s\n' $(PLUGINS) | xargs -P 4 -I NAME sh -c 'cases=plugins/NAME/verify.json; test -f $$cases && set -- --cases $$cases || set --; \
		"$(BIN)/agent-pipelines" plugins verify "$(BIN)/plugins/agent-plugin-NAME" --quiet "$$@" || { \
			echo "agent-plugin-NAME fails; see it with: $(BIN)/agent-pipelines plugins verify $(BIN)/plugins/agent-plugin-NAME $$*" >&2; exit 1; }'

python: build ## the plugin in Python: its own tests, and under the kernel (needs /usr/bin/python3 with grpcio and protobuf)
	cd examples/plugin-python && /usr/bin/python3 -B -m unittest
	PYTHONDONTWRITEBYTECODE=1 '$(BIN)/agent-pipelines' plugins verify examples/plugin-python/agent-plugin-python --quiet
	$(GO) test $(PATIENT) -count=1 -tags python -run '^TestPython$$' ./cmd/agent-pipelines

## Checking

# A count, not a time: the same work on any machine. Few inputs profit little from the guidance of coverage, which would
# compile each package again: five times as many are tried without it.
check: export FUZZTIME = 5000x
check: export FUZZ_GUIDED =
# A step that others need, such as build, is made once: -o says that it is done. Tests take its programs, too.
check: ## everything that must hold before a push; stops at the first failure
	@done=; for step in $(CHECKS); do \
		echo "==> $$step"; start=$$(date +%s); \
		$(MAKE) --no-print-directory -s $$done $$step || { echo "==> FAILED: $$step (again with: make $$step)" >&2; exit 1; }; \
		echo "==> $$step: ok, $$(($$(date +%s) - start)) s"; \
		done="$$done -o $$step"; \
		[ $$step != build ] || export AGENT_PIPELINES_BUILT='$(CURDIR)/$(BIN)'; \
	done; echo "==> all checks passed"

fmt: $(LINT) ## format all Go files
	'$(LINT)' fmt $(PACKAGES)

gofmt: ## check that all Go files are formatted
	@out=$$(gofmt -s -l $(MODULES)) && { test -z "$$out" || { echo "not formatted (run make fmt):"; echo "$$out"; exit 1; }; }

# Never from the cache: the go command does not see that a test read the files of another module.
imports: ## check the import rules between the packages
	$(GO) test -count=1 ./tools/imports

size: ## measure the repository and compare it with the bounds of tools/size; SIZE_FLAGS=-v lists the places
	$(GO) run ./tools/size $(SIZE_FLAGS)

words: ## print words that the project's language avoids
	$(GO) run ./tools/words

vet: ## go vet of the packages with files behind build tags; lint reads the files without by the same analyzers
	$(GO) vet -tags '$(TAGS)' $(foreach tag,$(TAGS),$(call packages_with,^//go:build .*\b$(tag)\b,*.go))

lint: $(LINT) ## golangci-lint at the pinned version, installed into the user's cache on first use
	'$(LINT)' run $(PACKAGES)

$(LINT):
	@echo "installing golangci-lint $(LINT_VERSION) (once, a few minutes)"
	GOBIN='$(@D)' $(INSTALL_TOOL) github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

# The workspace hides undeclared imports between our modules; each must do without the others.
tidy: ## check go.mod and go.sum of each module
	@for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) mod tidy -diff) || { echo "in $$m: run GOWORK=off go mod tidy"; exit 1; }; done

# With equal versions of other modules, a module is built from the same sources outside the workspace.
modules: ## check that each module alone finds all that it imports, at the versions of the workspace
	@list="$(GO) list -deps -test -f '{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}} {{.Version}}{{end}}{{end}}'"; \
	all=$$(eval "$$list" work) && for m in $(MODULES); do \
		alone=$$(cd $$m && export GOWORK=off && eval "$$list" ./...) || { echo "in $$m"; exit 1; }; \
		! echo "$$alone" | grep -vxF "$$all" || { echo "$$m alone does not use the workspace's version of these: run go work sync"; exit 1; }; \
	done

darwin: ## vet for macOS; dist-check builds for it
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet work

proto: ## generate the protobuf code
	$(GO) run ./tools/protogen

proto-check: ## check that the generated protobuf code is fresh
	$(GO) run ./tools/protogen -check

proto-breaking: ## check that the protocol did not break since the last release
	@tag=$$(git describe --tags --abbrev=0 --match 'plugin-sdk/v*' 2>/dev/null) || { echo "no release tag yet: nothing to compare"; exit 0; }; \
	$(MAKE) -s --no-print-directory '$(BUF)' && echo "comparing with $$tag" && '$(BUF)' breaking --against ".git#ref=$$tag" \
		--config '{"version": "v2", "modules": [{"path": "plugin-sdk/proto"}], "breaking": {"use": ["PACKAGE"]}}'

$(BUF):
	@echo "installing buf $(BUF_VERSION) (once, a few minutes)"
	GOBIN='$(@D)' $(INSTALL_TOOL) github.com/bufbuild/buf/cmd/buf@$(BUF_VERSION)

FORCE:
