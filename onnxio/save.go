package onnxio

import (
	"errors"
	"io"
	"math"
	"path/filepath"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
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
	// own. A Cast behind each brings it back to the type that the graph computes in.
	DType op.DType
	// ExternalOver is the size in bytes above which a tensor goes into the file MODEL.onnx.data
	// beside the model; 0: none does, unless the model would be larger than a file can be (2 GiB).
	ExternalOver int64
	// Annotations is where those of nodes go: as the file had them, or all into one place.
	Annotations AnnotationMode
}

// Save writes a model with the default settings of Saver.
func Save(path string, g *nn.Graph) error { return Saver{}.Save(path, g) }

// Write writes a model with the default settings of Saver.
func Write(w io.Writer, g *nn.Graph) error { return Saver{}.Write(w, g) }

// Save writes g to path, all of it or nothing: an old file stays until the new one is complete.
// Errors are of type *nn.Error and name the node.
func (s Saver) Save(path string, g *nn.Graph) error {
	m, err := s.encode(g)
	if err != nil {
		return saveError(err)
	}
	over := s.ExternalOver
	if over <= 0 && proto.Size(m) > maxFile {
		over = 1 << 20
	}
	if over > 0 {
		if err := saveExternal(path+".data", over, m); err != nil {
			return saveError(err)
		}
	}
	return saveError(WriteFile(path, func(w io.Writer) error { return writeMessage(w, m) }))
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
	return saveError(writeMessage(w, m))
}

// encode makes the message of a graph, converted as s says.
func (s Saver) encode(g *nn.Graph) (*onnxpb.ModelProto, error) {
	if g == nil {
		return nil, errors.New("there is no graph")
	}
	if len(s.Inputs) > 0 {
		g = g.Clone()
		if err := retype(g, s.Inputs); err != nil {
			return nil, err
		}
	}
	w := &writer{ops: g.Ops(), opsets: g.Opsets, alias: map[*nn.Value]string{}, made: map[string]bool{}}
	if s.Opset != 0 && s.Opset != g.Opsets[""] {
		if err := w.convert(s.Opset); err != nil {
			return nil, err
		}
	}
	if err := s.checkStored(w.opsets[""]); err != nil {
		return nil, err
	}
	w.dtype, w.annotationMode = s.DType, s.Annotations
	return w.model(g)
}

// saveExternal moves the large tensors of m into a file.
func saveExternal(path string, over int64, m *onnxpb.ModelProto) error {
	var large []*onnxpb.TensorProto
	if err := initializersOf(m.Graph, func(t *onnxpb.TensorProto) error {
		if t.GetDataLocation() == onnxpb.TensorProto_DEFAULT && t.GetDataType() != int32(dtype.String) && int64(proto.Size(t)) > over {
			large = append(large, t)
		}
		return nil
	}); err != nil || len(large) == 0 {
		return err
	}
	return WriteFile(path, func(w io.Writer) error {
		sink := &externalSink{w: w, location: filepath.Base(path)}
		for _, t := range large {
			if t.RawData == nil {
				v, err := decodeTensor(t, nil)
				if err != nil {
					return err
				}
				raw, err := encodeTensor("", v)
				if err != nil {
					return err
				}
				clearData(t)
				t.RawData = raw.RawData
			}
			if err := sink.put(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// initializersOf visits the initializers of a graph and of the subgraphs in its nodes.
func initializersOf(g *onnxpb.GraphProto, visit func(*onnxpb.TensorProto) error) error {
	for _, t := range g.GetInitializer() {
		if err := visit(t); err != nil {
			return err
		}
	}
	for _, n := range g.GetNode() {
		for _, a := range n.Attribute {
			for _, sub := range append(a.Graphs, a.G) {
				if err := initializersOf(sub, visit); err != nil {
					return err
				}
			}
		}
	}
	return nil
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
