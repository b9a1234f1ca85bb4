package train

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/graft-ml/graft/optim"
)

// TestRates sets each number of every schedule, and of Plateau, to what cannot be meant.
func TestRates(t *testing.T) {
	for _, settings := range []any{optim.StepLR{}, optim.MultiStepLR{}, optim.ExponentialLR{}, optim.LinearLR{}, optim.PolynomialLR{}, optim.CosineLR{}, optim.OneCycleLR{}, optim.PerEpoch{}, optim.Warmup{}, optim.Plateau{}} {
		if err := checkRates(settings); err != nil {
			t.Errorf("%T{}: %v", settings, err)
		}
		typ := reflect.TypeOf(settings)
		for i := range typ.NumField() {
			f := typ.Field(i)
			var bad []any
			switch {
			case f.Type.Kind() == reflect.Int && f.Name != "Patience":
				bad = []any{-1, math.MinInt}
			case f.Type.Kind() == reflect.Float64:
				bad = []any{-0.5, -7.0, math.NaN(), math.Inf(1), math.Inf(-1)}
			}
			for _, x := range bad {
				v := reflect.New(typ).Elem()
				v.Set(reflect.ValueOf(settings))
				v.Field(i).Set(reflect.ValueOf(x))
				err := checkRates(v.Interface())
				if want := fmt.Sprintf("%s: %s is %v: want", typ.Name(), f.Name, x); err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
			}
		}
	}
	if err := checkRates(optim.PerEpoch{Schedule: optim.Warmup{Then: optim.CosineLR{To: -2}}}); err == nil {
		t.Error("a schedule within others is not checked")
	}
}
