package op

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func matMul() *Op {
	return &Op{
		Name: "MatMul", Since: []int{1, 9, 13},
		Doc: "Matrix product over the last two axes, the others broadcast.",
		In:  "A T, B T weight", Out: "Y T", Where: Where{"T": matrixTypes()},
		Infer: inferMatMul, Kernel: matMulKernel, Grad: matMulGrad, Couple: coupleMatMul,
		Cost: func(c *Call) (int64, int64) {
			a := c.In[0].Shape
			return int64(c.Out[0].Elements()) * int64(a[len(a)-1].Size), c.moved()
		},
	}
}

// matrices are the operands' shapes as stacks of matrices: a row in front of a vector A, a
// column behind a vector B.
func matrices(c *Call) (a, b []Dim, err error) {
	for i := range 2 {
		rank, err := c.Rank(i)
		if err != nil {
			return nil, nil, err
		}
		if rank == 0 {
			return nil, nil, c.wantGot(i, "a vector or matrices", c.In[i])
		}
	}
	a, b = c.In[0].Shape, c.In[1].Shape
	if len(a) == 1 {
		a = []Dim{D(1), a[0]}
	}
	if len(b) == 1 {
		b = []Dim{b[0], D(1)}
	}
	return a, b, nil
}

func inferMatMul(c *Call) ([]Type, error) {
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
	return c.output(shape)
}

func matMulKernel(c *Call) (engine.Kernel, error) {
	a, b, err := matrices(c)
	if err != nil {
		return nil, err
	}
	return stackedProduct(c.In[0].DType, sizes(a), sizes(b), false, false), nil
}

// stackedProduct multiplies stacks of matrices of shapes a and b, either transposed on request.
func stackedProduct(t DType, a, b []int, transA, transB bool) engine.Kernel {
	s := newStack(a, b, transA, transB)
	if t.IsInteger() {
		return integerStack(s)
	}
	return perPrecision(t, floatStack[float32](s), floatStack[float64](s))
}

// stack is a batch of equal products; the i-th reads A and B at the given matrix numbers.
type stack struct {
	product
	batch int
	a, b  []int // which matrix; nil: see steps
	stepA int   // matrices from product to product, where that is regular
	stepB int
}

func newStack(a, b []int, transA, transB bool) stack {
	ra, rb := len(a), len(b)
	s := stack{product: product{transA: transA, transB: transB, alpha: 1, m: a[ra-2], k: a[ra-1], n: b[rb-1]}}
	if transA {
		s.m, s.k = s.k, s.m
	}
	if transB {
		s.n = b[rb-2]
	}
	na, nb := count1(a[:ra-2]), count1(b[:rb-2])
	if nb == 1 && !transA && na > 0 { // one matrix B: the rows of all A at once
		s.m *= na
		s.batch = 1
		return s
	}
	to := broadcastSizes(a[:ra-2], b[:rb-2])
	s.batch = count1(to)
	switch {
	case na == s.batch && nb == s.batch:
		s.stepA, s.stepB = 1, 1
	case na == s.batch && nb == 1:
		s.stepA = 1
	case nb == s.batch && na == 1:
		s.stepB = 1
	default:
		s.a, s.b = broadcastIndex(a[:ra-2], to), broadcastIndex(b[:rb-2], to)
	}
	return s
}

func count1(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// broadcastSizes is the shape that two compatible shapes broadcast to.
func broadcastSizes(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	to := append([]int(nil), a...)
	for i, n := range b {
		if j := i + len(a) - len(b); to[j] == 1 {
			to[j] = n
		}
	}
	return to
}

// broadcastIndex gives, for every element of shape to, the element of from that it repeats.
func broadcastIndex(from, to []int) []int {
	list := make([]int, count1(to))
	for i := range list {
		rest, at, stride := i, 0, 1
		for a := len(to) - 1; a >= 0; a-- {
			k := rest % to[a]
			rest /= to[a]
			if f := a - len(to) + len(from); f >= 0 {
				if from[f] != 1 {
					at += k * stride
				}
				stride *= from[f]
			}
		}
		list[i] = at
	}
	return list
}

func floatStack[T kernel.Float](s stack) engine.Kernel {
	lda, ldb := s.leading()
	sa, sb, sc := s.m*s.k, s.k*s.n, s.m*s.n
	return func(x *engine.Exec, out, in []*tensor.Dense) error {
		a, b, y := elems[T](in[0]), elems[T](in[1]), elems[T](out[0])
		switch {
		case s.batch == 1:
			kernel.Gemm(x.Pool(), s.transA, s.transB, s.m, s.n, s.k, 1, a, lda, b, ldb, 0, y, s.n)
		case s.a == nil:
			kernel.GemmBatch(x.Pool(), s.batch, s.transA, s.transB, s.m, s.n, s.k, 1, a, lda, s.stepA*sa, b, ldb, s.stepB*sb, 0, y, s.n, sc)
		default:
			for i := range s.batch {
				kernel.Gemm(x.Pool(), s.transA, s.transB, s.m, s.n, s.k, 1, a[s.a[i]*sa:], lda, b[s.b[i]*sb:], ldb, 0, y[i*sc:], s.n)
			}
		}
		return nil
	}
}

func integerStack(s stack) engine.Kernel {
	lda, ldb := s.leading()
	sa, sb, sc := s.m*s.k, s.k*s.n, s.m*s.n
	return func(_ *engine.Exec, out, in []*tensor.Dense) error {
		a, err := dtype.Int64s(in[0])
		if err != nil {
			return err
		}
		b, err := dtype.Int64s(in[1])
		if err != nil {
			return err
		}
		y := make([]int64, s.batch*sc)
		for i := range s.batch {
			ia, ib := i*s.stepA, i*s.stepB
			if s.a != nil {
				ia, ib = s.a[i], s.b[i]
			}
			integerProduct(s.product, a[ia*sa:], lda, b[ib*sb:], ldb, y[i*sc:])
		}
		return storeInts(out[0], y)
	}
}

// stackConfig is MatMul of matrices with transposed operands, as its gradients need it.
type stackConfig struct{ TransA, TransB bool }

func (stackConfig) Op() *Op { return standard(Internal, "MatMulTransposed") }

func matMulTransposed() *Op {
	return &Op{
		Domain: Internal, Name: "MatMulTransposed", Since: []int{1},
		Doc: "MatMul with operands transposed in their last two axes.",
		In:  "A T, B T", Out: "Y T", Where: Where{"T": Floats}, Attrs: stackConfig{},
		Infer: func(c *Call) ([]Type, error) {
			cfg, a, b := c.Config.(stackConfig), c.In[0].Shape, c.In[1].Shape
			shape, err := c.Broadcast(a[:len(a)-2], b[:len(b)-2])
			m, n := a[len(a)-2], b[len(b)-1]
			if cfg.TransA {
				m = a[len(a)-1]
			}
			if cfg.TransB {
				n = b[len(b)-2]
			}
			return []Type{c.In[0].With(append(shape, m, n)...)}, err
		},
		Kernel: func(c *Call) (engine.Kernel, error) {
			cfg := c.Config.(stackConfig)
			return stackedProduct(c.In[0].DType, c.In[0].Sizes(), c.In[1].Sizes(), cfg.TransA, cfg.TransB), nil
		},
		NoGrad: "gradient", Pinned: "gradient",
		Cost: func(c *Call) (int64, int64) {
			a := c.In[0].Shape
			k := a[len(a)-1].Size
			if c.Config.(stackConfig).TransA {
				k = a[len(a)-2].Size
			}
			return int64(c.Out[0].Elements()) * int64(k), c.moved()
		},
	}
}

func matMulGrad(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	sa, sb, err := matrices(c)
	if err != nil {
		return nil, err
	}
	a, err := ReshapeTo(in[0], sa...)
	if err != nil {
		return nil, err
	}
	b, err := ReshapeTo(in[1], sb...)
	if err != nil {
		return nil, err
	}
	batch, err := c.Broadcast(sa[:len(sa)-2], sb[:len(sb)-2])
	if err != nil {
		return nil, err
	}
	m, n := sa[len(sa)-2], sb[len(sb)-1]
	dy, err := ReshapeTo(dout[0], append(batch, m, n)...)
	if err != nil {
		return nil, err
	}
	da, err := Apply1(stackConfig{TransB: true}, dy, b)
	if err != nil {
		return nil, err
	}
	if da, err = sumReshape(da, sa, c.In[0].Shape); err != nil {
		return nil, err
	}
	db, err := matMulRightGrad(a, dy, sa, sb, m, n)
	if err != nil {
		return nil, err
	}
	db, err = sumReshape(db, sb, c.In[1].Shape)
	return gorgonia.Nodes{da, db}, err
}

// matMulRightGrad is Aᵀ·dY; where B is one matrix, the sum over the batch happens inside of it.
func matMulRightGrad(a, dy *gorgonia.Node, sa, sb []Dim, m, n Dim) (*gorgonia.Node, error) {
	if Product(sb[:len(sb)-2]).Size == 1 && len(sa) > 2 {
		rows, k := Product(sa[:len(sa)-1]), sa[len(sa)-1]
		var err error
		if a, err = ReshapeTo(a, rows, k); err != nil {
			return nil, err
		}
		if dy, err = ReshapeTo(dy, rows, n); err != nil {
			return nil, err
		}
		d, err := Apply1(stackConfig{TransA: true}, a, dy)
		if err != nil {
			return nil, err
		}
		return ReshapeTo(d, sb...)
	}
	return Apply1(stackConfig{TransA: true}, a, dy)
}

// sumReshape takes the gradient of a broadcast operand back to the operand's shape.
func sumReshape(d *gorgonia.Node, matrices, shape []Dim) (*gorgonia.Node, error) {
	d, err := SumTo(d, matrices...)
	if err != nil {
		return nil, err
	}
	return ReshapeTo(d, shape...)
}

func coupleMatMul(c *Call) []Coupling {
	a, b, out := c.In[0].Shape, c.In[1].Shape, c.Out[0].Shape
	list := []Coupling{Couple(InAxis(0, len(a)-1), InAxis(1, max(len(b)-2, 0)))}
	tail := 0 // axes of the output behind the batch
	if len(b) > 1 {
		tail++
		list = append(list, Couple(InAxis(1, len(b)-1), OutAxis(0, len(out)-1)))
	}
	if len(a) > 1 {
		tail++
		list = append(list, Couple(InAxis(0, len(a)-2), OutAxis(0, len(out)-tail)))
	}
	for i, s := range [][]Dim{a, b} {
		for k := range max(len(s)-2, 0) {
			if o := len(out) - tail - (len(s) - 2) + k; !s[k].Differ(out[o]) {
				list = append(list, Couple(InAxis(i, k), OutAxis(0, o)))
			}
		}
	}
	return list
}
