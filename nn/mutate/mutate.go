package mutate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// Kind is a kind of change.
type Kind string

// The kinds. Widen, Deepen and a Kernel that grows do not change what the model computes, nor does an AddEdge whose new
// weights are zero.
const (
	Widen      Kind = "widen"       // more channels
	Narrow     Kind = "narrow"      // fewer channels: the least important ones are removed
	Deepen     Kind = "deepen"      // one more layer
	Remove     Kind = "remove"      // one layer less; the layers around it are realigned
	Kernel     Kind = "kernel"      // another kernel size
	Activation Kind = "activation"  // another activation
	AddEdge    Kind = "add-edge"    // a skip connection, or one more input of a concatenation
	RemoveEdge Kind = "remove-edge" // one edge less
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Widen, Narrow, Deepen, Remove, Kernel, Activation, AddEdge, RemoveEdge}
}

// Mutator makes random valid changes. The zero value makes changes of every kind.
type Mutator struct {
	Seed uint64 // seed of the changes
	// Weights are the relative frequencies with which each kind is tried first; a kind that is missing is never tried. nil:
	// all are equal.
	Weights map[Kind]float64
	// Keep selects nodes that must not change; a selector that selects no node is an error. They may still be resized as a
	// consequence of another change.
	Keep []nn.Selector
	// Step is the largest fraction of its channels by which a layer is widened or narrowed; 0: ¼.
	Step float64
	// Kernels are the kernel sizes to choose from; nil: 1, 3, 5.
	Kernels []int
	// Activations are the activations to choose from; nil: ReLU, LeakyReLU, ELU, SiLU and GELU.
	Activations []nn.Layer
	// MaxParams is the largest number of parameters that a mutant may have; 0: no limit.
	MaxParams int
	MaxMACs   int64 // largest number of multiply-adds, at sizes for symbolic dimensions as in nn.Channels.Cost; 0: no limit
}

// Check returns an error if the settings are invalid.
func (m Mutator) Check() error {
	total := 0.0
	for k, w := range m.Weights {
		if !slices.Contains(Kinds(), k) {
			return fmt.Errorf("mutate: there is no kind %q: want one of %s", k, names())
		}
		if w < 0 || w != w {
			return fmt.Errorf("mutate: the weight of %s is %v: want 0 or more", k, w)
		}
		total += w
	}
	if m.Weights != nil && total == 0 {
		return errors.New("mutate: all weights are zero")
	}
	if !(m.Step >= 0 && m.Step <= 4) {
		return fmt.Errorf("mutate: a step of %v: want 0 to 4, a share of the channels", m.Step)
	}
	if m.MaxParams < 0 || m.MaxMACs < 0 {
		return fmt.Errorf("mutate: MaxParams is %d and MaxMACs is %d: want 0 or more", m.MaxParams, m.MaxMACs)
	}
	for _, k := range m.Kernels {
		if k < 1 || k > 64 {
			return fmt.Errorf("mutate: a kernel of %d: want 1 to 64", k)
		}
	}
	return nil
}

func names() string {
	var list []string
	for _, k := range Kinds() {
		list = append(list, string(k))
	}
	return strings.Join(list, ", ")
}

// Mutation is a change that was made.
type Mutation struct {
	Kind Kind   `json:"kind"` // kind of the change
	Text string `json:"text"` // what was changed, and where
}

// String returns the kind and what was changed.
func (m Mutation) String() string { return string(m.Kind) + " " + m.Text }

// Mutate makes one change inside an edit. The change depends on the seed and on step, the number of the change. The edit
// fails if nothing can be changed.
func (m Mutator) Mutate(e *nn.Edit, step int) Mutation {
	if err := m.Check(); err != nil {
		e.Fail(err)
	}
	if e.Err() != nil {
		return Mutation{}
	}
	r := random(m.Seed, step)
	e.Seed(r.Uint64())
	var last error
	for _, k := range m.order(r) {
		f := finder{m: m, e: e, r: r}
		sites := f.sites(k)
		r.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
		for _, s := range sites[:min(len(sites), 12)] {
			text := ""
			last = e.Try(func() {
				text = s()
				m.weigh(e)
			})
			if last == nil {
				e.Note("mutation %d: %s %s", step, k, text)
				return Mutation{k, text}
			}
		}
	}
	if last == nil {
		last = errors.New("the graph has nothing that these kinds change")
	}
	e.Fail(fmt.Errorf("no mutation is possible: %w", last))
	return Mutation{}
}

// random returns a generator for one step; those of neighbouring seeds and steps are independent.
func random(seed uint64, step int) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(step))
	return rand.New(rand.NewChaCha8(key))
}

// weigh fails the edit if the model exceeds MaxParams or MaxMACs.
func (m Mutator) weigh(e *nn.Edit) {
	if m.MaxParams == 0 && m.MaxMACs == 0 || e.Err() != nil {
		return
	}
	c := e.Channels()
	if e.Err() != nil {
		return
	}
	switch w := c.Cost(nil); {
	case m.MaxParams > 0 && w.Params > m.MaxParams:
		e.Failf("%d parameters: at most %d are allowed", w.Params, m.MaxParams)
	case m.MaxMACs > 0 && w.MACs > m.MaxMACs:
		e.Failf("%d multiply-adds: at most %d are allowed", w.MACs, m.MaxMACs)
	}
}

// order draws the kinds by their weights, without replacement.
func (m Mutator) order(r *rand.Rand) []Kind {
	var left, list []Kind
	weight := map[Kind]float64{}
	for _, k := range Kinds() {
		w, ok := m.Weights[k]
		if m.Weights == nil {
			w, ok = 1, true
		}
		if ok && w > 0 {
			left, weight[k] = append(left, k), w
		}
	}
	for len(left) > 0 {
		total := 0.0
		for _, k := range left {
			total += weight[k]
		}
		at, i := r.Float64()*total, 0
		for ; i < len(left)-1 && at >= weight[left[i]]; i++ {
			at -= weight[left[i]]
		}
		list, left = append(list, left[i]), slices.Delete(left, i, i+1)
	}
	return list
}

// Plan makes a change without applying it.
func (m Mutator) Plan(g *nn.Graph, step int) (*nn.Plan, Mutation, error) {
	var done Mutation
	p, err := g.Plan(func(e *nn.Edit) { done = m.Mutate(e, step) })
	return p, done, err
}

// Apply makes count changes, those of steps 0 to count−1. If one fails, none is made.
func (m Mutator) Apply(g *nn.Graph, count int) ([]Mutation, error) {
	if count < 0 {
		return nil, fmt.Errorf("mutate: %d mutations: want 0 or more", count)
	}
	var list []Mutation
	err := g.Edit(func(e *nn.Edit) {
		for i := 0; i < count && e.Err() == nil; i++ {
			list = append(list, m.Mutate(e, i))
		}
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (m Mutator) step() float64 {
	if m.Step == 0 {
		return 0.25
	}
	return m.Step
}

func (m Mutator) kernels() []int {
	if len(m.Kernels) == 0 {
		return []int{1, 3, 5}
	}
	return m.Kernels
}

func (m Mutator) activations() []nn.Layer {
	if len(m.Activations) == 0 {
		return []nn.Layer{layers.ReLU{}, layers.LeakyReLU{}, layers.ELU{}, layers.SiLU{}, layers.GELU{}}
	}
	return m.Activations
}
