package engine

import (
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Kept remembers what kernels derived from a tensor that seldom changes: a weight in the order in
// which a matrix product reads it. Whoever changes the tensor's elements says so with Changed. The
// zero value is empty and ready, nil remembers nothing. Any number of goroutines may use one.
type Kept struct {
	mu      sync.Mutex
	entries []keptEntry
}

type keptEntry struct {
	key   any
	of    *byte // the first byte of the tensor that the value was made of
	value any   // nil: asked for once
}

// Changed forgets everything: the elements of the tensor are others now.
func (k *Kept) Changed() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.entries)
	k.entries = k.entries[:0]
}

// Of returns what derive makes of t, made before under the same key if there is such. The first
// time it returns nil: a tensor that changes from use to use, a weight in training, is not worth
// the memory.
func (k *Kept) Of(t *tensor.Dense, key any, derive func() any) any {
	if k == nil || len(t.Raw) == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.entries {
		e := &k.entries[i]
		if e.key != key {
			continue
		}
		if e.of != &t.Raw[0] {
			*e = keptEntry{key: key, of: &t.Raw[0]}
			return nil
		}
		if e.value == nil {
			e.value = derive()
		}
		return e.value
	}
	k.entries = append(k.entries, keptEntry{key: key, of: &t.Raw[0]})
	return nil
}

// Keep lets kernels that read input node n remember in k what they derive from it. For a node that
// the roots do not depend on it does nothing.
func (p *Program) Keep(n *gorgonia.Node, k *Kept) {
	if v := p.sources[n]; v != nil {
		v.kept = k
	}
}

// Kept is what is remembered about t, one of the inputs of the running kernel; nil: nothing may be.
func (x *Exec) Kept(t *tensor.Dense) *Kept {
	if x == nil || x.at == nil || t == nil {
		return nil
	}
	for i, d := range x.at.din {
		if d == t {
			return x.at.in[i].kept
		}
	}
	return nil
}
