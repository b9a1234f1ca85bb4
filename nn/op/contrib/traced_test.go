package contrib_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/contrib"
	"gorgonia.org/tensor"
)

// TestTraced spells operators that lowerings compute as a whole out as standard ones, which compute the same.
func TestTraced(t *testing.T) {
	names := map[string]bool{"Attention flags": true, "MultiHeadAttention past masked": true, "MatMulNBits zero points": true, "MatMulNBits 2 bits": true,
		"GroupQueryAttention prompt": true}
	for _, u := range trials() {
		if !names[u.Name] {
			continue
		}
		if u.Outputs = 1; len(u.In) > 6 && u.params == nil {
			u.params = []int{6} // total_sequence_length, which a lowering must know
		}
		g, feed := trialGraph(t, u), nn.Feed{}
		for i, v := range u.In {
			if v != nil && !slices.Contains(u.params, i) {
				feed[fmt.Sprintf("x%d", i)] = v
			}
		}
		want, err := g.Eval(t.Context(), feed)
		if err != nil {
			t.Fatal(err)
		}
		l, err := g.Lower(nn.LowerOptions{Keep: true})
		if err != nil {
			t.Fatal(err)
		}
		traced, err := l.Trace()
		if err != nil {
			t.Errorf("%s: %v", u.Name, err)
			continue
		}
		for n := range traced.Nodes() {
			if n.Op().Domain != "" {
				t.Errorf("%s: %s is left", u.Name, n.Op())
			}
		}
		got, err := traced.Eval(t.Context(), feed)
		if err != nil {
			t.Fatal(err)
		}
		if err := oracle.Close(tensorOf(got["y0"]), tensorOf(want["y0"]), 1e-5, 1e-5); err != nil {
			t.Errorf("%s: %v", u.Name, err)
		}
		delete(names, u.Name)
	}
	for name := range names {
		t.Errorf("%s was not traced", name)
	}
}

// TestDecomposed takes every operator that is one expression apart in the model that holds it.
func TestDecomposed(t *testing.T) {
	for _, u := range trials() {
		u.params = slices.Clone(u.params)
		for i, v := range u.In { // lengths, on which shapes depend
			if x, ok := v.(*tensor.Dense); ok && !dtype.DTypeOf(x).IsFloat() && x.Size() == 1 {
				u.params = append(u.params, i)
			}
		}
		g, feed := trialGraph(t, u), nn.Feed{}
		for i, v := range u.In {
			if v != nil && !slices.Contains(u.params, i) {
				feed[fmt.Sprintf("x%d", i)] = v
			}
		}
		want, err := g.Eval(t.Context(), feed)
		if err != nil {
			t.Fatalf("%s: %v", u.Name, err)
		}
		err = g.Edit(func(e *nn.Edit) {
			e.SetOpset(24) // TensorScatter
			for _, n := range e.Nodes() {
				if n.Domain() == contrib.Domain {
					e.Decompose(n)
				}
			}
		})
		if u.Config.Operator().Name == "Inverse" {
			if err == nil || !strings.Contains(err.Error(), "it is not made of other operators") {
				t.Errorf("%s: %v", u.Name, err)
			}
			continue
		}
		if err != nil {
			t.Error(u.Name, err)
			continue
		}
		for n := range g.Nodes() {
			if n.Op().Domain != "" {
				t.Errorf("%s: %s is left", u.Name, n.Op().Name)
			}
		}
		got, err := g.Eval(t.Context(), feed)
		if err != nil {
			t.Errorf("%s: %v", u.Name, err)
			continue
		}
		for name, w := range want {
			if _, err := (dtype.Tolerance{Rtol: 1e-5, Atol: 1e-5}).Compare(got[name], w); err != nil {
				t.Errorf("%s: %s: %v", u.Name, name, err)
			}
		}
	}
}
