package std

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

func matMul() *op.Op {
	return &op.Op{
		Name: "MatMul", Since: []int{1, 9, 13}, Versions: []op.Version{{At: 9, New: op.Where{"T": op.Integers()}}},
		Doc: "Matrix product over the last two axes, the others broadcast.",
		In:  "A T weight, B T weight", Out: "Y T", Where: op.Where{"T": matrixTypes()},
		Scheduling: op.Scheduling{
			Bilinear: func(*op.Call) bool { return true },
			NoError:  true,
			Patterns: matMulPatterns,
			Rows:     matMulRows,
		},
		Infer: inferMatMul, Kernel: matMulKernel, Grad: matMulGrad, Couple: coupleMatMul,
		Cost:   matMulCost,
		Traits: op.Traits{Zero: op.ZeroAny, Trains: func(i int, from op.Sources) bool { return i == 1 || trainsFactor(i, from) }, WeightedSums: matMulSums, Layout: trait.ChannelsLast},
	}
}

func matMulCost(c *op.Call) (macs, bytes int64) {
	a := c.In[0].Shape
	return int64(c.Out[0].Elements()) * int64(a[len(a)-1].Size), bytesMoved(c)
}

// matrices returns the operands' shapes as stacks of matrices: a row in front of a vector A, a
// column after a vector B.
func matrices(c *op.Call) (a, b []op.Dim, err error) {
	for i := range 2 {
		rank, err := c.Rank(i)
		if err != nil {
			return nil, nil, err
		}
		if rank == 0 {
			return nil, nil, c.Mismatch(i, "a vector or matrices", c.In[i])
		}
	}
	a, b = c.In[0].Shape, c.In[1].Shape
	if len(a) == 1 {
		a = []op.Dim{op.D(1), a[0]}
	}
	if len(b) == 1 {
		b = []op.Dim{b[0], op.D(1)}
	}
	return a, b, nil
}

func inferMatMul(c *op.Call) ([]op.Type, error) {
	a, b, err := matrices(c)
	if err != nil {
		return nil, err
	}
	if k := a[len(a)-1]; k.Differ(b[len(b)-2]) {
		return nil, c.Errorf("A is %v, B %v: inner dimensions %v and %v differ", c.In[0], c.In[1], k, b[len(b)-2])
	}
	shape, err := c.Broadcast(a[:len(a)-2], b[:len(b)-2])
	if err != nil {
		return nil, err
	}
	if len(c.In[0].Shape) > 1 {
		shape = append(shape, a[len(a)-2])
	}
	if len(c.In[1].Shape) > 1 {
		shape = append(shape, b[len(b)-1])
	}
	return convOutput(c, shape)
}

func matMulKernel(c *op.Call) (op.Kernel, error) {
	a, b, err := matrices(c)
	if err != nil {
		return nil, err
	}
	return stackedProduct(c.In[0].DType, op.Sizes(a), op.Sizes(b), false, false), nil
}

func matMulPatterns(c *op.Call) []op.Pattern {
	a, b, err := matrices(c)
	if err != nil || len(c.In[0].Shape) < 2 || len(c.In[1].Shape) < 2 {
		return nil
	}
	return stackPatterns(c.In[0].DType, op.Sizes(a), op.Sizes(b), false, false)
}

// stackConfig is MatMul of matrices with transposed operands, as its gradients need it.
type stackConfig struct{ TransA, TransB bool }

func (stackConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "MatMulTransposed"} }

func matMulTransposed() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "MatMulTransposed", Since: []int{1}, Decompose: spelled(spellMatMulTransposed),
		Doc: "MatMul with operands transposed in their last two axes.",
		In:  "A T, B T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: stackConfig{},
		Scheduling: op.Scheduling{
			Bilinear: func(*op.Call) bool { return true },
			NoError:  true,
			Patterns: func(c *op.Call) []op.Pattern {
				cfg := c.Config.(stackConfig)
				return stackPatterns(c.In[0].DType, c.In[0].Sizes(), c.In[1].Sizes(), cfg.TransA, cfg.TransB)
			},
		},
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg, a, b := c.Config.(stackConfig), c.In[0].Shape, c.In[1].Shape
			if min(len(a), len(b)) < 2 {
				return nil, c.Errorf("takes matrices, not %v and %v", c.In[0], c.In[1])
			}
			shape, err := c.Broadcast(a[:len(a)-2], b[:len(b)-2])
			m, n := a[len(a)-2], b[len(b)-1]
			if cfg.TransA {
				m = a[len(a)-1]
			}
			if cfg.TransB {
				n = b[len(b)-2]
			}
			return []op.Type{c.In[0].With(append(shape, m, n)...)}, err
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(stackConfig)
			return stackedProduct(c.In[0].DType, c.In[0].Sizes(), c.In[1].Sizes(), cfg.TransA, cfg.TransB), nil
		},
		GradMissing: op.NotTwice, Pinned: "gradient",
		Cost: func(c *op.Call) (int64, int64) {
			a := c.In[0].Shape
			k := a[len(a)-1].Size
			if c.Config.(stackConfig).TransA {
				k = a[len(a)-2].Size
			}
			return int64(c.Out[0].Elements()) * int64(k), bytesMoved(c)
		},
	}
}

func matMulGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	sa, sb, err := matrices(c)
	if err != nil {
		return nil, err
	}
	a, err := c.ReshapeTo(in[0], sa...)
	if err != nil {
		return nil, err
	}
	b, err := c.ReshapeTo(in[1], sb...)
	if err != nil {
		return nil, err
	}
	batch, err := c.Broadcast(sa[:len(sa)-2], sb[:len(sb)-2])
	if err != nil {
		return nil, err
	}
	m, n := sa[len(sa)-2], sb[len(sb)-1]
	dy, err := c.ReshapeTo(dout[0], append(batch, m, n)...)
	if err != nil {
		return nil, err
	}
	da, err := c.Apply1(stackConfig{TransB: true}, dy, b)
	if err != nil {
		return nil, err
	}
	if da, err = sumReshape(c, da, sa, c.In[0].Shape); err != nil {
		return nil, err
	}
	db, err := matMulRightGrad(c, a, dy, sa, sb, n)
	if err != nil {
		return nil, err
	}
	db, err = sumReshape(c, db, sb, c.In[1].Shape)
	return gorgonia.Nodes{da, db}, err
}

// matMulRightGrad is Aᵀ·dY; where B is one matrix, the sum over the batch happens inside of it.
func matMulRightGrad(c *op.Call, a, dy *gorgonia.Node, sa, sb []op.Dim, n op.Dim) (*gorgonia.Node, error) {
	if op.Product(sb[:len(sb)-2]).Size == 1 && len(sa) > 2 {
		rows, k := op.Product(sa[:len(sa)-1]), sa[len(sa)-1]
		var err error
		if a, err = c.ReshapeTo(a, rows, k); err != nil {
			return nil, err
		}
		if dy, err = c.ReshapeTo(dy, rows, n); err != nil {
			return nil, err
		}
		d, err := c.Apply1(stackConfig{TransA: true}, a, dy)
		if err != nil {
			return nil, err
		}
		return c.ReshapeTo(d, sb...)
	}
	return c.Apply1(stackConfig{TransA: true}, a, dy)
}

// sumReshape takes the gradient of a broadcast operand back to the operand's shape.
func sumReshape(c *op.Call, d *gorgonia.Node, matrices, shape []op.Dim) (*gorgonia.Node, error) {
	d, err := c.SumTo(d, matrices...)
	if err != nil {
		return nil, err
	}
	return c.ReshapeTo(d, shape...)
}

func coupleMatMul(c *op.Call) []coupling.Coupling {
	a, b, out := c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape
	list := []coupling.Coupling{op.Couple(coupling.In(0, len(a)-1), coupling.In(1, max(len(b)-2, 0)))}
	tail := 0 // axes of the output after the batch
	if len(b) > 1 {
		tail++
		list = append(list, op.Couple(coupling.In(1, len(b)-1), coupling.Out(0, len(out)-1)))
	}
	if len(a) > 1 {
		tail++
		list = append(list, op.Couple(coupling.In(0, len(a)-2), coupling.Out(0, len(out)-tail)))
	}
	for i, s := range [][]op.Dim{a, b} {
		for k := range max(len(s)-2, 0) {
			if o := len(out) - tail - (len(s) - 2) + k; !s[k].Differ(out[o]) {
				list = append(list, op.Couple(coupling.In(i, k), coupling.Out(0, o)))
			}
		}
	}
	return list
}

// matMulSums: x·W has the channels in the columns of the weight, W·x in its rows.
func matMulSums(c *op.Call) []trait.WeightedSum {
	left, right := c.In[0].Rank(), c.In[1].Rank()
	return []trait.WeightedSum{
		{Weight: 1, In: max(right-2, 0), Out: max(right-1, 0)},
		{Weight: 0, In: max(left-1, 0), Out: max(left-2, 0)},
	}
}

// matMulRows: those of A, where B is one matrix.
func matMulRows(c *op.Call) *trait.Rows {
	a, b := c.In[0].Shape, c.In[1].Shape
	if len(a) < 2 || len(b) != 2 {
		return nil
	}
	return &trait.Rows{Out: b[1].Size, In: []int{b[0].Size, 0}}
}
