package loops

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// fused is a tree of elementwise loops that run together, block by block, so that intermediate results stay in the
// L1 cache. Each result but the last is read once.
type fused struct {
	n     int
	loads []Access // of the kernel's inputs
	parts []part
}

// part is one of the loops. Operands are results of earlier loops, by number, or loads, by the complement of their
// number.
type part struct {
	*Loop
	operands []int
	steady   int // number of elements of its runs; 0: whole blocks
	buffer   int // buffer of its result, except for the last
}

const (
	block    = 1024 // elements of a block
	tile     = 8192 // elements that a thread processes at a time
	maxLoops = 24
)

// fusedOf returns l, either a single loop or several fused ones, as a fused.
func fusedOf(l *Loop) *fused {
	if l.fused != nil {
		return l.fused
	}
	first := part{Loop: l}
	for i, a := range l.Reads {
		first.operands = append(first.operands, ^i)
		if a.steady() && (first.steady == 0 || a.Inner < first.steady) {
			first.steady = a.Inner // a divisor of the others: axes are nested
		}
	}
	return &fused{n: l.N, loads: l.Reads, parts: []part{first}}
}

// Fusion returns the rule that fuses elementwise loops. It is tried after all others.
func Fusion() op.Fusion {
	loops := op.NewFusion(fuse)
	loops.Last = true
	return loops
}

// fuse fuses a loop with the one that reads its result.
func fuse(first, second *Loop, m op.Meeting) *op.Fused {
	if m.Sides {
		return nil
	}
	both := fusedOf(first).then(fusedOf(second), m.FirstInputs, m.Slot)
	if both == nil {
		return nil
	}
	return &op.Fused{Kernel: both.kernel(), InPlace: both.inPlace(), Patterns: []op.Pattern{&Loop{fused: both}}}
}

// then returns the loop in which input slot of next is the result of c, which has the given number of inputs; nil if
// they cannot be fused.
func (c *fused) then(next *fused, inputs, slot int) *fused {
	if c.n != next.n || len(c.parts)+len(next.parts) > maxLoops {
		return nil
	}
	j := &fused{n: c.n, loads: slices.Clone(c.loads), parts: slices.Clone(c.parts)}
	place := make([]int, len(next.loads)) // positions in j of the loads of next
	for i, a := range next.loads {
		switch {
		case a.Slot == slot:
			if place[i] = len(c.parts) - 1; !a.Whole(c.n) {
				return nil
			}
			continue
		case a.Slot < slot:
			a.Slot += inputs
		default:
			a.Slot += inputs - 1
		}
		place[i] = ^len(j.loads)
		j.loads = append(j.loads, a)
	}
	for _, l := range next.parts {
		operands := make([]int, len(l.operands))
		for i, o := range l.operands {
			if o < 0 {
				operands[i] = place[^o]
			} else {
				operands[i] = o + len(c.parts)
			}
		}
		j.parts = append(j.parts, part{Loop: l.Loop, operands: operands, steady: l.steady})
	}
	return j
}

// inPlace returns the inputs whose memory the result may use: those that have been read when the last
// part writes a block, or that it may overwrite.
func (c *fused) inPlace() []int {
	last := c.parts[len(c.parts)-1]
	var slots []int
	for i, a := range c.loads {
		if at := slices.Index(last.operands, ^i); a.Whole(c.n) && (at < 0 || last.mayOverwrite(at)) {
			slots = append(slots, a.Slot)
		}
	}
	return slots
}

// buffers assigns the results of parts to buffers, reusing that of an operand if possible, and returns the
// number of buffers.
func (c *fused) buffers() int {
	count := 0
	for i := range c.parts[:len(c.parts)-1] {
		l := &c.parts[i]
		l.buffer = -1
		for at, o := range l.operands {
			if o >= 0 && l.mayOverwrite(at) {
				l.buffer = c.parts[o].buffer
			}
		}
		if l.buffer < 0 {
			l.buffer = count
			count++
		}
	}
	return count
}

// kernel runs the loop.
func (c *fused) kernel() op.Kernel {
	results := c.buffers()
	buffers := results + len(c.loads) // one for each load, too
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		p, y := (*engine.Exec)(x).Pool(), dtype.Slice[float32](out[0])
		scratch := engine.Scratch[float32]((*engine.Exec)(x))(p.Threads() * buffers * block)
		from := make([][]float32, len(c.loads))
		for i, a := range c.loads {
			from[i] = dtype.Slice[float32](in[a.Slot])
		}
		p.Run((c.n+tile-1)/tile, func(worker, tileIndex int) {
			own := scratch[worker*buffers*block:]
			r := run{fused: c, in: from, results: own[:results*block], repeated: own[results*block:]}
			r.blocks(y, tileIndex*tile, min(c.n, (tileIndex+1)*tile))
		})
		return nil
	}
}

// run is a loop at work in one thread.
type run struct {
	*fused
	in                [][]float32 // for each load the whole input
	results, repeated []float32   // buffers of a block each: of parts, and for each load
	operands          [4]Block
}

// blocks computes elements lo to hi of y.
func (r *run) blocks(y []float32, lo, hi int) {
	for i, a := range r.loads {
		if a.repeats() {
			a.fill(r.repeated[i*block:][:min(hi-lo, block)], r.in[i], 0)
		}
	}
	for ; lo < hi; lo += block {
		end := min(hi, lo+block)
		for i := range r.parts {
			dst := y[lo:end]
			if i < len(r.parts)-1 {
				dst = r.results[r.parts[i].buffer*block:][:end-lo]
			}
			r.run(&r.parts[i], dst, lo, end)
		}
	}
}

// run computes elements lo to hi, a block, of a part.
func (r *run) run(l *part, dst []float32, lo, hi int) {
	for at := lo; at < hi; {
		end := hi
		if l.steady > 0 {
			end = min(hi, (at/l.steady+1)*l.steady)
		}
		operands := r.operands[:len(l.operands)]
		for k, o := range l.operands {
			if o >= 0 {
				operands[k] = Block{Elems: r.results[r.parts[o].buffer*block:][at-lo : end-lo]}
			} else {
				operands[k] = r.loads[^o].block(r.in[^o], r.n, at, end, r.repeated[^o*block:][:block])
			}
		}
		l.Run(dst[at-lo:end-lo], operands)
		at = end
	}
}
