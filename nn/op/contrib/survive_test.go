package contrib_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"gorgonia.org/tensor"
)

// TestTransformersSurvive changes shapes, whole numbers and attributes of the trials at random: the operators compute or refuse,
// they do not panic.
func TestTransformersSurvive(t *testing.T) {
	ops := set(t)
	for i, u := range trials() {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for range 40 {
			c := u.Case
			c.Ops, c.In = ops, slices.Clone(u.In)
			for range 1 + r.IntN(2) {
				spoil(r, &c)
			}
			if _, err := optest.Forward(c); err != nil && strings.HasPrefix(err.Error(), "panic") {
				t.Errorf("%s: %+v of %v: %v", u.Name, c.Config, shapes(c.In), err)
			}
		}
	}
}

var extremes = []int{-1 << 62, -2, -1, 0, 1, 2, 3, 5, 16, 1 << 31, 1 << 61, 1<<63 - 1}

// spoil changes one input or one attribute.
func spoil(r *rand.Rand, c *optest.Case) {
	if v := reflect.ValueOf(c.Config); v.Kind() == reflect.Struct && v.NumField() > 0 && r.IntN(3) == 0 {
		changed := reflect.New(v.Type()).Elem()
		changed.Set(v)
		switch f := changed.Field(r.IntN(v.NumField())); f.Kind() {
		case reflect.Int:
			f.SetInt(int64(extremes[r.IntN(len(extremes))]))
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.Int {
				f.Set(reflect.ValueOf([]int{8, 8, extremes[r.IntN(len(extremes))]}))
			}
		}
		c.Config = changed.Interface().(op.Config)
		return
	}
	i := r.IntN(len(c.In))
	d, ok := c.In[i].(*tensor.Dense)
	if !ok || r.IntN(8) == 0 {
		c.In[i] = nil
		return
	}
	shape, t := slices.Clone([]int(d.Shape())), dtype.Of(d.Dtype())
	switch {
	case t.IsInteger() && r.IntN(2) == 0: // other numbers
		v := make([]int, d.Size())
		for k := range v {
			v[k] = r.IntN(9) - 3
		}
		if y, err := dtype.FromInts(t, v, shape...); err == nil {
			c.In[i] = y
		}
		return
	case len(shape) > 0 && r.IntN(3) == 0:
		shape = slices.Delete(shape, 0, 1)
	case r.IntN(4) == 0:
		shape = append(shape, 1)
	case len(shape) > 0:
		shape[r.IntN(len(shape))] = r.IntN(4)
	}
	c.In[i] = dtype.New(t, shape...)
}

func shapes(in []dtype.Value) (list []string) {
	for _, v := range in {
		if v == nil {
			list = append(list, "-")
			continue
		}
		list = append(list, op.TypeOf(v).String())
	}
	return list
}
