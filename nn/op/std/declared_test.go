package std_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

var update = flag.Bool("update", false, "write testdata/declared anew")

// TestDeclared compares what operators say about calls (types, symbols, couplings, cost, refusals) with what they said
// before, in testdata/declared. go test ./nn/op/std -run TestDeclared -update writes it anew: read the difference.
func TestDeclared(t *testing.T) {
	eachGolden(t, func(t *testing.T, name string, cases []optest.Case) {
		compareDeclared(t, name, cases)
	})
}

// compareDeclared compares what an operator says about cases, one of each form, with its file.
func compareDeclared(t *testing.T, name string, cases []optest.Case) {
	t.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	for _, c := range cases {
		form := formOf(c)
		if seen[form] || len(seen) == 8 {
			continue
		}
		seen[form] = true
		text, err := optest.Declared(c)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		fmt.Fprintf(&b, "%s %s", form, text)
	}
	file := filepath.Join("testdata", "declared", name+".txt")
	if *update {
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

// formOf tells calls apart by the attributes that are set, and by the inputs' ranks, or their types where they are not tensors.
func formOf(c optest.Case) string {
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
