package engine

import (
	"fmt"
	"math"
	"reflect"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/nn/dtype"
)

// kind is where a value is stored.
type kind uint8

const (
	source   kind = iota // an input node or constant: memory of its owner, read at each Run
	placed               // in the arena
	borrowed             // a view of a source
	heap                 // a Go value made at each Run: strings, sequences
)

// value is one intermediate result. Nodes with the same computation share it.
type value struct {
	kind  kind
	node  *gorgonia.Node // that it is the value of, or a copy of its value
	dtype tensor.Dtype
	shape tensor.Shape // nil: unknown (a source without a shape)
	bytes int64        // -1: no flat storage, or unknown
	from  *step        // nil for sources
	uses  int          // step inputs that read it
	last  int          // index of the last step that reads it
	root  bool
	buf   *buffer // its buffer; nil for values that are not in the arena and for empty tensors

	dense *tensor.Dense  // what kernels get; nil while there is none or it is not flat
	val   gorgonia.Value // as set by its owner, by Func or by a foreign op
	bound gorgonia.Value // source: set by Bind
	kept  *WeightCache   // source: see Program.Keep; or nil
	cell  *tensor.Dense  // source: the tensor that holds a scalar
	form  *tensor.Dense  // placed by a foreign op: dense with the shape that op gave it
}

// stepKind is how a step runs.
type stepKind uint8

const (
	kernelStep stepKind = iota
	funcStep
	foreignStep
	sumStep       // out[0] = in[0] + in[1] + …
	copyStep      // out[0] = in[0], a root that would otherwise be its input
	viewStep      // out[0] borrows the memory of in[0]
	lossReadyStep // in[0] is Options.LossReady
	checkStep     // in[0] will be passed on
	commitStep    // from here on values are passed on; in are the factors of those that are computed later
	callbackStep  // in[0] is passed on
	deadStep      // fused into another step, or a view within the arena: not run
)

// step is one entry of the schedule.
type step struct {
	kind stepKind
	name string
	core *Core
	op   gorgonia.Op
	in   []*value // nil: an absent optional input
	out  []*value // nil: an output that is not read

	din, dout    []*tensor.Dense
	last         []bool // by input: its memory is free from this step on
	sum          *sum
	done         []*value // heap values that are not read after this step
	fused        int      // steps that run as part of it
	holes        []hole   // of the arena during this step
	callback     int      // index in Options.Callbacks …
	gives        *value   // … and the source whose elements may change there, or nil
	lastPriority []int    // of the commitStep: the callbacks whose factors are in
}

// newValue computes the size of a value; a shape that exceeds any memory is an error.
func newValue(k kind, n *gorgonia.Node, dt tensor.Dtype, shape tensor.Shape) (*value, error) {
	v := &value{kind: k, node: n, dtype: dt, shape: shape}
	var err error
	if v.bytes, err = bytesOf(dt, shape); err != nil {
		return nil, fmt.Errorf("engine: %s: %w", v.name(), err)
	}
	if v.bytes >= 0 {
		v.shape = append(tensor.Shape{}, shape...)
	}
	return v, nil
}

// bytesOf returns the size of a tensor, -1 if it has no flat storage; a shape that exceeds any memory is an error.
func bytesOf(dt tensor.Dtype, shape tensor.Shape) (int64, error) {
	if shape == nil || !flat(dt) {
		return -1, nil
	}
	n, err := dtype.Count(shape)
	if err != nil {
		return 0, err
	}
	size := int(dt.Size())
	if n > (math.MaxInt-cacheLine)/size {
		return 0, fmt.Errorf("shape %v of %v takes too much memory", shape, dt)
	}
	return int64(n) * int64(size), nil
}

// name describes its node, for messages.
func (v *value) name() string { return nodeName(v.node) }

// flat reports whether elements of dt contain no pointers.
func flat(dt tensor.Dtype) bool {
	if dt.Type == nil {
		return false
	}
	k := dt.Kind()
	return k >= reflect.Bool && k <= reflect.Complex128
}

// nodeSpec returns the element type and shape of n as Gorgonia sees it; a nil shape means unknown.
func nodeSpec(n *gorgonia.Node) (tensor.Dtype, tensor.Shape) {
	switch t := n.Type().(type) {
	case tensor.Dtype:
		if s := n.Shape(); len(s) > 0 {
			return t, s
		}
		return t, tensor.ScalarShape()
	case gorgonia.TensorType:
		if dt, ok := t.Of.(tensor.Dtype); ok {
			if s := n.Shape(); len(s) > 0 || t.Dims == 0 {
				return dt, s
			}
			return dt, nil
		}
	}
	return tensor.Dtype{}, nil
}

// isSource reports whether the value of a node with that op is an input rather than computed.
func isSource(op gorgonia.Op, kids int) bool {
	if op == nil {
		return true
	}
	_, constant := op.(interface{ Value() gorgonia.Value })
	return constant && kids == 0
}

func nodeName(n *gorgonia.Node) string {
	if name := n.Name(); name != "" {
		return name
	}
	if op := n.Op(); op != nil {
		return op.String()
	}
	return fmt.Sprintf("node %d", n.ID())
}
