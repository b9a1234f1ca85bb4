package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// growth is how a group of channels grows.
type growth struct {
	Count int     `json:"count"`           // new atoms
	Copy  bool    `json:"copy,omitempty"`  // the new atoms are copies that divide their readers' weights
	Seed  uint64  `json:"seed"`            // seed of random values, together with the initializer's name
	Axes  []Grown `json:"axes"`            // what initializers gain
	Quiet bool    `json:"quiet,omitempty"` // rows that would be random are zero: queries times keys
}

// growParam lengthens an axis and sets the new indices. Values are computed when the change is applied, from the parameter
// at that time.
func (e *Edit) growParam(p *Param, axis int, l layout, rows bool, how *growth) {
	if e.err != nil {
		return
	}
	f := newFiller(p.value, p.data, axis, l, rows, how)
	change := Change{}
	if how.Copy {
		change.Like, change.Scale = f.shares()
	}
	e.reindex(p, axis, l.keep, change, Cut{grow: how, added: f.added()})
	if e.err != nil || !dtype.Of(p.data.Dtype()).IsFloat() {
		return
	}
	e.act(action{
		make: func() error { return f.fill(p.data) },
		do:   p.Changed,
		undo: func() {}, // reverting the change of shape restores the tensor
	})
}

// growConstant lengthens an axis of a Constant: floating-point ones like a parameter, others by copies.
func (e *Edit) growConstant(v *Value, axis int, l layout, rows bool, how *growth) {
	d, ok := v.known.Value.(*tensor.Dense)
	if !ok || !dtype.Of(d.Dtype()).IsFloat() {
		e.cutConstant(v, axis, copied(l))
		return
	}
	f := newFiller(v, d, axis, l, rows, how)
	d, err := picked(d, axis, l.keep)
	if err == nil {
		err = f.fill(d)
	}
	if err != nil {
		e.Failf("constant %q: %w", v.name, err)
		return
	}
	e.setConstant(v, axis, copied(l), d)
}

// filler computes the values of new indices of a parameter or constant.
type filler struct {
	layout
	axis  int
	rows  bool // the indices compute channels; otherwise they read them
	how   *growth
	start trait.Start
	name  string
}

func newFiller(v *Value, d *tensor.Dense, axis int, l layout, rows bool, how *growth) *filler {
	return &filler{layout: l, axis: axis, rows: rows, how: how, start: v.startsAt(len(d.Shape())), name: fmt.Sprintf("%s widened on %d to %d", v.name, axis, len(l.keep))}
}

// Added lists the indices that an axis of an initializer gained.
type Added struct {
	Index  []int  `json:"index"`  // the new indices, numbered as after the growth
	Like   []int  `json:"like"`   // for each, the index (numbered as before the growth) that it was inserted after, and copied from if Values is "copy"
	Values string `json:"values"` // zero, one, random or copy
}

// added lists the new indices of a layout.
func added(l layout) *Added {
	a := &Added{}
	for i, k := range l.keep {
		if k < 0 {
			a.Index, a.Like = append(a.Index, i), append(a.Like, l.like[i])
		}
	}
	return a
}

func (f *filler) added() *Added {
	a := added(f.layout)
	switch {
	case f.how.Copy || f.starts() == trait.StartLike:
		a.Values = "copy"
	case f.starts() == trait.StartOne:
		a.Values = "one"
	case f.starts() == trait.StartRandom:
		a.Values = "random"
	default:
		a.Values = "zero"
	}
	return a
}

// starts returns the rule for new indices that are not copies.
func (f *filler) starts() trait.Start {
	if !f.rows || f.how.Quiet && f.start == trait.StartRandom {
		return trait.StartZero
	}
	return f.start
}

// shares returns, for copies, the index that each new one copies, and the fraction of the weight that each index gets; nil if
// all weights stay whole.
func (f *filler) shares() (like []int, share []float64) {
	like, share = make([]int, len(f.keep)), make([]float64, len(f.keep))
	copies := map[int]bool{}
	for i, k := range f.keep {
		like[i] = -1
		if k < 0 {
			like[i] = f.like[i]
			copies[f.like[i]] = true
		}
	}
	for i := range share {
		share[i] = 1
		if copies[f.like[i]] && !f.rows {
			share[i] = 1 / float64(f.how.Count+1)
		}
	}
	if f.rows {
		share = nil
	}
	return like, share
}

// fill sets the new indices of a tensor whose axis already has its new length.
func (f *filler) fill(d *tensor.Dense) error {
	switch dtype.Of(d.Dtype()) {
	case dtype.Float32:
		fillNew(f, dtype.Slice[float32](d), d.Shape())
		return nil
	case dtype.Float64:
		fillNew(f, dtype.Slice[float64](d), d.Shape())
		return nil
	}
	wide, err := engine.Convert(dtype.Float64, d)
	if err != nil {
		return err
	}
	fillNew(f, dtype.Slice[float64](wide), d.Shape())
	return dtype.Convert(d, wide)
}

func fillNew[F float32 | float64](f *filler, x []F, shape []int) {
	n, inner := shape[f.axis], 1
	for _, k := range shape[f.axis+1:] {
		inner *= k
	}
	starts := f.starts()
	var share []float64
	if f.how.Copy {
		_, share = f.shares()
	}
	var rng *rand.Rand
	spread := 0.0
	if starts == trait.StartRandom {
		rng, spread = (&Edit{seed: f.how.Seed}).random(f.name), math.Sqrt(meanSquare(x)+1e-12)
	}
	stands := make([]int, n) // the new position of each index from before the growth
	for i, k := range f.keep {
		if k >= 0 {
			stands[k] = i
		}
	}
	from := make([]int, n) // the new position of the index that a new one resembles
	for i := range from {
		from[i] = stands[f.like[i]]
	}
	for o := range len(x) / max(n*inner, 1) {
		block := x[o*n*inner : (o+1)*n*inner]
		for k := range n {
			to := block[k*inner : (k+1)*inner]
			if f.keep[k] < 0 {
				switch src := block[from[k]*inner : (from[k]+1)*inner]; {
				case f.how.Copy || starts == trait.StartLike:
					copy(to, src)
				case starts == trait.StartOne:
					for i := range to {
						to[i] = 1
					}
				case starts == trait.StartRandom:
					for i := range to {
						to[i] = F(rng.NormFloat64() * spread)
					}
				}
			}
		}
		for k := range share { // after all copies are made
			for i := range block[k*inner : (k+1)*inner] {
				block[k*inner+i] *= F(share[k])
			}
		}
	}
}

func meanSquare[F float32 | float64](x []F) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return s / float64(max(len(x), 1))
}

// startsAt returns the initial value of a new row of a parameter or constant, which depends on its reader.
func (v *Value) startsAt(rank int) trait.Start {
	for _, n := range v.users {
		for i, x := range n.in {
			if s := n.traits().StartAt(i); x == v && s != trait.NoStart {
				return s
			}
		}
	}
	if rank > 1 {
		return trait.StartRandom
	}
	return trait.StartZero
}
