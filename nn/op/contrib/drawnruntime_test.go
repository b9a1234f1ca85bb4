package contrib_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
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
	_, ran, err = runBoth(t, ort, u)
	return ran, err
}

// runBoth compares a use, and returns what the runtime computes where both run it.
func runBoth(t *testing.T, ort *oracle.Runtime, u trial) (out map[string]oracle.Tensor, ran bool, err error) {
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := onnxio.Save(file, unchecked(t, u)); err != nil {
		return nil, false, err
	}
	given := map[string]oracle.Tensor{}
	for i, v := range u.In {
		if v != nil && !slices.Contains(u.params, i) {
			given[fmt.Sprintf("x%d", i)] = tensorOf(v)
		}
	}
	want, refused := ort.RunFile(file, given)
	got, err := runFile(t, file, u)
	switch {
	case err != nil && refused != nil:
		if testing.Verbose() {
			t.Logf("both refuse: %v | %v", err, refused)
		}
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("ONNX Runtime runs it: %w", err)
	case refused != nil && slices.ContainsFunc(lacking, func(s string) bool { return strings.Contains(refused.Error(), s) }):
		return nil, false, nil
	case refused != nil:
		return nil, false, fmt.Errorf("runs here, but: %w", refused)
	}
	for name, w := range want {
		if err := u.close(got, name, w); err != nil {
			return want, true, err
		}
	}
	return want, true, nil
}

// runFile runs a file with the inputs of a use that the model does not hold.
func runFile(t *testing.T, file string, u trial) (nn.Feed, error) {
	feed := nn.Feed{}
	for i, v := range u.In {
		if v != nil && !slices.Contains(u.params, i) {
			feed[fmt.Sprintf("x%d", i)] = v
		}
	}
	g, err := onnxio.Load(file)
	if err != nil {
		return nil, err
	}
	return g.Eval(t.Context(), feed)
}

func (u trial) close(got nn.Feed, name string, want oracle.Tensor) error {
	if err := oracle.Close(tensorOf(got[name]), want, max(2e-4, u.Tol), max(2e-5, u.Tol)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

const drawnFile = "testdata/drawn.json.gz"

// TestDrawnGolden compares random uses with what ONNX Runtime computed when -update wrote testdata/drawn.json.gz; those that it lacks a kernel for have
// no outputs there.
func TestDrawnGolden(t *testing.T) {
	more := map[string]int{"QLinearAveragePool": 150, "NhwcMaxPool": 60, "QLinearConv": 60} // windows at borders are of many kinds
	golden := map[string][]map[string]oracle.Tensor{}
	var ort *oracle.Runtime
	if *update {
		ort = oracle.ORT(t)
	} else {
		f, err := os.Open(drawnFile)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err == nil {
			err = json.NewDecoder(z).Decode(&golden)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(draws)) {
		t.Run(name, func(t *testing.T) {
			seeds := max(30, more[name])
			if !*update && len(golden[name]) != seeds {
				t.Fatalf("%d uses are recorded, want %d", len(golden[name]), seeds)
			}
			for seed := range seeds {
				u := draws[name](diceOf(2000 + seed))
				say := func(err any) {
					t.Errorf("seed %d: %+v of %v: %v", 2000+seed, u.Config, described(u.In), err)
				}
				if *update {
					r, _, err := runBoth(t, ort, u)
					if err != nil {
						say(err)
					}
					golden[name] = append(golden[name], r)
					continue
				}
				file := filepath.Join(t.TempDir(), "model.onnx")
				if err := onnxio.Save(file, unchecked(t, u)); err != nil {
					t.Fatal(err)
				}
				got, err := runFile(t, file, u)
				if err != nil && golden[name][seed] != nil {
					say(err)
					continue
				}
				for name, w := range golden[name][seed] {
					if err := u.close(got, name, w); err != nil {
						say(err)
					}
				}
			}
		})
	}
	if *update {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			err = errors.Join(json.NewEncoder(z).Encode(golden), z.Close(), os.WriteFile(drawnFile, b.Bytes(), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
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
