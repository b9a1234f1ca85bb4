package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
)

// A convolutional network passes in every column; a forest runs, and has a reason where it cannot be trained.
func TestTry(t *testing.T) {
	ort := oracle.ORT(t)
	for _, c := range try(context.Background(), oracle.Shared(t, "models", "mnist-bn-cnn", "model.onnx"), ort).cells {
		if c.err != nil || c.text == "" {
			t.Errorf("%q, %v", c.text, c.err)
		}
	}
	forest := try(context.Background(), oracle.Shared(t, "models", "iris-random-forest", "model.onnx"), ort)
	if c := forest.cells[4]; c.err != nil {
		t.Error(c.err)
	}
	if c := forest.cells[5]; c.err == nil || c.err.Error() != "the model has no parameter that can be trained" {
		t.Error(c.err)
	}
}

// TestTable checks that cells with the same reason share a note, that a cell may have a result and a
// note, and that a panic is a reason.
func TestTable(t *testing.T) {
	broken := attempt(context.Background(), nil, func(context.Context, *trial) (string, error) { panic("lost") })
	cells := make([]cell, len(columns))
	for i := range cells {
		cells[i] = cell{text: "1"}
	}
	cells[0], cells[1], cells[2] = broken, cell{text: "2", err: errors.New("first | line\nsecond")}, broken
	var b strings.Builder
	if err := (table{runtime: "1", rows: []row{{"net", cells}}}).write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| net | (1) | 2 (2) | (1) | 1 |", "| **of them** | **0** | **1** | **0** | **1** |", "\n1. panic: lost\n2. first \\| line\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
