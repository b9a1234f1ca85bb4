package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of the page about tables run as written.
func TestTablesPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tables.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	houses(t, "houses.csv", 1200, 1)
	houses(t, "new.csv", 60, 2)
	ran := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		args, ok := strings.CutPrefix(line, "$ graft ")
		if !ok {
			continue
		}
		if out, err := command(strings.Fields(args)...); err != nil || out == "" {
			t.Errorf("%s: %q, %v", line, out, err)
		}
		ran++
	}
	if ran < 4 {
		t.Errorf("%d commands ran", ran)
	}
}
