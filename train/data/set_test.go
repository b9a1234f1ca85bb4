package data_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func numbers(n int) data.Dataset[int] {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return data.Of(v...)
}

func values[T any](t *testing.T, s data.Dataset[T]) []T {
	t.Helper()
	var out []T
	for i := range s.Len() {
		v, err := s.At(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// noisy returns a set whose samples draw random numbers.
func noisy(n int) data.Dataset[data.Sample] {
	return data.Map(numbers(n), func(i int, r *rand.Rand) (data.Sample, error) {
		return data.Sample{
			X: []*tensor.Dense{tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{float32(i), r.Float32()}))},
			Y: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(i)))},
		}, nil
	})
}

func TestSplit(t *testing.T) {
	b, a := data.Split(numbers(10), 0.3, 7) // to train on, held out
	if a.Len() != 3 || b.Len() != 7 {
		t.Fatalf("%d and %d samples, want 3 and 7", a.Len(), b.Len())
	}
	all := append(values(t, a), values(t, b)...)
	if !slices.IsSorted(all[:3]) || !slices.IsSorted(all[3:]) {
		t.Errorf("parts not in the set's order: %v", all)
	}
	_, again := data.Split(numbers(10), 0.3, 7)
	if !slices.Equal(values(t, again), all[:3]) {
		t.Error("same seed, other division")
	}
	slices.Sort(all)
	if !slices.Equal(all, values(t, numbers(10))) {
		t.Errorf("parts do not make the whole: %v", all)
	}
	_, other := data.Split(numbers(100), 0.3, 8)
	if _, more := data.Split(numbers(100), 0.3, 9); slices.Equal(values(t, more), values(t, other)) {
		t.Error("other seed, same division")
	}
	for share, want := range map[float64]int{-1: 0, 0: 0, 1: 10, 2: 10} {
		if b, a := data.Split(numbers(10), share, 1); a.Len() != want || b.Len() != 10-want {
			t.Errorf("share %v: %d and %d", share, a.Len(), b.Len())
		}
	}
}

func TestSets(t *testing.T) {
	s := data.Concat(data.Subset(numbers(5), []int{4, 0}), data.Of[int](), data.Of(7))
	if got := values(t, s); !slices.Equal(got, []int{4, 0, 7}) {
		t.Errorf("got %v", got)
	}
	for _, i := range []int{-1, 3} {
		if _, err := s.At(i, nil); err == nil {
			t.Errorf("sample %d of 3 exists", i)
		}
	}
	if _, err := data.Subset(numbers(2), []int{5}).At(0, nil); err == nil {
		t.Error("subset with an index outside accepted")
	}
}

func TestOrder(t *testing.T) {
	a, b := data.Order(50, 1, 0), data.Order(50, 1, 1)
	if slices.Equal(a, b) || !slices.Equal(a, data.Order(50, 1, 0)) {
		t.Error("order must depend on the epoch, and on seed and epoch only")
	}
	slices.Sort(a)
	if !slices.Equal(a, values(t, numbers(50))) {
		t.Error("no permutation")
	}
}

func TestCollate(t *testing.T) {
	one := func(ts ...*tensor.Dense) data.Sample { return data.Sample{X: ts} }
	vec := func(v ...float32) *tensor.Dense { return tensor.New(tensor.WithShape(len(v)), tensor.WithBacking(v)) }
	text := func(s string) *tensor.Dense { return tensor.New(tensor.WithShape(1), tensor.WithBacking([]string{s})) }
	b, err := data.Collate([]data.Sample{
		{X: []*tensor.Dense{vec(1, 2), text("a")}, Y: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(5)))}},
		{X: []*tensor.Dense{vec(3, 4), text("b")}, Y: []*tensor.Dense{tensor.New(tensor.FromScalar(int64(6)))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.X[0].Shape(), b.X[0].Float32s(), b.X[1].Shape(), b.X[1].Strings(), b.Y[0].Shape(), b.Y[0].Int64s()); got != "(2, 2) [1 2 3 4] (2, 1) [a b] (2) [5 6]" {
		t.Error(got)
	}
	empty := tensor.New(tensor.WithShape(0, 3), tensor.WithBacking([]float32{}))
	if b, err := data.Collate([]data.Sample{one(empty), one(empty)}); err != nil || !slices.Equal(b.X[0].Shape(), []int{2, 0, 3}) {
		t.Errorf("empty tensors: %v, error %v", b, err)
	}
	turned := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking(make([]float32, 6)))
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		b    []data.Sample
		want string
	}{
		{nil, "data: a batch of no samples"},
		{[]data.Sample{one(vec(1)), one(vec(1, 2))}, "data: sample 1, input 0: shape (2), want (1) as in the batch's first (sample 0)"},
		{[]data.Sample{one(vec(1)), one()}, "data: sample 1 has 0 inputs, sample 0 has 1"},
		{[]data.Sample{one(vec(1)), one(text("a"))}, "data: sample 1, input 0: element type string, want float32 as in the batch's first (sample 0)"},
		{[]data.Sample{one(turned)}, "data: sample 0, input 0: not contiguous in row-major order, want tensors as in the batch's first (sample 0)"},
		{[]data.Sample{one(vec(1)), one(nil)}, "data: sample 1, input 0: no tensor, want one as in the batch's first (sample 0)"},
	} {
		if _, err := data.Collate(c.b); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

func TestTensors(t *testing.T) {
	x := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	y := tensor.New(tensor.WithShape(2), tensor.WithBacking([]int64{8, 9}))
	s, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	b, err := data.Collate(values(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.X[0].Shape(), b.X[0].Float32s(), b.Y[0].Shape(), b.Y[0].Int64s()); got != "(2, 3) [1 2 3 4 5 6] (2) [8 9]" {
		t.Error(got)
	}
	if s, err := data.Tensors(x, nil); err != nil || len(values(t, s)[1].Y) != 0 {
		t.Errorf("without targets: error %v", err)
	}
	for _, c := range []struct {
		x, y *tensor.Dense
		want string
	}{
		{nil, y, "data: x is nil"},
		{x, tensor.New(tensor.FromScalar(int64(1))), "data: y is a scalar, want a tensor with a first axis of samples"},
		{x, tensor.New(tensor.WithShape(3), tensor.Of(tensor.Int64)), "data: x has 2 rows (shape (2, 3)), y has 3 (shape (3))"},
	} {
		if _, err := data.Tensors(c.x, c.y); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// walk returns the bytes of an epoch, as text.
func walk(t *testing.T, l data.BatchLoader, s data.Dataset[data.Sample], epoch int) []string {
	t.Helper()
	var out []string
	for b, err := range l.Batches(context.Background(), s, epoch) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(b.X[0].Shape(), b.X[0].Float32s(), b.Y[0].Int64s()))
	}
	return out
}

// TestWorkers: the same bytes with any number of workers, another order and
// other chance in each epoch, and a skip that continues exactly.
func TestWorkers(t *testing.T) {
	s := noisy(37)
	l := data.BatchLoader{Batch: 5, Shuffle: true, Seed: 3, Workers: 1}
	want := walk(t, l, s, 2)
	if len(want) != 8 || l.Count(37) != 8 {
		t.Fatalf("%d batches, Count says %d, want 8", len(want), l.Count(37))
	}
	for _, n := range []int{0, 1, 2, 7} {
		l.Workers = n
		if !slices.Equal(walk(t, l, s, 2), want) {
			t.Errorf("%d workers: other batches", n)
		}
	}
	l.Skip = 3
	if !slices.Equal(walk(t, l, s, 2), want[3:]) {
		t.Error("Skip does not continue exactly")
	}
	l.Skip = 0
	if slices.Equal(walk(t, l, s, 3), want) {
		t.Error("two epochs with the same batches")
	}
	l.DropLast = true
	if got := walk(t, l, s, 2); !slices.Equal(got, want[:7]) || l.Count(37) != 7 {
		t.Error("DropLast")
	}
	a, b := walk(t, data.BatchLoader{Seed: 1}, s, 0), walk(t, data.BatchLoader{Seed: 1}, s, 1)
	if len(a) != 2 || slices.Equal(a, b) {
		t.Error("samples must draw anew in each epoch")
	}
	if n := len(walk(t, l, noisy(0), 0)); n != 0 {
		t.Errorf("%d batches of an empty set", n)
	}
}

// TestEnd: break, error, panic and cancelling all end the walk with every
// goroutine gone.
func TestEnd(t *testing.T) {
	var seen atomic.Int64
	broken := data.Map(numbers(100), func(i int, r *rand.Rand) (data.Sample, error) {
		seen.Add(1)
		switch i {
		case 41:
			return data.Sample{}, errors.New("unreadable")
		case 61:
			var none []int
			_ = none[i]
		}
		return noisy(100).At(i, r)
	})
	run := func(workers, skip, stop int, ctx context.Context, cancelAt int, cancel func()) (n int, last error) {
		l := data.BatchLoader{Batch: 4, Workers: workers, Skip: skip}
		for _, err := range l.Batches(ctx, broken, 0) {
			if err != nil {
				last = err
				continue // the sequence must end by itself
			}
			if n++; n == cancelAt {
				cancel()
			}
			if n == stop {
				break
			}
		}
		return n, last
	}
	before := runtime.NumGoroutine()
	for _, workers := range []int{1, 3} {
		bg := context.Background()
		if n, err := run(workers, 0, 3, bg, 0, nil); n != 3 || err != nil {
			t.Errorf("break: %d batches, error %v", n, err)
		}
		if n, err := run(workers, 0, 0, bg, 0, nil); n != 10 || err == nil || err.Error() != "data: sample 41: unreadable" {
			t.Errorf("error: %d batches, %v", n, err)
		}
		if n, err := run(workers, 12, 0, bg, 0, nil); n != 3 || err == nil || !strings.Contains(err.Error(), "data: sample 61: panic: runtime error: index out of range") || !strings.Contains(err.Error(), "data_test.TestEnd") {
			t.Errorf("panic: %d batches, %v", n, err)
		}
		ctx, cancel := context.WithCancel(bg)
		if n, err := run(workers, 0, 0, ctx, 2, cancel); n != 2 || !errors.Is(err, context.Canceled) {
			t.Errorf("cancel: %d batches, %v", n, err)
		}
		if n, err := run(workers, 0, 0, ctx, 0, nil); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %d batches, %v", n, err)
		}
	}
	// Workers have left their last statement when the walk returns; the
	// scheduler may take a moment more to count them out.
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			break
		}
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	seen.Store(0)
	if _, err := run(2, 0, 1, context.Background(), 0, nil); err != nil {
		t.Fatal(err)
	}
	if n := seen.Load(); n > 4*(1+4+2+1) {
		t.Errorf("%d samples read for one batch of 4: prefetching has no bound", n)
	}
}

func TestTop(t *testing.T) {
	scores := func(v []float64, shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	c, p, err := data.Top(scores([]float64{0.1, 0.6, 0.1, 0.2}, 1, 4, 1, 1), 3)
	if err != nil || fmt.Sprint(c, p) != "[1 3 0] [0.6 0.2 0.1]" {
		t.Error(c, p, err)
	}
	c, p, err = data.Top(tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float32{-1000, 1000})), 9)
	if err != nil || fmt.Sprint(c, p) != "[1 0] [1 0]" {
		t.Error(c, p, err)
	}
	// Scores from 0 to 1 are a distribution only if they sum to 1, but for the rounding of half precision.
	for want, s := range map[string][]float64{
		"[0 1] [0.6225 0.3775]": {0.5, 0}, "[0 1] [0.5000 0.5000]": {0, 0}, "[1 0] [1.0010 0.0000]": {0, 1.001},
		"[0 1] [0.5000 0.4900]": {0.5, 0.49}, "[0 1] [0.5100 0.4900]": {0.54, 0.5},
	} {
		c, p, err := data.Top(scores(s, 2), 2)
		if got := fmt.Sprintf("%v %.4f", c, p); err != nil || got != want {
			t.Errorf("%v: %s, %v, want %s", s, got, err, want)
		}
	}
	nan := 0.0
	nan /= nan
	for want, bad := range map[string]*tensor.Dense{
		"no tensor":                                 nil,
		"want the float scores of one sample":       scores(make([]float64, 4), 2, 2),
		"int64 of shape (2), want the float scores": tensor.New(tensor.WithShape(2), tensor.Of(tensor.Int64)),
		"the score of class 1 is NaN":               scores([]float64{1, nan}, 2),
	} {
		if _, _, err := data.Top(bad, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, _, err := data.Top(scores([]float64{1}, 1), 0); err == nil {
		t.Error("k = 0 accepted")
	}
}

// A sampler says which samples an epoch takes; one that gives others than there are is refused.
func TestSampler(t *testing.T) {
	set := data.Of(sequence(nil, 0), sequence(nil, 1), sequence(nil, 2))
	for _, c := range []struct {
		order []int
		want  string
	}{
		{[]int{2, 0, 2}, "[2 0][2]"},
		{[]int{2, 0}, "data: the sampler gives 2 indices for 3 samples: want as many"},
		{[]int{2, 0, 3}, "data: sample 3 of a set of 3: the sampler returned it"},
	} {
		l := data.BatchLoader{Batch: 2, Shuffle: true, Sampler: func(n, epoch int) []int {
			if n != 3 || epoch != 4 {
				t.Error(n, epoch)
			}
			return c.order
		}}
		got := ""
		for b, err := range l.Batches(context.Background(), set, 4) {
			if err != nil {
				got += err.Error()
				break
			}
			got += fmt.Sprint(b.X[0].Data())
		}
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.order, got, c.want)
		}
	}
}

// TestLoaderSettings: invalid settings are errors, and a batch of any size is one of all samples.
func TestLoaderSettings(t *testing.T) {
	for want, l := range map[string]data.BatchLoader{
		"Batch is -1": {Batch: -1}, "Skip is -1": {Skip: -1}, "Workers is -1": {Workers: -1}, "Unit is -1": {Unit: -1}, "Prefetch is -1": {Prefetch: -1},
		"Rank is -1": {Rank: -1}, "Ranks is -1": {Ranks: -1}, "Rank is 2, but there are 2 ranks": {Rank: 2, Ranks: 2}, "Rank is 1, but there are 1 ranks": {Rank: 1},
	} {
		batches := 0
		for _, err := range l.Batches(context.Background(), noisy(3), 0) {
			if batches++; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
		if batches != 1 {
			t.Errorf("%s: %d batches, want an error", want, batches)
		}
	}
	l := data.BatchLoader{Batch: math.MaxInt}
	if got := walk(t, l, noisy(37), 0); len(got) != 1 || l.Count(37) != 1 {
		t.Errorf("%d batches of all samples, Count says %d", len(got), l.Count(37))
	}
}
