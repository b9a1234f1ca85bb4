package std_test

import (
	"flag"
	"path/filepath"
	"testing"

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

func compareDeclared(t *testing.T, name string, cases []optest.Case) {
	t.Helper()
	optest.SameDeclared(t, filepath.Join("testdata", "declared", name+".txt"), cases, *update)
}
