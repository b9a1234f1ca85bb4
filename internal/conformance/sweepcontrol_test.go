package conformance_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// TestSweepControl compares random models of If, Loop and Scan within each other with ONNX Runtime and with Gorgonia's TapeMachine: values that bodies capture, weights
// in bodies, equal names in sibling bodies, sequences and growing tensors as states, loops without a turn, with a condition that is false at the start or ends them,
// scanned axes in both directions, Scan of version 8.
func TestSweepControl(t *testing.T) {
	if testing.Short() {
		t.Skip("random models")
	}
	ort := oracle.ORT(t)
	compared, refused := 0, map[string]int{}
	for i := *networkFrom; i < *networkFrom+*networks; i++ {
		c := newControl(t, i, dtype.Float32)
		model, feed := c.model(), c.feed
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g, err := onnxio.Read(bytes.NewReader(model))
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Eval(t.Context(), feed)
			in := map[string]oracle.Tensor{}
			for name, v := range feed {
				in[name] = packValue(v)
			}
			want, ortErr := ort.Run(model, in)
			if ortErr != nil {
				refused[ortErr.Error()]++
				panics(t, err)
				return
			}
			compared++
			if err != nil {
				t.Fatal(err)
			}
			for name, w := range want {
				if w.Size() == 0 && got[name].Size() == 0 {
					continue // what no turn gave has the shape that ONNX Runtime finds declared, or infers otherwise
				}
				if err := oracle.Close(packValue(got[name]), w, 1e-4, 1e-5); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			compareWithTape(t, model, g, feed, got, nil)
			if t.Failed() && testing.Verbose() {
				t.Log(prototext.Format(c.top))
			}
		})
	}
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%d refused by ONNX Runtime: %.300s", refused[what], what)
	}
	t.Logf("%d of %d compared", compared, *networks)
	if compared*4 < *networks*3 {
		t.Errorf("ONNX Runtime ran only %d of %d models", compared, *networks)
	}
}

// TestSweepControlGradients compares the gradients of such models in float64 with differences.
func TestSweepControlGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("random models")
	}
	judged, refused := 0, 0
	for i := *networkFrom; i < *networkFrom+*networks; i++ {
		c := newControl(t, i, dtype.Float64)
		g, err := onnxio.Read(bytes.NewReader(c.model()))
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		out, err := g.Eval(t.Context(), c.feed)
		if err != nil {
			continue // an element of an empty sequence, mostly: the comparison with ONNX Runtime knows
		}
		s := &slope{g: g, feed: c.feed, at: map[string]*tensor.Dense{}}
		for name, v := range c.feed {
			if dtype.DTypeOf(v) == dtype.Float64 {
				s.at[name] = v.(*tensor.Dense)
			}
		}
		for p := range g.Params() {
			if v := p.Data(); dtype.DTypeOf(v) == dtype.Float64 && c.weights[p.Name()] {
				s.at[p.Name()] = v
			}
		}
		if err := g.Edit(func(e *nn.Edit) { addSlope(e, c.draw, slices.Sorted(maps.Keys(out)), out) }); err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if s.grads, err = g.Grad(t.Context(), c.feed, "loss", slices.Sorted(maps.Keys(s.at))...); err != nil {
			var at *nn.Error
			if !errors.As(err, &at) {
				t.Errorf("%d: %v", i, err)
			}
			refused++ // Scan of version 8; results whose shape only a run knows, in a body or from an If
			continue
		}
		judged += s.judge(t, fmt.Sprint(i), c.draw)
	}
	t.Logf("%d gradients, %d models refused", judged, refused)
}

// TestSequenceGradients: the gradient through a sequence that a body captures or carries is right, or refused by name; it was zero.
func TestSequenceGradients(t *testing.T) {
	for _, which := range []string{"Scan", "Loop", "If", "Loop, state", "Loop, empty state", "If in Loop"} {
		t.Run(which, func(t *testing.T) {
			c := newControl(t, 1, dtype.Float64)
			c.opset, c.base = 16, []int{2, 2}
			s := &scope{GraphProto: c.top}
			x, slices3 := c.input(2, 2), c.input(3, 2, 2)
			s.visible = []local{x, slices3}
			w := c.node(s, "Sin", nil, numbers, c.base, x)
			list := c.node(s, "SequenceConstruct", nil, sequence, nil, w)
			if which == "Loop, empty state" {
				list = c.node(s, "SequenceEmpty", map[string]any{"dtype": int(c.float)}, sequence, nil)
			}
			element := func(b *scope, q local) local {
				return c.node(b, "SequenceAt", nil, numbers, c.base, q, c.constant(b, count, scalar(int64(-1))))
			}
			choice := func(s *scope, with local) *onnxpb.NodeProto {
				bodies := []*scope{c.inside(s), c.inside(s)}
				for _, b := range bodies {
					c.give(b, c.node(b, "Mul", nil, numbers, c.base, with, element(b, list)))
				}
				on := c.node(s, "Greater", nil, truth, nil, c.node(s, "ReduceMean", map[string]any{"keepdims": 0}, numbers, []int{}, with), c.constant(s, numbers, c.value()))
				return c.bare(s, "If", map[string]any{"then_branch": body("then_branch", bodies[0]), "else_branch": body("else_branch", bodies[1])}, on)
			}
			var n *onnxpb.NodeProto
			b := c.inside(s)
			switch which {
			case "If":
				n = choice(s, x)
			case "Scan":
				v := c.formal(b, numbers, c.base)
				c.give(b, c.node(b, "Mul", nil, numbers, c.base, v, element(b, list)))
				n = c.bare(s, "Scan", map[string]any{"body": body("body", b), "num_scan_inputs": 1}, slices3)
			default:
				in := []local{c.constant(s, count, scalar(int64(3))), {}, x}
				c.formal(b, count, nil)
				on := c.formal(b, truth, nil)
				v := c.formal(b, numbers, c.base)
				c.give(b, on)
				switch which {
				case "Loop":
					c.give(b, c.node(b, "Mul", nil, numbers, c.base, v, element(b, list)))
				case "If in Loop":
					inner := choice(b, v)
					inner.Output = []string{b.name()}
					c.give(b, local{inner.Output[0], numbers, c.base})
				default:
					in = append(in, list)
					q := c.formal(b, sequence, nil)
					q = c.node(b, "SequenceInsert", nil, sequence, nil, q, c.node(b, "Cos", nil, numbers, c.base, v))
					c.give(b, c.node(b, "Mul", nil, numbers, c.base, v, element(b, q)))
					c.give(b, q)
				}
				n = c.bare(s, "Loop", map[string]any{"body": body("body", b)}, in...)
			}
			n.Output = []string{"out"}
			if len(b.Output) > 2 {
				n.Output = append(n.Output, "list")
			}
			s.Output = []*onnxpb.ValueInfoProto{{Name: proto.String("out")}}
			m, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: c.top, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(16)}}})
			if err != nil {
				t.Fatal(err)
			}
			g, err := onnxio.Read(bytes.NewReader(m))
			if err != nil {
				t.Fatal(err)
			}
			out, err := g.Eval(t.Context(), c.feed)
			if err != nil {
				t.Fatal(err)
			}
			at := map[string]*tensor.Dense{"x0": c.feed["x0"].(*tensor.Dense)}
			sl := &slope{g: g, feed: c.feed, at: at}
			if err := g.Edit(func(e *nn.Edit) { addSlope(e, c.draw, []string{"out"}, out) }); err != nil {
				t.Fatal(err)
			}
			var refused *nn.Error
			if sl.grads, err = g.Grad(t.Context(), c.feed, "loss", "x0"); errors.As(err, &refused) && strings.Contains(err.Error(), "has no gradient") {
				t.Log(err)
			} else if err != nil {
				t.Error(err)
			} else if sl.judge(t, which, c.draw) == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}

// TestElementNotRead: a Loop without a turn may read an element of a sequence that is empty, because another Loop had no turn.
func TestElementNotRead(t *testing.T) {
	c := newControl(t, 1, dtype.Float32)
	s := &scope{GraphProto: c.top}
	x := c.input(c.base...)
	s.visible = []local{x}
	c.feed["x1"] = scalar(int64(0))
	c.top.Input = append(c.top.Input, inputProto("x1", c.feed["x1"], false))
	turns := local{"x1", count, nil}
	loop := func(kind localKind, turns, on, initial local, step func(b *scope, v local) local) local {
		b := c.inside(s)
		c.formal(b, count, nil)
		again := c.formal(b, truth, nil)
		v := step(b, c.formal(b, kind, initial.shape))
		c.give(b, again)
		c.give(b, v)
		n := c.bare(s, "Loop", map[string]any{"body": body("body", b)}, turns, on, initial)
		n.Output = []string{s.name()}
		return local{n.Output[0], kind, initial.shape}
	}
	none := loop(sequence, turns, local{}, c.node(s, "SequenceEmpty", map[string]any{"dtype": int(c.float)}, sequence, nil), func(b *scope, v local) local {
		return c.node(b, "SequenceInsert", nil, sequence, nil, v, x)
	})
	on := c.node(s, "Greater", nil, truth, nil, c.node(s, "ReduceMean", map[string]any{"keepdims": 0}, numbers, []int{}, x), c.constant(s, numbers, scalar(float32(9))))
	y := loop(numbers, local{}, on, x, func(b *scope, v local) local {
		return c.node(b, "Add", nil, numbers, c.base, v, c.node(b, "SequenceAt", nil, numbers, c.base, none, c.constant(b, count, scalar(int64(-1)))))
	})
	s.Output = []*onnxpb.ValueInfoProto{{Name: proto.String(y.name)}}
	m, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: c.top, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(16)}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate(t, m, c.feed); err != nil {
		t.Error(err)
	}
}

// control makes a random model with control flow.
type control struct {
	*draw
	t       *testing.T
	float   dtype.DType
	opset   int
	base    []int // the shape of most values
	top     *onnxpb.GraphProto
	feed    nn.Feed
	weights map[string]bool // initializers that are differentiated
	left    int             // nodes that may still have a body
}

// local is a value that nodes of a scope may read.
type local struct {
	name  string
	kind  localKind
	shape []int // of numbers
}

type localKind int

const (
	numbers  localKind = iota // floats of a known shape
	rows                      // floats [N, base[1]], N at least 1
	stack                     // floats, perhaps none
	truth                     // a bool
	count                     // an int64
	sequence                  // of numbers of the base shape
)

// scope is the graph of the model or of a body.
type scope struct {
	*onnxpb.GraphProto
	depth   int
	names   int
	visible []local
}

func newControl(t *testing.T, i int, float dtype.DType) *control {
	r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i)))}
	return &control{draw: r, t: t, float: float, opset: pick(r, 8, 11, 13, 16, 17), base: r.shape(2, 1, 3), top: &onnxpb.GraphProto{Name: proto.String("g")}, feed: nn.Feed{}, weights: map[string]bool{}, left: r.between(1, 4)}
}

func (c *control) model() []byte {
	s := &scope{GraphProto: c.top}
	s.visible = []local{c.input(c.base...), c.input(c.base...), c.input()}
	for len(s.Node) < 3 || c.left > 0 && len(s.Node) < 30 {
		c.step(s)
	}
	for _, v := range s.visible {
		if v.kind == sequence {
			v = c.node(s, "SequenceLength", nil, count, nil, v)
		}
		if _, fed := c.feed[v.name]; !fed && !c.weights[v.name] {
			s.Output = append(s.Output, &onnxpb.ValueInfoProto{Name: proto.String(v.name)})
		}
	}
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: c.top, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(int64(c.opset))}}}
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func (c *control) value(shape ...int) dtype.Value {
	v := c.floats(shape...).(*tensor.Dense)
	for i := range dtype.Slice[float32](v) { // off the kinks
		dtype.Slice[float32](v)[i] += 0.01 + 0.02*c.Float32()
	}
	return must(dtype.ConvertTo(c.float, v))
}

// input is a new input of the model.
func (c *control) input(shape ...int) local {
	name := fmt.Sprint("x", len(c.top.Input))
	v := c.value(shape...)
	c.feed[name] = v
	c.top.Input = append(c.top.Input, inputProto(name, v, false))
	return local{name, numbers, slices.Clone(shape)}
}

// name is one that sibling bodies have, too.
func (s *scope) name() string {
	s.names++
	return fmt.Sprintf("v%d_%d", s.depth, s.names)
}

// has reports whether the name is one of the scope itself.
func (s *scope) has(name string) bool {
	return strings.HasPrefix(name, fmt.Sprintf("v%d_", s.depth)) || slices.ContainsFunc(s.Input, func(v *onnxpb.ValueInfoProto) bool { return v.GetName() == name })
}

// constant is an initializer of the scope or of the model.
func (c *control) constant(s *scope, kind localKind, v dtype.Value) local {
	name := s.name()
	s.Initializer = append(s.Initializer, constantProto(name, v))
	return local{name, kind, slices.Clone([]int(v.Shape()))}
}

// weight is an initializer that gradients are compared of, if it is the model's.
func (c *control) weight(s *scope, shape ...int) local {
	v := c.constant(s, numbers, c.value(shape...))
	c.weights[v.name] = c.weights[v.name] || s.depth == 0
	return v
}

// node adds a node with one output, which later nodes may read.
func (c *control) node(s *scope, op string, attrs map[string]any, kind localKind, shape []int, in ...local) local {
	v := local{s.name(), kind, slices.Clone(shape)}
	n := c.bare(s, op, attrs, in...)
	n.Output = []string{v.name}
	s.visible = append(s.visible, v)
	return v
}

func (c *control) bare(s *scope, op string, attrs map[string]any, in ...local) *onnxpb.NodeProto {
	n := &onnxpb.NodeProto{OpType: proto.String(op)}
	for _, v := range in {
		n.Input = append(n.Input, v.name)
	}
	for _, k := range slices.Sorted(maps.Keys(attrs)) {
		a, ok := attrs[k].(*onnxpb.AttributeProto)
		if !ok {
			a = attributeProto(c.t, k, attrs[k])
		}
		n.Attribute = append(n.Attribute, a)
	}
	s.Node = append(s.Node, n)
	return n
}

func body(name string, s *scope) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: proto.String(name), Type: onnxpb.AttributeProto_GRAPH.Enum(), G: s.GraphProto}
}

// some returns a visible value of a kind, recent ones more often.
func (c *control) some(s *scope, kind localKind) (local, bool) {
	var list []local
	for _, v := range s.visible {
		if v.kind == kind {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return local{}, false
	}
	return list[len(list)-1-c.IntN(c.between(1, len(list)))], true
}

// whole returns numbers of the base shape.
func (c *control) whole(s *scope) local {
	v, _ := c.some(s, numbers)
	if slices.Equal(v.shape, c.base) {
		return v
	}
	for _, w := range s.visible {
		if w.kind == numbers && slices.Equal(w.shape, c.base) {
			return c.node(s, pick(c.draw, "Add", "Sub", "Mul"), nil, numbers, c.base, w, v)
		}
	}
	return c.node(s, "Add", nil, numbers, c.base, c.weight(s, c.base...), v)
}

// truth returns a bool: a visible one, a constant, or one that depends on numbers.
func (c *control) truth(s *scope) local {
	switch c.IntN(5) {
	case 0:
		if v, ok := c.some(s, truth); ok {
			return v
		}
	case 1:
		return c.constant(s, truth, scalar(c.flag()))
	case 2:
		if v, ok := c.some(s, count); ok {
			limit := c.constant(s, numbers, must(dtype.ConvertTo(c.float, scalar(float32(c.between(0, 3))+0.5).(*tensor.Dense))))
			return c.node(s, "Less", nil, truth, nil, c.node(s, "Cast", map[string]any{"to": int(c.float)}, numbers, []int{}, v), limit)
		}
	}
	v, _ := c.some(s, numbers)
	sum := c.node(s, "ReduceMean", map[string]any{"keepdims": 0}, numbers, []int{}, v)
	return c.node(s, pick(c.draw, "Less", "Greater"), nil, truth, nil, sum, c.constant(s, numbers, c.value()))
}

// step adds a node, or some.
func (c *control) step(s *scope) {
	if c.left > 0 && s.depth < 3 && c.rarely(2) {
		c.left--
		switch c.IntN(4) {
		case 0:
			c.branch(s)
		case 1, 2:
			c.loop(s)
		default:
			c.scan(s)
		}
		return
	}
	v, _ := c.some(s, numbers)
	switch c.IntN(8) {
	case 0:
		c.node(s, "MatMul", nil, numbers, c.base, c.whole(s), c.weight(s, c.base[1], c.base[1]))
		v = s.visible[len(s.visible)-1]
		c.node(s, "Tanh", nil, numbers, v.shape, v)
	case 1:
		c.truth(s)
	case 2:
		c.node(s, "Gather", map[string]any{"axis": 0}, numbers, c.base[1:], c.whole(s), c.constant(s, count, scalar(int64(0))))
	case 3:
		if v, ok := c.some(s, rows); ok {
			index := int64(0)
			if c.opset >= 11 {
				index -= int64(c.IntN(2))
			}
			c.node(s, "Gather", map[string]any{"axis": 0}, numbers, c.base[1:], v, c.constant(s, count, scalar(index)))
		}
		if v, ok := c.some(s, stack); ok {
			c.node(s, "ReduceSum", map[string]any{"keepdims": 0}, numbers, []int{}, v)
		}
		if v, ok := c.some(s, sequence); ok {
			if c.flag() {
				c.node(s, "SequenceAt", nil, numbers, c.base, v, c.constant(s, count, scalar(int64(c.between(-1, 0)))))
			} else {
				c.node(s, "ConcatFromSequence", map[string]any{"axis": 0}, rows, nil, v)
			}
		}
	case 4, 5:
		c.node(s, pick(c.draw, "Tanh", "Sin", "Neg", "Sigmoid", "Identity", "Softplus"), nil, numbers, v.shape, v)
	default:
		w := c.whole(s)
		v = c.node(s, pick(c.draw, "Add", "Sub", "Mul", "Max"), nil, numbers, c.base, w, v)
		if c.flag() {
			c.node(s, pick(c.draw, "Tanh", "Sin"), nil, numbers, v.shape, v)
		}
	}
}

// inside begins the scope of a body, which reads what surrounds it.
func (c *control) inside(s *scope) *scope {
	return &scope{GraphProto: &onnxpb.GraphProto{Name: proto.String("body")}, depth: s.depth + 1, visible: slices.Clone(s.visible)}
}

// formal adds an input to a body, declared with its shape or without. Now and then it has the name of a value around the body, which is hidden then.
func (c *control) formal(s *scope, kind localKind, shape []int) local {
	v := local{s.name(), kind, slices.Clone(shape)}
	if outer := s.visible[c.IntN(len(s.visible))]; c.rarely(12) && !s.has(outer.name) {
		rest := slices.DeleteFunc(slices.Clone(s.visible), func(w local) bool { return w.name == outer.name })
		if slices.ContainsFunc(rest, func(w local) bool { return w.kind == numbers && slices.Equal(w.shape, c.base) }) {
			v.name, s.visible = outer.name, rest
		}
	}
	var typ *onnxpb.TypeProto
	switch kind {
	case count:
		typ = tensorType(scalar(int64(0)), &onnxpb.TensorShapeProto{})
	case truth:
		typ = tensorType(scalar(true), &onnxpb.TensorShapeProto{})
	case sequence:
		typ = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: tensorType(c.value(), nil)}}}
	default:
		typ = tensorType(c.value(), nil)
		if kind == numbers && c.flag() {
			typ = inputProto("x0", c.value(shape...), false).Type
		}
	}
	s.Input = append(s.Input, &onnxpb.ValueInfoProto{Name: proto.String(v.name), Type: typ})
	s.visible = append(s.visible, v)
	return v
}

// give makes a value the next output of a body: computed by an Identity, unless a node of the body makes it and no output has it.
func (c *control) give(s *scope, v local) {
	made := slices.ContainsFunc(s.Node, func(n *onnxpb.NodeProto) bool { return slices.Contains(n.Output, v.name) })
	given := slices.ContainsFunc(s.Output, func(o *onnxpb.ValueInfoProto) bool { return o.GetName() == v.name })
	if !made || given || c.flag() {
		v = c.node(s, "Identity", nil, v.kind, v.shape, v)
	}
	out := &onnxpb.ValueInfoProto{Name: proto.String(v.name)}
	if v.kind == numbers { // ONNX Runtime's Scan wants shapes
		out.Type = inputProto("x0", c.value(v.shape...), false).Type
	}
	s.Output = append(s.Output, out)
}

// outputs names the outputs of a node with bodies.
func (c *control) outputs(s *scope, n *onnxpb.NodeProto, list []local) {
	for _, v := range list {
		v.name = s.name()
		s.visible = append(s.visible, v)
		n.Output = append(n.Output, v.name)
	}
}

func (c *control) steps(s *scope) {
	for range c.between(0, 3) {
		c.step(s)
	}
}

// branch adds an If whose branches give numbers, a bool or a sequence, or numbers of different shapes.
func (c *control) branch(s *scope) {
	cond := c.truth(s)
	var list []local
	bodies := []*scope{c.inside(s), c.inside(s)}
	for range c.between(1, 3) {
		v := local{kind: numbers, shape: c.base}
		switch {
		case c.rarely(5):
			v = local{kind: truth}
		case c.rarely(5):
			v = local{kind: rows}
		case c.opset >= 16 && c.rarely(6):
			v = local{kind: sequence}
		}
		list = append(list, v)
	}
	for _, b := range bodies {
		c.steps(b)
		for _, v := range list {
			switch v.kind {
			case truth:
				c.give(b, c.truth(b))
			case rows:
				c.give(b, c.stacked(b))
			case sequence:
				c.give(b, c.node(b, "SequenceConstruct", nil, sequence, nil, c.whole(b), c.whole(b)))
			default:
				c.give(b, c.whole(b))
			}
		}
	}
	c.outputs(s, c.bare(s, "If", map[string]any{"then_branch": body("then_branch", bodies[0]), "else_branch": body("else_branch", bodies[1])}, cond), list)
}

// stacked returns some rows.
func (c *control) stacked(s *scope) local {
	in := []local{c.whole(s)}
	for range c.between(0, 2) {
		in = append(in, c.whole(s))
	}
	return c.node(s, "Concat", map[string]any{"axis": 0}, rows, nil, in...)
}

// loop adds a Loop: with a number of turns, a condition, or both.
func (c *control) loop(s *scope) {
	in := []local{{}, {}}
	bounded := c.IntN(4) > 0
	if bounded {
		if v, ok := c.some(s, count); ok && c.rarely(3) && s.depth > 0 {
			in[0] = v
		} else if m := scalar(int64(c.between(0, 4))); c.flag() {
			in[0] = c.constant(s, count, m)
		} else {
			name := fmt.Sprint("x", len(c.top.Input))
			c.feed[name] = m
			c.top.Input = append(c.top.Input, inputProto(name, m, false))
			in[0] = local{name, count, nil}
		}
	}
	if !bounded || c.flag() {
		in[1] = c.truth(s)
	}
	b := c.inside(s)
	turn := c.formal(b, count, nil)
	on := c.formal(b, truth, nil)
	var states []local
	for k := c.between(0, 3); k > 0 || c.opset == 8 && len(states) == 0; k-- {
		v := c.whole(s)
		if c.rarely(6) {
			v = c.stacked(s)
		} else if c.opset >= 16 && c.rarely(5) {
			if c.flag() {
				v = c.node(s, "SequenceEmpty", map[string]any{"dtype": int(c.float)}, sequence, nil)
			} else {
				v = c.node(s, "SequenceConstruct", nil, sequence, nil, v)
			}
		}
		in = append(in, v)
		states = append(states, c.formal(b, v.kind, v.shape))
	}
	c.steps(b)
	switch {
	case !bounded: // at most so many turns
		limit := c.constant(b, numbers, must(dtype.ConvertTo(c.float, scalar(float32(c.between(0, 3))+0.5).(*tensor.Dense))))
		c.give(b, c.node(b, "Less", nil, truth, nil, c.node(b, "Cast", map[string]any{"to": int(c.float)}, numbers, []int{}, turn), limit))
	case c.flag():
		c.give(b, on)
	default:
		c.give(b, c.truth(b))
	}
	var list []local
	for _, v := range states {
		switch v.kind {
		case rows:
			if c.IntN(3) > 0 {
				v = c.node(b, "Concat", map[string]any{"axis": 0}, rows, nil, v, c.whole(b))
			}
		case sequence:
			if c.IntN(3) > 0 {
				v = c.node(b, "SequenceInsert", nil, sequence, nil, v, c.whole(b))
			}
		default:
			v = c.node(b, pick(c.draw, "Tanh", "Sin"), nil, numbers, c.base, c.node(b, pick(c.draw, "Add", "Sub"), nil, numbers, c.base, v, c.whole(b)))
		}
		c.give(b, v)
		list = append(list, local{kind: v.kind, shape: v.shape})
	}
	for k := c.between(0, 2); k > 0 || len(list) == 0; k-- {
		switch c.IntN(4) {
		case 0:
			c.give(b, turn)
			list = append(list, local{kind: -1})
		case 1:
			c.give(b, c.truth(b))
			list = append(list, local{kind: -1})
		default:
			v, _ := c.some(b, numbers)
			c.give(b, v)
			list = append(list, local{kind: stack})
		}
	}
	c.outputs(s, c.bare(s, "Loop", map[string]any{"body": body("body", b)}, in...), list)
}

// scan adds a Scan over tensors whose scanned axis is any, and which depend on what is visible.
func (c *control) scan(s *scope) {
	length, batch := c.between(1, 4), c.between(1, 3)
	old := c.opset == 8
	b := c.inside(s)
	var in []local
	if old {
		in = append(in, local{})
	}
	var states, list []local
	for range c.between(0, 2) {
		v := c.whole(s)
		if old {
			v = c.node(s, "Add", nil, stack, nil, v, c.input(append([]int{batch}, c.base...)...))
		}
		in = append(in, v)
		states = append(states, c.formal(b, numbers, c.base))
		list = append(list, local{kind: numbers, shape: c.base})
		if old {
			list[len(list)-1] = local{kind: stack}
		}
	}
	n := c.between(1, 3)
	axes, directions := make([]int, n), make([]int, n)
	for k := range n {
		shape := append([]int{length}, c.base...)
		if old {
			shape = append([]int{batch}, shape...)
		}
		v := c.node(s, "Add", nil, stack, nil, c.whole(s), c.input(shape...))
		axis := c.IntN(3)
		if !old && axis > 0 {
			v = c.node(s, "Transpose", map[string]any{"perm": [][]int{nil, {1, 0, 2}, {1, 2, 0}}[axis]}, stack, nil, v)
			axes[k] = axis
			if c.opset >= 11 && c.flag() {
				axes[k] -= 3
			}
		}
		directions[k] = c.IntN(2)
		in = append(in, v)
		c.formal(b, numbers, c.base)
	}
	c.steps(b)
	for _, v := range states {
		c.give(b, c.node(b, pick(c.draw, "Tanh", "Sin"), nil, numbers, c.base, c.node(b, pick(c.draw, "Add", "Sub"), nil, numbers, c.base, v, c.whole(b))))
	}
	var outAxes, outDirections []int
	for k := c.between(0, 2); k > 0 || len(list) == 0; k-- {
		v, _ := c.some(b, numbers)
		c.give(b, v)
		axis := c.IntN(len(v.shape) + 1)
		if c.opset >= 11 && c.flag() {
			axis -= len(v.shape) + 1
		}
		outAxes, outDirections = append(outAxes, axis), append(outDirections, c.IntN(2))
		list = append(list, local{kind: stack})
	}
	attrs := map[string]any{"body": body("body", b), "num_scan_inputs": n}
	if old {
		attrs["directions"] = directions
	} else {
		attrs["scan_input_axes"], attrs["scan_input_directions"] = axes, directions
		if len(outAxes) > 0 {
			attrs["scan_output_axes"], attrs["scan_output_directions"] = outAxes, outDirections
		}
	}
	c.outputs(s, c.bare(s, "Scan", attrs, in...), list)
}
