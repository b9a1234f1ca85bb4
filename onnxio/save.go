package onnxio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// Saver writes models. The zero value writes a graph as it is: what no edit changed is written as it was in the file, in
// the same order.
type Saver struct {
	Opset  int      // operator-set version of the standard domain; 0: the graph's
	Inputs []string // types for inputs, as in Loader
	// DType is the element type to store weights in: float32, float64, float16 or bfloat16; 0: their own. A Cast after each
	// converts it to the type that the graph computes in.
	DType op.DType
	// ExternalOver is the number of bytes above which a tensor is written to a file beside the model, see Save; 0: none is,
	// unless the model would exceed the 2 GiB that a file can have.
	ExternalOver int64
	// Annotations is the form in which annotations of nodes are stored; zero: AsStored.
	Annotations AnnotationMode
	// Warn is called for each entry of training_info that no longer fits the graph and is left out. nil: such a graph is not
	// written, which is an error.
	Warn func(error)
	// Context ends saving, with its error, and the wait for another process that saves to the folder; nil: nothing does.
	Context context.Context
	// Wait ends that wait only; nil: Context.
	Wait context.Context
}

// Save writes a model with the default settings of Saver.
func Save(path string, g *nn.Graph) error { return Saver{}.Save(path, g) }

// Write writes a model with the default settings of Saver.
func Write(w io.Writer, g *nn.Graph) error { return Saver{}.Write(w, g) }

// Save writes g to path, as a whole or not at all: the old model can be loaded until the new one is complete. External
// data are written first, to MODEL.onnx.data or, if the model that is replaced uses that name, to MODEL.onnx.1.data; then
// the model is renamed into place, and the old data are removed. Save waits for an edit in progress; later ones do not
// affect it. Data that another file in the folder refers to are kept. Other processes that save to the folder are waited for, until nothing in it has
// changed for five minutes, which is an error. Errors are of type *nn.Error and name the node.
func (s Saver) Save(path string, g *nn.Graph) error {
	m, err := s.encode(g)
	if err != nil {
		return saveError(err)
	}
	over := s.ExternalOver
	if over == 0 && m.most > maxFile {
		over = 1 << 20
	}
	return saveError(s.commit(path, m, over))
}

func (s Saver) context() context.Context { return cmp.Or(s.Context, context.Background()) }

// maxFile is the largest file that protobuf readers accept, in bytes.
const maxFile = math.MaxInt32

// Write writes g to w. External data require a path: see Save.
func (s Saver) Write(w io.Writer, g *nn.Graph) error {
	if s.ExternalOver > 0 {
		return saveError(errors.New("external data need a file beside the model: use Save"))
	}
	m, err := s.encode(g)
	if err == nil && m.most > maxFile {
		err = errors.New("the model is larger than 2 GiB: use Save, which puts tensors into a file beside it")
	}
	if err != nil {
		return saveError(err)
	}
	return saveError(m.write(s.context(), w))
}

// encode encodes a graph, converted by the settings of s.
func (s Saver) encode(g *nn.Graph) (*encoded, error) {
	if g == nil {
		return nil, errors.New("there is no graph")
	}
	if s.ExternalOver < 0 {
		return nil, fmt.Errorf("setting ExternalOver is %d: want 0 or more bytes", s.ExternalOver)
	}
	if s.Annotations < AsStored || s.Annotations > AsAttributes {
		return nil, fmt.Errorf("setting Annotations is %d: want AsStored, AsMetadata or AsAttributes", s.Annotations)
	}
	g, _, err := g.ForkUntil(s.context()) // not affected by later edits
	if err != nil {
		return nil, err
	}
	if err := retype(s.context(), g, s.Inputs); err != nil {
		return nil, err
	}
	if s.Opset != 0 && s.Opset != g.Opsets()[""] {
		if _, err := awaited(s.context(), func() (any, error) { return nil, convertGraph(g, s.Opset) }); err != nil {
			return nil, err
		}
	}
	unfit := convertTraining(g)
	w := &writer{look: look{ctx: s.context()}, ops: g.Ops(), opsets: g.Opsets(), alias: map[*nn.Value]string{}, whole: g, inOtherType: conversions{}, inOtherField: fields{}}
	if err := s.checkStored(w.opsets[""]); err != nil {
		return nil, err
	}
	w.dtype, w.annotationMode, w.warn = s.DType, s.Annotations, s.Warn
	w.unfit = unfit
	m, err := w.model(g)
	if err != nil {
		return nil, err
	}
	x := &encoded{ModelProto: m, converted: w.inOtherType, fields: w.inOtherField}
	x.most, err = x.size(s.context())
	return x, err
}

// initializersOf calls visit for the initializers of a graph and of the subgraphs in its nodes.
func initializersOf(g *onnxpb.GraphProto, visit func(*onnxpb.TensorProto)) {
	for _, t := range g.GetInitializer() {
		visit(t)
	}
	for _, n := range g.GetNode() {
		for _, a := range n.Attribute {
			for _, sub := range append(a.Graphs, a.G) {
				initializersOf(sub, visit)
			}
		}
	}
}

func saveError(err error) error {
	var e *nn.Error
	if err == nil {
		return nil
	}
	if errors.As(err, &e) && error(e) == err {
		c := *e
		if c.Stage == "" || c.Stage == "edit" {
			c.Stage = "save"
		}
		return &c
	}
	return &nn.Error{Stage: "save", Err: err}
}
