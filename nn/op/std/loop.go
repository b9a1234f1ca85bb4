package std

import (
	"math"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LoopConfig has the attribute of Loop. The body's inputs are the iteration number, the condition and the loop-carried
// values. The values that it captures follow the initial values of these in a call; they are not among the inputs of the node.
type LoopConfig struct {
	Body op.Subgraph `onnx:"body,required"`
}

// Operator makes LoopConfig a Config.
func (LoopConfig) Operator() op.Name { return op.Name{Name: "Loop"} }

func loop() *op.Op {
	return &op.Op{
		Name: "Loop", Since: []int{1, 11, 13, 16, 19, 21, 23, 24, 25},
		Doc: "Repeats a subgraph a number of times, or as long as it says; collects what it gives each time.",
		In:  "M? int64 shape, cond? bool shape, v_initial* any", Out: "v_final_and_scan_outputs* any", Attrs: LoopConfig{},
		Infer: inferLoop, Func: runLoop, Grad: loopGrad, Hidden: hiddenStates, State: bodyUpdates, Pinned: "subgraphs read their inputs as they are",
	}
}

// carried returns the number of loop-carried values.
func (cfg LoopConfig) carried(c *op.Call) (int, error) {
	n := cfg.Body.Inputs() - 2
	if n < 0 || len(c.In) != 2+n+len(cfg.Body.Captured()) || c.Outputs < n {
		return 0, c.Errorf("has %d inputs and %d outputs, but its body has %d inputs", len(c.In), c.Outputs, n+2)
	}
	return n, nil
}

func inferLoop(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(LoopConfig)
	n, err := cfg.carried(c)
	if err != nil {
		return nil, err
	}
	in := append([]op.Type{op.Shaped(dtype.Int64), op.Shaped(dtype.Bool)}, c.In[2:]...)
	known := append(make([]op.Known, 2+n), c.Known[2+n:]...)
	var out []op.Type
	for range 5 { // until the carried types do not change any more
		if out, err = cfg.Body.Infer(c.Context(), in, known, c.Train); err != nil {
			return nil, err
		}
		if len(out) < 1+c.Outputs {
			return nil, c.Errorf("the body has %d outputs, the node wants %d", len(out), 1+c.Outputs)
		}
		next := slices.Clone(in)
		for i := range n {
			if next[2+i], err = keptType(c, i, in[2+i], out[1+i]); err != nil {
				return nil, err
			}
		}
		if reflect.DeepEqual(next, in) {
			break
		}
		in = next
	}
	types := append([]op.Type(nil), in[2:2+n]...)
	for i, t := range types {
		if o := out[1+i]; t.Kind == op.Optional && o.Kind != op.Optional && o.Present() { // the body fills it
			types[i] = o
		}
	}
	if c.Outputs == n {
		return types, nil
	}
	trips, err := loopTrips(c, in, known)
	for _, t := range out[1+n : 1+c.Outputs] {
		if t.Unranked || t.Kind != op.Tensor {
			types = append(types, op.Type{DType: t.DType, Unranked: true})
			continue
		}
		types = append(types, t.With(append([]op.Dim{trips}, t.Shape...)...))
	}
	return types, err
}

// keptType returns the type of state i of a Loop or Scan, before and after an iteration: shapes may differ, element types may not.
func keptType(c *op.Call, i int, before, after op.Type) (op.Type, error) {
	if !sameElementType(before, after) {
		return op.Type{}, c.Errorf("state %d is of type %v, and of type %v after an iteration", i, before.DType, after.DType)
	}
	return common(before, after), nil
}

// sameElementType reports whether not both are known to be tensors, of different element types.
func sameElementType(a, b op.Type) bool {
	return a.Kind != op.Tensor || b.Kind != op.Tensor || !a.Present() || !b.Present() || a.DType == b.DType
}

// loopTrips returns the number of iterations when that is M and nothing else: the body's condition is
// a constant. It asks for the values that tell.
func loopTrips(c *op.Call, in []op.Type, known []op.Known) (op.Dim, error) {
	if !c.Has(0) {
		return op.Unknown(), nil
	}
	m, err := c.Ints(0)
	if err != nil || len(m) != 1 {
		return op.Unknown(), err
	}
	if c.Has(1) {
		v, err := c.Value(1)
		if err != nil {
			return op.Unknown(), err
		}
		if on, err := condition(c, 1, v); err != nil || !on {
			return op.D(0), err
		}
	}
	known = slices.Clone(known)
	known[1].Value = dtype.Scalar(true)
	g := gorgonia.NewGraph()
	nodes := make(gorgonia.Nodes, len(in))
	for i, t := range in {
		if nodes[i], err = op.Input(g, "input "+op.D(i).String(), t, nil); err != nil {
			return op.Unknown(), nil
		}
	}
	out, err := c.Config.(LoopConfig).Body.Lower(op.Scope{Graph: g, Train: c.Train, Ctx: c.Ctx, Types: true}, nodes, in, known)
	if err != nil || len(out) == 0 || out[0] == nil {
		return op.Unknown(), nil
	}
	if out[0] == nodes[1] {
		return op.D(max(m[0], 0)), nil
	}
	if op.IsConst(out[0]) && out[0].Value() != nil {
		if on, err := condition(c, 1, out[0].Value()); err == nil && on {
			return op.D(max(m[0], 0)), nil
		}
	}
	return op.Unknown(), nil
}

// iterate runs the body; each is called with the inputs and outputs of every iteration.
func (cfg LoopConfig) iterate(c *op.Call, r op.SubgraphRun, in []dtype.Value, n int, each func(in, out []dtype.Value) error) (state, captured []dtype.Value, err error) {
	trips, on := math.MaxInt, true
	if in[0] != nil {
		m, err := firstInt(c, 0, in[0].(*tensor.Dense))
		if err != nil {
			return nil, nil, err
		}
		trips = m
	}
	if in[1] != nil {
		if on, err = condition(c, 1, in[1]); err != nil {
			return nil, nil, err
		}
	}
	state, captured = slices.Clone(in[2:2+n]), in[2+n:]
	key, states := r.Key, cfg.Body.States()
	for t := 0; t < trips && on; t++ {
		args := slices.Concat([]dtype.Value{dtype.Scalar(int64(t)), dtype.Scalar(on)}, state, captured)
		r.Key = iterationKey(key, t)
		out, next, err := cfg.Body.Run(r, args)
		if err != nil {
			return nil, nil, err
		}
		if len(out) < 1+n {
			return nil, nil, c.Errorf("the body gave %d outputs, want %d at least", len(out), 1+n)
		}
		if on, err = condition(c, 1, out[0]); err != nil {
			return nil, nil, err
		}
		if err := each(args, out); err != nil {
			return nil, nil, c.Errorf("iteration %d: %w", t, err)
		}
		for i, v := range out[1 : 1+n] {
			state[i] = carriedAs(in[2+i], v)
		}
		captured = replaced(args, next, states)[2+n:]
	}
	return state, captured, nil
}

// carriedAs returns v for the next iteration, wrapped in an optional if the initial value is an optional.
func carriedAs(initial, v dtype.Value) dtype.Value {
	if _, optional := initial.(*dtype.Optional); !optional || v == nil {
		return v
	}
	if _, already := v.(*dtype.Optional); already {
		return v
	}
	_, sequence := v.(*dtype.Sequence)
	return &dtype.Optional{Elem: dtype.DTypeOf(v), Seq: sequence, Item: v}
}

func runLoop(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(LoopConfig)
	n, err := cfg.carried(c)
	if err != nil {
		return nil, err
	}
	scans := make([][]dtype.Value, c.Outputs-n)
	known := append(make([]op.Known, 2), c.Known[2:]...)
	var memory op.Tally
	defer memory.Free()
	out, captured, err := cfg.iterate(c, c.SubgraphRun(c.Key, known), in, n, func(_, out []dtype.Value) error {
		for k := range scans {
			if err := memory.Add(c.Context(), out[1+n+k]); err != nil {
				return err
			}
			scans[k] = append(scans[k], out[1+n+k])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, v := range out {
		if o, ok := v.(*dtype.Optional); ok && c.Out[i].Kind != op.Optional {
			if out[i] = o.Item; o.Item == nil {
				return nil, c.Errorf("output %d is %v, but no iteration ran and %s holds nothing", i, c.Out[i], c.InputName(2+i))
			}
		}
	}
	for k, list := range scans {
		v, err := collected(c, c.Out[n+k], list, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return withStates(c, out, slices.Concat(in[:2+n], captured)), nil
}

// collected stacks the outputs of the iterations; without iterations, the result is empty, in the inferred type.
func collected(c *op.Call, t op.Type, list []dtype.Value, axis int) (dtype.Value, error) {
	if len(list) > 0 {
		return stackValues(c, list, axis)
	}
	if t.DType == dtype.Undefined {
		return nil, c.Errorf("no iteration ran, and the type of what it would give is not known")
	}
	shape := []int{0}
	if !t.Unranked {
		shape = t.Sizes()
		for i, n := range shape {
			shape[i] = max(n, 0)
		}
	}
	if t.DType == dtype.String {
		return dtype.NewStrings(nil, shape...)
	}
	return dtype.New(t.DType, shape...), nil
}

func loopGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	return bodyGradients(c, loopGradConfig{c.Config.(LoopConfig), len(c.In), c.Outputs, c.Train, c.Random(), flagsOf(c)}, 2, c.In, in, dout)
}

type loopGradConfig struct {
	Loop    LoopConfig
	Inputs  int
	Outputs int
	Train   bool
	Keyed   bool // the random key is the last input
	Flags   bodyFlags
}

func (loopGradConfig) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "LoopGrad"} }

func loopGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "LoopGrad", Since: []int{1}, Doc: "Gradient of Loop: keeps the inputs of every iteration and goes back through them.",
		In: "rest* any", Out: "grads* any", Attrs: loopGradConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return gradTypes(c.In, 2, c.Config.(loopGradConfig).Inputs, c.Config.(loopGradConfig).Flags), nil
		},
		Func: runLoopGrad, GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

func runLoopGrad(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(loopGradConfig)
	body := cfg.Loop.Body
	n := body.Inputs() - 2
	in, key := gradientKey(c, in, cfg.Keyed)
	args, dout := in[:cfg.Inputs], in[cfg.Inputs:]
	run := op.SubgraphRun{Ctx: c.Context(), Train: cfg.Train, Key: key, Frozen: cfg.Flags.Frozen}
	var tape tape
	defer tape.free()
	if _, _, err := cfg.Loop.iterate(c, run, args, n, func(in, _ []dtype.Value) error { return tape.add(c, in, 2+n) }); err != nil {
		return nil, err
	}
	g := &bodyGrad{body: body, run: run, flags: cfg.Flags}
	total := make([]dtype.Value, len(args)) // carried: of the current iteration; captured: summed
	copy(total[2:2+n], dout)
	for t := len(tape.turns) - 1; t >= 0; t-- {
		seeds := append([]dtype.Value{nil}, total[2:2+n]...)
		for _, d := range dout[n:] {
			if d != nil {
				var err error
				if d, err = indexValue(c, d, 0, t); err != nil {
					return nil, err
				}
			}
			seeds = append(seeds, d)
		}
		d, err := g.back(iterationKey(key, t), t, tape.turns, seeds, 2, 1, n)
		if err != nil {
			return nil, err
		}
		copy(total[2:2+n], d[2:2+n])
		for i := 2 + n; i < len(args); i++ {
			if total[i], err = addValues(c.Set, total[i], d[i]); err != nil {
				return nil, err
			}
		}
	}
	return compactGrads(c.In, 2, total[2:], cfg.Flags), nil
}

// iterationKey returns the random key of an iteration, that of the call for the first.
func iterationKey(k [2]uint64, t int) [2]uint64 {
	return [2]uint64{k[0] + uint64(t)*0x9e3779b97f4a7c15, k[1]}
}

// replaced returns the inputs with statistics replaced by their next values.
func replaced(in, next []dtype.Value, states []int) []dtype.Value {
	in = slices.Clone(in)
	for _, i := range states {
		if i < len(in) && i < len(next) && next[i] != nil {
			in[i] = next[i]
		}
	}
	return in
}
