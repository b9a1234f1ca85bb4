package onnxio

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func skim(t *testing.T, b []byte) (*onnxpb.ModelProto, sections, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return skimModel(f)
}

// withRaw returns a model of one initializer with n bytes of raw data.
func withRaw(t *testing.T, dt dtype.DType, dim int64, n int) []byte {
	t.Helper()
	b, err := proto.Marshal(&onnxpb.ModelProto{OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}, Graph: &onnxpb.GraphProto{
		Initializer: []*onnxpb.TensorProto{{Name: proto.String("w"), DataType: proto.Int32(int32(dt)), Dims: []int64{dim}, RawData: make([]byte, n)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSkimFrom: raw data of 4096 bytes stay in the file, fewer are read with the rest; writing such a model streams them.
func TestSkimFrom(t *testing.T) {
	for n, want := range map[int]int{4092: 0, 4096: 1} {
		b := withRaw(t, dtype.Float32, int64(n/4), n)
		m, raw, err := skim(t, b)
		if err != nil || len(raw) != want || len(m.Graph.Initializer[0].RawData) != n*(1-want) {
			t.Errorf("%d bytes: %d sections, %v", n, len(raw), err)
		}
		full := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(b, full); err != nil {
			t.Fatal(err)
		}
		var parts writes
		if err := writeModel(&parts, full); err != nil || !bytes.Equal(slices.Concat(parts...), b) || (slices.ContainsFunc(parts, func(p []byte) bool { return len(p) == n }) != (want == 1)) {
			t.Errorf("%d bytes: written in %d parts, %v", n, len(parts), err)
		}
	}
	if _, _, err := skim(t, nil); err == nil {
		t.Error("a file without a graph was skimmed")
	}
	f, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := skimModel(f); !errors.Is(err, errSkim) {
		t.Errorf("a folder: %v", err)
	}
}

type writes [][]byte

func (w *writes) Write(p []byte) (int, error) { *w = append(*w, bytes.Clone(p)); return len(p), nil }

// TestSkimNumbers: only the shortest spelling of a number is skimmed, up to 64 bits.
func TestSkimNumbers(t *testing.T) {
	graph := []byte{0x3a, 0x00}
	for _, c := range []struct {
		number []byte
		ok     bool
	}{
		{[]byte{0}, true}, {[]byte{0x7f}, true}, {[]byte{0x80, 1}, true}, {[]byte{0x80, 0}, true}, {[]byte{0xff, 0x80, 0}, true},
		{append(bytes.Repeat([]byte{0xff}, 9), 1), true}, {append(bytes.Repeat([]byte{0xff}, 9), 2), false}, {bytes.Repeat([]byte{0xff}, 11), false},
	} {
		file := slices.Concat([]byte{0x08}, c.number, graph) // ir_version
		m, _, err := skim(t, file)
		if c.ok != (err == nil) {
			t.Errorf("% x: %v", c.number, err)
			continue
		}
		want := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(file, want); c.ok && (err != nil || !proto.Equal(m, want)) {
			t.Errorf("% x: got %v, want %v: %v", c.number, m, want, err)
		}
	}
	for _, b := range [][]byte{{0x3a, 0x80}, {0x08}, {0x0d, 1, 2, 3}, {0x09, 1, 2, 3, 4, 5, 6, 7}} {
		if _, _, err := skim(t, b); err == nil {
			t.Errorf("% x was skimmed", b)
		}
	}
}

// TestLargeRawRefused: raw data that are still in the file are compared with what the tensor takes.
func TestLargeRawRefused(t *testing.T) {
	const nodes = valueMemory
	for _, c := range []struct {
		dt     dtype.DType
		dim    int64
		memory int64
		want   string
	}{
		{dtype.Float32, 2000, 0, "2000 elements of float32 take 8000 bytes, found 8004"},
		{dtype.Float32, 1 << 62, 1 << 62, "takes 4611686018427387904 bytes of memory"},
		{dtype.Float32, 2001, 8003 + nodes, "takes 8004 bytes of memory, with 512 in use more than the limit of 8515"},
		{dtype.Float32, 2001, 8004 + nodes, ""},
		{dtype.Int4, 16008, 0, ""},
		{dtype.Int4, 16009, 0, "16009 elements of int4 take 8005 bytes, found 8004"},
		{dtype.Bool, 8004, 0, ""},
		{dtype.String, 1, 0, "takes 1 strings, found 0"},
		{dtype.DType(99), 1, 0, "unknown element type 99"},
	} {
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := os.WriteFile(path, withRaw(t, c.dt, c.dim, 8004), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Loader{Memory: c.memory}.Load(path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "load: input w: tensor \"w\": ")) {
			t.Errorf("%v[%d]: got %v, want ...%s", c.dt, c.dim, err, c.want)
		}
	}
	// What was stripped takes no memory.
	stripped := textModel(t, `initializer { name: "w" data_type: 1 dims: 1000000 data_location: EXTERNAL external_data { key: "location" value: "{\"type\": \"stripped\", \"average\": 1.0, \"variance\": 0.5}" } }`)
	if _, err := (Loader{Memory: 1000}).Read(bytes.NewReader(stripped)); err != nil {
		t.Error(err)
	}
}

// TestFileGone: a model whose folder or file is not there, in both kinds of file systems.
func TestFileGone(t *testing.T) {
	for _, l := range []Loader{{}, {FS: fstest.MapFS{}}} {
		if _, err := l.Load("none/m.onnx"); err == nil || !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "load: open none/m.onnx") {
			t.Error(err)
		}
	}
	for _, b := range []string{"\xff", ""} {
		if _, err := decodeModel([]byte(b)); err == nil || !strings.HasPrefix(err.Error(), "not an ONNX model: ") {
			t.Errorf("%q: %v", b, err)
		}
	}
	if _, err := decodeModel([]byte("\xff")); err == nil || strings.Contains(err.Error(), "no graph") {
		t.Error(err)
	}
}

// forward is a file; as a plain fs.File it can only be read forward.
type forward struct{ *bytes.Reader }

func (forward) Stat() (fs.FileInfo, error) { return nil, errors.New("no information") }
func (forward) Close() error               { return nil }

// TestExternalFiles: tensors are read from files that can seek, that can read anywhere and that can do neither.
func TestExternalFiles(t *testing.T) {
	data := []byte{0, 1, 2, 3, 4, 5, 6, 7}
	reader := func() forward { return forward{bytes.NewReader(data)} }
	for name, f := range map[string]fs.File{"at": atEOF{reader()}, "forward": struct{ fs.File }{reader()}, "seek": seekable{reader()}} {
		x := &externalFile{File: f, size: 8}
		for _, c := range []struct {
			offset int64
			n      int
			ok     bool
		}{{1, 2, true}, {4, 2, true}, {1, 2, name != "forward"}, {6, 2, true}, {0, 3, name != "forward"}, {7, 2, false}} {
			b := make([]byte, c.n)
			err := x.readAt(t.Context(), b, c.offset)
			if c.ok != (err == nil) || c.ok && !bytes.Equal(b, data[c.offset:c.offset+int64(c.n)]) {
				t.Errorf("%s: %d bytes from %d: %v, %v", name, c.n, c.offset, b, err)
			}
		}
	}
}

type seekable struct{ fs.File }

func (s seekable) Seek(offset int64, how int) (int64, error) {
	return s.File.(forward).Seek(offset, how)
}

type atEOF struct{ forward }

func (f atEOF) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.Reader.ReadAt(b, offset)
	if offset+int64(len(b)) == f.Size() {
		err = io.EOF // which io.ReaderAt allows
	}
	return n, err
}

// TestExternalPlaces: tensors start on pages of the file, the first at its beginning.
func TestExternalPlaces(t *testing.T) {
	var b bytes.Buffer
	sink := &externalSink{w: &b, location: "m.data"}
	for i, c := range []struct {
		size   int
		offset string
	}{{4096, "0"}, {1, "4096"}, {4095, "8192"}, {0, "12288"}, {8, "12288"}} {
		p := &onnxpb.TensorProto{RawData: bytes.Repeat([]byte{byte(i + 1)}, c.size)}
		if err := sink.put(p, rawBytes(p.RawData)); err != nil || p.ExternalData[1].GetValue() != c.offset {
			t.Errorf("%d bytes: %v, %v", c.size, p.ExternalData, err)
		}
	}
	if b.Len() != 12296 || b.Bytes()[4095] != 1 || b.Bytes()[4096] != 2 || b.Bytes()[4097] != 0 || b.Bytes()[12288] != 5 {
		t.Errorf("%d bytes", b.Len())
	}
	full := &externalSink{w: failing{}, location: "m.data", offset: 1}
	if err := full.put(&onnxpb.TensorProto{}, rawBytes{}); err == nil {
		t.Error("the padding could not be written")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

// TestExternalOver: which tensors go into a file of their own, and how its name gives way to files that are there.
func TestExternalOver(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	typed := textModel(t, `initializer { name: "w" data_type: 1 dims: 4 float_data: [1, 2, 3, 4] } initializer { name: "s" data_type: 8 dims: 2 string_data: ["`+strings.Repeat("a", 400)+`", "b"] }
		node { op_type: "Identity" input: "w" output: "y" } node { op_type: "Identity" input: "s" output: "z" } output `+float("y", "4")+`output { name: "z" type { tensor_type { elem_type: 8 } } }`)
	g := read(t, typed)
	m, err := Saver{}.encode(g)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(proto.Size(m.Graph.Initializer[0]))
	for over, want := range map[int64]int{size - 1: 1, size: 0} {
		if got := m.largeTensors(over); len(got) != want {
			t.Errorf("over %d of %d bytes: %d tensors", over, size, len(got))
		}
	}
	external := Saver{ExternalOver: 10}
	for i, want := range []string{"m.onnx.data", "m.onnx.1.data", "m.onnx.data"} {
		if err := external.Save(path, g); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, want)); err != nil || info.Size() != 16 {
			t.Errorf("save %d: %v, %v", i, info, err)
		}
		if list, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(list) != 2 {
			t.Errorf("save %d: %v, %v", i, list, err)
		}
	}
	if got := read(t, typed); len(got.Outputs()) != 2 {
		t.Error(got.Outputs())
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := again.Eval(t.Context(), nn.Feed{}, "y")
	if err != nil || !slices.Equal(out["y"].Data().([]float32), []float32{1, 2, 3, 4}) {
		t.Error(out, err)
	}
	// Names that others hold are passed over, and stay.
	for _, name := range []string{"m.onnx.1.data", "m.onnx.2.data"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "kept"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := external.Save(path, g); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m.onnx.1.data/kept", "m.onnx.2.data/kept", "m.onnx.3.data"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestStoredAs: the initializers of a model whose weights are stored in another type, under names that are free.
func TestStoredAs(t *testing.T) {
	g := nn.New("g")
	change(t, g, func(e *nn.Edit) {
		taken := e.Node(op.Plain("Mul"), e.Input("x", "float32[2]"), e.Param("w", initial.Normal{Std: 1}, 2)).Out(0)
		e.RenameValue(taken, "w/float16")
		e.Output("y", e.Node(op.Plain("Relu"), taken).Out(0))
		e.Output("w/float16_1", e.Node(op.Plain("Neg"), taken).Out(0))
		e.Output("z", e.Node(op.Plain("Mul"), e.Input("u", "float64[2]"), e.ParamOf("k", dtype.Float64, initial.Normal{Std: 1}, 2)).Out(0))
	})
	m := written(t, Saver{DType: dtype.Float16}, g)
	var names []string
	for _, p := range m.Graph.Initializer {
		names = append(names, p.GetName())
		if p.GetDataType() != int32(dtype.Float16) {
			t.Errorf("%s has type %d", p.GetName(), p.GetDataType())
		}
	}
	if !slices.Equal(names, []string{"w/float16_2", "k/float16"}) || len(m.Graph.Node) != 6 {
		t.Errorf("initializers %q, nodes %v", names, m.Graph.Node)
	}
}

// TestSkimFits: float_data holds float32 and complex64, double_data float64 and complex128, raw_data every type.
func TestSkimFits(t *testing.T) {
	for dt := onnxpb.TensorProto_DataType(0); dt < 30; dt++ {
		for field, want := range map[protowire.Number]bool{
			tensorFloatData:  dt == onnxpb.TensorProto_FLOAT || dt == onnxpb.TensorProto_COMPLEX64,
			tensorDoubleData: dt == onnxpb.TensorProto_DOUBLE || dt == onnxpb.TensorProto_COMPLEX128,
			tensorRawData:    true,
		} {
			if got := (section{field: field}).fits(&onnxpb.TensorProto{DataType: proto.Int32(int32(dt))}); got != want {
				t.Errorf("field %d of type %v: %v", field, dt, got)
			}
		}
	}
}
