package onnxio

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"gorgonia.org/tensor"
)

// sharedDir returns the folder with the conformance suites; tests that need it skip without it.
func sharedDir(t *testing.T) string {
	dir := os.Getenv("GRAFT_SHARED")
	if dir == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	return dir
}

// nodeTests returns the tree of ONNX's node tests.
func nodeTests(t *testing.T) fs.FS {
	f, err := os.Open(filepath.Join(sharedDir(t), "onnx-backend", "node-dev.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return tree
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		tree[path.Clean(h.Name)] = &fstest.MapFile{Data: b}
	}
}

// models returns the path of every model in a tree.
func models(t *testing.T, fsys fs.FS) iter.Seq[string] {
	return func(yield func(string) bool) {
		err := fs.WalkDir(fsys, ".", func(name string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(name, ".onnx") && !yield(name) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkMessage decodes b into m and checks that nothing in it is unknown to the schema and that
// encoding and decoding it again changes nothing.
func checkMessage(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	if err := checkKnown(m.ProtoReflect()); err != nil {
		return err
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err
	}
	second := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(again, second); err != nil {
		return err
	}
	if !proto.Equal(m, second) {
		return fmt.Errorf("changed by encoding it")
	}
	return nil
}

func checkKnown(m protoreflect.Message) (err error) {
	if u := m.GetUnknown(); len(u) > 0 {
		return fmt.Errorf("%s has unknown fields % x", m.Descriptor().Name(), u[:min(len(u), 20)])
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil {
			return true
		}
		if !f.IsList() {
			err = checkKnown(v.Message())
			return err == nil
		}
		for i := 0; i < v.List().Len() && err == nil; i++ {
			err = checkKnown(v.List().Get(i).Message())
		}
		return err == nil
	})
	return err
}

// TestShared round-trips every model with its tensors and its data sets.
func TestShared(t *testing.T) {
	for name, fsys := range map[string]fs.FS{
		"models": os.DirFS(filepath.Join(sharedDir(t), "models")),
		"nodes":  nodeTests(t),
		"pfn":    os.DirFS(filepath.Join(sharedDir(t), "testcases-pfn")),
	} {
		var count, sets, tensors, identical int
		for model := range models(t, fsys) {
			b, err := fs.ReadFile(fsys, model)
			if err != nil {
				t.Fatal(err)
			}
			m := &onnxpb.ModelProto{}
			if err := checkMessage(b, m); err != nil {
				t.Errorf("%s: %v", model, err)
				continue
			}
			count++
			if again, err := (proto.MarshalOptions{Deterministic: true}).Marshal(m); err == nil && bytes.Equal(again, b) {
				identical++
			}
			stripped := strings.HasPrefix(model, "stripped")
			ext := &externalFiles{fsys: fsys, dir: path.Dir(model)}
			isInitializer := map[string]bool{}
			for _, p := range m.GetGraph().GetInitializer() {
				isInitializer[p.GetName()] = true
				v, err := decodeTensor(p, ext)
				if _, was := parseStripped(p); was && stripped && err != nil {
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", model, err)
					continue
				}
				checkValue(t, model, NamedValue{p.GetName(), v}, op.Tensor)
				tensors++
			}
			ext.close()
			var inputs []*onnxpb.ValueInfoProto
			for _, in := range m.GetGraph().GetInput() {
				if !isInitializer[in.GetName()] {
					inputs = append(inputs, in)
				}
			}
			in, out := declaredTypes(t, inputs), declaredTypes(t, m.GetGraph().GetOutput())
			names, err := DataSets(fsys, path.Dir(model))
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range names {
				set, err := ReadDataSet(fsys, dir, in, out)
				if err != nil {
					if !stripped && !strings.Contains(err.Error(), "kind map") {
						t.Errorf("%s: %v", model, err)
					}
					continue
				}
				sets++
				for i, v := range set.Inputs {
					checkValue(t, dir, v, in[i].Kind)
				}
				for i, v := range set.Outputs {
					checkValue(t, dir, v, out[i].Kind)
				}
			}
		}
		t.Logf("%s: %d models, %d re-encoded to the same bytes; %d initializers, %d data sets", name, count, identical, tensors, sets)
	}
}

func checkValue(t *testing.T, where string, v NamedValue, kind op.Kind) {
	var b bytes.Buffer
	if kind == op.Sparse {
		kind = op.Tensor // it is a dense one now
	}
	if err := WriteValue(&b, v); err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	got, err := ReadValue(&b, op.Type{Kind: kind, DType: dtype.DTypeOf(v.Value)})
	if err != nil || got.Name != v.Name || !same(got.Value, v.Value) {
		t.Errorf("%s: %s changed by writing it: %v", where, v.Name, err)
	}
}

// TestCasts runs dtype.Cast through the node tests of Cast that do not involve strings.
func TestCasts(t *testing.T) {
	fsys := nodeTests(t)
	ran := 0
	for model := range models(t, fsys) {
		dir := path.Dir(model)
		if !strings.HasPrefix(path.Base(dir), "test_cast") || strings.Contains(dir, "STRING") {
			continue
		}
		b, err := fs.ReadFile(fsys, model)
		if err != nil {
			t.Fatal(err)
		}
		m := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		if op := m.Graph.Node[0].GetOpType(); op != "Cast" && op != "CastLike" {
			continue
		}
		var c dtype.Cast
		for _, a := range m.Graph.Node[0].Attribute {
			switch a.GetName() {
			case "saturate":
				c.NoSaturate = a.GetI() == 0
			case "round_mode":
				c.Round = map[string]dtype.Rounding{"up": dtype.Up, "down": dtype.Down, "nearest": dtype.Nearest}[string(a.GetS())]
			}
		}
		set, err := ReadDataSet(fsys, dir+"/test_data_set_0", nil, nil)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		ran++
		src, want := set.Inputs[0].Value.(*tensor.Dense), set.Outputs[0].Value.(*tensor.Dense)
		got := dtype.New(dtype.Of(want.Dtype()), want.Shape()...)
		if err := c.Convert(got, src); err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		g, _ := dtype.Float64s(got)
		w, _ := dtype.Float64s(want)
		for i := range g {
			if g[i] != w[i] && (g[i] == g[i] || w[i] == w[i]) {
				from, _ := dtype.Float64s(src)
				t.Errorf("%s: element %d: %v became %v, not %v", dir, i, from[i], g[i], w[i])
				break
			}
		}
	}
	t.Logf("%d casts", ran)
}

func declaredTypes(t *testing.T, infos []*onnxpb.ValueInfoProto) []op.Type {
	t.Helper()
	types := make([]op.Type, len(infos))
	for i, info := range infos {
		var err error
		if types[i], err = decodeType(info.GetType()); err != nil {
			t.Fatal(err)
		}
	}
	return types
}

func typesOf(values []*nn.Value) []op.Type {
	types := make([]op.Type, len(values))
	for i, v := range values {
		types[i] = v.Type()
	}
	return types
}
