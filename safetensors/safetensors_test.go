package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/safetensors"
	"gorgonia.org/tensor"
)

// file returns a file with the given header.
func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// A file that follows the text of the format by hand is read, its metadata left out.
func TestRead(t *testing.T) {
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1.5))
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(-2))
	data = append(data, 1, 0, 255)
	got, err := safetensors.Read(bytes.NewReader(file(
		`{"__metadata__":{"format":"pt"},"b":{"dtype":"BOOL","shape":[2],"data_offsets":[8,10]},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"u":{"dtype":"U8","shape":[],"data_offsets":[10,11]}}  `, data...)))
	if err != nil {
		t.Fatal(err)
	}
	if w := got["w"]; !w.Shape().Eq(tensor.Shape{1, 2}) || !slices.Equal(dtype.Slice[float32](w), []float32{1.5, -2}) {
		t.Errorf("w is %v", w)
	}
	if !slices.Equal(dtype.Slice[bool](got["b"]), []bool{true, false}) || got["u"].Dims() != 0 || dtype.Slice[uint8](got["u"])[0] != 255 || len(got) != 3 {
		t.Errorf("got %v", got)
	}
}

// TestRoundTrip checks that tensors of all element types of the format round-trip; equal tensors make equal files.
func TestRoundTrip(t *testing.T) {
	all := map[string]*tensor.Dense{}
	for _, dt := range dtype.All() {
		if dt == dtype.String {
			continue
		}
		d := dtype.New(dt, 2, 3)
		var b bytes.Buffer
		if err := safetensors.Write(&b, map[string]*tensor.Dense{"x": d}); err != nil {
			continue
		}
		raw := dtype.Bytes(d)
		for i := range raw {
			raw[i] = byte(i % 2)
		}
		all[dt.String()] = d
	}
	if len(all) != 13 {
		t.Errorf("%d element types can be written", len(all))
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := safetensors.Write(b, all); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two files of the same tensors differ")
	}
	got, err := safetensors.Read(&first)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range all {
		if g := got[name]; g == nil || g.Dtype() != d.Dtype() || !bytes.Equal(dtype.Bytes(g), dtype.Bytes(d)) {
			t.Errorf("%s is not the same again", name)
		}
	}
	if err := safetensors.Write(&first, map[string]*tensor.Dense{"c": dtype.New(dtype.Complex64, 1)}); err == nil || err.Error() != `safetensors: tensor "c", of type complex64, cannot be written: the format lacks the type or reserves the name` {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		file []byte
		want string
	}{
		{nil, "the length of the header is missing"},
		{binary.LittleEndian.AppendUint64(nil, 1<<40), "a header of 1099511627776 bytes: at most 104857600 are read"},
		{file(`{}`)[:9], "the header is cut off"},
		{file(`[]`), "the header is not JSON"},
		{file(`{"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 0, 0, 0, 0), `tensor "w"`},
		{file(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 0, 0, 0, 0), `tensor "w": float32[2] does not match the 4 bytes of its data_offsets [0 4]`},
		{file(`{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, 0, 0, 0, 0), `tensor "w"`},
		{file(`{"w":{"dtype":"F32","shape":[100000000],"data_offsets":[0,400000000]}}`, 0, 0, 0, 0), `tensor "w": truncated: 4 bytes of data, want 400000000`},
		{file(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 0, 0, 0, 0), `tensor "w" begins at byte 4, want 0`},
		{file(`{"w":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}}`, 0, 0, 0, 0), `element type "Q4" is not supported`},
		{file(`{"w":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}`, 2), "the byte 2 is not a bool"},
	} {
		if _, err := safetensors.Read(bytes.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.file, err, c.want)
		}
	}
}

// TestMemory: tensors are charged while they are reachable, and what takes more than the memory that is left is refused before it is read.
func TestMemory(t *testing.T) {
	nn.LimitMemory(1500000)
	defer nn.LimitMemory(0)
	b := file(`{"v":{"dtype":"U8","shape":[1000000],"data_offsets":[0,1000000]},"w":{"dtype":"U8","shape":[1000000],"data_offsets":[1000000,2000000]}}`, make([]byte, 2000000)...)
	if _, err := safetensors.Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), `tensor "w": reading 1000000 bytes: takes 1000000 bytes of memory, with 1000000 in use more than the limit of 1500000`) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := safetensors.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := safetensors.Write(&out, got); err != nil {
			t.Error(err)
		}
	})
}

// A model takes what fits, and says which of its weights nothing fits.
func TestLoad(t *testing.T) {
	model := func(out int) *nn.Graph {
		g := nn.New("m")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3]")
			e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 4, Name: "a"}, layers.Linear{Out: out, Name: "b"}}, x))
		}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	path := filepath.Join(t.TempDir(), "w.safetensors")
	g := model(2)
	if err := g.Edit(func(e *nn.Edit) {
		d, err := dtype.FromSlice([]float32{1, 2, 3, 4}, 4)
		e.Fail(err)
		e.SetData(e.Value("a.bias"), d)
	}); err != nil {
		t.Fatal(err)
	}
	if err := safetensors.Save(path, g, nil); err != nil {
		t.Fatal(err)
	}
	h := model(5)
	fresh, err := safetensors.Load(h, path)
	if err != nil || !slices.Equal(fresh, []string{"b.weight", "b.bias"}) {
		t.Errorf("fresh are %v, %v", fresh, err)
	}
	v, err := h.Value("a.bias")
	if err != nil || !slices.Equal(dtype.Slice[float32](v.Param().Data()), []float32{1, 2, 3, 4}) {
		t.Errorf("a.bias is %v, %v", v.Param().Data(), err)
	}
	if _, err := safetensors.Load(h, path+".none"); err == nil {
		t.Error("a file that is not there was loaded")
	}
}
