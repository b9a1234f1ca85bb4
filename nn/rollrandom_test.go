package nn_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	G "gorgonia.org/gorgonia"
)

// randomTurns returns a loop of Go over rows of x: its turns do the same, with the same weights, but for one in some functions.
func randomTurns(seed uint64) nn.Expr {
	r := rand.New(rand.NewPCG(seed, 31))
	turns, states := 3+r.IntN(3), 1+r.IntN(2)
	first, step := r.IntN(2), 1
	if turns < 4 && r.IntN(2) == 0 {
		step = 2
	}
	if r.IntN(3) == 0 {
		first, step = 7-first, -step
	}
	reads, collects := r.IntN(4) > 0, r.IntN(4)
	odd := -1
	if r.IntN(3) == 0 {
		odd = r.IntN(turns)
	}
	type action struct{ kind, a, b int }
	var plan []action
	for i := range 2 + r.IntN(5) {
		plan = append(plan, action{r.IntN(7), r.IntN(3 + i), r.IntN(3 + i)})
	}
	return func(x ...*G.Node) (G.Nodes, error) {
		state := []*G.Node{x[1], G.Must(G.Square(x[1]))}[:states]
		w, v := weight(x[0], "w", 3, 3), weight(x[0], "v", 1, 3)
		var all G.Nodes
		for t := range turns {
			pool := append([]*G.Node{x[1], x[1]}, state...)
			if reads {
				pool[0] = row(x[0], first+t*step)
			}
			for _, p := range plan {
				a, b := pool[p.a%len(pool)], pool[p.b%len(pool)]
				var y *G.Node
				switch p.kind {
				case 0:
					y = G.Must(G.Tanh(a))
				case 1:
					y = G.Must(G.Add(a, b))
				case 2:
					y = G.Must(G.Sub(G.Must(G.Sigmoid(a)), b))
				case 3:
					y = G.Must(G.Mul(a, w))
				case 4:
					y = G.Must(G.BroadcastAdd(a, v, nil, []byte{0}))
				case 5:
					y = G.Must(G.HadamardProd(G.Must(G.Tanh(a)), b))
				case 6:
					k := 0.5
					if t == odd {
						k = 0.75
					}
					y = G.Must(G.HadamardProd(a, number(a, k)))
				}
				pool = append(pool, y)
			}
			last := G.Must(G.Tanh(pool[len(pool)-1]))
			switch collects {
			case 1:
				all = append(all, last)
			case 2:
				all = append(all, G.Must(G.Sub(last, state[0])))
			}
			if states == 2 {
				state = []*G.Node{last, state[0]}
			} else {
				state = []*G.Node{last}
			}
		}
		if len(all) > 0 {
			return append(G.Nodes{G.Must(G.Concat(int(seed%2), all...))}, state...), nil
		}
		return state, nil
	}
}

// TestRollRandom rolls random loops: what they compute stays, most become a Loop or a Scan, and testdata/rolledrandom.txt has the
// operators that remain; -update writes it anew.
func TestRollRandom(t *testing.T) {
	rolled := 0
	var b strings.Builder
	const trials = 150
	for seed := range uint64(trials) {
		f := randomTurns(seed)
		plain, feed := controlTrace(t, f, []string{"x %s[N,8,3]", "h %s[N,3]"}, "float64")
		g, err := nn.Tracer{Roll: true}.Trace(loss(f), "x float64[N,8,3]", "h float64[N,3]")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := g.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range g.Nodes(nn.Ops("Loop", "Scan")) {
			rolled++
		}
		fmt.Fprintf(&b, "%d: %s\n", seed, operators(g))
		got, want := evalAll(t, g, feed), evalAll(t, plain, feed)
		for i := range want {
			nntest.Near(t, fmt.Sprintf("seed %d, output %d", seed, i), got[i], want[i], 1e-12)
		}
	}
	if rolled < trials/2 {
		t.Errorf("%d of %d are rolled", rolled, trials)
	}
	nntest.CompareFile(t, filepath.Join("testdata", "rolledrandom.txt"), b.String())
}
