package onnxio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// field appends a field that holds a message or bytes.
func field(num protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), content)
}

// TestDecodedSize: a message is counted as no less than half of what package proto allocates for it, and at most four times that. One that takes
// more than what is left is refused, from a file and from a stream.
func TestDecodedSize(t *testing.T) {
	const n = 20000
	many := func(num protowire.Number, content string) []byte { return bytes.Repeat(field(num, []byte(content)), n) }
	numbers := func(num protowire.Number) []byte {
		return bytes.Repeat(protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), 1), n)
	}
	node, tensor := protowire.Number(1), protowire.Number(5)
	for name, graph := range map[string][]byte{
		"nodes": many(node, ""), "initializers": many(tensor, ""), "value infos": many(13, ""), "attributes": field(node, many(5, "")), "attributes' integers": field(node, field(5, numbers(8))),
		"names of inputs": field(node, many(1, "")), "names": many(node, "\x1a\x02ab"), "packed dimensions": field(tensor, field(1, bytes.Repeat([]byte{1}, n))), "dimensions": field(tensor, numbers(1)),
		"packed integers": field(tensor, field(5, bytes.Repeat([]byte{1}, n))), "packed floats": field(tensor, field(4, make([]byte, 4*n))), "strings": field(tensor, many(6, "")),
		"unknown": bytes.Repeat(protowire.AppendVarint(protowire.AppendTag(nil, 2000, protowire.VarintType), 1), n), "raw": field(tensor, field(9, make([]byte, n))),
	} {
		b := field(7, graph)
		m := &onnxpb.ModelProto{}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := proto.Unmarshal(b, m)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		took, counted := int64(after.TotalAlloc-before.TotalAlloc), decodedSize(b, m.ProtoReflect().Descriptor(), 0)
		if counted < took/2 || counted > 4*took+1<<14 {
			t.Errorf("%s: counted as %d bytes, package proto allocates %d", name, counted, took)
		}
	}
	deep := []byte{}
	for range 1000 { // a body in a body
		deep = field(1, field(5, field(6, deep)))
	}
	for _, b := range [][]byte{nil, {0xff}, {7<<3 | 2, 0x80}, field(7, []byte{0x0b}), field(7, deep)} {
		decodedSize(b, (&onnxpb.ModelProto{}).ProtoReflect().Descriptor(), 0)
	}
	defer budget.Limit(0)
	runtime.GC()
	budget.Limit(1 << 20)
	b := field(7, many(node, ""))
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, load := range map[string]func() error{
		"Load":       func() error { _, err := Load(path); return err },
		"Read":       func() error { _, err := Loader{}.Read(bytes.NewReader(b)); return err },
		"ReadTensor": func() error { _, err := ReadTensor(bytes.NewReader(many(6, ""))); return err },
	} {
		if err := load(); !isTooLarge(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if isTooLarge(errors.New("other")) || isTooLarge(nil) {
		t.Error("another error")
	}
}

// TestMessageCharged: a message is charged beside what it becomes while it is decoded, and not afterwards.
func TestMessageCharged(t *testing.T) {
	text := field(7, field(5, field(9, make([]byte, 1<<20))))
	decoded := decodedSize(text, (&onnxpb.ModelProto{}).ProtoReflect().Descriptor(), 0)
	defer budget.Limit(0)
	for _, c := range []struct {
		room    int64
		refused bool
	}{{decoded + int64(len(text))/2, true}, {decoded + int64(len(text)) + 1<<16, false}} {
		budget.Limit(0)
		runtime.GC()
		budget.Limit(budget.Default() - budget.Left() + c.room)
		m := &onnxpb.ModelProto{}
		before := budget.Left()
		b, err := budget.ReadAll(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := unmarshal(b, m); isTooLarge(err) != c.refused {
			t.Errorf("with %d bytes left: %v", c.room, err)
		} else if runtime.GC(); err == nil && before-budget.Left() > decoded+int64(len(text)) {
			t.Errorf("%d bytes are charged afterwards, want at most %d", before-budget.Left(), decoded)
		}
		runtime.KeepAlive(m)
	}
}

// TestWeightsCharged: the weights of all models together are charged, while their models are reachable.
func TestWeightsCharged(t *testing.T) {
	const n = 1 << 18
	init := slices.Concat(field(8, []byte("w")), protowire.AppendVarint([]byte{1 << 3}, n), []byte{2 << 3, 1}, field(9, make([]byte, 4*n)))
	node := slices.Concat(field(1, []byte("w")), field(2, []byte("y")), field(4, []byte("Neg")))
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(path, slices.Concat([]byte{8, 8}, field(8, []byte{2 << 3, 17}), field(7, slices.Concat(field(1, node), field(5, init), field(12, field(1, []byte("y")))))), 0o600); err != nil {
		t.Fatal(err)
	}
	defer budget.Limit(0)
	for range 3 {
		runtime.GC()
	}
	budget.Limit(budget.Default() - budget.Left() + 10*n)
	var graphs []*nn.Graph
	for i := range 4 {
		g, err := Load(path)
		if i < 2 && err != nil || i >= 2 && (err == nil || !strings.Contains(err.Error(), "input w: ") || !strings.Contains(err.Error(), "bytes of memory, with ")) {
			t.Errorf("model %d: %v", i, err)
		}
		graphs = append(graphs, g)
	}
	runtime.KeepAlive(graphs)
	graphs = nil
	if _, err := Load(path); err != nil {
		t.Error(err)
	}
}

// TestMessageReleased: a model that was read from a stream or a file system takes no more of the budget than its tensors, whichever field of the message
// had their elements.
func TestMessageReleased(t *testing.T) {
	const n = 1 << 18
	node := slices.Concat(field(1, []byte("w")), field(2, []byte("y")), field(4, []byte("Neg")))
	for name, data := range map[string][]byte{"raw_data": field(9, make([]byte, 4*n)), "float_data": field(4, make([]byte, 4*n))} {
		init := slices.Concat(field(8, []byte("w")), protowire.AppendVarint([]byte{1 << 3}, n), []byte{2 << 3, 1}, data)
		model := slices.Concat([]byte{8, 8}, field(8, []byte{2 << 3, 17}), field(7, slices.Concat(field(1, node), field(5, init), field(12, field(1, []byte("y"))))))
		for range 3 {
			runtime.GC()
		}
		before := budget.LeftCollected()
		g, err := Read(bytes.NewReader(model))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			runtime.GC()
		}
		if used := before - budget.LeftCollected(); used > 4*n+1<<16 {
			t.Errorf("%s: %d bytes are charged for a tensor of %d", name, used, 4*n)
		}
		runtime.KeepAlive(g)
	}
}
