package contrib_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

var declare = flag.Bool("declare", false, "write testdata/declared anew")

// TestDeclared compares what the operators say about two calls each, and about calls that differ from those in one thing,
// with testdata/declared. go test ./nn/op/contrib -run TestDeclared -declare writes it anew: read the difference.
func TestDeclared(t *testing.T) {
	ops, cases := set(t), map[string][]optest.Case{}
	for _, u := range slices.Concat(uses(), quantizedUses()) {
		add(cases, u.Case)
	}
	for _, u := range trials() {
		add(cases, u.Case)
	}
	if *declare {
		if err := os.MkdirAll(filepath.Join("testdata", "declared"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			list := cases[name]
			for i := range list {
				list[i].Ops = ops
				if list[i].Version == 0 {
					o, err := ops.Of(list[i].Config)
					if err != nil {
						t.Fatal(err)
					}
					list[i].Version = o.Latest()
				}
				list[i].Config = op.Fill(list[i].Config)
			}
			optest.SameDeclared(t, filepath.Join("testdata", "declared", name+".txt"), list, *declare)
		})
	}
}

// add keeps the case, if it is one of the first two forms of its operator.
func add(cases map[string][]optest.Case, c optest.Case) {
	name := c.Config.Operator().Name
	if len(cases[name]) < 2 && !slices.ContainsFunc(cases[name], func(k optest.Case) bool { return optest.Form(k) == optest.Form(c) }) {
		cases[name] = append(cases[name], c)
	}
}
