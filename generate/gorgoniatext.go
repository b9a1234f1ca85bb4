package generate

// gorgoniaBuilder is the source that all models share.
const gorgoniaBuilder = `// Model is a model in an expression graph.
type Model struct {
	Outputs G.Nodes
	Params  G.Nodes  // what is trained
	Fresh   []string // parameters that the weights have no values of their shape for

	g       *G.ExprGraph
	weights map[string]*tensor.Dense
	err     error // the first one
}

// param is a parameter with the values of the weights, or with those that init gives.
func (m *Model) param(name string, init G.InitWFn, shape ...int) *G.Node {
	w := m.weights[name]
	fits := w != nil && w.Shape().TotalSize() == tensor.Shape(shape).TotalSize()
	var n *G.Node
	if fits {
		d := w.Clone().(*tensor.Dense)
		if err := d.Reshape(shape...); err != nil && m.err == nil {
			m.err = fmt.Errorf("%s: %w", name, err)
		}
		n = G.NodeFromAny(m.g, d, G.WithName(name))
	} else {
		m.Fresh = append(m.Fresh, name)
		n = G.NewTensor(m.g, tensor.Float32, len(shape), G.WithShape(shape...), G.WithName(name), G.WithInit(init))
	}
	m.Params = append(m.Params, n)
	return n
}

// do keeps the first error.
func (m *Model) do(f func() (*G.Node, error)) *G.Node {
	if m.err != nil {
		return nil
	}
	n, err := f()
	m.err = err
	return n
}

`

// gorgoniaHelpers are methods of the builder, each written where a model needs it.
var gorgoniaHelpers = []struct{ name, text string }{
	{"conv", `// conv is a convolution with square windows.
func (m *Model) conv(x *G.Node, name string, out, kernel, stride, pad, dilation int, bias bool) *G.Node {
	return m.do(func() (*G.Node, error) {
		w := m.param(name+".weight", G.GlorotN(1), out, x.Shape()[1], kernel, kernel)
		y, err := G.Conv2d(x, w, tensor.Shape{kernel, kernel}, []int{pad, pad}, []int{stride, stride}, []int{dilation, dilation})
		if err != nil || !bias {
			return y, err
		}
		return G.BroadcastAdd(y, m.param(name+".bias", G.Zeroes(), 1, out, 1, 1), nil, []byte{0, 2, 3})
	})
}
`},
	{"linear", `// linear is x·Wᵀ + b.
func (m *Model) linear(x *G.Node, name string, out int, bias bool) *G.Node {
	return m.do(func() (*G.Node, error) {
		w, err := G.Transpose(m.param(name+".weight", G.GlorotN(1), out, x.Shape()[1]), 1, 0)
		if err != nil {
			return nil, err
		}
		y, err := G.Mul(x, w)
		if err != nil || !bias {
			return y, err
		}
		return G.BroadcastAdd(y, m.param(name+".bias", G.Zeroes(), 1, out), nil, []byte{0})
	})
}
`},
	{"batchNorm", `// batchNorm normalizes each channel by its running statistics, which stay as they are.
func (m *Model) batchNorm(x *G.Node, name string, eps float64) *G.Node {
	return m.do(func() (*G.Node, error) {
		c := x.Shape()[1]
		scale, shift := make([]float32, c), make([]float32, c)
		mean, _ := m.statistic(name+".running_mean", c)
		variance, ok := m.statistic(name+".running_var", c)
		for i := range scale {
			if !ok {
				variance[i] = 1
			}
			scale[i] = float32(1 / math.Sqrt(float64(variance[i])+eps))
			shift[i] = -mean[i] * scale[i]
		}
		y, err := m.perChannel(G.BroadcastHadamardProd, x, G.NodeFromAny(m.g, tensor.New(tensor.WithShape(1, c, 1, 1), tensor.WithBacking(scale)), G.WithName(name+".deviation")))
		if err != nil {
			return nil, err
		}
		if y, err = m.perChannel(G.BroadcastAdd, y, G.NodeFromAny(m.g, tensor.New(tensor.WithShape(1, c, 1, 1), tensor.WithBacking(shift)), G.WithName(name+".mean"))); err != nil {
			return nil, err
		}
		if y, err = m.perChannel(G.BroadcastHadamardProd, y, m.param(name+".weight", G.Ones(), 1, c, 1, 1)); err != nil {
			return nil, err
		}
		return m.perChannel(G.BroadcastAdd, y, m.param(name+".bias", G.Zeroes(), 1, c, 1, 1))
	})
}

func (m *Model) perChannel(f func(a, b *G.Node, left, right []byte) (*G.Node, error), x, c *G.Node) (*G.Node, error) {
	return f(x, c, nil, []byte{0, 2, 3})
}

// statistic is a running statistic; zeros and false where the weights have none of its length.
func (m *Model) statistic(name string, n int) ([]float32, bool) {
	if w := m.weights[name]; w != nil {
		if v, ok := w.Data().([]float32); ok && len(v) == n {
			return v, true
		}
	}
	m.Fresh = append(m.Fresh, name)
	return make([]float32, n), false
}
`},
	{"maxPool", `// maxPool takes the largest element of square windows.
func (m *Model) maxPool(x *G.Node, kernel, stride, pad int) *G.Node {
	return m.do(func() (*G.Node, error) {
		return G.MaxPool2D(x, tensor.Shape{kernel, kernel}, []int{pad, pad}, []int{stride, stride})
	})
}
`},
	{"globalAvgPool", `// globalAvgPool takes the mean of each channel.
func (m *Model) globalAvgPool(x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) {
		s := x.Shape()
		n, c := s[0], s[1]
		y, err := G.Reshape(x, tensor.Shape{n * c, s.TotalSize() / (n * c)})
		if err != nil {
			return nil, err
		}
		if y, err = G.Mean(y, 1); err != nil { // Gorgonia's own pool has no gradient
			return nil, err
		}
		return G.Reshape(y, tensor.Shape{n, c, 1, 1})
	})
}
`},
	{"flatten", `// flatten makes a row of each sample.
func (m *Model) flatten(x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) {
		return G.Reshape(x, tensor.Shape{x.Shape()[0], x.Shape().TotalSize() / x.Shape()[0]})
	})
}
`},
	{"softmax", `func (m *Model) softmax(x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) { return G.SoftMax(x) })
}
`},
	{"leakyReLU", `func (m *Model) leakyReLU(x *G.Node, slope float64) *G.Node {
	return m.do(func() (*G.Node, error) { return G.LeakyRelu(x, slope) })
}
`},
	{"dropout", `// dropout passes x on: put a G.Dropout here to train.
func (m *Model) dropout(x *G.Node) *G.Node { return x }
`},
	{"relu", `func (m *Model) relu(x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) { return G.Rectify(x) })
}
`},
	{"sigmoid", `func (m *Model) sigmoid(x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) { return G.Sigmoid(x) })
}
`},
	{"tanh", `func (m *Model) tanh(x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) { return G.Tanh(x) })
}
`},
	{"silu", `// silu is x·sigmoid(x).
func (m *Model) silu(x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) {
		s, err := G.Sigmoid(x)
		if err != nil {
			return nil, err
		}
		return G.HadamardProd(x, s)
	})
}
`},
	{"unary", `func (m *Model) unary(f func(x *G.Node) (*G.Node, error), x *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) { return f(x) })
}
`},
	{"binary", `func (m *Model) binary(f func(x, y *G.Node) (*G.Node, error), x, y *G.Node) *G.Node {
	return m.do(func() (*G.Node, error) { return f(x, y) })
}
`},
}

// gorgoniaReader reads the weights.
const gorgoniaReader = `// Read reads the float32 tensors of a safetensors file, READ for one.
func Read(file string) (map[string]*tensor.Dense, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var n uint64
	if err := binary.Read(f, binary.LittleEndian, &n); err != nil {
		return nil, err
	}
	if n > 100<<20 {
		return nil, fmt.Errorf("%s: the header has %d bytes", file, n)
	}
	var header map[string]struct {
		DType   string
		Shape   []int
		Offsets [2]int64 ` + "`json:\"data_offsets\"`" + `
	}
	var more struct {
		Checksums map[string]string ` + "`json:\"__metadata__\"`" + `
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(n)))
	if err := errors.Join(err, json.Unmarshal(text, &header), json.Unmarshal(text, &more)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	weights := map[string]*tensor.Dense{}
	for name, h := range header {
		size := int64(tensor.Shape(h.Shape).TotalSize())
		if h.DType != "F32" {
			continue
		}
		if h.Offsets[1]-h.Offsets[0] != 4*size {
			return nil, fmt.Errorf("%s: %s has %v bytes", file, name, h.Offsets)
		}
		v := make([]float32, size)
		sum := crc32.New(table)
		fmt.Fprint(sum, h.DType, h.Shape)
		elements := io.TeeReader(io.NewSectionReader(f, int64(8+n)+h.Offsets[0], 4*size), sum)
		if err := binary.Read(elements, binary.LittleEndian, v); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, name, err)
		}
		if want, ok := more.Checksums["crc32c "+name]; ok && want != fmt.Sprintf("%08x", sum.Sum32()) {
			return nil, fmt.Errorf("%s: %s is damaged: its checksum is %08x, want %s", file, name, sum.Sum32(), want)
		}
		if len(h.Shape) == 0 {
			h.Shape = []int{1}
		}
		weights[name] = tensor.New(tensor.WithShape(h.Shape...), tensor.WithBacking(v))
	}
	return weights, nil
}
`
