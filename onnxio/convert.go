package onnxio

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// convert lets the model be written in another version of the standard operator set. It refuses
// nodes whose operator that version spells differently.
func (w *writer) convert(g *nn.Graph, opset int) error {
	if newest := newestOpset(); opset < 1 || opset > newest {
		return fmt.Errorf("there is no operator set %d: want 1 to %d", opset, newest)
	}
	if err := convertible(g, w.opsets[""], opset); err != nil {
		return err
	}
	w.opsets = maps.Clone(w.opsets)
	w.opsets[""] = opset
	return nil
}

// newestOpset is the version of the standard operator set in which an operator changed last.
func newestOpset() int {
	newest := 0
	for _, o := range op.Standard().List() {
		if o.Domain == "" {
			newest = max(newest, o.Latest())
		}
	}
	return newest
}

func convertible(g *nn.Graph, from, to int) error {
	for n := range g.Nodes() {
		if n.Domain() != "" {
			continue
		}
		refuse := func(why string) error {
			return &nn.Error{Op: n.Type(), Node: n.Label(), Err: fmt.Errorf("cannot be written in operator set %d: %s", to, why)}
		}
		o := n.Op()
		if o == nil {
			return refuse("the operator is not known")
		}
		old, now := o.Version(from), o.Version(to)
		if now == 0 {
			return refuse(fmt.Sprintf("it came with %d", o.Since[0]))
		}
		if old != now && (meaningChanged(n, old, now) || !sameConfig(o, n.Config(), now)) {
			return refuse(fmt.Sprintf("converting it from version %d to %d is not supported yet", old, now))
		}
		for _, b := range n.Bodies() {
			if err := convertible(b.Graph, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameConfig says whether a version can express the attributes as they are. Inputs that became
// attributes, or the other way round, show as a difference.
func sameConfig(o *op.Op, c op.Config, version int) bool {
	if o.Attrs == nil {
		return true
	}
	attrs := map[string]any{}
	for _, a := range op.Encode(version, c) {
		attrs[a.Name] = a.Value
	}
	again, err := o.Decode(version, attrs)
	return err == nil && reflect.DeepEqual(again, c)
}

// meaningChanged says whether an operator computes something else in another version although its
// attributes are spelled the same: ONNX's change log.
func meaningChanged(n *nn.Node, a, b int) bool {
	if n.Type() == "BatchNormalization" && len(n.Outputs()) == 1 { // other outputs and modes changed
		return false
	}
	at := map[string][]int{
		"Softmax": {13}, "LogSoftmax": {13}, "Hardmax": {13}, // flattened to two dimensions before
		"GroupNormalization": {21}, // scale for each group before
		"Resize":             {11, 13}, "Upsample": {9, 10}, "Slice": {10}, "Dropout": {7, 12}, "BatchNormalization": {9, 14},
		"Clip": {11}, "Pad": {11}, "TopK": {10, 11}, "Squeeze": {13}, "Unsqueeze": {13}, "Split": {13, 18}, "ReduceSum": {13},
		"Add": {7}, "Sub": {7}, "Mul": {7}, "Div": {7}, "Pow": {7}, "Gemm": {7}, "PRelu": {7, 9}, "Reshape": {5},
		"ReduceMean": {18}, "ReduceMax": {18}, "ReduceMin": {18}, "ReduceProd": {18}, "ReduceL1": {18}, "ReduceL2": {18},
		"ReduceLogSum": {18}, "ReduceLogSumExp": {18}, "ReduceSumSquare": {18}, "DFT": {20}, "Loop": {11}, "Scan": {9},
	}
	lo, hi := min(a, b), max(a, b)
	for _, v := range at[n.Type()] {
		if lo < v && v <= hi {
			return true
		}
	}
	return false
}
