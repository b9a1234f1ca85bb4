# One word per chore; .ci/run calls the same words.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.PHONY: new-op build test check gen gen-check golden bench bench-base bench-other bench-operators bench-kernels mutants fuzz soak faults race cross purego smallparts arm64 oracles conformance verify mpi ort scores ci accuracy serve-and-edit vuln reproducible models

export CGO_ENABLED ?= 0
override GRAFT_SHARED := $(abspath $(or $(GRAFT_SHARED),../shared))
FUZZTIME ?= 20s
RACY = ./internal/kernel/... ./internal/engine/... ./nn/op/... ./optim ./train/data/...
RACY_SOME = ./nn ./onnxio ./train
RACY_TESTS = Concurrent|Beside|While|WaitForEdit|InsideEdit|Stages|TwoRanks|RanksExchange|RankErrors|Overlap|SameBits|Workers|Streamed|Serve|LimitConnections|Batcher|Cancel|SaveBetweenSteps
ARM64_TESTS = Assembly|Functions|Binary|Unary|Vector|Transpose|Pooling|BatchNorm|Softmax|Affine|ClipGrad|Smooth|LayerNorm|Recurrent
TARGETS = darwin/arm64 windows/amd64 linux/arm64 js/wasm linux/386 linux/riscv64

# The product: everything compiles without C.
build:
	go build ./...

# What passes on a machine with nothing but Go.
test:
	GRAFT_SHARED= GRAFT_ORACLES= go test ./...

# Form: gofmt, go.mod and go.sum without what nothing needs, vet, staticcheck (pinned in go.mod).
check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	go mod tidy -diff
	go vet ./...
	go vet .ci/typecheck.go
	go tool staticcheck ./...

# Generated code.
gen:
	go generate ./...

# Generated code is up to date: generating changes no file.
gen-check:
	@state() { { git diff; git ls-files -z --others --exclude-standard | xargs -0r sha256sum; } | sha256sum; }; \
	before=$$(state); $(MAKE) --no-print-directory gen; \
	if [ "$$before" != "$$(state)" ]; then echo "go generate changed files:"; git status --short; exit 1; fi

# Files in testdata, by ONNX Runtime, NumPy and PyTorch, and the demonstration's model (make oracles).
golden:
	/usr/bin/python3 nn/op/std/testdata/golden/make.py
	/usr/bin/python3 testdata/torch/trajectories.py
	d=$$(mktemp -d); trap 'rm -rf "$$d"' EXIT; \
	go run ./internal/glyph/dump -out "$$d/train" -n 20000 -seed 1; \
	go run ./internal/glyph/dump -out "$$d/val" -n 4000 -seed 2; \
	/usr/bin/python3 cmd/graft/demo/train_glyphs.py --train "$$d/train" --val "$$d/val" --out cmd/graft/demo/digits.onnx

# Graft beside PyTorch, ONNX Runtime and GoMLX, interleaved; bench/README.md says how to read it.
bench:
	dir="$$HOME/.cache/graft/bench"; \
	test -f "$$dir/lstm.json" || /usr/bin/python3 '$(GRAFT_SHARED)/bench/torch_anchor.py' --export "$$dir"; \
	(cd '$(GRAFT_SHARED)/bench/gomlx' && GOEXPERIMENT=simd go build -o "$$dir/gomlxbench" .); \
	go run ./bench -dir "$$dir" -gomlx "$$dir/gomlxbench" -peers '$(GRAFT_SHARED)/bench' -ort "$${GRAFT_ORT:-$$HOME/.cache/graft/ort}" -table bench/results.md -json bench/results.jsonl $(BENCH_FLAGS); \
	go run ./bench -first '$(GRAFT_SHARED)/models/squeezenet1.1/model.onnx' -ort "$${GRAFT_ORT:-$$HOME/.cache/graft/ort}"

# Graft beside an earlier commit of itself, by turns: make bench-base BASE=HEAD~1 BENCH_FLAGS='-cases lenet -threads 1'
BASE ?= HEAD~1
bench-base:
	dir="$$HOME/.cache/graft/bench"; \
	test -f "$$dir/lstm.json" || /usr/bin/python3 '$(GRAFT_SHARED)/bench/torch_anchor.py' --export "$$dir"; \
	old=$$(mktemp -d); trap 'git worktree remove --force "$$old/tree" && rm -rf "$$old"' EXIT; \
	git worktree add --detach "$$old/tree" '$(BASE)' >/dev/null; \
	(cd "$$old/tree" && go build -o "$$old/bench" ./bench); \
	go run ./bench -dir "$$dir" -base "$$old/bench" $(BENCH_FLAGS)

# The same with twenty-two more networks, without GoMLX.
bench-other:
	dir="$$HOME/.cache/graft/other"; export PEERS='$(GRAFT_SHARED)/bench'; \
	test -f "$$dir/tabular.json" || /usr/bin/python3 bench/other/torch_anchor.py --export "$$dir"; \
	go run ./bench -dir "$$dir" -peers "$$PEERS" -torch bench/other/torch_anchor.py -ort "$${GRAFT_ORT:-$$HOME/.cache/graft/ort}" -table bench/other.md -json bench/other.jsonl $(BENCH_FLAGS)

# Single operators beside PyTorch and ONNX Runtime, slowest first.
bench-operators:
	go build -o "$$HOME/.cache/graft/operators" ./bench/operators
	taskset -c 1 /usr/bin/python3 bench/operators/compare.py "$$HOME/.cache/graft/operators" --ort "$${GRAFT_ORT:-$$HOME/.cache/graft/ort}" $(BENCH_FLAGS)

# Errors of operators in units in the last place, beside ONNX Runtime and PyTorch: the table of docs/accuracy.md.
accuracy:
	go build -o "$$HOME/.cache/graft/accuracy" ./bench/accuracy
	/usr/bin/python3 bench/accuracy/compare.py --ort "$${GRAFT_ORT:-$$HOME/.cache/graft/ort}" --table docs/accuracy.md "$$HOME/.cache/graft/accuracy"

# Every model of the shared folder is loaded, run, compared, trained, pruned, written as source, and its step exported: docs/models.md.
models:
	go run ./bench/models -models '$(GRAFT_SHARED)/models' -o docs/models.md

# The benchmarks of single packages: kernels as GFLOP/s and share of the peak.
bench-kernels:
	go test -run '^$$' -bench . ./...

# How much of a package the tests protect: N of its executed expressions are broken, one at a time.
PKG ?= ./nn/op/std
N ?= 200
SEED ?= 1
mutants:
	go run ./bench/mutants -n $(N) -seed $(SEED) $(MUTANTS_FLAGS) $(PKG)

# Every fuzz target for FUZZTIME.
fuzz:
	@go list -f '{{.Dir}}' ./... | while read -r dir; do \
		for target in $$(cat "$$dir"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
			echo "$$dir $$target"; (cd "$$dir" && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s . </dev/null); \
		done; \
	done

# Every fuzz target in turn, five minutes each, for HOURS hours; with one worker, so that it can run beside other work.
HOURS ?= 8
soak:
	@end=$$(($$(date +%s) + $(HOURS)*3600)); \
	while [ $$(date +%s) -lt $$end ]; do \
		go list -f '{{.Dir}}' ./... | while read -r dir; do \
			for target in $$(cat "$$dir"/*_test.go 2>/dev/null | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p'); do \
				left=$$((end - $$(date +%s))); if [ $$left -le 0 ]; then exit 0; fi; \
				echo "$$dir $$target"; (cd "$$dir" && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $$((left < 300 ? left : 300))s -fuzzminimizetime 1s -parallel 1 . </dev/null); \
			done; \
		done; \
	done

# Models are served and edited by eight goroutines for MINUTES, then under the race detector for a third of it.
MINUTES ?= 30
serve-and-edit:
	go run ./bench/soak -for $(MINUTES)m
	CGO_ENABLED=1 go run -race ./bench/soak -for $$(($(MINUTES)*20))s -growth -1

# Every call that writes fails, and processes are killed at each.
faults:
	GRAFT_FAULTS=all go test -count=1 -timeout 30m -run 'TestFaults$$' -v ./internal/disk ./onnxio ./conformance ./generate ./safetensors ./train ./internal/cli

# Known vulnerabilities in what the packages of the three modules call; it needs a network, or VULN_FLAGS='-db file:///FOLDER'.
vuln:
	@for module in . mpi ort; do echo "$$module"; (cd $$module && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 $(VULN_FLAGS) ./...) || exit 1; done

# Two builds, from two folders and with two caches, have the same bytes.
reproducible:
	@d=$$(mktemp -d); trap 'chmod -R u+w "$$d"; rm -rf "$$d"' EXIT; mkdir "$$d/source"; \
	{ git ls-files -z; git ls-files -z --others --exclude-standard; } | tar --null -T - -c | tar -x -C "$$d/source"; \
	go build -trimpath -buildvcs=false -o "$$d/first" ./cmd/graft; \
	(cd "$$d/source" && GOCACHE="$$d/cache" go build -trimpath -buildvcs=false -o "$$d/second" ./cmd/graft); \
	cmp "$$d/first" "$$d/second" && sha256sum <"$$d/first"

# Data races: all tests of the packages whose code runs on several goroutines, and those tests of the others that use a graph, a file
# or a trainer from several.
race: export CGO_ENABLED = 1
race:
	GRAFT_SHARED= GRAFT_ORACLES= go test -race -short -timeout 20m $(RACY)
	GRAFT_SHARED= GRAFT_ORACLES= go test -race -short -timeout 20m -run '$(RACY_TESTS)' $(RACY_SOME)

# The other systems: the types of all packages are right, and the command links for LINKED.
LINKED = windows/amd64 linux/arm64
cross:
	go run .ci/typecheck.go $(TARGETS)
	@for t in $(LINKED); do echo "$$t: link"; GOOS=$${t%/*} GOARCH=$${t#*/} go build -o /dev/null ./cmd/graft || exit 1; done

# Without assembly: the kernels in portable Go, and what stands on them.
purego:
	GRAFT_SHARED= GRAFT_ORACLES= go test -short -tags purego ./internal/kernel/... ./internal/engine ./nn/op/std

# All kernels in small parts, as long rows and large planes are computed otherwise.
smallparts:
	GRAFT_SHARED= GRAFT_ORACLES= go test -short -tags smallparts ./internal/kernel/... ./internal/engine ./nn/op/...
	GRAFT_SHARED= GRAFT_ORACLES= go test -tags gaps,smallparts ./bench/cancel

# The NEON kernels beside the portable ones, on an arm64 processor or under qemu-user.
arm64:
	@run=; if [ "$$(go env GOHOSTARCH)" != arm64 ]; then run=qemu-aarch64; \
		command -v $$run >/dev/null || { echo "qemu-aarch64 is missing: install qemu-user"; exit 1; }; fi; \
	d=$$(mktemp -d); trap 'rm -rf "$$d"' EXIT; \
	GOARCH=arm64 go vet ./internal/kernel/...; \
	mkdir "$$d/tests"; GOARCH=arm64 go test -c -o "$$d/tests/" ./internal/kernel/...; \
	GOARCH=arm64 go build -o "$$d/graft" ./cmd/graft; \
	$$run "$$d/graft" version | grep -F NEON; \
	for t in "$$d"/tests/*.test; do \
		name=$$(basename "$$t" .test); [ "$$name" = kernel ] && dir=internal/kernel || dir=internal/kernel/$$name; \
		(cd "$$dir" && $$run "$$t" -test.short -test.run '$(ARM64_TESTS)') || exit 1; \
	done

# What the conformance tests compare with is installed.
oracles:
	GRAFT_SHARED='$(GRAFT_SHARED)' .ci/oracles

# All tests that look for oracles again, with every one; a missing one is a failure. What passed without asking for them
# is not repeated; after a change of the oracles themselves, run go clean -testcache first.
conformance:
	GRAFT_SHARED='$(GRAFT_SHARED)' GRAFT_ORACLES=required go test ./...

# The score over the ONNX backend tests and the models; it must not fall below .ci/scores.
verify:
	GRAFT_SHARED='$(GRAFT_SHARED)' .ci/verify

# The nested module that joins processes by MPI: form, other systems, tests under mpirun of Open MPI and MPICH (make oracles).
mpi:
	@unformatted=$$(gofmt -l mpi); if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	@if ! file=$$(CGO_ENABLED=0 go list -deps ./... | grep -F ebitengine/purego); then :; else echo "the main module links $$file"; exit 1; fi
	staticcheck=$$(go tool -n staticcheck); cd mpi; go mod tidy -diff; go vet ./...; "$$staticcheck" ./...; \
	go run ../.ci/typecheck.go $(TARGETS); \
	GRAFT_ORACLES=required go test -count=1 ./...

# The nested module that loads ONNX Runtime: form, other systems, tests with the library of the oracles (make oracles).
ort:
	@unformatted=$$(gofmt -l ort); if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	staticcheck=$$(go tool -n staticcheck); cd ort; go mod tidy -diff; go vet ./...; "$$staticcheck" ./...; \
	go run ../.ci/typecheck.go $(TARGETS); \
	GRAFT_SHARED='$(GRAFT_SHARED)' GRAFT_ORACLES=required go test -count=1 ./...

scores:
	GRAFT_SHARED='$(GRAFT_SHARED)' .ci/verify -update

ci:
	.ci/run

# The two files of a new operator: make new-op NAME=HardSwish
new-op:
	go run ./nn/op/newop $(NAME)
	go generate ./nn/op/std ./nn/op/gendoc
