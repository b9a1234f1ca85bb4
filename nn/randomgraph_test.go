package nn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// randomGraph grows a network by random layers.
func randomGraph(seed uint64) func(e *nn.Edit) {
	return func(e *nn.Edit) {
		r := rand.New(rand.NewPCG(seed, 5))
		e.Seed(seed)
		live := []*nn.Value{e.Apply(conv(4*(1+r.IntN(3)), 1+2*r.IntN(2), "stem"), e.Input("x", "float32[N,3,4,4]"))}
		pick := func() *nn.Value { return live[r.IntN(len(live))] }
		width := func(v *nn.Value) int { return v.Type().Shape[1].Size }
		for i := range 4 + r.IntN(8) {
			x := pick()
			c := width(x)
			var y *nn.Value
			switch r.IntN(11) {
			case 0, 1:
				y = e.Apply(conv(2+r.IntN(8), 1+2*r.IntN(2), fmt.Sprintf("c%d", i)), x)
			case 2:
				y = e.Apply(layers.BatchNorm{}, x)
			case 3:
				y = e.Apply(layers.ReLU{}, x)
			case 4:
				y = e.Node(std.ConcatConfig{Axis: 1}, x, pick()).Out(0)
			case 5: // residual
				y = e.Node(op.Plain("Add"), x, e.Apply(conv(c, 3, fmt.Sprintf("r%d", i)), x)).Out(0)
			case 6:
				y = e.Apply(layers.Conv{Out: c * (1 + r.IntN(2)), Kernel: []int{3}, Same: true, Group: c, Name: fmt.Sprintf("d%d", i)}, x)
			case 7:
				if c%2 != 0 {
					continue
				}
				y = e.Apply(layers.Conv{Out: 2 * (1 + r.IntN(4)), Kernel: []int{1}, Group: 2, Name: fmt.Sprintf("g%d", i)}, x)
			case 8:
				if c < 2 {
					continue
				}
				k := 1 + r.IntN(c-1)
				s := e.NodeN(std.SplitConfig{Axis: 1}, 2, x, e.Ints("sizes", k, c-k))
				live = append(live, s.Out(0))
				y = s.Out(1)
			case 9: // shuffle
				if c%2 != 0 {
					continue
				}
				y = e.Node(std.ReshapeConfig{}, x, e.Ints("s", 0, 2, c/2, 4, 4)).Out(0)
				y = e.Node(std.TransposeConfig{Perm: []int{0, 2, 1, 3, 4}}, y).Out(0)
				y = e.Node(std.ReshapeConfig{}, y, e.Ints("s", 0, c, 4, 4)).Out(0)
			case 10: // gate
				z := e.Apply(layers.Sigmoid{}, e.Apply(conv(c, 1, fmt.Sprintf("s%d", i)), x))
				y = e.Node(op.Plain("Mul"), x, z).Out(0)
			}
			live = append(live, y)
		}
		last := live[len(live)-1]
		f := e.Apply(layers.Flatten{}, last)
		e.Output("y", e.Apply(layers.Linear{Out: 3, Name: "fc"}, f))
		e.Output("z", e.Apply(conv(2, 1, "out"), pick()))
	}
}

// randomSequence grows a network of values [N, 5, channels] by random operators: heads, slices, lengths that are read off shapes.
func randomSequence(seed uint64) func(e *nn.Edit) {
	const steps = 5
	return func(e *nn.Edit) {
		r := rand.New(rand.NewPCG(seed, 15))
		e.Seed(seed)
		linear := func(out int, name string) nn.Layer { return layers.Linear{Out: out, Name: name} }
		do := func(c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
		plain := func(name string, in ...*nn.Value) *nn.Value { return do(op.Plain(name), in...) }
		ints := func(v ...int) *nn.Value { return e.Ints("c", v...) }
		live := []*nn.Value{e.Apply(linear(4+2*r.IntN(3), "stem"), e.Input("x", "float32[N,5,3]"))}
		pick := func() *nn.Value { return live[r.IntN(len(live))] }
		width := func(v *nn.Value) int { return v.Type().Shape[2].Size }
		last := -1
		for i := range 5 + r.IntN(6) {
			x := pick()
			c := width(x)
			name := fmt.Sprintf("n%d", i)
			var y *nn.Value
			switch r.IntN(18) {
			case 0:
				y = e.Apply(linear(2+r.IntN(8), name), x)
			case 1:
				y = e.Apply(layers.LayerNorm{Name: name}, x)
			case 2:
				y = plain([]string{"Relu", "Tanh", "LeakyRelu", "Softplus"}[r.IntN(4)], x)
			case 3:
				y = do(std.ConcatConfig{Axis: 2 - 3*r.IntN(2)}, x, pick(), x)
			case 4:
				y = plain("Add", e.Apply(linear(c, name), x), x)
			case 5:
				from, step := r.IntN(max(1, c/2)), 1+r.IntN(2)
				y = plain("Slice", x, ints(from), ints(c-r.IntN(2)), ints(-1), ints(step))
			case 6:
				y = do(std.GatherConfig{Axis: 2}, x, ints(c-1, 0, c/2))
			case 7: // attention
				heads := 1 + c%2
				if heads = 3 - heads; c%heads != 0 {
					continue
				}
				split := func(v *nn.Value, perm ...int) *nn.Value {
					return do(std.TransposeConfig{Perm: perm}, plain("Reshape", v, ints(0, 0, heads, c/heads)))
				}
				q, k := split(e.Apply(linear(c, name+"q"), x), 0, 2, 1, 3), split(e.Apply(linear(c, name+"k"), x), 0, 2, 3, 1)
				v := split(e.Apply(linear(c, name+"v"), ofWidth(live, c, r)), 0, 2, 1, 3)
				y = plain("MatMul", do(std.SoftmaxConfig{Axis: &last}, plain("MatMul", q, k)), v)
				y = plain("Reshape", do(std.TransposeConfig{Perm: []int{0, 2, 1, 3}}, y), ints(0, 0, -1))
			case 8: // all steps at once
				k := 1 + r.IntN(4)
				y = e.Apply(linear(steps*k, name), plain("Reshape", x, ints(0, -1)))
				y = plain("Reshape", y, ints(-1, steps, k))
			case 9: // over time
				y = do(std.TransposeConfig{Perm: []int{0, 2, 1}}, x)
				y = e.Apply(layers.Conv{Out: 2 + r.IntN(5), Kernel: []int{3}, Same: true, Name: name}, y)
				y = do(std.TransposeConfig{Perm: []int{0, 2, 1}}, y)
			case 10:
				if c < 3 {
					continue
				}
				k := 1 + r.IntN(c-2)
				s := e.NodeN(std.SplitConfig{Axis: -1}, 3, x, ints(k, 1, c-1-k))
				live = append(live, s.Out(0))
				y = s.Out(2)
			case 11: // a scale and a bias of other shapes
				y = plain("Mul", e.Param(name+".scale", initial.Ones{}, c), x)
				y = plain("Add", y, e.Param(name+".bias", initial.Normal{Std: 1}, 1, 1, c))
			case 12:
				y = plain("Tile", x, ints(1, 1, 2))
			case 13: // a length of the target is read off a shape
				n := plain("Slice", do(std.ShapeConfig{}, x), ints(0), ints(1+r.IntN(2)), ints(0))
				if n.Type().Shape[0].Size == 1 {
					n = do(std.ConcatConfig{}, n, ints(c, steps))
				} else {
					n = do(std.ConcatConfig{}, n, ints(-1))
				}
				if y = plain("Reshape", x, n); y.Type().Shape[2].Size != c {
					y = do(std.TransposeConfig{Perm: []int{0, 2, 1}}, y)
				}
			case 14:
				y = plain("Pad", x, ints(0, 0, r.IntN(2), 0, 0, 1))
			case 15: // of all steps
				m := do(std.ReduceMeanConfig{}, x, ints(1))
				y = plain("Sub", x, m)
			case 16:
				y = plain("PRelu", x, e.Param(name+".slope", initial.Full{Value: 0.25}, c))
			case 17:
				zero := e.Scalar("zero", x, 0)
				y = plain("Where", plain("Greater", x, zero), x, plain("Neg", e.Apply(linear(c, name), x)))
			}
			live = append(live, y)
		}
		m := do(std.ReduceMeanConfig{KeepDims: new(bool)}, live[len(live)-1], ints(1))
		e.Output("y", e.Apply(linear(3, "fc"), m))
		e.Output("z", e.Apply(linear(2, "out"), pick()))
	}
}

// ofWidth is one of the values that has so many channels.
func ofWidth(live []*nn.Value, channels int, r *rand.Rand) *nn.Value {
	for {
		if v := live[r.IntN(len(live))]; v.Type().Shape[2].Size == channels {
			return v
		}
	}
}

// randomNetwork is of images for even seeds, of sequences for odd ones.
func randomNetwork(seed uint64) func(e *nn.Edit) {
	if seed%2 == 0 {
		return randomGraph(seed / 2)
	}
	return randomSequence(seed / 2)
}

// TestRandomGraphs cuts random networks at random and proves every cut.
func TestRandomGraphs(t *testing.T) {
	cut := 0
	for seed := range uint64(120) {
		g := model(t, randomNetwork(seed))
		r := rand.New(rand.NewPCG(seed, 6))
		any := false
		for _, x := range g.Channels().Groups() {
			any = any || len(x.Atoms) > 1 && !x.Normalized
		}
		if !any {
			continue
		}
		cut++
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			prove(t, g, 2, 0, func(e *nn.Edit) {
				var atoms []*nn.Atom
				for _, x := range e.Channels().Groups() {
					if len(x.Atoms) > 1 && !x.Normalized {
						for _, k := range r.Perm(len(x.Atoms))[:(len(x.Atoms)+1)/3] {
							atoms = append(atoms, x.Atoms[k])
						}
					}
				}
				if len(atoms) == 0 {
					for _, x := range e.Channels().Groups() {
						if len(x.Atoms) > 1 && !x.Normalized {
							atoms = append(atoms, x.Atoms[0])
							break
						}
					}
				}
				e.RemoveAtoms(atoms...)
			})
		})
		if !ok {
			break
		}
	}
	t.Logf("%d networks cut", cut)
}

// TestRandomGrowth widens random networks: what they compute stays.
func TestRandomGrowth(t *testing.T) {
	for seed := range uint64(120) {
		g := model(t, randomNetwork(seed))
		groups := g.Channels().Groups()
		if len(groups) == 0 {
			continue
		}
		in, err := draw(g, 2, 0, rand.New(rand.NewPCG(seed, 2)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := g.Run(context.Background(), in...)
		if err != nil {
			t.Fatal(err)
		}
		i := int(seed) % len(groups)
		err = g.Edit(func(e *nn.Edit) {
			p := e.Channels().Groups()[i].Params()[0]
			e.Resize(p.Value, p.Size+2*p.PerAtom, nn.ResizeOptions{Axis: p.Axis - len(p.Value.Type().Shape), Copy: seed%2 == 0})
		})
		if err != nil {
			t.Logf("seed %d is refused: %v", seed, err) // nothing is changed then
			continue
		}
		got, err := g.Run(context.Background(), in...)
		if err != nil {
			t.Fatal(err)
		}
		for k := range want {
			if err := agree(got[k], want[k], 1e-4); err != nil {
				t.Errorf("seed %d, output %d: %v", seed, k, err)
			}
		}
	}
}

// TestLargeGraphs analyses a deep network and a wide one: what grows faster than the graph would show in its log.
func TestLargeGraphs(t *testing.T) {
	deep := model(t, func(e *nn.Edit) {
		x := e.Apply(conv(16, 1, "in"), e.Input("x", "float32[N,3,8,8]"))
		for range 100 {
			y := e.Apply(nn.Sequential{layers.Conv{Out: 16, Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.ReLU{}}, x)
			x = e.Node(op.Plain("Add"), x, y).Out(0)
		}
		e.Output("y", e.Apply(conv(2, 1, "out"), x))
	})
	wide := model(t, func(e *nn.Edit) {
		x := e.Apply(layers.Linear{Out: 10000}, e.Input("x", "float32[N,8]"))
		e.Output("y", e.Apply(layers.Linear{Out: 4}, e.Apply(layers.ReLU{}, x)))
	})
	for _, g := range []*nn.Graph{deep, wide} {
		start := time.Now()
		c := g.Channels()
		analysed := time.Since(start)
		_, err := g.Plan(func(e *nn.Edit) {
			e.RemoveAtoms(e.Channels().Groups()[0].Atoms[:4]...)
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d groups: analysed in %v, planned in %v", len(c.Groups()), analysed, time.Since(start)-analysed)
	}
}
