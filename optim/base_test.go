package optim_test

import (
	"testing"

	"github.com/graft-ml/graft/optim"
)

func TestBaseRate(t *testing.T) {
	for _, c := range []struct {
		rule optim.Rule
		want float64
	}{
		{optim.SGD{}, 1e-3}, {optim.AdamW{LR: 0.5}, 0.5}, {optim.Adam{LR: optim.Off}, 0}, {optim.Adadelta{}, 1}, {optim.Adamax{}, 2e-3},
		{optim.Chain{optim.ClipValue{}, optim.RMSprop{}}, 1e-2}, {optim.Chain{}, 0}, {optim.ClipValue{}, 0},
	} {
		if got := optim.BaseRate(c.rule); got != c.want {
			t.Errorf("%T %+v: %v, want %v", c.rule, c.rule, got, c.want)
		}
	}
	for _, c := range cases {
		if optim.BaseRate(c.rule) <= 0 {
			t.Errorf("%s has no rate", c.name)
		}
	}
}
