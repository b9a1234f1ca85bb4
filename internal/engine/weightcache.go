package engine

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// WeightCache keeps what kernels derived from a tensor that rarely changes, such as a weight packed for a matrix
// product. Changed must be called when the tensor's elements change, or Lend before they may. The zero value is an empty
// cache; nil keeps nothing. It is safe for concurrent use.
type WeightCache struct {
	version atomic.Uint64 // counts changes
	lent    atomic.Bool   // the tensor may be changed without calling Changed: its hash tells
	mu      sync.Mutex
	entries []keptEntry
	hash    uint64
	hashed  bool
}

var hashSeed = maphash.MakeSeed()

type keptEntry struct {
	key   any
	of    []keptSource
	value *derived // nil: requested once
}

// derived is what was derived from tensors. It is charged to the budget while it is reachable.
type derived struct{ value any }

// keptSource identifies a tensor at the time when something was derived from it.
type keptSource struct {
	first   *byte // of its elements
	bytes   int
	kept    *WeightCache
	version uint64
}

// Changed empties the cache, since the elements of the tensor have changed.
func (k *WeightCache) Changed() {
	if k == nil {
		return
	}
	k.version.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.entries)
	k.entries = k.entries[:0]
}

// Lend says that the elements may change from now on without a call of Changed, though not while a program reads them.
func (k *WeightCache) Lend() {
	if k != nil {
		k.lent.Store(true)
	}
}

// Version returns the number of changes of v, the tensor. If it is lent, all its elements are read: p may be stopped, or nil.
func (k *WeightCache) Version(p *kernel.Pool, v gorgonia.Value) uint64 {
	if k == nil {
		return 0
	}
	if k.lent.Load() {
		h := hashOf(p, v)
		k.mu.Lock()
		same := k.hashed && k.hash == h
		k.hash, k.hashed = h, true
		k.mu.Unlock()
		if !same {
			k.Changed()
		}
	}
	return k.version.Load()
}

// hashOf returns a hash of the elements of v.
func hashOf(p *kernel.Pool, v gorgonia.Value) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	switch v := v.(type) {
	case *tensor.Dense:
		for part := range slices.Chunk(v.Raw, hashPart) {
			p.Check()
			maphash.WriteComparable(&h, maphash.Bytes(hashSeed, part))
		}
	case *dtype.Strings:
		pace := p.Pace()
		for _, s := range v.Elems {
			pace.Did(8 + len(s)/8)
			maphash.WriteComparable(&h, s)
		}
	}
	return h.Sum64()
}

// hashPart is how many bytes are hashed within a few milliseconds.
const hashPart = 16 << 20

// packed returns the result of derive on the sources, or the one that is cached under the same key. The first time
// it returns nil: tensors that change from run to run, such as weights in training, are not worth the memory. So it does if the
// result would take most of the memory that is left, which is for what needs it.
func (k *WeightCache) packed(key any, of []keptSource, derive func() any) any {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.entries, func(e keptEntry) bool { return e.key == key })
	if at < 0 {
		k.entries = append(k.entries, keptEntry{key: key, of: of})
		return nil
	}
	e := &k.entries[at]
	if !slices.Equal(e.of, of) {
		*e = keptEntry{key: key, of: of}
		return nil
	}
	if e.value == nil {
		n := int64(0)
		for _, s := range of {
			n += int64(s.bytes)
		}
		if budget.Left() < 2*n {
			return nil
		}
		e.value = &derived{derive()}
		if v, ok := e.value.value.(interface{ Bytes() int64 }); ok {
			n = v.Bytes()
		}
		budget.Count(e.value, n)
	}
	return e.value.value
}

// release empties the cache if no kernel is using it.
func (k *WeightCache) release() {
	if k != nil && k.mu.TryLock() {
		clear(k.entries)
		k.entries = k.entries[:0]
		k.mu.Unlock()
	}
}

// Release is Close for a program of which nothing else is needed soon: what kernels derived from its weights is released, too.
func (p *Program) Release() {
	for _, v := range p.sources {
		v.kept.release()
	}
	p.Close()
}

// Keep lets kernels that read input node n cache in k what they derive from it. For a node that the roots do not
// depend on it does nothing.
func (p *Program) Keep(n *gorgonia.Node, k *WeightCache) {
	if v := p.sources[n]; v != nil {
		v.kept = k
	}
}

// Packed returns the result of derive on inputs of the running kernel, or the one that is cached under the same key
// if they have not changed since. It returns nil if nothing may be cached, and the first time. The key distinguishes
// what different kernels derive from the first of the inputs.
func (x *Exec) Packed(key any, derive func() any, of ...*tensor.Dense) any {
	if len(of) == 0 {
		return nil
	}
	sources := make([]keptSource, len(of))
	for i, t := range of {
		k := x.kept(t)
		if k == nil || len(t.Raw) == 0 {
			return nil
		}
		sources[i] = keptSource{&t.Raw[0], len(t.Raw), k, k.Version(x.Pool(), t)}
	}
	return sources[0].kept.packed(key, sources, derive)
}

// kept returns the cache of t, one of the inputs of the running kernel; nil if nothing may be cached.
func (x *Exec) kept(t *tensor.Dense) *WeightCache {
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
