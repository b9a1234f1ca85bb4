package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// chain is operators on single elements that run together, block by block, so that what lies between
// them never leaves the first cache level. It is a tree: each result but the last is read once.
type chain struct {
	n     int
	loads []access // of the kernel's inputs
	links []chained
}

// chained is a link of a chain. Operands are results of earlier links, by number, or loads, by their
// number's complement.
type chained struct {
	*link
	operands []int
	steady   int // it is computed in runs of so many elements, 0: of whole blocks
	buffer   int // where its result lies, but for the last
}

const (
	chainBlock = 1024 // elements of a block
	chainPiece = 8192 // elements that a thread takes at a time
	maxLinks   = 24
)

// chainOf is a chain of one link.
func chainOf(l *link) *chain {
	first := chained{link: l}
	for i, a := range l.reads {
		first.operands = append(first.operands, ^i)
		if a.steady() && (first.steady == 0 || a.inner < first.steady) {
			first.steady = a.inner // a divisor of the others: axes are nested
		}
	}
	return &chain{n: l.n, loads: l.reads, links: []chained{first}}
}

// core gives a core what lets its chain absorb, and be absorbed. Others come first.
func (c *chain) core(core *engine.Core) {
	switch t := core.Does.(type) {
	case nil:
		core.Does = &tail{chain: c}
	case *tail:
		t.chain = c
	default:
		return
	}
	if core.Absorb == nil {
		core.Absorb, core.Late = c.absorb, true
	}
}

// absorb is the core of c and the chain that next is, which reads the result of c.
func (c *chain) absorb(self, next *engine.Core, slot int) *engine.Core {
	t, ok := next.Does.(*tail)
	if !ok || t.chain == nil {
		return nil
	}
	joined := c.then(t.chain, self.Inputs, slot)
	if joined == nil {
		return nil
	}
	core := &engine.Core{Kernel: joined.kernel().engine(), InPlace: joined.inPlace()}
	joined.core(core)
	return core
}

// then is the chain whose input slot of next is the result of c, which has that many inputs; nil if
// there is none.
func (c *chain) then(next *chain, inputs, slot int) *chain {
	if c.n != next.n || len(c.links)+len(next.links) > maxLinks {
		return nil
	}
	j := &chain{n: c.n, loads: slices.Clone(c.loads), links: slices.Clone(c.links)}
	place := make([]int, len(next.loads)) // what the loads of next are in j
	for i, a := range next.loads {
		switch {
		case a.slot == slot:
			if place[i] = len(c.links) - 1; !a.whole(c.n) {
				return nil
			}
			continue
		case a.slot < slot:
			a.slot += inputs
		default:
			a.slot += inputs - 1
		}
		place[i] = ^len(j.loads)
		j.loads = append(j.loads, a)
	}
	for _, l := range next.links {
		operands := make([]int, len(l.operands))
		for i, o := range l.operands {
			if o < 0 {
				operands[i] = place[^o]
			} else {
				operands[i] = o + len(c.links)
			}
		}
		j.links = append(j.links, chained{link: l.link, operands: operands, steady: l.steady})
	}
	return j
}

// inPlace are the inputs in whose memory the result may lie: those that have been read when the last
// link writes a block, or that it may overwrite.
func (c *chain) inPlace() []int {
	last := c.links[len(c.links)-1]
	var slots []int
	for i, a := range c.loads {
		if at := slices.Index(last.operands, ^i); a.whole(c.n) && (at < 0 || last.mayOverwrite(at)) {
			slots = append(slots, a.slot)
		}
	}
	return slots
}

// buffers places the results of links, each in the buffer of an operand if that is possible, and says
// how many there are.
func (c *chain) buffers() int {
	count := 0
	for i := range c.links[:len(c.links)-1] {
		l := &c.links[i]
		l.buffer = -1
		for at, o := range l.operands {
			if o >= 0 && l.mayOverwrite(at) {
				l.buffer = c.links[o].buffer
			}
		}
		if l.buffer < 0 {
			l.buffer = count
			count++
		}
	}
	return count
}

// kernel runs the chain.
func (c *chain) kernel() Kernel {
	results := c.buffers()
	buffers := results + len(c.loads) // one for each load, too
	return func(x *Exec, out, in []*tensor.Dense) error {
		p, y := pool(x), dtype.Slice[float32](out[0])
		scratch := scratch[float32](x)(p.Threads() * buffers * chainBlock)
		from := make([][]float32, len(c.loads))
		for i, a := range c.loads {
			from[i] = dtype.Slice[float32](in[a.slot])
		}
		p.Run((c.n+chainPiece-1)/chainPiece, func(worker, piece int) {
			own := scratch[worker*buffers*chainBlock:]
			r := chainRun{chain: c, in: from, results: own[:results*chainBlock], repeated: own[results*chainBlock:]}
			r.blocks(y, piece*chainPiece, min(c.n, (piece+1)*chainPiece))
		})
		return nil
	}
}

// chainRun is a chain at work in one thread.
type chainRun struct {
	*chain
	in                [][]float32 // for each load the whole input
	results, repeated []float32   // buffers of a block each: of links, and for each load
	operands          [4]operand
}

// blocks computes elements lo to hi of y.
func (r *chainRun) blocks(y []float32, lo, hi int) {
	for i, a := range r.loads {
		if a.repeats() {
			a.fill(r.repeated[i*chainBlock:][:min(hi-lo, chainBlock)], r.in[i], 0)
		}
	}
	for ; lo < hi; lo += chainBlock {
		end := min(hi, lo+chainBlock)
		for i := range r.links {
			dst := y[lo:end]
			if i < len(r.links)-1 {
				dst = r.results[r.links[i].buffer*chainBlock:][:end-lo]
			}
			r.run(&r.links[i], dst, lo, end)
		}
	}
}

// run computes elements lo to hi, a block, of a link.
func (r *chainRun) run(l *chained, dst []float32, lo, hi int) {
	for at := lo; at < hi; {
		end := hi
		if l.steady > 0 {
			end = min(hi, (at/l.steady+1)*l.steady)
		}
		operands := r.operands[:len(l.operands)]
		for k, o := range l.operands {
			if o >= 0 {
				operands[k] = operand{elems: r.results[r.links[o].buffer*chainBlock:][at-lo : end-lo]}
			} else {
				operands[k] = r.loads[^o].block(r.in[^o], r.n, at, end, r.repeated[^o*chainBlock:][:chainBlock])
			}
		}
		l.link.run(dst[at-lo:end-lo], operands)
		at = end
	}
}
