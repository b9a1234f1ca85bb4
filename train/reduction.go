package train

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// reduction sums the gradients of all ranks. Gradients are kept in buckets. Each bucket is summed when its last gradient is
// complete, in the same order on all ranks, overlapping with the backward pass. The last bucket waits until all ranks have agreed
// that none has failed in the step.
type reduction struct {
	r       *ranks
	in      dtype.DType
	params  []*nn.Param // in the order of the graph
	states  []*state
	index   map[*nn.Param]int
	buckets []*bucket
	next    int  // index of the bucket to sum next
	open    bool // gradients are those of the last batch of their group
	settled bool // the order is that of the backward pass
	behind  bool // sums wait for the end of the backward pass, which communicates itself
	arrived []int
	halves  halves
	lack    error // gradients that do not fit in memory: they are there, since other ranks wait for their sums, but the step fails
}

// bucket is a set of gradients of one element type, contiguous in memory, that are summed together.
type bucket struct {
	of      []int // indices of parameters
	missing int   // number of parameters without a gradient so far
	f32     []float32
	f64     []float64
	done    <-chan error
}

// bucketBytes is the size from which a bucket is full, in bytes: so large that bandwidth matters more than latency.
const bucketBytes = 4 << 20

// newReduction makes buckets for parameters in the expected order of their gradients: order, by index, or from the last
// parameter to the first if order is nil.
func newReduction(r *ranks, c Config, params []*nn.Param, states map[*nn.Param]*state, order []int) *reduction {
	x := &reduction{r: r, in: c.ReduceIn, params: params, index: map[*nn.Param]int{}, settled: order != nil, behind: c.SyncBatchNorm}
	for i, p := range params {
		x.index[p] = i
		x.states = append(x.states, states[p])
	}
	if order == nil {
		for i := range slices.Backward(params) {
			order = append(order, i)
		}
	}
	x.layout(order, c.bucket())
	return x
}

func (x *reduction) layout(order []int, most int) {
	var filling [2]*bucket
	var size [2]int
	x.buckets = nil
	for _, s := range x.states {
		s.grad = nil
	}
	shut := func(k int) {
		if b := filling[k]; b != nil {
			x.allocate(b, k == 1)
			x.buckets = append(x.buckets, b)
		}
		filling[k], size[k] = nil, 0
	}
	for _, i := range order {
		k, bytes := 0, 4*x.params[i].Size()
		if x.states[i].typ == dtype.Float64 {
			k, bytes = 1, 2*bytes
		}
		if filling[k] == nil {
			filling[k] = &bucket{}
		}
		filling[k].of = append(filling[k].of, i)
		if size[k] += bytes; size[k] >= most {
			shut(k)
		}
	}
	shut(0)
	shut(1)
	if x.in != dtype.Undefined {
		longest := 0
		for _, b := range x.buckets {
			longest = max(longest, len(b.f32))
		}
		x.lacks(x.halves.reserve(longest, x.r.size))
	}
}

// allocate allocates a bucket and its gradients.
func (x *reduction) allocate(b *bucket, double bool) {
	n := 0
	for _, i := range b.of {
		n += x.params[i].Size()
	}
	if double {
		b.f64 = room[float64](x, n)
	} else {
		b.f32 = room[float32](x, n)
	}
	at := 0
	for _, i := range b.of {
		s, n := x.states[i], x.params[i].Size()
		s.has = false
		if double {
			s.grad = view(b.f64[at:at+n], s.shape)
		} else {
			s.grad = view(b.f32[at:at+n], s.shape)
		}
		at += n
	}
}

// lacks makes the step fail if err is not nil: other ranks wait for the sums.
func (x *reduction) lacks(err error) {
	if err != nil {
		x.lack = fmt.Errorf("train: the gradients of all ranks: %w", err)
	}
}

// room returns n numbers, charged to the memory budget, beyond its limit too.
func room[F float32 | float64](x *reduction, n int) []F {
	list, err := grown[F](nil, n)
	x.lacks(err)
	return list
}

// view returns a tensor that shares the memory of x.
func view[F float32 | float64](x []F, shape []int) *tensor.Dense {
	d, err := dtype.FromSlice(x, shape...)
	if err != nil {
		panic(err) // parameters are not empty
	}
	return d
}

// last starts the last batch of a group, whose gradients complete the buckets.
func (x *reduction) last() {
	x.next, x.open, x.arrived = 0, true, x.arrived[:0]
	for _, b := range x.buckets {
		b.missing, b.done = len(b.of), nil
	}
}

// add adds a gradient of the batch, times its weight.
func (x *reduction) add(p *nn.Param, g *tensor.Dense, weight float64) {
	i := x.index[p]
	s := x.states[i]
	addOnAllThreads(s.grad, g, weight, !s.has)
	s.has = true
	if !x.open {
		return
	}
	x.arrived = append(x.arrived, i)
	if x.settled {
		x.bucketOf(i).missing--
	}
	for x.settled && !x.behind && x.next < len(x.buckets)-1 && x.buckets[x.next].missing == 0 {
		x.sum()
	}
}

func (x *reduction) bucketOf(i int) *bucket {
	for _, b := range x.buckets[x.next:] {
		if slices.Contains(b.of, i) {
			return b
		}
	}
	panic(fmt.Sprintf("train: a gradient of %s arrives twice", x.params[i].Name()))
}

// sum starts the sum of the next bucket. Gradients that this rank lacks count as zeros.
func (x *reduction) sum() {
	b := x.buckets[x.next]
	x.next++
	for _, i := range b.of {
		if s := x.states[i]; !s.has {
			clear(dtype.Bytes(s.grad))
		}
	}
	b.done = x.r.start(func(c Communicator) error {
		switch {
		case b.f64 != nil:
			return c.AllReduceFloat64(b.f64)
		case x.in != dtype.Undefined:
			return x.halves.sum(c, b.f32, x.in)
		}
		return c.AllReduce(b.f32)
	})
}

// contribution has the totals of a rank's batches in a step; they are summed over ranks.
type contribution struct {
	Failed  float64 // number of ranks that have failed
	Weight  float64 // Σ of the losses' weights, see Weighted
	Sums    float64 // number of batches whose loss is a sum
	Batches float64 // number of batches with samples
	Tally   tally
	Chosen  choice // of the loss
}

// choice is how ranks have chosen their loss: the number of those that have, the sum of a number for each choice, and the sum of its squares.
type choice struct{ Ranks, Sum, Squares float64 }

// same reports whether all have chosen the same.
func (c choice) same() bool { return c.Ranks*c.Squares == c.Sum*c.Sum }

func (c *contribution) slice() []float64 {
	return []float64{c.Failed, c.Weight, c.Sums, c.Batches, c.Tally.Loss, c.Tally.Weight, float64(c.Tally.Samples), c.Chosen.Ranks, c.Chosen.Sum, c.Chosen.Squares}
}

const contributed = 10

// finish ends a group. Missing gradients are sent as zeros. If a rank has failed (err), all ranks return its error; otherwise
// own becomes the sum over ranks, and the gradients are sums.
func (x *reduction) finish(own *contribution, err error) error {
	if !x.open {
		x.last()
	}
	defer func() { x.open = false }()
	for x.next < len(x.buckets)-1 {
		x.sum()
	}
	if err != nil {
		own.Failed = 1
	}
	state := own.slice()
	for _, s := range x.states {
		has := 0.0
		if s.has {
			has = 1
		}
		state = append(state, has)
	}
	e := x.r.do(func(c Communicator) error { return c.AllReduceFloat64(state) })
	if e == nil && state[0] == 0 {
		x.sum()
	}
	for _, b := range x.buckets {
		if b.done != nil {
			e = errors.Join(e, x.r.lost(<-b.done))
			b.done = nil
		}
	}
	switch {
	case e != nil:
		return errors.Join(err, e)
	case state[0] != 0:
		return x.r.explain(err)
	}
	*own = contribution{
		Weight: state[1], Sums: state[2], Batches: state[3],
		Tally:  tally{Loss: state[4], Weight: state[5], Samples: int(state[6])},
		Chosen: choice{state[7], state[8], state[9]},
	}
	for i, s := range x.states {
		s.has = state[contributed+i] > 0
	}
	return nil
}

// settle sends rank 0's order of gradients to all ranks, once. It reallocates the gradients, which must not be in use.
func (x *reduction) settle(most int) error {
	if x.settled {
		return nil
	}
	x.settled = true
	seen := map[int]bool{}
	var order []byte
	for _, i := range x.arrived {
		seen[i] = true
		order = binary.LittleEndian.AppendUint32(order, uint32(i))
	}
	for i := range slices.Backward(x.params) {
		if !seen[i] {
			order = binary.LittleEndian.AppendUint32(order, uint32(i))
		}
	}
	if err := x.r.spread(order); err != nil {
		return err
	}
	var list []int
	for b := range slices.Chunk(order, 4) {
		list = append(list, int(binary.LittleEndian.Uint32(b)))
	}
	if isOrder(list, len(x.params)) {
		x.layout(list, most)
	}
	return nil
}

// order returns the names of the parameters in the order in which their gradients arrive; nil if it is not known yet.
func (x *reduction) order() (names []string) {
	if x == nil || !x.settled {
		return nil
	}
	for _, b := range x.buckets {
		for _, i := range b.of {
			names = append(names, x.params[i].Name())
		}
	}
	return names
}

// isOrder reports whether a list is a permutation of the n first indices.
func isOrder(list []int, n int) bool {
	sorted := slices.Sorted(slices.Values(list))
	for i, k := range sorted {
		if i != k {
			return false
		}
	}
	return len(list) == n
}
