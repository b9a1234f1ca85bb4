package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op"
)

func TestEveryOperatorIsWellDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range op.Standard().List() {
		if err := op.Validate(o); err != nil {
			t.Error(err)
		}
		if seen[o.String()] {
			t.Errorf("%v is declared twice", o)
		}
		seen[o.String()] = true
	}
}
