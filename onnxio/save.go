package onnxio

import (
	"errors"
	"io"
	"math"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
)

// Saver writes models. The zero value writes a graph as it is: what no edit touched comes out as
// the file had it, in its order.
type Saver struct {
	Opset  int      // operator-set version of the standard domain; 0: the graph's
	Inputs []string // types for inputs, as in Loader
	// DType is the element type that weights are stored in, float32, float64, float16 or bfloat16; 0: their
	// own. A Cast after each brings it back to the type that the graph computes in.
	DType op.DType
	// ExternalOver is the size in bytes above which a tensor goes into a file beside the model, see Save; 0: none does, unless the model would be larger than a file can be (2 GiB).
	ExternalOver int64
	// Annotations is where those of nodes go: as the file had them, or all into one place.
	Annotations AnnotationMode
	// Warn is told of each entry of training_info that no longer fits the graph, which is left out. nil: such a graph is
	// not written.
	Warn func(error)
}

// Save writes a model with the default settings of Saver.
func Save(path string, g *nn.Graph) error { return Saver{}.Save(path, g) }

// Write writes a model with the default settings of Saver.
func Write(w io.Writer, g *nn.Graph) error { return Saver{}.Write(w, g) }

// Save writes g to path, all of it or nothing: what was there can be loaded until the new model is
// complete. External data go into a file of their own first, MODEL.onnx.data or, while the model that
// is replaced uses that name, MODEL.onnx.1.data; then the model takes its place in one step, and the
// data of the old one are removed. An edit under way elsewhere is waited for, later ones do not
// matter. Data that another file of the folder names stay. Errors are of type *nn.Error and name the node.
func (s Saver) Save(path string, g *nn.Graph) error {
	m, err := s.encode(g)
	if err != nil {
		return saveError(err)
	}
	over := s.ExternalOver
	if over <= 0 && proto.Size(m) > maxFile {
		over = 1 << 20
	}
	return saveError(commit(path, m, over))
}

// maxFile is how large protobuf readers allow a file to be.
const maxFile = math.MaxInt32

// Write writes g to w. External data need a path: see Save.
func (s Saver) Write(w io.Writer, g *nn.Graph) error {
	if s.ExternalOver > 0 {
		return saveError(errors.New("external data need a file beside the model: use Save"))
	}
	m, err := s.encode(g)
	if err == nil && proto.Size(m) > maxFile {
		err = errors.New("the model is larger than 2 GiB: use Save, which puts tensors into a file beside it")
	}
	if err != nil {
		return saveError(err)
	}
	return saveError(writeModel(w, m))
}

// encode makes the message of a graph, converted as s says.
func (s Saver) encode(g *nn.Graph) (*onnxpb.ModelProto, error) {
	if g == nil {
		return nil, errors.New("there is no graph")
	}
	g, _ = g.Fork() // edits do not reach it
	if err := retype(g, s.Inputs); err != nil {
		return nil, err
	}
	if s.Opset != 0 && s.Opset != g.Opsets()[""] {
		if err := convertGraph(g, s.Opset); err != nil {
			return nil, err
		}
	}
	w := &writer{ops: g.Ops(), opsets: g.Opsets(), alias: map[*nn.Value]string{}}
	if err := s.checkStored(w.opsets[""]); err != nil {
		return nil, err
	}
	w.dtype, w.annotationMode, w.warn = s.DType, s.Annotations, s.Warn
	return w.model(g)
}

// initializersOf visits the initializers of a graph and of the subgraphs in its nodes.
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
