package train

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/optim"
)

// A checkpoint from before settings, kinds of rules, checksums and lengths were noted is resumed, in the middle of an epoch too.
func TestOldCheckpoint(t *testing.T) {
	enough := errors.New("enough")
	c := Config{Rule: optim.SGD{LR: 0.01}, Batch: 2, Seed: 7, Dir: t.TempDir(), Log: Quiet, OnStep: func(s StepInfo) error {
		if s.Step == 1 {
			return enough
		}
		return nil
	}}
	set := pairs(t, 3)
	if _, err := Fit(context.Background(), normalized(t), c, set, nil); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	path := filepath.Join(c.Dir, lastState)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(b)
	var header map[string]json.RawMessage
	var text map[string]string
	var book map[string]any
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(header["__metadata__"], &text), json.Unmarshal([]byte(text[notes]), &book)); err != nil {
		t.Fatal(err)
	}
	delete(book["Progress"].(map[string]any), "Length")
	maps.DeleteFunc(book, func(name string, _ any) bool {
		return name == "Rules" || name == "Settings" || name == "Order" || name == "BestSum"
	})
	inside, err1 := json.Marshal(book)
	meta, err2 := json.Marshal(map[string]string{notes: string(inside)})
	header["__metadata__"] = meta
	head, err3 := json.Marshal(header)
	if err := errors.Join(err1, err2, err3, os.WriteFile(path, append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), b[8+n:]...), 0o600)); err != nil {
		t.Fatal(err)
	}
	steps := 0
	c.Resume, c.Epochs, c.OnStep = true, 1, func(s StepInfo) error { steps++; return nil }
	if h, err := Fit(context.Background(), normalized(t), c, set, nil); err != nil || steps != 1 || h[0].Samples != 3 {
		t.Errorf("%v, %d steps: %v", h, steps, err)
	}
}
