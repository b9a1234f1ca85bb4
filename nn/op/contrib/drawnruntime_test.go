package contrib_test

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

var drawn = flag.Int("drawn", 24, "random uses of each operator")

// drawnSet has the operators of this package; the standard's are as they are.
var drawnSet = func() op.Set {
	s, err := contrib.With(std.Operators())
	if err != nil {
		panic(err)
	}
	return s
}()

// TestDrawnInRuntime runs random uses of each operator in ONNX Runtime and here: both give the same values, or refuse.
func TestDrawnInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for _, name := range slices.Sorted(maps.Keys(draws)) {
		t.Run(name, func(t *testing.T) {
			ran := 0
			for seed := range *drawn {
				u := draws[name](diceOf(seed))
				switch agreed, err := agree(t, ort, u); {
				case err != nil:
					t.Errorf("seed %d: %+v of %v: %v", seed, u.Config, described(u.In), err)
				case agreed:
					ran++
				}
			}
			if ran < *drawn/3 {
				t.Errorf("%d of %d uses ran", ran, *drawn)
			}
		})
	}
}

// agree compares a use; ran reports whether both ran it.
func agree(t *testing.T, ort *oracle.Runtime, u trial) (ran bool, err error) {
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := onnxio.Save(file, unchecked(t, u)); err != nil {
		return false, err
	}
	feed, given := nn.Feed{}, map[string]oracle.Tensor{}
	for i, v := range u.In {
		if v != nil && !slices.Contains(u.params, i) {
			name := fmt.Sprintf("x%d", i)
			feed[name], given[name] = v, tensorOf(v)
		}
	}
	want, refused := ort.RunFile(file, given)
	var got nn.Feed
	g, err := onnxio.Load(file)
	if err == nil {
		got, err = g.Eval(t.Context(), feed)
	}
	switch {
	case err != nil && refused != nil:
		if testing.Verbose() {
			t.Logf("both refuse: %v | %v", err, refused)
		}
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ONNX Runtime runs it: %w", err)
	case refused != nil && slices.ContainsFunc(lacking, func(s string) bool { return strings.Contains(refused.Error(), s) }):
		return false, nil
	case refused != nil:
		return false, fmt.Errorf("runs here, but: %w", refused)
	}
	for name, w := range want {
		if err := oracle.Close(tensorOf(got[name]), w, max(2e-4, u.Tol), max(2e-5, u.Tol)); err != nil {
			return true, fmt.Errorf("%s: %w", name, err)
		}
	}
	return true, nil
}

// lacking are words of the runtime about what its kernels for the CPU do not have and these operators do.
var lacking = []string{
	"not implemented for CPU", "is not supported in Attention CPU kernel", "4D mask in attention cpu kernel is not supported",
	"Attention cannot have both past and attention_bias", "data shall have is_unidirectional set to false",
	"past_sequence_length tensor must be of one element when past_present_share_buffer is set", // it is
	"shape_.Size() == new_shape.Size() was false", "axis == 1 || axis == largest was false",    // queries, keys and values in one
	"past_present_share_buffer_ was false", "does not support attention bias for cross-attention", // scores of a cross-attention
	"Input 'key_padding_mask' shape is not expected", "Input 'key' and 'value' shall have same shape", "should be same as head_size",
	"Dilation not supported for AutoPadType", "No attribute with name:", "matmul_nbits.cc", "Pad reflect: ",
}

// unchecked returns a graph of one node that no operator here has looked at, so that the runtime sees what it refuses, too.
func unchecked(t *testing.T, u trial) *nn.Graph {
	t.Helper()
	var lax *op.Op
	for _, o := range contrib.Ops() {
		if n := u.Config.Operator(); o.Domain == n.Domain && o.Name == n.Name {
			lax = pointer(*o)
		}
	}
	lax.Check, lax.Lower, lax.Grad, lax.NoGrad, lax.Couple, lax.Pinned = nil, nil, nil, "not asked", nil, "not asked"
	lax.Infer = func(c *op.Call) ([]op.Type, error) {
		types := make([]op.Type, c.Outputs)
		for i := range types {
			types[i] = op.Type{DType: drawnType(c, i), Unranked: true}
		}
		return types, nil
	}
	lax.Kernel = func(*op.Call) (op.Kernel, error) { return nil, nil }
	ops, err := drawnSet.With(lax)
	if err != nil {
		t.Fatal(err)
	}
	return graphOn(t, ops, u)
}

// drawnType returns the element type of output i: that of an input of the same type variable.
func drawnType(c *op.Call, i int) op.DType {
	slot, _ := op.At(c.Op.Out.List(), i)
	if t, err := dtype.Parse(slot.Type); err == nil {
		return t
	}
	if _, gemm := c.Config.(contrib.QGemmConfig); gemm && c.Has(8) {
		return c.In[8].DType
	}
	for k, t := range c.In {
		if in, ok := op.At(c.Op.In.List(), k); ok && in.Type == slot.Type && t.Present() {
			return t.DType
		}
	}
	return dtype.Float32
}

// TestDrawn takes random uses of each operator through all checks, gradients against finite differences among them.
func TestDrawn(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(draws)) {
		t.Run(name, func(t *testing.T) {
			for seed := range max(2, *drawn/12) {
				u := draws[name](diceOf(1000 + seed))
				u.Ops, u.NoCut, u.GradTol = drawnSet, "standard operators' couplings are tested with them", max(u.GradTol, 1e-5)
				if strings.HasPrefix(name, "Q") {
					u.NoLow = "rounds"
				}
				if slices.ContainsFunc(u.In, func(v dtype.Value) bool { return v != nil && v.(*tensor.Dense).Size() == 0 }) {
					continue // nothing to differentiate by
				}
				if err := optest.Check(u.Case); err != nil && !strings.Contains(err.Error(), "not supported") {
					t.Errorf("seed %d: %+v of %v: %v", 1000+seed, u.Config, described(u.In), err)
				}
			}
		})
	}
}

// described returns the types of inputs, and what the small ones of integers hold.
func described(in []dtype.Value) []string {
	list := shapes(in)
	for i, v := range in {
		if d, ok := v.(*tensor.Dense); ok && d.Size() <= 12 && dtype.Of(d.Dtype()).IsInteger() {
			list[i] += fmt.Sprint(d.Data())
		}
	}
	return list
}
