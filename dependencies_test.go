package graft_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreListed checks that docs/dependencies.md gives a reason for each module in go.mod,
// and in those of the nested modules, and lists no other.
func TestDependenciesAreListed(t *testing.T) {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z0-9.]+\\.[a-z]+/[^`]+)`").FindAllStringSubmatch(read("docs/dependencies.md"), -1) {
		listed[m[1]] = true
	}
	required := map[string]bool{}
	for _, file := range []string{"go.mod", "mpi/go.mod", "ort/go.mod"} {
		for _, line := range strings.Split(read(file), "\n") {
			words := strings.Fields(line)
			if len(words) < 2 || !strings.HasPrefix(line, "\t") || !strings.HasPrefix(words[1], "v") || words[0] == module {
				continue
			}
			required[words[0]] = true
			if !listed[words[0]] {
				t.Errorf("%s of %s is not in docs/dependencies.md", words[0], file)
			}
		}
	}
	for name := range listed {
		if !required[name] {
			t.Errorf("docs/dependencies.md lists %s, which no go.mod does", name)
		}
	}
}
