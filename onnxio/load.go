package onnxio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	slash "path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/legacy"
	"github.com/graft-ml/graft/nn/op/std"
	"google.golang.org/protobuf/proto"
)

// Loader reads models. The zero value uses graft's operators, the input types in the file, and files of the operating
// system.
type Loader struct {
	// Inputs are types for inputs that replace those in the file, such as "data float32[N,3,224,224]": a symbol frees a
	// dimension that the file fixes. See nn.Edit.Input.
	Inputs []string
	// BatchDim is a symbol, such as "N", that replaces the first dimension of every input if the file fixes it, so that any
	// batch size can be run. If that is impossible, the error names the node that prevents it.
	BatchDim string
	Ops      op.Set // zero: the standard operators and those of nn/op/contrib and nn/op/legacy
	Memory   int64  // largest number of bytes of the model's tensors and nodes; 0: nn.MemoryLeft
	FS       fs.FS  // where the model and its external data are; nil: files of the operating system
	// Context ends loading, with its error; nil: nothing does.
	Context context.Context
}

func (l Loader) context() context.Context { return cmp.Or(l.Context, context.Background()) }

// Load reads a model with the default settings of Loader.
func Load(path string) (*nn.Graph, error) { return Loader{}.Load(path) }

// Read reads a model with the default settings of Loader. A model with external data is an error, since without a path
// their files cannot be found.
func Read(r io.Reader) (*nn.Graph, error) { return Loader{}.Read(r) }

// Load reads the model at path, and its external data from the same folder. A model with operators that graft does not
// know can be changed and saved, but not run. A model that is replaced meanwhile is loaded as it was before or after. Errors are of type *nn.Error and name
// the node.
func (l Loader) Load(path string) (*nn.Graph, error) {
	if l.FS != nil {
		return l.loadFS(path)
	}
	for range 10 {
		f, err := disk.Open(path)
		if err != nil {
			return nil, loadError(err)
		}
		f.Until(l.context())
		ext, err := openExternal(filepath.Dir(path))
		if err != nil {
			f.Close()
			return nil, loadError(err)
		}
		ext.ctx = l.Context
		g, err := l.load(f, path, ext)
		ext.close()
		replaced := f.Replaced() // its data may be those of the new one, or gone
		f.Close()
		if !replaced {
			return g, err
		}
	}
	return nil, loadError(fmt.Errorf("%s is replaced again and again while it is read", path))
}

// loadFS reads a model from l.FS: one in a file of the system as Load reads it, without a copy of the whole file.
func (l Loader) loadFS(path string) (*nn.Graph, error) {
	ext := &externalFiles{ctx: l.Context, fsys: l.FS, dir: slash.Dir(path)}
	defer ext.close()
	f, err := l.FS.Open(path)
	if err != nil {
		return nil, loadError(err)
	}
	defer f.Close()
	file, ok := f.(*disk.File)
	if of, is := f.(*os.File); is {
		if file, err = disk.Reading(of); err != nil {
			return nil, loadError(err)
		}
		ok = true
	}
	if ok && file.Ordinary() {
		file.Until(l.context())
		return l.load(file, path, ext)
	}
	m, err := l.decode(path, f)
	if err != nil {
		return nil, loadError(err)
	}
	return l.build(m, ext, nil)
}

// load reads the model in f, the file of a path, and its external data.
func (l Loader) load(f *disk.File, path string, ext *externalFiles) (*nn.Graph, error) {
	var raw sections
	m, err := awaited(l.context(), func() (m *onnxpb.ModelProto, err error) {
		m, raw, err = skimModel(f)
		return m, err
	})
	if isTooLarge(err) {
		return nil, loadError(fmt.Errorf("%s: %w", path, err))
	}
	if ended := l.context().Err(); ended != nil {
		return nil, loadError(ended)
	}
	if err != nil {
		if m, err = l.readModel(path); err != nil { // decoding the whole file reports what is wrong, if anything
			return nil, loadError(err)
		}
	}
	return l.build(m, ext, raw)
}

var (
	errNoReader = errors.New("the reader is nil")
	errNoWriter = errors.New("the writer is nil")
	errNoFS     = errors.New("the file system is nil")
)

// Read reads a serialized model. External data are read from the root of l.FS, if that is set.
func (l Loader) Read(r io.Reader) (*nn.Graph, error) {
	if r == nil {
		return nil, loadError(errNoReader)
	}
	b, err := budget.ReadAll(disk.Until(l.Context, r))
	if err != nil {
		return nil, loadError(err)
	}
	m, err := awaited(l.context(), func() (*onnxpb.ModelProto, error) { return decodeModel(b) })
	if err != nil {
		return nil, loadError(err)
	}
	if l.FS == nil {
		return l.build(m, nil, nil)
	}
	ext := &externalFiles{ctx: l.Context, fsys: l.FS}
	defer ext.close()
	return l.build(m, ext, nil)
}

func (l Loader) readModel(name string) (*onnxpb.ModelProto, error) {
	if l.FS != nil {
		f, err := l.FS.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return l.decode(name, f)
	}
	b, err := disk.ReadFileUntil(l.context(), name)
	if err != nil {
		return nil, err
	}
	return l.decoded(name, b)
}

// decode reads the model in f whole.
func (l Loader) decode(name string, f fs.File) (*onnxpb.ModelProto, error) {
	b, err := budget.ReadAll(disk.Until(l.Context, f))
	if err != nil {
		return nil, err
	}
	return l.decoded(name, b)
}

func (l Loader) decoded(name string, b []byte) (*onnxpb.ModelProto, error) {
	m, err := awaited(l.context(), func() (*onnxpb.ModelProto, error) { return decodeModel(b) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// awaited returns what f does, or the error of ctx as soon as it ends: package proto has no context.
func awaited[T any](ctx context.Context, f func() (T, error)) (T, error) {
	var v, none T
	var err error
	if ended := engine.Await(ctx, func() { v, err = f() }); ended != nil {
		return none, ended
	}
	return v, err
}

// decodeModel decodes a model. What it becomes is charged as by unmarshal, but the elements of initializers only for as long as the message of
// the graph is reachable, which is until the graph is made.
func decodeModel(b []byte) (*onnxpb.ModelProto, error) {
	m := &onnxpb.ModelProto{}
	n := decodedSize(b, m.ProtoReflect().Descriptor(), 0)
	if err := budget.Charge(n); err != nil {
		return nil, fmt.Errorf("not an ONNX model: %d bytes, decoded: %w", len(b), err)
	}
	err := proto.Unmarshal(b, m)
	budget.Discharge(n)
	if err != nil {
		return nil, fmt.Errorf("not an ONNX model: %w", err)
	}
	if m.Graph == nil {
		return nil, errors.New("not an ONNX model: it has no graph")
	}
	elements := int64(0)
	for _, t := range m.Graph.Initializer {
		elements += int64(len(t.RawData)) + 4*int64(len(t.FloatData)+len(t.Int32Data)) + 8*int64(len(t.DoubleData)+len(t.Int64Data)+len(t.Uint64Data))
	}
	if err := errors.Join(budget.Keep(m.Graph, elements), budget.Keep(m, n-elements)); err != nil {
		return nil, fmt.Errorf("%d bytes, decoded: %w", len(b), err)
	}
	return m, nil
}

// standardOps returns ONNX's own operators, whose versions a file may import.
var standardOps = std.Operators

// defaultOps is the set of a Loader without Ops. It is made only once, since sets are immutable.
var defaultOps = sync.OnceValues(func() (op.Set, error) {
	ops, err := contrib.With(standardOps())
	if err != nil {
		return op.Set{}, err
	}
	return legacy.With(ops)
})

// build makes a graph from a decoded model, which must not be used afterwards.
func (l Loader) build(m *onnxpb.ModelProto, ext *externalFiles, raw sections) (*nn.Graph, error) {
	ops := l.Ops
	if ops.IsZero() {
		var err error
		if ops, err = defaultOps(); err != nil {
			return nil, loadError(err)
		}
	}
	if l.Memory < 0 {
		return nil, loadError(fmt.Errorf("setting Memory is %d: want 0 or more bytes", l.Memory))
	}
	r := newReader(ops, m, ext)
	r.ctx = l.context()
	if r.raw = raw; l.Memory > 0 {
		r.memory, r.own = l.Memory, l.Memory
	}
	g, err := r.model()
	if err != nil {
		return nil, loadError(err)
	}
	if err := retype(l.context(), g, l.Inputs); err != nil {
		return nil, loadError(err)
	}
	if l.BatchDim != "" {
		if err := g.EditUntil(l.context(), func(e *nn.Edit) { e.FreeBatch(l.BatchDim) }); err != nil {
			return nil, loadError(err)
		}
	}
	return g, nil
}

// retype changes the types of inputs.
func retype(ctx context.Context, g *nn.Graph, inputs []string) error {
	if len(inputs) == 0 {
		return nil
	}
	is := map[string]bool{}
	for _, v := range g.Inputs() {
		is[v.Name()] = true
	}
	types := make(map[string]string, len(inputs))
	for _, s := range inputs {
		name, t, err := op.ParseInput(s)
		if err != nil {
			return err
		}
		if !is[name] {
			return fmt.Errorf("the model has no input %q, it has %q", name, slices.Sorted(maps.Keys(is)))
		}
		types[name] = t.String()
	}
	return g.EditUntil(ctx, func(e *nn.Edit) {
		for _, v := range e.Inputs() {
			if t, ok := types[v.Name()]; ok {
				e.Input(v.Name(), t)
			}
		}
	})
}

func loadError(err error) error {
	var e *nn.Error
	if errors.As(err, &e) && error(e) == err {
		if e.Stage == "" {
			e.Stage = "load"
		}
		return err
	}
	return &nn.Error{Stage: "load", Err: err}
}
