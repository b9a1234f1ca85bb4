package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ScanConfig has the attributes of Scan. A direction of 1 goes from the end to the beginning. The
// values that the body captures follow the scanned ones in a call; they are not among the inputs of the node.
type ScanConfig struct {
	Body             op.Subgraph `onnx:"body,required"`                  // one iteration
	NumScanInputs    int         `onnx:"num_scan_inputs,required"`       // number of inputs that are scanned, 1 or more
	Directions       []int       `onnx:"directions,until=8"`             // of the scanned inputs
	InputAxes        []int       `onnx:"scan_input_axes,since=9"`        // that inputs are sliced along; nil: 0
	InputDirections  []int       `onnx:"scan_input_directions,since=9"`  // of the scanned inputs; nil: 0
	OutputAxes       []int       `onnx:"scan_output_axes,since=9"`       // that outputs are stacked along; nil: 0
	OutputDirections []int       `onnx:"scan_output_directions,since=9"` // of the stacked outputs; nil: 0
}

// Operator makes ScanConfig a Config.
func (ScanConfig) Operator() op.Name { return op.Name{Name: "Scan"} }

func scan() *op.Op {
	return &op.Op{
		Name: "Scan", Since: []int{8, 9, 11, 16, 19, 21, 23, 24, 25}, Versions: []op.Version{{At: 9, Up: op.Refuse("version 9 has other axes and no batch"), Down: op.Refuse("version 9 has other axes and no batch")}},
		Doc: "Runs a subgraph over slices of its inputs, carrying state values along, and stacks what it gives each time.",
		// In version 8 the first input is the lengths of the sequences of a batch, the first axis of all others.
		In: "initial_state_and_scan_inputs* any", Out: "final_state_and_scan_outputs* any", Attrs: ScanConfig{},
		Infer: inferScan, Func: runScan, Grad: scanGrad, Hidden: hiddenStates, State: bodyUpdates, Pinned: "subgraphs read their inputs as they are",
		Traits: op.Traits{Slices: func(c op.Config, i, inputs int) bool { return i >= inputs-c.(ScanConfig).NumScanInputs }},
	}
}

// scanning is a Scan whose axes are resolved.
type scanning struct {
	body            op.Subgraph
	first           int // position of the first state: 1 in version 8
	states, scanned int
	outputs         int // scan outputs
	inAxis, outAxis []int
	inBack, outBack []bool
	batch           bool
}

func scanningOf(c *op.Call) (*scanning, error) {
	cfg := c.Config.(ScanConfig)
	s := &scanning{body: cfg.Body, scanned: cfg.NumScanInputs, states: cfg.Body.Inputs() - cfg.NumScanInputs}
	if c.Version == 8 {
		s.first, s.batch = 1, true
	}
	s.outputs = c.Outputs - s.states
	if s.scanned < 1 || s.states < 0 || s.outputs < 0 || len(c.In) != s.first+s.states+s.scanned+len(cfg.Body.Captured()) {
		return nil, c.Errorf("has %d inputs and %d outputs, but its body has %d inputs", len(c.In), c.Outputs, cfg.Body.Inputs())
	}
	back := cfg.InputDirections
	if s.batch {
		back = cfg.Directions
	}
	var err error
	if s.inAxis, s.inBack, err = scanAxes(c, cfg.InputAxes, back, s.scanned); err != nil {
		return nil, err
	}
	s.outAxis, s.outBack, err = scanAxes(c, cfg.OutputAxes, cfg.OutputDirections, s.outputs)
	return s, err
}

func scanAxes(c *op.Call, axes, directions []int, n int) ([]int, []bool, error) {
	a, back := make([]int, n), make([]bool, n)
	if axes != nil && len(axes) != n || directions != nil && len(directions) != n {
		return nil, nil, c.Errorf("has %d axes and %d directions for %d scanned values", len(axes), len(directions), n)
	}
	copy(a, axes)
	for i, d := range directions {
		if d != 0 && d != 1 {
			return nil, nil, c.Errorf("has direction %d: want 0, or 1 from the end to the beginning", d)
		}
		back[i] = d == 1
	}
	return a, back, nil
}

// dropDim returns a type without one dimension, which is returned too.
func dropDim(c *op.Call, t op.Type, axis int) (op.Type, op.Dim, error) {
	if t.Unranked || t.Kind != op.Tensor {
		return t, op.Unknown(), nil
	}
	a, err := c.Axis(axis, len(t.Shape))
	if err != nil {
		return t, op.Unknown(), err
	}
	return t.With(slices.Delete(slices.Clone(t.Shape), a, a+1)...), t.Shape[a], nil
}

func addDim(c *op.Call, t op.Type, axis int, d op.Dim) (op.Type, error) {
	if t.Unranked || t.Kind != op.Tensor {
		return t, nil
	}
	a, err := c.Axis(axis, len(t.Shape)+1)
	if err != nil {
		return t, err
	}
	return t.With(slices.Insert(slices.Clone(t.Shape), a, d)...), nil
}

func inferScan(c *op.Call) ([]op.Type, error) {
	s, err := scanningOf(c)
	if err != nil {
		return nil, err
	}
	in := slices.Clone(c.In[s.first:])
	length, batch := op.Unknown(), op.Unknown()
	for i := range s.states + s.scanned {
		var d op.Dim
		if s.batch {
			if in[i], d, err = dropDim(c, in[i], 0); err != nil {
				return nil, err
			}
			batch, _ = batch.Merge(d)
		}
		if k := i - s.states; k >= 0 {
			if in[i], d, err = dropDim(c, in[i], s.inAxis[k]); err != nil {
				return nil, err
			}
			var ok bool
			if length, ok = length.Merge(d); !ok {
				return nil, c.Errorf("scanned inputs have lengths %v and %v", length, d)
			}
		}
	}
	known := append(make([]op.Known, s.states+s.scanned), c.Known[s.first+s.states+s.scanned:]...)
	out, err := s.body.Infer(c.Context(), in, known, c.Train)
	if err != nil {
		return nil, err
	}
	if len(out) < c.Outputs {
		return nil, c.Errorf("the body has %d outputs, the node wants %d", len(out), c.Outputs)
	}
	types := make([]op.Type, c.Outputs)
	for i := range types {
		if i < s.states {
			if types[i], err = keptType(c, i, in[i], out[i]); err != nil {
				return nil, err
			}
		} else if types[i], err = addDim(c, out[i], s.outAxis[i-s.states], length); err != nil {
			return nil, err
		}
		if s.batch {
			if types[i], err = addDim(c, types[i], 0, batch); err != nil {
				return nil, err
			}
		}
	}
	return types, nil
}

// at returns the index that step t of n reads or writes.
func at(t, n int, back bool) int {
	if back {
		return n - 1 - t
	}
	return t
}

// steps runs the body over n slices; in has states, scanned and captured values.
func (s *scanning) steps(c *op.Call, r op.SubgraphRun, in []dtype.Value, n int, each func(t int, in, out []dtype.Value) error) (state, captured []dtype.Value, err error) {
	state, captured = slices.Clone(in[:s.states]), in[s.states+s.scanned:]
	key, states := r.Key, s.body.States()
	for t := range n {
		args := slices.Clone(state)
		for k := range s.scanned {
			v := in[s.states+k]
			x, err := indexValue(c, v, s.axis(k, v), at(t, n, s.inBack[k]))
			if err != nil {
				return nil, nil, err
			}
			args = append(args, x)
		}
		args = append(args, captured...)
		r.Key = iterationKey(key, t)
		out, next, err := s.body.Run(r, args)
		if err != nil {
			return nil, nil, err
		}
		if len(out) < s.states+s.outputs {
			return nil, nil, &op.Error{Op: "Scan", Want: s.states + s.outputs, Got: len(out)}
		}
		if err := each(t, args, out); err != nil {
			return nil, nil, c.Errorf("step %d: %w", t, err)
		}
		state = slices.Clone(out[:s.states])
		captured = replaced(args, next, states)[s.states+s.scanned:]
	}
	return state, captured, nil
}

func (s *scanning) axis(k int, v dtype.Value) int {
	if a := s.inAxis[k]; a >= 0 {
		return a
	}
	return s.inAxis[k] + len(v.Shape())
}

func (s *scanning) length(v dtype.Value) int { return v.Shape()[s.axis(0, v)] }

// run is Scan without a batch. Captured are the values after the scanned ones after the last step.
func (s *scanning) run(c *op.Call, key [2]uint64, in []dtype.Value, n int) (out, captured []dtype.Value, err error) {
	lists := make([][]dtype.Value, s.outputs)
	var memory op.Tally
	defer memory.Free()
	out, captured, err = s.steps(c, c.SubgraphRun(key, c.Known[s.first:]), in, n, func(_ int, _, out []dtype.Value) error {
		for k := range lists {
			if err := memory.Add(c.Context(), out[s.states+k]); err != nil {
				return err
			}
			lists[k] = append(lists[k], out[s.states+k])
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for k, list := range lists {
		if s.outBack[k] {
			slices.Reverse(list)
		}
		v, err := collected(c, c.Out[s.states+k], list, s.outAxis[k])
		if err != nil {
			return nil, nil, err
		}
		out = append(out, v)
	}
	return out, captured, nil
}

func runScan(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	s, err := scanningOf(c)
	if err != nil {
		return nil, err
	}
	if !s.batch {
		out, captured, err := s.run(c, c.Key, in, s.length(in[s.states]))
		if err != nil {
			return nil, err
		}
		return withStates(c, out, slices.Concat(in[:s.states+s.scanned], captured)), nil
	}
	return s.runBatch(c, in)
}

// runBatch scans each sequence of a batch separately; the outputs of short ones are padded with zeros.
func (s *scanning) runBatch(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	scanned := in[1+s.states]
	batch, length := scanned.Shape()[0], scanned.Shape()[1]
	lens := slices.Repeat([]int{length}, batch)
	if d, ok := in[0].(*tensor.Dense); ok && d != nil {
		var err error
		if lens, err = dtype.Ints(d); err != nil || len(lens) != batch {
			return nil, c.Mismatch(0, "a length for each sequence", op.TypeOf(d))
		}
	}
	captured := in[1+s.states+s.scanned:]
	all := make([][]dtype.Value, s.states+s.outputs)
	for b, n := range lens {
		if n < 0 || n > length {
			return nil, c.Errorf("sequence %d has length %d, the axis has %d", b, n, length)
		}
		args := slices.Concat(in[1:1+s.states+s.scanned], captured)
		for i := range s.states + s.scanned {
			var err error
			if args[i], err = indexValue(c, in[1+i], 0, b); err != nil {
				return nil, err
			}
		}
		var out []dtype.Value
		var err error
		out, captured, err = s.run(c, iterationKey(c.Key, b), args, n)
		if err != nil {
			return nil, err
		}
		for i, v := range out {
			if i >= s.states && n < length {
				pads := make([]int, 2*len(v.Shape()))
				pads[len(v.Shape())] = length - n
				if v, err = compute1(c, PadConfig{Pads: pads}, 2, v); err != nil {
					return nil, err
				}
			}
			all[i] = append(all[i], v)
		}
	}
	out := make([]dtype.Value, len(all))
	for i, list := range all {
		var err error
		if out[i], err = collected(c, c.Out[i], list, 0); err != nil {
			return nil, err
		}
	}
	return withStates(c, out, slices.Concat(in[:1+s.states+s.scanned], captured)), nil
}

func scanGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	s, err := scanningOf(c)
	if err != nil {
		return nil, err
	}
	if s.batch {
		return nil, c.Errorf("version 8 has no gradient: convert the model to a newer operator set")
	}
	return bodyGradients(c, scanGradConfig{c.Config.(ScanConfig), len(c.In), c.Outputs, c.Version, c.Train, c.Random(), flagsOf(c)}, 0, c.In, in, dout)
}

type scanGradConfig struct {
	Scan    ScanConfig
	Inputs  int
	Outputs int
	Version int
	Train   bool
	Keyed   bool // the random key is the last input
	Flags   bodyFlags
}

func (scanGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "ScanGrad"} }

func scanGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "ScanGrad", Since: []int{1}, Doc: "Gradient of Scan: keeps the inputs of every step and goes back through them.",
		In: "rest* any", Out: "grads* any", Attrs: scanGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return gradTypes(c.In, 0, c.Config.(scanGradConfig).Inputs, c.Config.(scanGradConfig).Flags), nil
		},
		Func: runScanGrad, GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func runScanGrad(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(scanGradConfig)
	forward := *c
	forward.Config, forward.In, forward.Outputs, forward.Version = cfg.Scan, c.In[:cfg.Inputs], cfg.Outputs, cfg.Version
	s, err := scanningOf(&forward)
	if err != nil {
		return nil, err
	}
	in, key := gradientKey(c, in, cfg.Keyed)
	args, dout := in[:cfg.Inputs], in[cfg.Inputs:]
	run := op.SubgraphRun{Ctx: c.Context(), Train: cfg.Train, Key: key, Frozen: cfg.Flags.Frozen}
	n := s.length(args[s.states])
	var tape tape
	defer tape.free()
	if _, _, err := s.steps(c, run, args, n, func(_ int, in, _ []dtype.Value) error { return tape.add(c, in, s.states+s.scanned) }); err != nil {
		return nil, err
	}
	g := &bodyGrad{body: s.body, run: run, flags: cfg.Flags}
	captured := s.states + s.scanned
	total := make([]dtype.Value, len(args))
	copy(total[:s.states], dout)
	parts := make([][]dtype.Value, s.scanned) // gradients of the slices, by index
	var memory op.Tally                       // of these
	defer memory.Free()
	for k := range parts {
		parts[k] = make([]dtype.Value, n)
	}
	for t := n - 1; t >= 0; t-- {
		seeds := slices.Clone(total[:s.states])
		for k, d := range dout[s.states:] {
			if d != nil {
				axis := s.outAxis[k]
				if axis < 0 {
					axis += len(d.Shape())
				}
				if d, err = indexValue(c, d, axis, at(t, n, s.outBack[k])); err != nil {
					return nil, err
				}
			}
			seeds = append(seeds, d)
		}
		d, err := g.back(iterationKey(key, t), t, tape.turns, seeds, 0, 0, s.states)
		if err != nil {
			return nil, err
		}
		copy(total[:s.states], d[:s.states])
		for k := range parts {
			part := orZerosLike(d[s.states+k], tape.turns[t][s.states+k])
			if err := memory.Add(c.Context(), part); err != nil {
				return nil, err
			}
			parts[k][at(t, n, s.inBack[k])] = part
		}
		for i := captured; i < len(args); i++ {
			if total[i], err = addValues(c.Set, total[i], d[i]); err != nil {
				return nil, err
			}
		}
	}
	for k, list := range parts {
		if v := args[s.states+k]; n > 0 && op.Differentiable(op.TypeOf(v)) {
			if total[s.states+k], err = stackValues(c, list, s.axis(k, v)); err != nil {
				return nil, err
			}
		}
	}
	return compactGrads(c.In, 0, total, cfg.Flags), nil
}

func orZerosLike(d, like dtype.Value) dtype.Value {
	if d != nil {
		return d
	}
	return orZeros(nil, op.TypeOf(like))
}
