package graft_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/dependencies.md says of each module in go.mod why it is there, and of no other.
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
	for _, line := range strings.Split(read("go.mod"), "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(line, "\t") || !strings.HasPrefix(words[1], "v") {
			continue
		}
		if !listed[words[0]] {
			t.Errorf("%s is not in docs/dependencies.md", words[0])
		}
		delete(listed, words[0])
	}
	for module := range listed {
		t.Errorf("docs/dependencies.md lists %s, which go.mod does not", module)
	}
}
