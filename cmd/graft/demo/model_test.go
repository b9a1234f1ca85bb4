package demo_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/train"
)

func TestModel(t *testing.T) {
	m := demo.Model()
	if len(m) > 250_000 || !bytes.Contains(m, []byte("BatchNormalization")) {
		t.Errorf("%d bytes, want at most 250,000 with batch normalization as a node", len(m))
	}
	clear(m)
	if bytes.Equal(m, demo.Model()) {
		t.Error("a caller can change the model of the next one")
	}
	if strings.ContainsAny(demo.New, demo.Known) {
		t.Error("a new class is a known one")
	}
}

// TestInterrupted: a demonstration that fails removes its temporary folder.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, stop := context.WithCancel(t.Context())
	o := demo.Options{Epochs: 1, Images: 64, Log: func(train.Event) { stop() }}
	if _, err := demo.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
