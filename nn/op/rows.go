package op

import "slices"

// Rows describes an operator each row of whose output 0 is computed from one row of some inputs, and
// from all of the others. A row is some elements of a tensor that lie together; rows are numbered in
// the order of memory, whatever the shape.
type Rows struct {
	Out int   // elements of a row of output 0
	In  []int // elements of a row of each input; 0: all of the input is read
	// Groups is the number of groups of equally many rows that must stay together, as the rows of a
	// group read what belongs to it in other inputs. 0: there are none.
	Groups int
}

// binaryRows: an operand of the output's shape has rows, one that is repeated for every row has none.
func binaryRows(c *Call) *Rows {
	a, b := operands(c)
	out := sizes(c.Out[0].Shape)
	r := &Rows{Out: 1, In: make([]int, 2)}
	for i, shape := range [][]int{sizes(a), sizes(b)} {
		for len(shape) > 0 && shape[0] == 1 && len(out) > 0 {
			shape = shape[1:]
		}
		switch {
		case count1(shape) == count1(out):
			r.In[i] = 1
		case slices.Equal(shape, out[len(out)-len(shape):]):
			r.Out = max(r.Out, count1(shape))
		default:
			return nil
		}
	}
	for i := range r.In {
		r.In[i] *= r.Out
	}
	return r
}

func gemmRows(c *Call) *Rows {
	if c.Config.(GemmConfig).TransA {
		return nil
	}
	m, n, k := gemmSizes(c)
	r := &Rows{Out: n.Size, In: []int{k.Size, 0}}
	if c.Has(2) {
		ofRow := 0
		if s := c.In[2].Sizes(); len(s) == 2 && s[0] == m.Size {
			ofRow = s[1]
		}
		r.In = append(r.In, ofRow)
	}
	return r
}

// matMulRows: those of A, where B is one matrix.
func matMulRows(c *Call) *Rows {
	a, b := c.In[0].Shape, c.In[1].Shape
	if len(a) < 2 || len(b) != 2 {
		return nil
	}
	return &Rows{Out: b[1].Size, In: []int{b[0].Size, 0}}
}

func layerNormRows(c *Call) *Rows {
	l, err := layerNormOf(c)
	if err != nil {
		return nil
	}
	return &Rows{Out: l.Cols, In: []int{l.Cols, 0, 0}[:len(c.In)]}
}

func softmaxRows(c *Call) *Rows {
	a, err := softmaxAlong(c)
	if err != nil {
		return nil
	}
	return &Rows{Out: a.Axis * a.Inner, In: []int{a.Axis * a.Inner}}
}

// headAttentionRows: those of Q, which read the keys and values of their head, or of all heads of an
// element of the batch.
func headAttentionRows(c *Call) *Rows {
	cfg, a := c.Config.(HeadAttentionConfig), headLayout(c)
	if cfg.RowsQ != cfg.RowsY || a.Mask[2] != 0 {
		return nil
	}
	r := &Rows{Out: a.Width, In: []int{a.Depth, 0, 0, 0}[:len(c.In)], Groups: a.Batch * a.Heads}
	if cfg.RowsQ {
		r.Out, r.In[0], r.Groups = a.Heads*a.Width, a.Heads*a.Depth, a.Batch
	}
	return r
}
