package graft_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFilesAreOpenedByDisk: the packages read files by internal/disk, which does not wait for pipes. The exceptions read files of the system or of the
// repository.
func TestFilesAreOpenedByDisk(t *testing.T) {
	direct := regexp.MustCompile(`\b(os\.Open|os\.OpenFile|os\.ReadFile|os\.DirFS|zip\.OpenReader)\(`)
	exempt := []string{"bench/", "examples/", ".ci/", "generate/testdata/", "generate/gorgoniatext.go", "internal/disk/", "internal/budget/allowed_linux.go", "internal/cli/process.go", "internal/conformance/", "internal/oracle/", "internal/score/",
		"internal/misuse/", "internal/nntest/", "internal/kernel/gen", "nn/op/optest/", "nn/op/gen", "nn/op/newop/", "optim/gen/", "mpi/", "ort/"}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name := filepath.ToSlash(path)
		for _, prefix := range exempt {
			if strings.HasPrefix(name, prefix) {
				return nil
			}
		}
		text, err := os.ReadFile(path)
		if call := direct.Find(text); call != nil {
			t.Errorf("%s calls %s…), want the functions of internal/disk", name, call)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
