package optest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/op"
)

// declaredForms is the maximum number of forms of an operator's calls in a file.
const declaredForms = 8

// SameDeclared compares the results of Declared for cases, one of each form, with a file. With update
// it rewrites the file, whose differences should be read.
func SameDeclared(t *testing.T, file string, cases []Case, update bool) {
	t.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	for _, c := range cases {
		form := Form(c)
		if seen[form] || len(seen) == declaredForms {
			continue
		}
		seen[form] = true
		text, err := Declared(c)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		fmt.Fprintf(&b, "%s %s", form, text)
	}
	if update {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i, line := range got {
		if i >= len(lines) || lines[i] != line {
			t.Fatalf("%s:%d: got %q, want %q; -update writes it anew", file, i+1, line, lines[min(i, len(lines)-1)])
		}
	}
	if len(got) != len(lines) {
		t.Errorf("%s: got %d lines, want %d", file, len(got), len(lines))
	}
}

// Form describes a case by the attributes that are set, and by the inputs' ranks, or their types where they are not
// tensors: calls of the same form are described once.
func Form(c Case) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d", c.Version)
	for _, a := range op.Encode(c.Version, c.Config) {
		fmt.Fprintf(&b, " %s", a.Name)
	}
	for _, v := range c.In {
		switch t := op.TypeOf(v); {
		case v == nil:
			b.WriteString(" -")
		case t.Kind != op.Tensor:
			fmt.Fprintf(&b, " %v", t)
		default:
			fmt.Fprintf(&b, " %d", len(v.Shape()))
		}
	}
	return b.String()
}
