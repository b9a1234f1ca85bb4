package conformance_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestSweepSequences compares sequences that are split off a tensor, changed, and made a tensor again with ONNX Runtime.
func TestSweepSequences(t *testing.T) {
	if testing.Short() {
		t.Skip("random models")
	}
	ort := oracle.ORT(t)
	compared := 0
	for i := range 8 * *sweepTrials {
		r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i)))}
		w := r.sequences()
		model := w.model(t, r)
		feed, in := w.feeds()
		want, ortErr := ort.Run(model, in)
		got, err := evaluate(t, model, feed)
		if ortErr != nil {
			if testing.Verbose() {
				t.Logf("%d: ONNX Runtime refuses %s: %v; graft: %v", i, w, ortErr, err)
			}
			continue
		}
		compared++
		if err != nil {
			t.Errorf("%d: %s: %v", i, w, err)
			continue
		}
		for name, y := range want {
			if err := oracle.Close(packValue(got[name]), y, 0, 0); err != nil {
				t.Errorf("%d: %s: %s: %v", i, w, name, err)
			}
		}
	}
	t.Logf("%d of %d models compared", compared, 8**sweepTrials)
}

// sequences draws a network whose last nodes turn a sequence into tensors.
func (r *draw) sequences() network {
	rank := r.between(1, 3)
	shape := r.shape(rank, 1, 5)
	axis := r.IntN(rank)
	var w network
	var list string // the sequence
	add := func(c trial) string {
		c.opset = 17
		w = append(w, c)
		return outputName((len(w) - 1) * stride)
	}
	after := func(op string, attrs map[string]any, in ...dtype.Value) string {
		c := trial{op: op, attrs: attrs, in: r.with([]argument{{}}, in...), from: map[int]string{0: list}, inner: true}
		return add(c)
	}
	elem := func(shape ...int) dtype.Value { return r.floats(shape...) }
	switch r.IntN(4) {
	case 0:
		elem = func(shape ...int) dtype.Value { return r.numbers(dtype.Int64, 0, 9, shape...) }
	case 1:
		elem = r.words
	}
	attrs := map[string]any{"axis": axis}
	if r.flag() {
		attrs["axis"] = axis - rank
	}
	part := append([]int{}, shape...) // the shape of an element that could be concatenated with the others
	ends := r.Perm(3)[:r.between(1, 3)]
	shortest := 1
	if !slices.Contains(ends, 2) {
		shortest = 0 // graft does not concatenate empty tensors whose other axes have other lengths
	}
	if x := []argument{{value: elem(shape...)}}; r.rarely(4) {
		x = append(x, argument{value: elem(shape...)})
		list = add(trial{op: "SequenceConstruct", in: x, inner: true})
	} else {
		switch r.IntN(3) {
		case 0: // parts of length 1
			if part[axis] = 1; r.flag() {
				attrs["keepdims"] = 0
				part = append(part[:axis], part[axis+1:]...)
			}
		case 1:
			x = r.with(x, scalar(int64(r.between(1, shape[axis]+1))))
		case 2:
			var lengths []int
			for left := shape[axis]; left > 0; {
				n := r.between(shortest, left)
				lengths, left = append(lengths, n), left-n
			}
			x = r.with(x, ints(lengths...))
		}
		list = add(trial{op: "SplitToSequence", attrs: attrs, in: x, inner: true})
	}
	for range r.IntN(4) {
		var at []dtype.Value
		if r.flag() {
			at = append(at, scalar(int64(r.between(-3, 2))))
		}
		if r.flag() {
			list = after("SequenceErase", nil, at...)
			continue
		}
		list = after("SequenceInsert", nil, append([]dtype.Value{elem(part...)}, at...)...)
	}
	for _, end := range ends {
		switch end {
		case 0:
			after("SequenceLength", nil)
		case 1:
			after("SequenceAt", nil, scalar(int64(r.between(-3, 2))))
		case 2:
			attrs := map[string]any{"axis": r.between(-len(part), max(0, len(part)-1))}
			if r.rarely(3) {
				attrs["new_axis"], attrs["axis"] = 1, r.between(-len(part)-1, len(part))
			}
			after("ConcatFromSequence", attrs)
		}
		w[len(w)-1].inner = false
	}
	return w
}
