package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GemmConfig has the attributes of Gemm. Alpha and Beta are 1 when nil.
type GemmConfig struct {
	Alpha     *float32 `onnx:"alpha,nil=1"`       // factor of A·B
	Beta      *float32 `onnx:"beta,nil=1"`        // factor of C
	TransA    bool     `onnx:"transA"`            // transpose A
	TransB    bool     `onnx:"transB"`            // transpose B
	Broadcast bool     `onnx:"broadcast,until=6"` // C may be broadcast
}

// Operator makes GemmConfig a Config.
func (GemmConfig) Operator() op.Name { return op.Name{Name: "Gemm"} }

func gemm() *op.Op {
	return &op.Op{
		Name: "Gemm", Since: []int{1, 6, 7, 9, 11, 13}, Versions: gemmVersions(),
		Doc: "alpha·A·B + beta·C of matrices, A and B transposed on request.",
		In:  "A T, B T weight, C? T weight", Out: "Y T", Where: op.Where{"T": matrixTypes()},
		Attrs: GemmConfig{},
		Scheduling: op.Scheduling{
			Bilinear: func(c *op.Call) bool {
				alpha := orFloat(c.Config.(GemmConfig).Alpha, 1)
				return !c.Has(2) && -1 <= alpha && alpha <= 1
			},
			NoError:  true,
			Patterns: gemmPatterns,
			Rows:     gemmRows,
		},
		Infer: inferGemm, Kernel: gemmKernel, Grad: gemmGrad, Couple: coupleGemm,
		Cost: func(c *op.Call) (int64, int64) {
			m, n, k := gemmSizes(c)
			return int64(m.Size) * int64(n.Size) * int64(k.Size), bytesMoved(c)
		},
		Traits: op.Traits{Zero: op.ZeroLayer, WeightedSums: gemmSums, Layout: trait.ChannelsLast, Starts: []trait.Start{trait.StartRandom, trait.StartRandom, trait.StartZero}},
	}
}

// matrixTypes returns the element types of matrix products.
func matrixTypes() []op.DType {
	return append([]op.DType{dtype.Int32, dtype.Int64, dtype.Uint32, dtype.Uint64}, op.Floats()...)
}

func gemmSizes(c *op.Call) (m, n, k op.Dim) {
	cfg := c.Config.(GemmConfig)
	a, b := c.In[0].Shape, c.In[1].Shape
	m, k, n = a[0], a[1], b[1]
	if cfg.TransA {
		m, k = k, m
	}
	if cfg.TransB {
		n = b[0]
	}
	return m, n, k
}

func inferGemm(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(GemmConfig)
	for i := range 2 {
		if rank, err := c.Rank(i); err != nil {
			return nil, err
		} else if rank != 2 {
			return nil, c.Mismatch(i, "a matrix", c.In[i])
		}
	}
	m, n, k := gemmSizes(c)
	kb := c.In[1].Shape[0]
	if cfg.TransB {
		kb = c.In[1].Shape[1]
	}
	if k.Differ(kb) {
		return nil, c.Errorf("A is %v, B %v: inner dimensions %v and %v differ", c.In[0], c.In[1], k, kb)
	}
	if c.Has(2) && !c.In[2].Unranked {
		s := c.In[2].Shape
		if len(s) > 2 {
			return nil, c.Mismatch(2, "at most two axes", c.In[2])
		}
		for i, d := range s {
			if to := []op.Dim{m, n}[i+2-len(s)]; d.Differ(to) && d.Size != 1 {
				return nil, c.Mismatch(2, op.T(c.In[0].DType, m, n), c.In[2])
			}
		}
	}
	return convOutput(c, []op.Dim{m, n})
}

// product is a matrix product with everything about it but the operands.
type product struct {
	transA, transB bool
	m, n, k        int
	alpha, beta    float64
	c              []int // shape of C; nil: none
}

func gemmKernel(c *op.Call) (op.Kernel, error) {
	p := gemmProduct(c)
	if c.In[0].DType.IsInteger() {
		return integerGemm(p), nil
	}
	return gemmWithEpilogue(c.In[0].DType, p, epilogue.List{}), nil
}

func gemmProduct(c *op.Call) product {
	cfg := c.Config.(GemmConfig)
	m, n, k := gemmSizes(c)
	p := product{cfg.TransA, cfg.TransB, m.Size, n.Size, k.Size, orFloat(cfg.Alpha, 1), orFloat(cfg.Beta, 1), nil}
	if c.Has(2) {
		p.c = c.In[2].Sizes()
	}
	return p
}

// gemmPatterns: a following normalization, shift, addition or activation becomes the epilogue of the product.
func gemmPatterns(c *op.Call) []op.Pattern {
	p, t := gemmProduct(c), c.In[0].DType
	return []op.Pattern{&epilogue.Host{DType: t, Channels: p.n, Affine: true, Slopes: true, Kernel: func(e epilogue.List) op.Kernel { return gemmWithEpilogue(t, p, e) }}}
}

func gemmWithEpilogue(t op.DType, p product, e epilogue.List) op.Kernel {
	return perPrecision(t, floatGemm[float32](p, e), floatGemm[float64](p, e))
}

// floatGemm takes C as the shift of the columns or as a summand where it is one.
func floatGemm[T kernel.Float](p product, e epilogue.List) op.Kernel {
	w := newWeightProduct[T](p)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		y, beta := dtype.Elems[T](out[0]), 0.0
		var shift []T
		if len(in) > 2 && in[2] != nil && p.beta != 0 {
			if c := dtype.Elems[T](in[2]); p.beta == 1 && p.shifts() {
				shift = c
			} else {
				spread(x, y, c, p.c, p.m, p.n)
				beta = p.beta
			}
		}
		w.run(x, in[0], in[1], beta, y, epilogue.Steps(x, e, p.n, shift, in))
		return nil
	}
}

// shifts reports whether C is one row, added to all.
func (p product) shifts() bool {
	last := len(p.c) - 1
	return last >= 0 && p.c[last] == p.n && (last == 0 || p.c[0] == 1)
}

// leading returns the row length of A and B as they are stored.
func (p product) leading() (a, b int) {
	a, b = p.k, p.n
	if p.transA {
		a = p.m
	}
	if p.transB {
		b = p.k
	}
	return a, b
}

// spread broadcasts c of shape from to an m×n matrix.
func spread[T any](x *op.Exec, y, c []T, from []int, m, n int) {
	rows, cols := 1, 1
	if len(from) > 0 {
		cols = from[len(from)-1]
	}
	if len(from) > 1 {
		rows = from[0]
	}
	pool(x).Range(m, 1+4096/max(n, 1), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			src, row := c[min(i, rows-1)*cols:], y[i*n:(i+1)*n]
			if cols == n {
				kernel.Copy(pool(x), row, src)
				continue
			}
			pool(x).InParts(n, func(lo, hi int) {
				for j := lo; j < hi; j++ {
					row[j] = src[0]
				}
			})
		}
	})
}

func integerGemm(p product) op.Kernel {
	lda, ldb := p.leading()
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(integerCopies(out, in))
		if err != nil {
			return err
		}
		defer release()
		a, err := int64s(pool(x), in[0])
		if err != nil {
			return err
		}
		b, err := int64s(pool(x), in[1])
		if err != nil {
			return err
		}
		add := kernel.Zeros[int64](pool(x), p.m*p.n)
		if len(in) > 2 && in[2] != nil {
			c, err := int64s(pool(x), in[2])
			if err != nil {
				return err
			}
			spread(x, add, c, p.c, p.m, p.n)
		}
		y := kernel.Zeros[int64](pool(x), p.m*p.n)
		integerProduct(pool(x), p, a, lda, b, ldb, y)
		for i := range y {
			checkAt(pool(x), i)
			if p.alpha == 1 && p.beta == 1 {
				y[i] += add[i]
			} else {
				y[i] = int64(p.alpha*float64(y[i]) + p.beta*float64(add[i]))
			}
		}
		return storeInts(pool(x), out[0], y)
	}
}

// integerCopies returns how many bytes the copies take that an integer product reads and writes.
func integerCopies(out, in []*tensor.Dense) (n int64) {
	for _, d := range slices.Concat(out, in) {
		if d != nil {
			n += 8 * int64(d.Shape().TotalSize())
		}
	}
	return n
}

// integerProduct adds op(A)·op(B) to y; it wraps around as Go's integers do.
func integerProduct(workers *kernel.Pool, p product, a []int64, lda int, b []int64, ldb int, y []int64) {
	for i := range p.m {
		for l := range p.k {
			if l*p.n/checkEvery != (l-1)*p.n/checkEvery || l == 0 {
				workers.Check()
			}
			v := a[i*lda+l : i*lda+l+1 : i*lda+l+1]
			if p.transA {
				v = a[l*lda+i:]
			}
			for j := range p.n {
				if p.transB {
					y[i*p.n+j] += v[0] * b[j*ldb+l]
				} else {
					y[i*p.n+j] += v[0] * b[l*ldb+j]
				}
			}
		}
	}
}

func storeInts(p *kernel.Pool, dst *tensor.Dense, v []int64) error {
	d, err := dtype.FromSlice(v, dst.Shape()...)
	if err != nil {
		return err
	}
	return convert(p, dtype.Cast{}, dst, d)
}

func gemmGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg := c.Config.(GemmConfig)
	a, b, dy := in[0], in[1], dout[0]
	da := func() (*gorgonia.Node, error) {
		if cfg.TransA {
			return c.Apply1(GemmConfig{Alpha: cfg.Alpha, TransA: cfg.TransB, TransB: true}, b, dy)
		}
		return c.Apply1(GemmConfig{Alpha: cfg.Alpha, TransB: !cfg.TransB}, dy, b)
	}
	db := func() (*gorgonia.Node, error) {
		if cfg.TransB {
			return c.Apply1(GemmConfig{Alpha: cfg.Alpha, TransA: true, TransB: cfg.TransA}, dy, a)
		}
		return c.Apply1(GemmConfig{Alpha: cfg.Alpha, TransA: !cfg.TransA}, a, dy)
	}
	grads := make(gorgonia.Nodes, 3)
	var err error
	if grads[0], err = da(); err != nil {
		return nil, err
	}
	if grads[1], err = db(); err != nil || len(in) < 3 || in[2] == nil {
		return grads[:2], err
	}
	if grads[2], err = c.SumTo(dy, c.In[2].Shape...); err != nil {
		return nil, err
	}
	grads[2], err = scaleBy(c, grads[2], orFloat(cfg.Beta, 1))
	return grads, err
}

func coupleGemm(c *op.Call) []coupling.Coupling {
	cfg := c.Config.(GemmConfig)
	am, ak, bk, bn := 0, 1, 0, 1
	if cfg.TransA {
		am, ak = 1, 0
	}
	if cfg.TransB {
		bk, bn = 1, 0
	}
	list := []coupling.Coupling{
		op.Couple(coupling.In(0, am), coupling.Out(0, 0)), op.Couple(coupling.In(0, ak), coupling.In(1, bk)), op.Couple(coupling.In(1, bn), coupling.Out(0, 1)),
	}
	if c.Has(2) {
		list = append(list, op.CoupleAll(c, 2)...)
	}
	return list
}

func gemmSums(c *op.Call) []trait.WeightedSum {
	if c.Config.(GemmConfig).TransB {
		return []trait.WeightedSum{{Weight: 1, Bias: 2, In: 1, Out: 0}}
	}
	return []trait.WeightedSum{{Weight: 1, Bias: 2, In: 0, Out: 1}}
}

// gemmVersions: before version 7 an attribute declares that C is broadcast; before 11 C is required.
func gemmVersions() []op.Version {
	broadcast := func(on bool) func(*op.Spelling) error {
		return op.OnConfig(func(n *op.Spelling, c *GemmConfig) error { c.Broadcast = on; return nil })
	}
	withC := func(n *op.Spelling) error {
		if n.Has(2) {
			return nil
		}
		zero, err := n.Filled("zero", n.DType(0), 0, 1)
		n.Put(2, zero)
		return err
	}
	return []op.Version{{At: 7, Up: broadcast(false), Down: broadcast(true)}, {At: 9, New: op.Where{"T": op.Integers()}}, {At: 11, Down: withC}}
}

func gemmRows(c *op.Call) *trait.Rows {
	if c.Config.(GemmConfig).TransA {
		return nil
	}
	m, n, k := gemmSizes(c)
	r := &trait.Rows{Out: n.Size, In: []int{k.Size, 0}}
	if c.Has(2) {
		ofRow := 0
		if s := c.In[2].Sizes(); len(s) == 2 && s[0] == m.Size {
			ofRow = s[1]
		}
		r.In = append(r.In, ofRow)
	}
	return r
}
