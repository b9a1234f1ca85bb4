package nn_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
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

// TestRandomGraphs cuts random networks at random and proves every cut.
func TestRandomGraphs(t *testing.T) {
	cut := 0
	for seed := range uint64(60) {
		g := model(t, randomGraph(seed))
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
	for seed := range uint64(60) {
		g := model(t, randomGraph(seed))
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
