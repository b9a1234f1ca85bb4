package graft_test

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/graft-ml/graft"

// mayImport lists, for each package of the house, the packages of this module it may use. A
// package that ends in /... stands for itself and everything below it.
var mayImport = map[string][]string{
	"nn/dtype":                     {"internal/budget"},
	"internal/kernel":              {"nn/dtype", "internal/budget"},
	"internal/kernel/vector":       {"internal/kernel"},
	"internal/kernel/layout":       {"internal/kernel"},
	"internal/kernel/elementwise":  {"internal/kernel", "nn/dtype", "internal/kernel/vector"},
	"internal/kernel/reduce":       {"internal/kernel", "internal/kernel/vector", "internal/kernel/elementwise"},
	"internal/kernel/resample":     {"internal/kernel", "internal/kernel/vector", "internal/kernel/elementwise"},
	"internal/kernel/matmul":       {"internal/kernel", "internal/kernel/vector", "internal/kernel/elementwise"},
	"internal/kernel/norm":         {"internal/kernel", "internal/kernel/vector", "internal/kernel/elementwise", "internal/kernel/reduce"},
	"internal/kernel/softmax":      {"internal/kernel", "internal/kernel/vector", "internal/kernel/elementwise", "internal/kernel/matmul"},
	"internal/kernel/recurrent":    {"internal/kernel", "internal/kernel/vector", "internal/kernel/elementwise", "internal/kernel/reduce", "internal/kernel/matmul"},
	"internal/kernel/convolution":  {"internal/kernel", "internal/kernel/vector", "internal/kernel/elementwise", "internal/kernel/layout", "internal/kernel/matmul"},
	"internal/kernel/pooling":      {"internal/kernel", "internal/kernel/elementwise", "internal/kernel/reduce", "internal/kernel/convolution"},
	"internal/kernel/kerneltest":   {"internal/kernel"},
	"internal/kernel/epiloguetest": {"internal/kernel", "internal/kernel/elementwise", "internal/kernel/kerneltest"},
	"internal/kernel/gen":          {},
	"internal/kernel/gen-arm64":    {},
	"internal/engine":              {"nn/dtype", "internal/exprgraph", "internal/kernel/...", "internal/budget"},
	"internal/budget":              {},
	"internal/budget/budgettest":   {"internal/budget"},
	"internal/npy":                 {"nn/dtype", "internal/budget"},
	"internal/exprgraph":           {},
	"internal/imagefile":           {"internal/budget"},
	"internal/disk":                {"internal/budget"},
	"internal/terminal":            {},
	"internal/goroutine":           {},
	"internal/layered":             {},
	"internal/diagram":             {"internal/direct", "nn/dtype", "nn/op", "nn/op/std", "nn", "nn/layers", "onnxio", "internal/layered"},
	"internal/disk/...":            {"internal/disk"},
	"nn/op/trait":                  {},
	"nn/op/coupling":               {},
	"nn/op":                        {"nn/dtype", "nn/op/trait", "nn/op/coupling", "internal/exprgraph", "internal/kernel/...", "internal/engine"},
	"nn/op/epilogue":               {"nn/dtype", "nn/op", "internal/kernel/...", "internal/engine"},
	"nn/op/loops":                  {"nn/dtype", "nn/op", "internal/engine"},
	"nn/op/std":                    {"internal/budget", "nn/dtype", "internal/kernel/...", "internal/engine", "internal/imagefile", "nn/op"},
	"nn/op/contrib":                {"nn/dtype", "nn/op", "nn/op/std"},
	"nn/op/legacy":                 {"nn/dtype", "nn/op", "nn/op/std"},
	"nn/op/gen":                    {},
	"nn/op/newop":                  {"nn/op/std"},
	"nn/op/gendoc":                 {"nn/op", "nn/op/std", "nn/op/contrib"},
	"nn/op/optest/...":             {"nn/dtype", "internal/kernel/...", "internal/engine", "nn/op", "nn/op/std"},
	"nn/initial":                   {},
	"nn/internal/indices":          {"nn/op/coupling"},
	"internal/direct":              {"nn/dtype"},
	"nn":                           {"internal/goroutine", "internal/direct", "nn/dtype", "nn/internal/indices", "internal/budget", "internal/exprgraph", "internal/kernel/...", "internal/engine", "nn/initial", "nn/op", "nn/op/std"},
	"nn/layers":                    {"nn/dtype", "nn/initial", "nn/op", "nn"},
	"internal/nntest":              {"internal/direct", "internal/snapshot", "nn/dtype", "nn/op", "nn", "nn/layers"},
	"nn/mutate":                    {"nn/op", "nn/op/std", "nn/initial", "nn", "nn/layers"},
	"nn/prune":                     {"internal/direct", "nn/dtype", "internal/kernel/...", "internal/engine", "nn/op", "nn/op/std", "nn/initial", "nn", "nn/layers"},
	"internal/onnxpb":              {},
	"onnxio":                       {"internal/direct", "internal/disk", "internal/engine", "internal/budget", "internal/npy", "nn/dtype", "nn/op", "nn/op/std", "nn/op/contrib", "nn/op/legacy", "nn", "nn/initial", "nn/layers", "internal/onnxpb"},
	"conformance":                  {"internal/direct", "internal/disk", "internal/budget", "nn/dtype", "nn/op", "nn/op/std", "nn", "onnxio"},
	"safetensors":                  {"internal/direct", "internal/disk", "internal/budget", "nn/dtype", "nn"},
	"generate":                     {"internal/direct", "internal/disk", "internal/engine", "nn/dtype", "nn/op", "nn/op/std", "nn/op/contrib", "nn", "nn/initial", "nn/layers", "safetensors", "onnxio"},
	"optim":                        {"nn/dtype", "internal/budget", "internal/kernel/..."},
	"optim/gen":                    {},
	"train/data":                   {"internal/disk", "internal/imagefile", "nn/dtype", "internal/kernel/...", "internal/budget", "internal/npy"},
	"train/token":                  {"internal/budget", "internal/disk", "internal/terminal", "internal/kernel"},
	"train/boxes":                  {"internal/budget", "internal/disk", "train/data"},
	"train/table":                  {"internal/direct", "internal/disk", "internal/budget", "internal/snapshot", "nn/dtype", "nn/op", "nn/op/std", "nn", "nn/initial", "nn/layers", "train", "train/data"},
	"train/step":                   {"internal/direct", "nn/dtype", "nn/op", "nn/op/std", "nn", "onnxio", "optim", "train"},
	"train":                        {"internal/direct", "internal/goroutine", "internal/budget", "internal/disk", "internal/snapshot", "internal/terminal", "nn/dtype", "internal/kernel/...", "internal/engine", "nn/op", "nn/op/std", "nn", "nn/initial", "nn/layers", "nn/prune", "onnxio", "optim", "train/data"},
	"internal/cli":                 {"..."},
	"mpi":                          {"train", "mpi/internal/mpitest"}, // a module of its own
	"mpi/internal/mpitest":         {},
	"mpi/cmd/graft-mpi":            {"..."},
	"ort":                          {"nn/dtype", "nn", "onnxio", "train", "train/step"}, // a module of its own
	"ort/cmd/graft-ort":            {"..."},
	"internal/oracle":              {},
	"internal/conformance":         {"..."},
	"internal/localcomm":           {},
	"internal/glyph/...":           {"internal/glyph"},
	"internal/snapshot":            {"internal/direct", "internal/budget", "nn", "nn/dtype", "nn/layers"},
	"internal/phrase":              {},
	"internal/score":               {},
	"internal/misuse/...":          {"..."},
	"cmd/graft":                    {"internal/cli"},
	"cmd/graft/demo":               {"..."},
	"examples/...":                 {"..."},
	"bench/...":                    {"..."},
	"docs/...":                     {"..."},
	"":                             {},
}

// testHelpers are packages that any test may import.
var testHelpers = []string{"internal/budget/budgettest", "internal/disk/disktest", "internal/kernel/kerneltest", "internal/kernel/epiloguetest", "internal/localcomm", "internal/nntest"}

// follows says whose words a package holds: who may import that one may import the package, too.
var follows = map[string]string{"nn/op/trait": "nn/op", "nn/op/coupling": "nn/op", "nn/op/epilogue": "nn/op", "nn/op/loops": "nn/op"}

// gorgoniaIn are the packages that may import gorgonia.org/gorgonia; protobuf stays in onnxio and in a program that makes models of one operator.
var (
	gorgoniaIn = []string{"conformance", "generate", "internal/conformance", "internal/engine", "internal/exprgraph", "nn/op", "nn/op/std", "nn/op/contrib", "nn/op/legacy", "nn/op/optest", "nn", "examples/...", "bench/...", "internal/cli"}
	protobufIn = []string{"onnxio", "internal/onnxpb", "bench/cancel"}
)

// TestImports keeps the rules that ARCHITECTURE.md draws: who may import whom.
func TestImports(t *testing.T) {
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		p, err := build.ImportDir(dir, 0)
		if err != nil {
			return nil // no Go files here
		}
		rel := filepath.ToSlash(dir)
		if rel == "." {
			rel = ""
		}
		imports := append(append([]string(nil), p.Imports...), p.TestImports...)
		checkImports(t, rel, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkImports(t *testing.T, pkg string, imports []string) {
	allowed, ok := rule(pkg)
	if !ok {
		t.Errorf("%s: no rule says what it may import; add one to mayImport", pkg)
		return
	}
	for _, path := range imports {
		switch {
		case path == "gorgonia.org/gorgonia" && !matches(gorgoniaIn, pkg):
			t.Errorf("%s imports %s", pkg, path)
		case strings.HasPrefix(path, "google.golang.org/protobuf") && !matches(protobufIn, pkg):
			t.Errorf("%s imports %s", pkg, path)
		case path == module || !strings.HasPrefix(path, module+"/"):
			continue
		}
		own := strings.TrimPrefix(path, module+"/")
		if strings.HasPrefix(path, module+"/") && !matches(allowed, own) && !matches(allowed, follows[own]) && own != "internal/oracle" && !slices.Contains(testHelpers, own) {
			t.Errorf("%s must not import %s", pkg, own)
		}
	}
}

func rule(pkg string) ([]string, bool) {
	if r, ok := mayImport[pkg]; ok {
		return r, true
	}
	for pattern, r := range mayImport {
		if matches([]string{pattern}, pkg) {
			return r, true
		}
	}
	return nil, false
}

func matches(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if base, ok := strings.CutSuffix(p, "..."); p == pkg || ok && (strings.HasPrefix(pkg, base) || pkg == strings.TrimSuffix(base, "/")) {
			return true
		}
	}
	return false
}
