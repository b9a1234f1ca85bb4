package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// expressions builds nodes, one operator after the other.
type expressions struct {
	*testing.T
	g *gorgonia.ExprGraph
}

func (b expressions) input(name string, shape ...int) *gorgonia.Node {
	b.Helper()
	n, err := op.Input(b.g, name, op.Shaped(dtype.Float64, shape...), nil)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func (b expressions) on(c op.Config, in ...*gorgonia.Node) *gorgonia.Node {
	b.Helper()
	var types []op.Type
	var known []op.Known
	for _, n := range in {
		types = append(types, op.NodeType(n))
		k := op.Known{}
		if v, ok := n.Value().(*tensor.Dense); ok {
			k.Value = v
		}
		known = append(known, k)
	}
	call, err := std.Operators().NewCall(c, types...)
	if err != nil {
		b.Fatal(err)
	}
	call.Known, call.Outputs = known, 1
	if err := call.Resolve(); err != nil {
		b.Fatal(err)
	}
	out, err := op.Emit(b.g, call, in)
	if err != nil {
		b.Fatal(err)
	}
	return out[0]
}

func (b expressions) ints(v ...int64) *gorgonia.Node {
	b.Helper()
	n, err := op.Const(b.g, optest.Ints(v...))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// products returns the elements that matrix products below n compute.
func products(n *gorgonia.Node, seen map[*gorgonia.Node]bool) (count int) {
	if seen[n] {
		return 0
	}
	seen[n] = true
	if c, _, _, ok := op.CallOf(n); ok && c.Op.Name == "MatMul" {
		count = dtype.Product(op.NodeType(n).Sizes())
	}
	for _, k := range op.Children(n) {
		count += products(k, seen)
	}
	return count
}

// TestNeededRows: how many elements of products are computed where few rows of them are read. The products have rows of five.
func TestNeededRows(t *testing.T) {
	type expr = func(b expressions, x *gorgonia.Node) []*gorgonia.Node
	product := func(b expressions, x *gorgonia.Node) *gorgonia.Node {
		return b.on(op.Plain("MatMul"), x, b.input("w", 3, 5))
	}
	gather := func(axis int, index ...int64) expr {
		return func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.on(std.GatherConfig{Axis: axis}, product(b, x), b.ints(index...))}
		}
	}
	for _, c := range []struct {
		name  string
		shape []int
		f     expr
		want  int
	}{
		{"first", []int{8, 3}, gather(0, 0), 5}, {"last", []int{8, 3}, gather(0, 7), 5}, {"from the end", []int{8, 3}, gather(0, -1), 5}, {"first from the end", []int{8, 3}, gather(0, -8), 5},
		{"half", []int{8, 3}, gather(0, 1, 3, 5, 7), 20}, {"more than half", []int{8, 3}, gather(0, 0, 1, 3, 5, 7), 40}, {"outside", []int{8, 3}, gather(0, 8), 40}, {"outside at the front", []int{8, 3}, gather(0, -9), 40}, {"none", []int{8, 3}, gather(0), 40},
		{"of the middle", []int{2, 8, 3}, gather(1, 2, 0), 20}, {"of the front", []int{8, 2, 3}, gather(0, 2), 10}, {"columns", []int{8, 3}, gather(1, 2), 40}, {"two batches", []int{4, 2, 8, 3}, gather(2, 7), 40}, {"outermost of four", []int{4, 2, 8, 3}, gather(0, 1), 80},
		{"behind an activation", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.on(std.GatherConfig{}, b.on(op.Plain("Relu"), product(b, x)), b.ints(3))}
		}, 5},
		{"two products", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.on(std.GatherConfig{}, b.on(op.Plain("MatMul"), product(b, x), b.input("v", 5, 2)), b.ints(3))}
		}, 7},
		{"behind a transpose", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.on(std.GatherConfig{Axis: 1}, b.on(std.TransposeConfig{Perm: []int{1, 0}}, product(b, x)), b.ints(3, 1))}
		}, 10},
		{"behind a reshape", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.on(std.GatherConfig{Axis: 1}, b.on(std.ReshapeConfig{}, product(b, x), b.ints(2, 4, 5)), b.ints(3))}
		}, 10},
		{"rows are cut", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.on(std.GatherConfig{}, b.on(std.ReshapeConfig{}, product(b, x), b.ints(20, 2)), b.ints(3))}
		}, 40},
		{"over all rows", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			return []*gorgonia.Node{b.on(std.GatherConfig{}, b.on(std.SoftmaxConfig{Axis: new(int)}, product(b, x)), b.ints(3))}
		}, 40},
		{"read elsewhere", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			y := product(b, x)
			return []*gorgonia.Node{b.on(std.GatherConfig{}, y, b.ints(3)), b.on(op.Plain("Neg"), y)}
		}, 40},
		{"is a result", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			y := product(b, x)
			return []*gorgonia.Node{b.on(std.GatherConfig{}, y, b.ints(3)), y}
		}, 40},
		{"a transpose that is read elsewhere", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			y := b.on(std.TransposeConfig{Perm: []int{1, 0}}, product(b, x))
			return []*gorgonia.Node{b.on(std.GatherConfig{Axis: 1}, y, b.ints(3)), b.on(op.Plain("Neg"), y)}
		}, 40},
		{"both ways to the same row", []int{8, 3}, func(b expressions, x *gorgonia.Node) []*gorgonia.Node {
			y := product(b, x)
			return []*gorgonia.Node{b.on(std.GatherConfig{}, b.on(op.Plain("Add"), y, b.on(op.Plain("Relu"), y)), b.ints(3))}
		}, 5},
	} {
		b := expressions{t, gorgonia.NewGraph()}
		roots := c.f(b, b.input("x", c.shape...))
		needed, err := std.NeededRows(t.Context(), roots)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, seen := 0, map[*gorgonia.Node]bool{}
		for i, n := range needed {
			got += products(n, seen)
			if !op.NodeType(n).Static() || op.NodeType(n).String() != op.NodeType(roots[i]).String() {
				t.Errorf("%s: result %d is %v, was %v", c.name, i, op.NodeType(n), op.NodeType(roots[i]))
			}
		}
		if got != c.want {
			t.Errorf("%s: %d elements of products, want %d", c.name, got, c.want)
		}
	}
}
