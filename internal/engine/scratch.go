package engine

import "sync"

// scratchpad is the memory that kernels use while they run: the parts of the arena that no value alive during a step
// occupies and, where those are too small, additional blocks. The zero value has no holes, and its blocks come from
// the Go heap.
type scratchpad struct {
	mu     sync.Mutex
	from   *memory
	arena  []byte
	holes  []hole // unused parts of the holes of the running step
	blocks [][]byte
	left   [][]byte // unused part of each block
}

// take returns n uninitialised bytes that start on a cache line.
func (p *scratchpad) take(n int64) []byte {
	n = align(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, h := range p.holes {
		if h.size >= n && (best < 0 || h.size < p.holes[best].size) {
			best = i
		}
	}
	if best >= 0 {
		h := &p.holes[best]
		b := p.arena[h.off : h.off+n : h.off+n]
		h.off, h.size = h.off+n, h.size-n
		return b
	}
	for i, b := range p.left {
		if int64(len(b)) >= n {
			p.left[i] = b[n:]
			return b[:n:n]
		}
	}
	b := p.block(n)
	p.left[len(p.left)-1] = b[n:]
	return b[:n:n]
}

// block adds a block.
func (p *scratchpad) block(n int64) []byte {
	b := []byte(nil)
	if p.from != nil {
		var err error
		if b, err = p.from.get(n); err != nil {
			panic(err) // ends the run with this error
		}
	} else {
		b = alignedBytes(n)
	}
	p.blocks, p.left = append(p.blocks, b), append(p.left, b)
	return b
}

// reset makes everything free again, for a step with these holes. Several blocks are merged into one.
func (p *scratchpad) reset(holes []hole) {
	p.holes = append(p.holes[:0], holes...)
	if len(p.blocks) > 1 {
		n := int64(0)
		for _, b := range p.blocks {
			n += int64(len(b))
			if p.from != nil {
				p.from.put(b)
			}
		}
		clear(p.blocks)
		p.blocks, p.left = p.blocks[:0], p.left[:0]
		p.block(n)
	}
	copy(p.left, p.blocks)
}
