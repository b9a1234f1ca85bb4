package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const results = `{"case":"node/test_abs","ok":true,"max_abs":0,"gradients":"ok","error":""}
{"case":"node/test_add","ok":true,"max_abs":0,"gradients":"fail","error":"gradient of x"}
{"case":"models/lenet","ok":false,"max_abs":1,"gradients":"none","error":"operator Foo"}
`

func TestRun(t *testing.T) {
	for _, c := range []struct{ name, in, recorded, out, err string }{
		{"same", results, "# comment\n\nnode 2 2\nmodels 0 1\n", "suite node: 2 / 2\n", ""},
		{"failures", results, "node 2 2", "failed: models/lenet: operator Foo\n", ""},
		{"gradients", results, "node-gradients 1 2", "suite node-gradients: 1 / 2\n", ""},
		{"better", results, "node 1 2", "suite node: 1 more than recorded", ""},
		{"worse", results, "node 3 3\nmodels 1 1", "suite models: 0 / 1\n", "models has 0 / 1, recorded are 1 / 1; node has 2 / 2"},
		{"lost cases", results, "node 2 5", "", "node has 2 / 2, recorded are 2 / 5"},
		{"lost suite", results, "simple 1 1", "", "simple has 0 / 0"},
		{"nothing", "", "node 0 0", "", "no results"},
		{"not JSON", "panic: nil", "node 0 0", "", "line 1"},
		{"twice", results + results, "node 0 0", "", `case "node/test_abs" is nameless or comes twice`},
		{"bad record", results, "node two 2", "", "is not SUITE PASSED TOTAL"},
		{"long record", results, "node 2 2 2", "", "is not SUITE PASSED TOTAL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "scores")
			if err := os.WriteFile(path, []byte(c.recorded), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := run(strings.NewReader(c.in), &out, path, "", false)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !strings.Contains(out.String(), c.out) {
				t.Errorf("printed %q, want %q in it", out.String(), c.out)
			}
		})
	}
}

// A score that was recorded is met by the same results.
func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scores")
	var out strings.Builder
	if err := run(strings.NewReader(results), &out, path, "", true); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.NewReader(results), &out, path, "", false); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := heading + "models 0 1\nnode 2 2\nnode-gradients 1 2\n"; string(text) != want {
		t.Errorf("recorded %q, want %q", text, want)
	}
}

// The list of known failures has a reason for all that fails, and only for that.
func TestKnown(t *testing.T) {
	const table = "# Title\n\n| case | reason |\n|---|---|\n| node/test_add | rounding |\n| models/lenet | no Foo |\n"
	for _, c := range []struct{ name, known, out, err string }{
		{"all", table, "failed: models/lenet: operator Foo\n  known: no Foo\n", ""},
		{"a new one", strings.Replace(table, "models/lenet", "models/vgg", 1), "", "gives no reason why these fail: models/lenet"},
		{"one fixed", table + "| node/test_abs | sign |\n", "", "but they pass: node/test_abs"},
		{"no reason", table + "| node/test_abs | |\n", "", "has no reason"},
		{"twice", table + "| node/test_add | again |\n", "", "comes twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			scores, known := filepath.Join(dir, "scores"), filepath.Join(dir, "known.md")
			for path, text := range map[string]string{scores: "node 2 2\nmodels 0 1\n", known: c.known} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			err := run(strings.NewReader(results), &out, scores, known, false)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !strings.Contains(out.String(), c.out) {
				t.Errorf("printed %q, want %q in it", out.String(), c.out)
			}
		})
	}
}
