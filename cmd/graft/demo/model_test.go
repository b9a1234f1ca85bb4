package demo_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
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
