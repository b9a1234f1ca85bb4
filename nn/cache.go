package nn

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// cacheSize is the maximum number of lowerings that a graph keeps; the least recently used is evicted.
const cacheSize = 16

// cache keeps compiled stages, except those that depend on large values. The key spells out everything a lowering depends on but the values
// it was specialized for; those are compared byte by byte.
type cache struct {
	mu      sync.Mutex
	entries []cached // most recently used last
}

type cached struct {
	key   string
	stage *stage
}

// stageFor returns the compiled stage for the available values, from the cache if possible.
func (g *Graph) stageFor(ctx context.Context, have map[*Value]dtype.Value, types map[*Value]op.Type, r request, depth int) (*stage, error) {
	key := g.stageKey(have, types, r, depth)
	if st := g.cache.find(key, have); st != nil {
		return st, nil
	}
	st, err := g.lowerStage(ctx, have, types, r)
	if err != nil {
		return nil, err
	}
	if !st.once {
		g.cache.add(key, st)
	}
	return st, nil
}

func (g *Graph) stageKey(have map[*Value]dtype.Value, types map[*Value]op.Type, r request, depth int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "v%d d%d train=%v", g.version, depth, r.train)
	names := make([]*Value, 0, len(have))
	for v := range have {
		names = append(names, v)
	}
	slices.SortFunc(names, func(a, b *Value) int { return strings.Compare(a.name, b.name) })
	for _, v := range names {
		t := types[v]
		fmt.Fprintf(&b, "|%s %s %s %v", v.name, t.Concrete(), t, r.frozen[v])
	}
	list := func(mark string, list []*Value) {
		for _, v := range list {
			b.WriteString(mark)
			b.WriteString(v.name)
		}
	}
	list("^", slices.SortedFunc(maps.Keys(r.moved), func(a, b *Value) int { return strings.Compare(a.name, b.name) }))
	list(">", r.want)
	if r.of != nil {
		fmt.Fprintf(&b, " seeds=%v", r.seeds != nil)
		list("&", r.of)
		list(",", r.wrt)
		list("?", r.asked)
	}
	return b.String()
}

func (c *cache) find(key string, have map[*Value]dtype.Value) *stage {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.entries) - 1; i >= 0; i-- {
		e := c.entries[i]
		if e.key == key && e.stage.fits(have) {
			c.entries = append(slices.Delete(c.entries, i, i+1), e)
			return e.stage
		}
	}
	return nil
}

func (c *cache) add(key string, st *stage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cacheSize {
		c.entries[0].stage.pool.close()
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	c.entries = append(c.entries, cached{key, st})
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		e.stage.pool.close()
	}
	c.entries = nil
}

// Trim releases the memory that runs keep for later ones: programs, and what kernels derived from weights. Later runs
// create it again. Trim may be called at any time.
func (g *Graph) Trim() {
	defer g.locked().unlock()
	g.cache.clear()
	for _, p := range g.params() {
		p.Changed()
	}
}

// fits reports whether the stage was specialized for the available values.
func (st *stage) fits(have map[*Value]dtype.Value) bool {
	for p, version := range st.baked {
		if p.kept.Version(nil, p.tensor()) != version {
			return false
		}
	}
	for v, x := range st.spec {
		now := have[v]
		if now == nil && v.param != nil {
			now = v.param.tensor()
		}
		if !equalValue(now, x) {
			return false
		}
	}
	return true
}

func equalValue(a, b dtype.Value) bool {
	switch x := a.(type) {
	case *tensor.Dense:
		y, ok := b.(*tensor.Dense)
		return ok && x.Dtype() == y.Dtype() && slices.Equal(x.Shape(), y.Shape()) && bytes.Equal(dtype.Bytes(x), dtype.Bytes(y))
	case *dtype.Strings:
		y, ok := b.(*dtype.Strings)
		return ok && slices.Equal(x.Dims, y.Dims) && slices.Equal(x.Elems, y.Elems)
	}
	return false
}

// programs are the idle programs of one lowering: each concurrent run takes its own.
type programs struct {
	mu   sync.Mutex
	idle map[variant][]*engine.Program
}

// variant is how a program was compiled.
type variant struct {
	hands   bool // it hands over gradients and updates
	eager   bool // as soon as they are computed
	private bool // nobody keeps its values
}

func (p *programs) take(ctx context.Context, st *stage, v variant) (*engine.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock() // one graph must not be compiled by two goroutines at once
	if list := p.idle[v]; len(list) > 0 {
		last := len(list) - 1
		p.idle[v] = list[:last]
		return list[last], nil
	}
	o := engine.Options{Private: v.private, Context: ctx, Lean: len(st.grads) > 0}
	if v.hands {
		o.LossReady, o.Callbacks, o.Eager = st.callbacks.lossReady, st.callbackList(), v.eager
	}
	x, err := engine.Compile(o, st.roots...)
	if err != nil {
		return nil, err
	}
	for param, n := range st.params {
		x.Keep(n, param.kept)
	}
	if o.Lean && x.Stats().Arena >= largeProgram {
		// Release what lowering and compiling left before the program allocates its memory.
		if err := engine.Await(ctx, debug.FreeOSMemory); err != nil {
			x.Close()
			return nil, err
		}
	}
	return x, nil
}

// largeProgram is the size in bytes from which the cost of a garbage collection is negligible beside compilation.
const largeProgram = 4 << 20

func (p *programs) give(x *engine.Program, v variant) {
	if x == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle == nil {
		p.idle = map[variant][]*engine.Program{}
		idlePools.Lock()
		defer idlePools.Unlock()
		key := weak.Make(p)
		idlePools.all[key] = true
		runtime.AddCleanup(p, forgetPool, key)
	}
	p.idle[v] = append(p.idle[v], x)
}

func forgetPool(key weak.Pointer[programs]) {
	idlePools.Lock()
	defer idlePools.Unlock()
	delete(idlePools.all, key)
}

// idlePools are the programs of all lowerings that have been run and are reachable.
var idlePools = struct {
	sync.Mutex
	all map[weak.Pointer[programs]]bool
}{all: map[weak.Pointer[programs]]bool{}}

func init() { budget.OnFull(closeIdle) }

// closeIdle releases the memory of idle programs of all graphs, except those that are being compiled, and what they derived from weights.
func closeIdle() {
	idlePools.Lock()
	list := slices.Collect(maps.Keys(idlePools.all))
	idlePools.Unlock()
	for _, w := range list {
		if p := w.Value(); p != nil && p.mu.TryLock() {
			p.closeAll((*engine.Program).Release)
			p.mu.Unlock()
		}
	}
}

// close releases the memory of idle programs.
func (p *programs) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeAll((*engine.Program).Close)
}

func (p *programs) closeAll(end func(*engine.Program)) {
	for _, list := range p.idle {
		for _, x := range list {
			end(x)
		}
	}
	clear(p.idle)
}
