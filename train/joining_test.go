package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
)

// Local makes n ranks of one process; the tests outside of the package set it.
var Local func(n int) []Communicator

// onRanks runs f as each of n ranks.
func onRanks(n int, f func(r *ranks)) {
	var group sync.WaitGroup
	for _, c := range Local(n) {
		group.Go(func() {
			owner := new(Trainer)
			f(joined(Communicator(bounded{c}), owner))
			runtime.KeepAlive(owner)
		})
	}
	group.Wait()
}

// TestRankErrors checks what all ranks learn about errors of some: which rank, which error, and
// whether it was a cancellation.
func TestRankErrors(t *testing.T) {
	gone, cut := errors.New("the file is gone"), errors.New("the file is cut off")
	long := strings.Repeat("x", longest+5)
	for _, c := range []struct {
		errs          [3]error
		rank          int
		text          string
		kind          byte
		canceled, end bool
	}{
		{[3]error{nil, gone, nil}, 1, "rank 1: the file is gone", failed, false, false},
		{[3]error{gone, gone, gone}, -1, "the file is gone", failed, false, false},
		{[3]error{gone, nil, gone}, 0, "rank 0: the file is gone", failed, false, false},
		{[3]error{nil, cut, gone}, 1, "rank 1: the file is cut off", failed, false, false},
		{[3]error{nil, nil, errors.New(long)}, 2, "rank 2: " + long, failed, false, false},
		{[3]error{nil, nil, context.Canceled}, 2, "rank 2: context canceled", cancelled, true, false},
		{[3]error{nil, fmt.Errorf("reading: %w", context.DeadlineExceeded), nil}, 1, "rank 1: reading: context deadline exceeded", late, false, true},
		{[3]error{halted{gone}, nil, nil}, 0, "rank 0: the file is gone", stopped, false, false},
	} {
		got := make([]error, 3)
		onRanks(3, func(r *ranks) { got[r.rank] = r.agree(c.errs[r.rank]) })
		for rank, err := range got {
			var e *RankError
			if !errors.As(err, &e) || e.Rank != c.rank || e.kind != c.kind {
				t.Fatalf("%v on rank %d: %#v, want rank %d, kind %d", c.errs, rank, err, c.rank, c.kind)
			}
			own := rank == c.rank || c.rank < 0 // whose error it is
			text := c.text
			if !own {
				text = text[:min(len(text), len("rank 2: ")+longest)]
			}
			if err.Error() != text || own && !errors.Is(err, c.errs[rank]) {
				t.Errorf("rank %d: %q, want %q", rank, err, text)
			}
			if errors.Is(err, context.Canceled) != c.canceled || errors.Is(err, context.DeadlineExceeded) != c.end {
				t.Errorf("rank %d: %v: canceled %v, late %v", rank, err, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded))
			}
		}
	}
	onRanks(2, func(r *ranks) {
		if err := r.agree(nil); err != nil {
			t.Error(err)
		}
		before := &RankError{Rank: 1, Err: gone}
		if err := r.agree(before); err != error(before) { // all ranks have it: nobody is asked
			t.Error(err)
		}
		if err := r.explain(nil); err == nil || err.Error() != "train: another rank failed without an error message: see its output" {
			t.Error(err)
		}
		if err := r.lost(gone); err == nil || err.Error() != fmt.Sprintf("train: rank %d of 2: the connection to the others is lost: the file is gone", r.rank) || !errors.Is(err, gone) {
			t.Error(err)
		}
	})
	var alone *ranks
	if err := alone.agree(gone); err != gone || !alone.first() {
		t.Error("a process that trains alone")
	}
	if r := joined(Local(1)[0], new(Trainer)); r != nil {
		t.Error("one rank is no group")
	}
}

// TestRanksExchange checks broadcast and all-to-all of blocks of bytes of any lengths.
func TestRanksExchange(t *testing.T) {
	onRanks(3, func(r *ranks) {
		if r.first() != (r.rank == 0) {
			t.Errorf("rank %d is first", r.rank)
		}
		for _, n := range []int{0, 1, 1000} {
			var own []byte
			if r.rank == 0 {
				own = bytes.Repeat([]byte{7}, n)
			}
			if got, err := r.share(own); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{7}, n)) {
				t.Errorf("rank %d was given %d bytes, %v", r.rank, len(got), err)
			}
		}
		for _, lengths := range [][]int{{0, 0, 0}, {3, 0, 7}, {1, 1, 1}} {
			blocks, err := r.gather(bytes.Repeat([]byte{byte(r.rank + 1)}, lengths[r.rank]))
			if err != nil || len(blocks) != 3 {
				t.Fatal(len(blocks), err)
			}
			for k, b := range blocks {
				if !bytes.Equal(b, bytes.Repeat([]byte{byte(k + 1)}, lengths[k])) {
					t.Errorf("of rank %d: %v", k, b)
				}
			}
		}
		a, none, b := []byte{byte(r.rank)}, []byte{}, []byte{byte(r.rank), 5}
		if err := r.spread(a, none, b); err != nil || a[0] != 0 || b[0] != 0 || b[1] != 5 {
			t.Error(a, b, err)
		}
	})
}

// bounded allows no gathering of more than circulated bytes.
type bounded struct{ Communicator }

func (b bounded) AllGather(x []byte) error {
	if len(x) > circulated {
		return fmt.Errorf("%d bytes at a time", len(x))
	}
	return b.Communicator.AllGather(x)
}

// TestCirculate checks that parameters are exchanged in rounds of limited size, however they are divided into blocks.
func TestCirculate(t *testing.T) {
	sizes := [][]int{{3, circulated/3 - 7, 5}, {0, 1}, {circulated / 3}} // one byte more than a round
	fill := func(k int) (list [][]byte) {
		for i, n := range sizes[k] {
			b := make([]byte, n)
			for j := range b {
				b[j] = byte(j*7 + i + 31*k)
			}
			list = append(list, b)
		}
		return list
	}
	onRanks(3, func(r *ranks) {
		var into, taken [][][]byte
		for k := range 3 {
			if into = append(into, fill(k)); k != r.rank {
				for _, b := range into[k] {
					clear(b)
				}
			}
			taken = append(taken, slices.Clone(into[k]))
		}
		if r.rank == 1 {
			into, taken = nil, nil // takes nothing
		}
		if err := r.circulate(fill(r.rank), into); err != nil {
			t.Error(err)
		}
		for k := range taken {
			for i, b := range fill(k) {
				if !bytes.Equal(b, taken[k][i]) {
					t.Errorf("rank %d: block %d of rank %d differs", r.rank, i, k)
				}
			}
		}
		err := r.circulate([][]byte{make([]byte, 4+r.rank)}, [][][]byte{{make([]byte, 4)}, {make([]byte, 5)}, {make([]byte, 4)}})
		if err == nil || err.Error() != "train: rank 2 sent 6 bytes of optimizer state, want 4" {
			t.Error(err)
		}
		if err := r.circulate(nil, make([][][]byte, 3)); err != nil {
			t.Error(err)
		}
	})
	s := stream{[][]byte{{1, 2, 3}, {}, {4, 5}, {6}}}
	var got []string
	for range 4 {
		s.each(4, func(x []byte, done int) { got = append(got, fmt.Sprint(done, x)) })
		got = append(got, "|")
	}
	if want := "0 [1 2 3] 3 [] 3 [4] | 0 [5] 1 [6] | | |"; strings.Join(got, " ") != want {
		t.Errorf("read %q, want %q", strings.Join(got, " "), want)
	}
}

// wide has parameters of 12, 3, 6, 2 and 40 elements, the last of double precision.
func wide(t *testing.T, r *ranks) (list []*nn.Param, states map[*nn.Param]*state) {
	t.Helper()
	g := nn.New("wide")
	if err := g.Edit(func(e *nn.Edit) {
		h := e.Input("x", "float32[N,4]")
		for _, n := range []int{3, 2} {
			h = e.Apply(layers.Linear{Out: n}, h)
		}
		e.Output("y", h)
	}); err != nil {
		t.Fatal(err)
	}
	states = map[*nn.Param]*state{}
	for p := range g.Params() {
		list = append(list, p)
		states[p] = &state{shape: p.Data().Shape(), typ: dtype.Float32}
	}
	states[list[3]].typ = dtype.Float64
	return list, states
}

// TestBuckets checks that gradients are put into buckets of one element type in their order of
// arrival, each closed when it has the wanted number of bytes.
func TestBuckets(t *testing.T) {
	onRanks(2, func(r *ranks) {
		list, states := wide(t, r) // 12, 3, 6 and 2 elements
		for _, c := range []struct {
			bytes int
			order []int
			want  string
		}{
			{0, nil, "[3:16] [2:24] [1:12] [0:48]"}, {1, nil, "[3:16] [2:24] [1:12] [0:48]"}, {36, nil, "[2 1:36] [0:48] [3:16]"},
			{37, nil, "[2 1 0:84] [3:16]"}, {24, []int{0, 1, 2, 3}, "[0:48] [1 2:36] [3:16]"}, {1 << 20, []int{1, 3, 0, 2}, "[1 0 2:84] [3:16]"},
		} {
			x := newReduction(r, Config{BucketBytes: max(1, c.bytes)}, list, states, c.order)
			var got []string
			for _, b := range x.buckets {
				got = append(got, fmt.Sprintf("%v:%d", b.of, 4*len(b.f32)+8*len(b.f64)))
				at := 0
				for _, i := range b.of {
					g := states[list[i]].grad
					if n := len(dtype.Bytes(g)); n != list[i].Size()*states[list[i]].typ.Size() || !slices.Equal(g.Shape(), list[i].Data().Shape()) {
						t.Errorf("the gradient of %s has %d bytes, shape %v", list[i].Name(), n, g.Shape())
					}
					if b.f32 != nil && &dtype.Slice[float32](g)[0] != &b.f32[at] {
						t.Errorf("the gradient of %s is not in its bucket", list[i].Name())
					}
					at += list[i].Size()
				}
			}
			text := strings.ReplaceAll(strings.Join(got, " "), "]:", ":")
			want := strings.ReplaceAll(c.want, "]", "")
			if text != want {
				t.Errorf("%d bytes, order %v: %s, want %s", c.bytes, c.order, text, want)
			}
			if names := x.order(); (names != nil) != (c.order != nil) {
				t.Errorf("the order %v is known, given %v", names, c.order)
			} else if c.order != nil {
				var want []string
				for _, b := range x.buckets {
					for _, i := range b.of {
						want = append(want, list[i].Name())
					}
				}
				if !slices.Equal(names, want) {
					t.Errorf("order %v, want %v", names, want)
				}
			}
			for _, l := range []struct {
				list []int
				ok   bool
			}{{[]int{0, 1, 2, 3}, true}, {[]int{3, 1, 0, 2}, true}, {[]int{0, 1, 2}, false}, {nil, false}, {[]int{0, 1, 2, 2}, false}, {[]int{1, 2, 3, 4}, false}, {[]int{0, 1, 2, 3, 4}, false}} {
				if isOrder(l.list, len(list)) != l.ok {
					t.Errorf("%v is an order: %v", l.list, !l.ok)
				}
			}
		}
	})
	if (*reduction)(nil).order() != nil {
		t.Error("an order of nothing")
	}
}

// The gradients of a first group say in which order they come; all ranks take rank 0's.
func TestOrderOfGradients(t *testing.T) {
	onRanks(2, func(r *ranks) {
		list, states := wide(t, r)
		states[list[3]].typ = dtype.Float32
		x := newReduction(r, Config{BucketBytes: 1}, list, states, nil)
		x.last()
		arrive := [][]int{{2, 0, 3}, {0, 1, 2, 3}}[r.rank]
		for _, i := range arrive {
			g := dtype.New(dtype.Float32, list[i].Data().Shape()...)
			for k := range dtype.Slice[float32](g) {
				dtype.Slice[float32](g)[k] = float32(i + k)
			}
			x.add(list[i], g, float64(r.rank+1))
		}
		own := contribution{Weight: float64(r.rank + 1), Batches: 1, Sums: float64(r.rank), Tally: tally{Loss: 2, Weight: 3, Samples: 4 + r.rank}}
		if err := x.finish(&own, nil); err != nil {
			t.Fatal(err)
		}
		if own.Weight != 3 || own.Batches != 2 || own.Sums != 1 || own.Tally != (tally{Loss: 4, Weight: 6, Samples: 9}) {
			t.Errorf("all ranks contribute %+v", own)
		}
		for i := range list {
			factor := float32(3)
			if i == 1 {
				factor = 2 // of the second rank only
			}
			for k, v := range dtype.Slice[float32](states[list[i]].grad) {
				if v != factor*float32(i+k) || !states[list[i]].has {
					t.Errorf("gradient %d has %v in place %d", i, v, k)
				}
			}
		}
		if err := x.settle(1); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, i := range []int{2, 0, 3, 1} {
			want = append(want, list[i].Name())
		}
		if got := x.order(); !slices.Equal(got, want) {
			t.Errorf("rank %d: order %v, want %v", r.rank, got, want)
		}
		buckets := x.buckets
		if err := x.settle(1); err != nil || len(buckets) != len(x.buckets) || buckets[0] != x.buckets[0] {
			t.Error("an order is settled twice")
		}
	})
}

// A parameter has a gradient where one of the ranks has one, and none where nobody has.
func TestGradientsOfSome(t *testing.T) {
	onRanks(2, func(r *ranks) {
		list, states := wide(t, r)
		states[list[3]].typ = dtype.Float32
		x := newReduction(r, Config{}, list, states, nil)
		x.last()
		x.add(list[r.rank], dtype.New(dtype.Float32, list[r.rank].Data().Shape()...), 1)
		if err := x.finish(&contribution{Weight: 1}, nil); err != nil {
			t.Fatal(err)
		}
		for i, p := range list {
			if want := i < 2; states[p].has != want {
				t.Errorf("rank %d: parameter %d has a gradient: %v", r.rank, i, !want)
			}
		}
	})
}

// A state goes to the rank that keeps the fewest elements so far; without ranks, or where nothing is sharded, all are one's own.
func TestOwners(t *testing.T) {
	onRanks(3, func(r *ranks) {
		list, _ := wide(t, r) // 12, 3, 6 and 2 elements
		tr := &Trainer{ranks: r, c: Config{ShardState: true}}
		var got []int
		for _, p := range append(list, list[2], list[1]) {
			got = append(got, tr.owner(p))
		}
		if want := []int{0, 1, 2, 1, 1, 2}; !slices.Equal(got, want) || !slices.Equal(tr.owned, []int{12, 11, 9}) {
			t.Errorf("owners %v, want %v, of %v elements", got, want, tr.owned)
		}
		for k := range 3 {
			if tr.mine(&state{owner: k}) != (k == r.rank) {
				t.Errorf("rank %d has a state of rank %d", r.rank, k)
			}
		}
		tr.c.ShardState = false
		if tr.sharded() || tr.owner(list[0]) != 0 || !tr.mine(&state{owner: 2}) {
			t.Error("nothing is sharded")
		}
	})
	alone := &Trainer{c: Config{ShardState: true}}
	if alone.sharded() || !alone.mine(&state{owner: 1}) {
		t.Error("a process that trains alone shards its state")
	}
	if !steady(optim.Chain{optim.ClipValue{Limit: 1}, optim.SGD{}}) || steady(optim.Chain{struct{ optim.Rule }{}}) || steady(&optim.SGD{}) {
		t.Error("which rules cannot fail for one parameter alone")
	}
}

// TestHalves checks that sums in 16 bits have that precision for numbers of any magnitude, and are the
// same on all ranks.
func TestHalves(t *testing.T) {
	for _, c := range []struct {
		in     dtype.DType
		within float64 // of the largest sum
	}{{dtype.Float16, 1. / (1 << 10)}, {dtype.BFloat16, 1. / (1 << 7)}} {
		for _, size := range []float64{1, 1e-7, 1e-30, 1e6, 1e30} {
			for _, n := range []int{1, 2, 3, 7, 100} {
				var all [3][]float32
				onRanks(3, func(r *ranks) {
					x := make([]float32, n)
					for i := range x {
						x[i] = float32(size * float64(i%5-2+r.rank))
					}
					var h halves
					if err := h.reserve(n, 3); err != nil {
						t.Error(err)
					}
					for range 2 { // its memory is used again
						all[r.rank] = slices.Clone(x)
						if err := r.do(func(comm Communicator) error { return h.sum(comm, all[r.rank], c.in) }); err != nil {
							t.Error(err)
						}
					}
				})
				for i, v := range all[0] {
					want := size * float64(3*(i%5-2)+3)
					if d := math.Abs(float64(v) - want); !(d <= 9*size*c.within) || v != all[1][i] || v != all[2][i] {
						t.Errorf("%v, %g, %d numbers: sum %d is %v, %v and %v, want %v", c.in, size, n, i, v, all[1][i], all[2][i], want)
					}
				}
			}
		}
	}
	for _, c := range []struct{ most, scale float32 }{{1, 1 << 14}, {1.9, 1 << 14}, {2, 1 << 13}, {1 << 15, 0.5}, {-3, 1 << 13}, {0.5, 1 << 15}, {float32(math.Inf(1)), 1}, {float32(math.NaN()), 1}} {
		if got := scaleOf([]float32{0, c.most, 0}); got != c.scale {
			t.Errorf("scale %v of %v, want %v", got, c.most, c.scale)
		}
	}
}
