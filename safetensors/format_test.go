package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/safetensors"
	"gorgonia.org/tensor"
)

func from[T any](t *testing.T, v []T, shape ...int) *tensor.Dense {
	t.Helper()
	d, err := dtype.FromSlice(v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// failing fails at one write.
type failing struct{ at int }

func (f *failing) Write(b []byte) (int, error) {
	if f.at--; f.at == -1 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// TestWritten checks files byte by byte: the header is padded to a multiple of eight, the tensors
// follow in the order of their names.
func TestWritten(t *testing.T) {
	for name := "n"; len(name) < 10; name += "n" {
		tensors := map[string]*tensor.Dense{name: from(t, []int16{1, -2, 3}, 3, 1), "a": from(t, []bool{true}, 1), "z": dtype.New(dtype.Float32, 0, 2)}
		sum := func(about string, elements ...byte) string {
			return fmt.Sprintf("%08x", crc32.Checksum(append([]byte(about), elements...), crc32.MakeTable(crc32.Castagnoli)))
		}
		head := fmt.Sprintf(`{"__metadata__":{"crc32c a":%q,"crc32c %s":%q,"crc32c z":%q},`, sum("BOOL[1]", 1), name, sum("I16[3 1]", 1, 0, 254, 255, 3, 0), sum("F32[0 2]"))
		head += fmt.Sprintf(`"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},%q:{"dtype":"I16","shape":[3,1],"data_offsets":[1,7]},"z":{"dtype":"F32","shape":[0,2],"data_offsets":[7,7]}}`, name)
		want := binary.LittleEndian.AppendUint64(nil, uint64(len(head)+7)&^7)
		want = append(want, head+strings.Repeat(" ", -len(head)&7)...)
		want = append(want, 1, 1, 0, 254, 255, 3, 0)
		var b bytes.Buffer
		if err := safetensors.Write(&b, tensors); err != nil || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%q, %v, want %q", b.Bytes(), err, want)
		}
		for n := range 5 { // the length, the header, three tensors
			if err := safetensors.Write(&failing{n}, tensors); err != io.ErrShortWrite {
				t.Errorf("write %d fails: %v", n, err)
			}
		}
		for n := range want {
			if _, err := safetensors.Read(bytes.NewReader(want[:n])); err == nil {
				t.Errorf("%d bytes of %d are read", n, len(want))
			}
		}
		if got, err := safetensors.Read(bytes.NewReader(append(want, 9))); err != nil || !slices.Equal(safetensors.Names(got), []string{"a", name, "z"}) || !got["z"].Shape().Eq(tensor.Shape{0, 2}) {
			t.Errorf("%v, %v", got, err)
		}
	}
	var b bytes.Buffer
	none := map[string]*tensor.Dense{"b": from(t, []uint8{7}, 1)}
	for _, name := range []string{"a", "aa", "c", "d", "e", "f"} {
		none[name] = dtype.New(dtype.Uint8, 0)
	}
	if err := safetensors.Write(&b, none); err != nil {
		t.Fatal(err)
	}
	if got, err := safetensors.Read(&b); err != nil || len(got) != 7 || dtype.Slice[uint8](got["b"])[0] != 7 {
		t.Errorf("with tensors without elements: %v, %v", got, err)
	}
	for want, err := range map[string]error{
		"safetensors: the writer is nil": safetensors.Write(nil, nil), `safetensors: tensor "__metadata__", of type float32, cannot be written: the format lacks the type or reserves the name`: safetensors.Write(io.Discard, map[string]*tensor.Dense{"__metadata__": dtype.New(dtype.Float32, 1)}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := safetensors.Read(nil); err == nil || err.Error() != "safetensors: the reader is nil" {
		t.Error(err)
	}
}

// TestPlaces checks lengths at their limits, and offsets that do not fit the elements.
func TestPlaces(t *testing.T) {
	claim := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for _, c := range []struct {
		file []byte
		want string
	}{
		{claim(100 << 20), "safetensors: the header is cut off: unexpected EOF"}, {claim(100<<20 + 1), "safetensors: a header of 104857601 bytes: at most 104857600 are read"}, {claim(2), "safetensors: the header is cut off: unexpected EOF"},
		{file(`{"w":7}`), `safetensors: the header of tensor "w": json: cannot unmarshal number`}, {file(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}}`), `safetensors: tensor "w": float32[1] does not match the -4 bytes of its data_offsets [0 -4]`},
		{file(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}}`, 0, 0, 0, 0, 0), `safetensors: tensor "w": float32[1] does not match the 5 bytes of its data_offsets [0 5]`},
		{file(`{"w":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}}`), `safetensors: tensor "w": float64[2305843009213693952] does not match the 0 bytes of its data_offsets [0 0]`},
		{file(`{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"v":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 0, 0, 0), `safetensors: tensor "v" begins at byte 1, want 2`},
		{file(`{"w":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}`, 0, 1, 2), `safetensors: tensor "w": the byte 2 is not a bool`},
	} {
		if _, err := safetensors.Read(bytes.NewReader(c.file)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestSet checks which parameters are set, and which are returned: those without a tensor, and tensors
// that fit no parameter.
func TestSet(t *testing.T) {
	model := func() *nn.Graph {
		g := nn.New("m")
		if err := g.Edit(func(e *nn.Edit) {
			y := e.Node(op.Plain("Mul"), e.Input("x", "float32[N,2]"), e.Const("w", from(t, []float32{1, 2}, 2))).Out(0)
			e.Output("y", e.Node(op.Plain("Reshape"), y, e.Ints("shape", -1, 2)).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		return g
	}
	value := func(g *nn.Graph, name string) *nn.Param {
		v, err := g.Value(name)
		if err != nil {
			t.Fatal(err)
		}
		return v.Param()
	}
	for name, c := range map[string]struct {
		tensors map[string]*tensor.Dense
		fresh   string
		w       []float32
	}{
		"nothing": {nil, "[w]", []float32{1, 2}}, "the weight": {map[string]*tensor.Dense{"w": from(t, []float32{3, 4}, 2), "other": from(t, []float32{3}, 1)}, "[]", []float32{3, 4}},
		"another shape": {map[string]*tensor.Dense{"w": from(t, []float32{3, 4}, 2, 1)}, "[w]", []float32{1, 2}}, "another type": {map[string]*tensor.Dense{"w": from(t, []float64{3, 4}, 2)}, "[w]", []float32{1, 2}},
		"a constant": {map[string]*tensor.Dense{"w": from(t, []float32{3, 4}, 2), "shape": from(t, []int64{1, 2}, 2)}, "[]", []float32{3, 4}}, "a constant that does not fit": {map[string]*tensor.Dense{"shape": from(t, []int64{2}, 1)}, "[shape w]", []float32{1, 2}},
	} {
		g := model()
		fresh, err := safetensors.Set(g, c.tensors)
		slices.Sort(fresh)
		if err != nil || fmt.Sprint(fresh) != c.fresh || !slices.Equal(value(g, "w").Data().Float32s(), c.w) {
			t.Errorf("%s: %v, %v, %v", name, fresh, err, value(g, "w").Data())
		}
		if got, want := dtype.Slice[int64](value(g, "shape").Data()), int64(1); name == "a constant" && got[0] != want {
			t.Errorf("%s: %d", name, got)
		}
	}
	damaged := filepath.Join(t.TempDir(), "damaged.safetensors")
	if err := os.WriteFile(damaged, file(`[]`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := safetensors.Load(model(), damaged); err == nil || !strings.Contains(err.Error(), "the header is not JSON") {
		t.Error(err)
	}
	for name, keep := range map[string]func(*nn.Param) bool{"shape w": nil, "w": func(p *nn.Param) bool { return p.Role() == nn.Weight }, "": func(*nn.Param) bool { return false }} {
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := safetensors.Save(path, model(), keep); err != nil {
			t.Fatal(err)
		}
		g := model()
		value(g, "w").Data().Float32s()[0] = 7
		_, err := safetensors.Load(g, path)
		if kept := strings.Contains(name, "w"); err != nil || (value(g, "w").Data().Float32s()[0] == 1) != kept {
			t.Errorf("%q: %v, %v", name, value(g, "w").Data(), err)
		}
	}
}

// TestHeadersCharged: headers that become many times their size are refused before they are decoded, and errors do not repeat their texts.
func TestHeadersCharged(t *testing.T) {
	defer budget.Limit(0)
	budget.Limit(16 << 20)
	left := budget.LeftCollected()
	const n = 20000
	for name, c := range map[string]struct{ header, want string }{
		"many tensors":  {"{" + strings.Repeat(`"a%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},`, n), "safetensors: the header of 20000 tensors: takes 15360000 bytes of memory"},
		"many nothings": {"{" + strings.Repeat(`"a%d":{},`, n), "safetensors: the header of 20000 tensors: takes 15360000 bytes of memory"},
		"many axes":     {`{"a%d":{"dtype":"F32","shape":[1` + strings.Repeat(",1", 64) + `],"data_offsets":[0,4]},`, `safetensors: the header of tensor "a0": 65 axes, at most 64 are read`},
		"a long type":   {`{"a%d":{"dtype":"` + strings.Repeat("F", 1<<20) + `","shape":[1],"data_offsets":[0,4]},`, `FFF"… (1048576 bytes) is not supported`},
		"a long name":   {`{"` + strings.Repeat("n", 1<<20) + `%d":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},`, `nnn"… (1048577 bytes) begins at byte 1, want 0`},
	} {
		numbers := make([]any, strings.Count(c.header, "%d"))
		for i := range numbers {
			numbers[i] = i
		}
		header := strings.TrimSuffix(fmt.Sprintf(c.header, numbers...), ",") + "}"
		b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
		if _, err := safetensors.Read(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.1000v, want %s", name, err, c.want)
		}
	}
	if budget.Fits(left) != nil {
		t.Errorf("%d bytes are left of %d", budget.LeftCollected(), left)
	}
}
