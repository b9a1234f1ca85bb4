package std_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

// TestApplied holds the operators of our own that lowerings and gradients apply, which no file has cases of, to what all operators
// promise, on the calls that the cases of the others lead to; testdata/declared/graft.* has what they say about them.
func TestApplied(t *testing.T) {
	calls, seen := map[string][]optest.Case{}, map[string]bool{}
	eachGolden(t, func(t *testing.T, _ string, cases []optest.Case) {
		for _, c := range cases {
			list, err := optest.Applied(golden(c))
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			for _, k := range list {
				name := k.Config.Operator().String()
				form := name + optest.Form(k)
				for _, v := range k.In {
					form += fmt.Sprint(op.TypeOf(v))
				}
				if k.Config.Operator().Domain != op.Internal || seen[form] {
					continue
				}
				seen[form] = true
				k.Name = fmt.Sprintf("%s %d, for %s", name, len(calls[name])+1, c.Name)
				calls[name] = append(calls[name], k)
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		t.Run(name, func(t *testing.T) { checkApplied(t, name, calls[name]) })
	}
}

func checkApplied(t *testing.T, name string, calls []optest.Case) {
	t.Helper()
	for i, k := range calls {
		k.NoCut, k.NoLow = "shapes are in the attributes", "what an operator leaves for its gradient depends on the type"
		if k.Config.Operator().Name == "RecurrentGrad" {
			k.Outputs = 5 // those for inputs that are absent are not computed
		}
		if !slices.ContainsFunc(k.In, func(v dtype.Value) bool {
			return v != nil && slices.Contains([]dtype.DType{dtype.Float32, dtype.Float64}, dtype.DTypeOf(v))
		}) {
			k.NoGrad = "16 bits"
		}
		calls[i] = k
		if err := optest.Check(k); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	compareDeclared(t, name, calls)
}

// runDeclared runs cases of an operator that no file has cases of, and those of its gradient; both have their files in testdata/declared.
func runDeclared(t *testing.T, cases ...optest.Case) {
	t.Helper()
	optest.Run(t, cases...)
	own := cases[0].Config.Operator()
	compareDeclared(t, own.String(), cases)
	var gradients []optest.Case
	for _, c := range cases {
		list, err := optest.Applied(c)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		for _, k := range list {
			if o := k.Config.Operator(); o.Domain == op.Internal && o.Name == own.Name+"Grad" {
				k.Name = fmt.Sprintf("%v of %s", o, c.Name)
				gradients = append(gradients, k)
			}
		}
	}
	if len(gradients) > 0 {
		checkApplied(t, gradients[0].Config.Operator().String(), gradients)
	}
}
