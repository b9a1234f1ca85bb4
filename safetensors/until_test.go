package safetensors

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// TestWriteUntil: writing looks at its context for each tensor, in checksums and in the header, and ends at any of these looks. The header is the JSON
// that the standard library writes.
func TestWriteUntil(t *testing.T) {
	const n = 20
	all := map[string]*tensor.Dense{"large <&>": dtype.New(dtype.Uint8, 10<<20)}
	for i := range n {
		all[fmt.Sprintf("w%d", i)] = dtype.New(dtype.Float32, 2)
	}
	count := &kerneltest.EndsAfter{Context: t.Context(), Left: 1 << 30}
	var b bytes.Buffer
	if err := WriteUntil(count, &b, all); err != nil {
		t.Fatal(err)
	}
	looks := 1<<30 - count.Left
	if looks < 5*n {
		t.Errorf("%d looks for %d tensors", looks, n)
	}
	for at := 0; at < looks; at += 7 {
		if err := WriteUntil(&kerneltest.EndsAfter{Context: t.Context(), Left: at}, &bytes.Buffer{}, all); !errors.Is(err, context.Canceled) {
			t.Fatalf("ended at look %d of %d: %v", at, looks, err)
		}
	}
	header := b.Bytes()[8:]
	header = bytes.TrimRight(header[:binary.LittleEndian.Uint64(b.Bytes())], " ")
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(header, &members); err != nil {
		t.Fatal(err)
	}
	if len(members) != n+2 {
		t.Errorf("%d members", len(members))
	}
	if want, err := json.Marshal(members); err != nil || !bytes.Equal(header, want) {
		t.Errorf("header %s, want %s: %v", header, want, err)
	}
}
