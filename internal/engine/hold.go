package engine

import (
	"context"
	"unsafe"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Values on the Go heap that outlive the call that created them are charged to the budget while they
// are reachable: tensors, strings, sequences, maps. Small ones are charged only as elements of a
// sequence.
const (
	smallValue  = 1 << 16 // bytes
	valueHeader = 336     // about what a tensor takes besides its elements
)

// checkEvery is how many items or texts of a value are counted between checks of a context.
const checkEvery = 1 << 12

// Hold charges v to the budget while it is reachable, or returns the error of ctx if it ends first. After an error the elements of v that were
// charged remain so.
func Hold(ctx context.Context, v gorgonia.Value) error { return charging{}.value(ctx, v) }

// Count is Hold beyond the limit, too: v is there, and what comes next is refused.
func Count(v gorgonia.Value) { charging{beyond: true}.count(v) }

// HoldCopy and CountCopy are Hold and Count for a copy that graft made and nobody else has seen, whose tensors are charged while their elements are
// reachable: a caller may keep these alone.
func HoldCopy(ctx context.Context, v gorgonia.Value) error {
	return charging{copied: true}.value(ctx, v)
}

// CountCopy: see HoldCopy.
func CountCopy(v gorgonia.Value) { charging{beyond: true, copied: true}.count(v) }

// charging is how values are charged.
type charging struct{ beyond, copied bool }

// count is value for values that are there already: neither a context nor the limit ends it.
func (c charging) count(v gorgonia.Value) { _ = c.value(context.Background(), v) }

func (c charging) value(ctx context.Context, v gorgonia.Value) error {
	switch v := v.(type) {
	case *tensor.Dense:
		if v == nil || len(v.Raw) < smallValue {
			return nil
		}
		n := int64(len(v.Raw))
		if !c.copied {
			return charge(c, v, n)
		}
		if err := charge(c, unsafe.SliceData(v.Raw), n); err != nil {
			return err
		}
		budget.Charged(v, n)
	case *dtype.Strings:
		n, err := Footprint(ctx, v)
		if err != nil {
			return err
		}
		return charge(c, v, n)
	case *dtype.Sequence:
		n := int64(0)
		for i, item := range v.Items {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if size, err := Footprint(ctx, item); err != nil {
				return err
			} else if size < smallValue {
				n += size
			} else if err := c.value(ctx, item); err != nil {
				return err
			}
		}
		return charge(c, v, n+16*int64(len(v.Items)))
	case *dtype.Optional:
		if v.Item != nil {
			return c.value(ctx, v.Item)
		}
	case *dtype.Map:
		if err := c.value(ctx, v.Keys); err != nil {
			return err
		}
		return c.value(ctx, v.Values)
	}
	return nil
}

// charge charges n bytes for as long as p is reachable, once.
func charge[T any](c charging, p *T, n int64) error {
	if n < smallValue {
		return nil
	}
	if c.beyond {
		budget.Count(p, n)
		return nil
	}
	return budget.Hold(p, n)
}

// Convert is dtype.ConvertTo, charged before it is made.
func Convert(t dtype.DType, d *tensor.Dense) (*tensor.Dense, error) {
	if dtype.Of(d.Dtype()) == t {
		return d, nil
	}
	var err error
	c, e := budget.Made(int64(d.Shape().TotalSize())*int64(max(1, t.Size())), func() (c *tensor.Dense) {
		c, err = dtype.ConvertTo(t, d)
		return c
	})
	if e != nil {
		err = e
	}
	return c, err
}

// CopyHeld returns a copy of d that is charged before it is made.
func CopyHeld(d *tensor.Dense) (*tensor.Dense, error) { return copyHeld(nil, d) }

// copyHeld is CopyHeld in parts, between which p may be stopped.
func copyHeld(p *kernel.Pool, d *tensor.Dense) (*tensor.Dense, error) {
	return budget.Made(int64(len(d.Raw)), func() *tensor.Dense {
		c := Uncleared(dtype.Of(d.Dtype()), d.Shape()...)
		kernel.Copy(p, c.Raw, d.Raw)
		return c
	})
}

// Footprint returns approximately how many bytes v uses, including its contents, or the error of ctx if it ends first.
func Footprint(ctx context.Context, v gorgonia.Value) (n int64, err error) {
	switch v := v.(type) {
	case *tensor.Dense:
		if v == nil {
			return 0, nil
		}
		return int64(len(v.Raw)) + valueHeader, nil
	case *dtype.Strings:
		for i, s := range v.Elems {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return 0, ctx.Err()
			}
			n += int64(len(s))
		}
		return n + 16*int64(len(v.Elems)) + valueHeader, nil
	case *dtype.Sequence:
		for i, item := range v.Items {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return 0, ctx.Err()
			}
			size, err := Footprint(ctx, item)
			if err != nil {
				return 0, err
			}
			n += size
		}
		return n + 16*int64(len(v.Items)) + valueHeader, nil
	case *dtype.Optional:
		if v.Item != nil {
			n, err = Footprint(ctx, v.Item)
		}
		return n + valueHeader, err
	case *dtype.Map:
		keys, err := Footprint(ctx, v.Keys)
		if err != nil {
			return 0, err
		}
		values, err := Footprint(ctx, v.Values)
		return keys + values + valueHeader, err
	}
	return 0, nil
}

// Tally charges values one by one. The zero value is empty.
type Tally = budget.Tally
