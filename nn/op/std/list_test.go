package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestEveryOperatorIsWellDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range std.Operators().List() {
		if err := op.Validate(o); err != nil {
			t.Error(err)
		}
		if seen[o.String()] {
			t.Errorf("%v is declared twice", o)
		}
		seen[o.String()] = true
	}
}
